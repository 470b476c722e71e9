"""A model's pair read and checked: its cells found by their labels, its answer computed again from them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pydantic import BaseModel, ConfigDict, ValidationError

from lib.core.untrusted import SPLIT
from lib.llm.request import Reply
from lib.tablequest.analyze.amounts import amounts
from lib.tablequest.ask.replies import objects
from lib.tablequest.questions.amounts import POINTS
from lib.tablequest.questions.check import is_rounding
from lib.tablequest.questions.expression import ExpressionError, evaluate
from lib.tablequest.questions.places import Place, caption_of, folded, heading_of
from lib.tablequest.records import CellRef, Grid, Level, TableQuestion

KINDS: dict[Level, tuple[str, ...]] = {
    "easy": ("extraction",), "hard": ("trend", "contrast"),
    "medium": ("difference", "percent change", "ratio", "share", "sum", "average", "comparison")}


class Unusable(ValueError):
    """Why a reply gives no question; said to the model, which may try once more."""


class _Named(BaseModel):
    """A cell as a model names it."""

    model_config = ConfigDict(str_strip_whitespace=True, coerce_numbers_to_str=True)

    name: str
    table: str
    row: str
    column: str


class _Pair(BaseModel):
    """One reply; fields that are not asked for are ignored."""

    model_config = ConfigDict(str_strip_whitespace=True, coerce_numbers_to_str=True)

    question: str
    answer: str
    cells: list[_Named]
    steps: list[str] = []
    expression: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Ground:
    """What a chain of questions stands on: its passage's tables by the names that the prompt gives them."""

    chain_id: str
    filing_id: str
    passage_id: str
    tables: Mapping[str, Grid]  # "T1" -> grid
    cells: "Cells"


@dataclass(frozen=True)
class Cells:
    """Every cell with a number of a filing, by where it stands and by its row's label."""

    at: Mapping[CellRef, Place]
    of_row: Mapping[str, Sequence[Place]]

    @classmethod
    def of(cls, places: Iterable[Place]) -> "Cells":
        """The cells of one filing, as lib.tablequest.questions.places.places gives them."""
        places, of_row = list(places), defaultdict(list)
        for place in places:
            of_row[folded(place.row)].append(place)
        return cls({place.ref: place for place in places}, dict(of_row))


def read_pair(reply: Reply, level: Level, ground: Ground) -> TableQuestion:
    """The question that `reply` holds, with the cells that it names. Raises Unusable saying why there is none."""
    if reply.reason:
        raise Unusable(f"the reply is no whole answer: {reply.reason}")
    pair = _pair(reply.text)
    if len({cell.name for cell in pair.cells}) < len(pair.cells):
        raise Unusable("two cells have the same name")
    kind = KINDS["easy"][0] if level == "easy" else pair.kind.lower()
    if kind not in KINDS[level]:
        raise Unusable(f"the kind {pair.kind!r} is none of {', '.join(KINDS[level])}")
    places = {cell.name: _found(cell, ground) for cell in pair.cells}
    for place in places.values():
        _check_named(place, pair.question, ground)
    value, unit, scale = (None, "", 1.0) if level == "hard" else _computed(pair, places)
    return TableQuestion(
        question_id=f"{ground.chain_id}-{level}", chain_id=ground.chain_id, filing_id=ground.filing_id,
        passage_id=ground.passage_id, level=level, kind=kind,
        question=" ".join(pair.question.split()), answer=" ".join(pair.answer.split()), steps=tuple(pair.steps),
        cells={name: place.ref for name, place in places.items()}, value=value, unit=unit, scale=scale,
        expression="" if level == "hard" else pair.expression or (pair.cells[0].name if level == "easy" else ""))


