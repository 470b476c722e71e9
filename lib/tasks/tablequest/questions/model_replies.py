"""Read and check a model's pair: find its cells by their labels and recompute its answer."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from lib.core.errors import BadReply
from lib.core.prompts import SPLIT
from lib.llm.request import Reply
from lib.tasks.tablequest.analyze.amounts import amounts
from lib.tasks.tablequest.ask.replies import last_object
from lib.tasks.tablequest.places.places import Place, heading_of, introduction_of
from lib.tasks.tablequest.places.rivals import words
from lib.tasks.tablequest.questions.check import is_rounding
from lib.tasks.tablequest.questions.expression import evaluate
from lib.tasks.tablequest.questions.wording import POINTS, folded
from lib.tasks.tablequest.records import CellRef, Grid, Level, TableQuestion, in_whole_units

KINDS: dict[Level, tuple[str, ...]] = {
    "easy": ("extraction",),
    "hard": ("trend", "contrast", "drivers", "concentration", "outlier", "reconciliation",
             "two tables"),
    "medium": ("difference", "percent change", "ratio", "share", "sum", "average", "comparison")}
Cells = Mapping[CellRef, Place]  # every cell of a filing that has a number
_INTRODUCING = words("table shows presents summarizes following below sets forth")


class _Lenient(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True, coerce_numbers_to_str=True)


class _Named(_Lenient):
    name: str
    table: str
    row: str
    column: str


class _Pair(_Lenient):
    question: str
    answer: str
    cells: list[_Named]
    steps: list[str] = []
    expression: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Ground:
    """What a chain of questions is about: a passage, with tables by their names in the prompt."""

    chain_id: str
    filing_id: str
    passage_id: str
    tables: Mapping[str, Grid]  # "T1" -> grid
    cells: Cells


def read_pair(reply: Reply, level: Level, ground: Ground) -> TableQuestion:
    """Return the question in `reply`, with the cells that it names. Raises BadReply."""
    if reply.reason:
        raise BadReply(f"the reply is not a complete answer: {reply.reason}")
    pair = _pair(reply.text)
    if len({cell.name for cell in pair.cells}) < len(pair.cells):
        raise BadReply("two cells have the same name")
    kind = KINDS["easy"][0] if level == "easy" else pair.kind.lower()
    if kind not in KINDS[level]:
        raise BadReply(f"the kind {pair.kind!r} is none of {', '.join(KINDS[level])}")
    places = {cell.name: _found(cell, ground) for cell in pair.cells}
    for place in places.values():
        _check_named(place, pair.question, ground)
    value, unit, scale = (None, "", 1.0) if level == "hard" else _computed(pair, places)
    only = pair.cells[0].name if level == "easy" else ""
    return TableQuestion(
        question_id=f"{ground.chain_id}-{level}", chain_id=ground.chain_id,
        filing_id=ground.filing_id, passage_id=ground.passage_id, level=level, kind=kind,
        question=" ".join(pair.question.split()), answer=" ".join(pair.answer.split()),
        steps=tuple(pair.steps), cells={name: place.ref for name, place in places.items()},
        expression="" if level == "hard" else pair.expression or only, value=value, unit=unit,
        scale=scale)


def _pair(text: str) -> _Pair:
    found = last_object(text.rpartition("</think>")[2].replace(SPLIT, ""), "question")
    if not found:
        raise BadReply("it holds no JSON object with the field \"question\"")
    try:
        pair = _Pair.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise BadReply(f"the field {name!r} is wrong: {first['msg']}") from None
    if not (pair.question and pair.answer and pair.cells):
        raise BadReply("question, answer or cells are empty")
    return pair


def _found(named: _Named, ground: Ground) -> Place:
    tables = {name.casefold(): grid for name, grid in ground.tables.items()}
    grid = tables.get(named.table.casefold()) or tables.get(f"t{named.table}".casefold())
    if grid is None:
        raise BadReply(f"there is no table {named.table!r}: the tables are "
                       f"{', '.join(ground.tables)}")
    spots = []
    for what, labels, label in (("row", grid.rows, named.row),
                                ("column", grid.columns, named.column)):
        at = [number for number, other in enumerate(labels) if folded(other) == folded(label)]
        if len(at) != 1:
            raise BadReply(f"the {what} {label!r} occurs {len(at)} times in table {named.table}")
        spots.append(at[0])
    place = ground.cells.get(CellRef(grid_id=grid.grid_id, row=spots[0], column=spots[1]))
    if place is None:
        raise BadReply(f"the cell {named.row!r}, {named.column!r} of table {named.table} is not a "
                       "number")
    return place


def _check_named(place: Place, question: str, ground: Ground) -> None:
    asked = words(question)
    own = next(grid for grid in ground.tables.values() if grid.grid_id == place.ref.grid_id)
    names = [name for name in (heading_of(own), introduction_of(own)) if folded(name)]
    named = [folded(name) for name in names
             if len((told := words(name) - _INTRODUCING) & asked) >= 0.6 * len(told)]
    for other in ground.cells.values():
        is_same = (other.value, other.kind) == (place.value, place.kind)
        if is_same or folded(other.row) != folded(place.row) or not place.spot.may_mean(other.spot):
            continue
        source = folded(other.source)
        if other.ref.grid_id == own.grid_id or all(name in source for name in named):
            tell = [name for name in names if folded(name) not in source] or [heading_of(own)]
            raise BadReply(f"the question may mean {other.row!r}, {other.column!r} of another "
                           f"table too: name the section or table, such as {tell[0]!r}")


def _computed(pair: _Pair, places: Mapping[str, Place]) -> tuple[float, str, float]:
    expression = pair.expression or (pair.cells[0].name if len(pair.cells) == 1 else "")
    try:
        value = evaluate(expression, {name: place.value for name, place in places.items()})
    except BadReply as error:
        raise BadReply(f"the expression cannot be computed: {error}") from None
    kind, cell = pair.kind.lower(), next(iter(places.values())).cell
    units = {"percent change": ("%", 1.0), "share": ("%", 1.0), "ratio": ("", 1.0)}
    unit, scale = units.get(kind, (cell.unit, cell.scale))
    if kind == "comparison":
        return value, unit, scale
    if not (found := amounts(pair.answer)):
        raise BadReply("the answer has no figure")
    if found[0].unit == "%" and unit in ("%", ""):
        is_points = "point" in pair.answer and cell.unit == "%"
        unit, scale = (POINTS if is_points else "%"), 1.0
    if not is_rounding(found[0], in_whole_units(value, scale)):
        in_unit = f", in {unit} × {scale:,.0f}" if scale != 1 else ""
        raise BadReply(f"the answer says {found[0].text}, but {expression} gives {value:,.6g}"
                       + in_unit)
    return value, unit, scale