def _pair(text: str) -> _Pair:
    found = [one for one in objects(text.rpartition("</think>")[2].replace(SPLIT, "")) if "question" in one]
    if not found:
        raise Unusable("it holds no JSON object with the field \"question\"")
    try:
        pair = _Pair.model_validate(found[-1])
    except ValidationError as error:
        first = error.errors()[0]
        raise Unusable(f"the field {'.'.join(map(str, first['loc']))!r} is wrong: {first['msg']}") from None
    if not (pair.question and pair.answer and pair.cells):
        raise Unusable("question, answer or cells are empty")
    return pair


def _found(named: _Named, ground: Ground) -> Place:
    """The one cell that `named` leads to."""
    tables = {name.casefold(): grid for name, grid in ground.tables.items()}
    grid = tables.get(named.table.casefold()) or tables.get(f"t{named.table}".casefold())
    if grid is None:
        raise Unusable(f"there is no table {named.table!r}: the tables are {', '.join(ground.tables)}")
    spots = []
    for what, labels, label in (("row", grid.rows, named.row), ("column", grid.columns, named.column)):
        at = [number for number, other in enumerate(labels) if folded(other) == folded(label)]
        if len(at) != 1:
            raise Unusable(f"the {what} {label!r} stands {len(at)} times in table {named.table}")
        spots.append(at[0])
    place = ground.cells.at.get(CellRef(grid_id=grid.grid_id, row=spots[0], column=spots[1]))
    if place is None:
        raise Unusable(f"the cell {named.row!r}, {named.column!r} of table {named.table} holds no number")
    return place


def _check_named(place: Place, question: str, ground: Ground) -> None:
    """Raise Unusable where the question may mean another cell of the filing, of another value: no name of a section or
    table in it tells the two apart."""
    said = set(folded(question).split())
    own = next(grid for grid in ground.tables.values() if grid.grid_id == place.ref.grid_id)
    names = [name for name in map(folded, (heading_of(own), caption_of(own)))
             if name and len(set(name.split()) & said) >= 0.6 * len(set(name.split()))]
    for other in ground.cells.of_row[folded(place.row)]:
        is_rival = (other.value, other.kind) != (place.value, place.kind) and place.labels.may_mean(other.labels)
        is_told = other.ref.grid_id != own.grid_id and any(name not in folded(other.source) for name in names)
        if is_rival and not is_told:
            tellers = [name for name in (heading_of(own), caption_of(own)) if folded(name) not in folded(other.source)]
            raise Unusable(f"the question may mean {other.row!r}, {other.column!r} of another table too: name the "
                           f"section or table, such as {(tellers or [heading_of(own)])[0]!r}")


def _computed(pair: _Pair, places: Mapping[str, Place]) -> tuple[float, str, float]:
    """What the expression gives, and in which unit and scale the answer says so."""
    expression = pair.expression or (pair.cells[0].name if len(pair.cells) == 1 else "")
    try:
        value = evaluate(expression, {name: place.value for name, place in places.items()})
    except ExpressionError as error:
        raise Unusable(f"the expression cannot be computed: {error}") from None
    cell = next(iter(places.values())).cell
    is_share = pair.kind.lower() in ("percent change", "share")
    own = ("%", 1.0) if is_share else ("", 1.0) if pair.kind.lower() == "ratio" else (cell.unit, cell.scale)
    if pair.kind.lower() == "comparison":
        return value, *own
    if not (said := amounts(pair.answer)):
        raise Unusable("the answer has no figure")
    if said[0].unit == "%" and own[0] in ("%", ""):
        own = (POINTS if "point" in pair.answer and cell.unit == "%" else "%", 1.0)
    if not is_rounding(said[0], Fraction(str(value)) * Fraction(str(own[1]))):
        raise Unusable(f"the answer says {said[0].text}, but {expression} gives {value:,.6g}"
                       + (f", in {own[0]} × {own[1]:,.0f}" if own[1] != 1 else ""))
    return value, *own


def tables_of_passage(grid_ids: Sequence[str], grids: Mapping[str, Grid]) -> dict[str, Grid]:
    """"T1", "T2", … in the order of the passage."""
    return {f"T{number}": grids[grid_id] for number, grid_id in enumerate(dict.fromkeys(grid_ids), 1)}
