"""A passage in prompts; questions on it by a model in three rounds, their checks and the filter."""

import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count, pairwise, zip_longest
from operator import itemgetter

from jinja2.sandbox import SandboxedEnvironment
from pydantic import BaseModel, ConfigDict, ValidationError

from lib.core.prompts import escape_prompt_markup, objects_in, prompt_template
from lib.core.records import Rejected
from lib.core.store import BadReply
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tablequest.cells import POINTS, YEAR, Amount, amounts, folded, words_of
from lib.tablequest.grid import lines_of
from lib.tablequest.records import (
    LEVELS,
    Block,
    Cell,
    CellRef,
    Filing,
    Grid,
    Level,
    Passage,
    TableQuestion,
    Texts,
    by_id,
    in_whole_units,
    left_out,
)


def _as_json(grid: Grid, _: Block) -> str:
    lines = [json.dumps(row, ensure_ascii=False) for row in lines_of(grid)]
    return "[" + ",\n ".join(lines) + "]"


FORMS = {
    "html": lambda grid, _: grid.html,
    "markdown": lambda _, block: block.text,
    "json": _as_json,
}


def serialized(
    passage: Passage, grids: Mapping[str, Grid], form: str, is_numbered: bool = False
) -> str:
    """Return the passage's blocks, separated by blank lines, each table in `form` (FORMS).

    A caption and unit note that nothing else says, and a number if asked for, precede a table.
    """
    prose = "\n".join(block.text for block in passage.blocks if not block.grid_id)
    parts = []
    for block in passage.blocks:
        if not block.grid_id:
            parts.append("# " * (block.kind == "heading") + block.text)
            continue
        grid = grids[block.grid_id]
        table = FORMS[form](grid, block)
        above = [text for text in (grid.caption, grid.unit_note) if text not in prose + table]
        name = f"Table T{passage.grid_ids.index(grid.grid_id) + 1}:"
        parts += [name * is_numbered, *above, table]
    return "\n\n".join(part for part in parts if part.strip())


def escape_slots(tags: str, **texts: str) -> dict[str, str]:
    """Return the slots of a prompt, each escaped for `tags` (see lib.core.prompts)."""
    return {name: escape_prompt_markup(text, tags) for name, text in texts.items()}


def source_of(filing: Filing) -> str:
    """Describe a passage's source, as in "the 10-K of Apple Inc. for September 28, 2024"."""
    period = f" for {filing.period}" if filing.period else ""
    return f"the {filing.form} of {filing.company}{period}"


def last_object(text: str, key: str) -> dict:
    """Return the last JSON object in a reply that has `key`, its keys in lower case, or {}."""
    return next((one for one in objects_in(text)[::-1] if key in one), {})


CRITERIA = ("relevant", "reasonable", "valid")
_TAGS = "passage|pair|question|answer|steps"
_ROWS = 4  # of a passage that one chat begins at
_STARTS = 3  # rows per question that is missing: about a third give all levels
_MAX_TOKENS = 8000  # per reply
_MOST_BARREN = 8  # chats in a row without a question: more would waste money
_MOST_USES = 3  # of a cell
_ROUNDS = {
    "easy": prompt_template("tablequest/easy"),
    "hard": prompt_template("tablequest/hard"),
    "medium": prompt_template("tablequest/medium"),
}
_REPAIR = prompt_template("tablequest/repair")


_LENIENT = ConfigDict(str_strip_whitespace=True, coerce_numbers_to_str=True)


class _Named(BaseModel, **_LENIENT):
    name: str
    table: str
    row: str
    column: str


class _Pair(BaseModel, **_LENIENT):
    question: str
    answer: str
    cells: list[_Named]
    steps: list[str] = []
    expression: str = ""
    kind: str = ""


@dataclass
class Chat:
    """The rounds on one passage: each has a pair for each row at which a first one begins."""

    chat_id: str
    filing: Filing
    passage: Passage
    tables: Mapping[str, Grid]  # the passage's, by their names in the prompt: "T1", …
    rows: Mapping[str, tuple[str, str]]  # number -> table and row, escaped
    messages: tuple[tuple[str, str], ...] = ()
    last: dict[str, TableQuestion] = field(default_factory=dict)  # of its round, by number
    request: Request | None = None
    asked: Sequence[str] = ()  # numbers of the pairs that the request asks for

    @property
    def filing_id(self) -> str:
        """Return the id of the filing that it is about."""
        return self.filing.filing_id

    def begin(self, level: Level) -> None:
        """Request the pairs of a round, after those of the round before."""
        passage = serialized(self.passage, by_id(self.tables.values()), "markdown", True)
        slots = escape_slots(_TAGS, source=source_of(self.filing), passage=passage)
        pairs = {
            number: escape_slots(_TAGS, question=pair.question, answer=pair.answer).values()
            for number, pair in self.last.items()
        }
        task = _ROUNDS[level].render(rows=self.rows, pairs=pairs, **slots)
        self.request = Request((*self.messages, ("user", task)), _MAX_TOKENS, shape="pairs")
        self.asked, self.last = [*(self.last or self.rows)], {}

    def read(self, reply: Reply, level: Level, known: set[tuple]) -> list[Rejected]:
        """Take the pairs of a reply whose tasks are not `known`, and request others once more."""
        pairs, faults = _numbered(reply, "pairs"), {}
        for number in [one for one in self.asked if one in pairs] or self.asked:  # some may lack
            pair = pairs.get(number, {})
            try:
                if not pair:
                    raise BadReply("the reply has no such pair")
                question = read_pair(pair, level, self, number)
                if _task(question) in known:
                    raise BadReply("the same is asked already")
                self.last[number] = question
                known.add(_task(question))
            except BadReply as error:
                text, reason = json.dumps(pair, ensure_ascii=False), reply.reason or str(error)
                faults[number] = left_out(self.filing_id, text, reason)
        if not self.request.attempt:
            self.messages = (*self.request.messages, ("assistant", reply.text))
        self.request = self.request.then(reply.text, _REPAIR.render(faults=faults))
        self.asked, self.last = [*faults], dict(sorted(self.last.items()))
        return [*faults.values()]


def ask_by_model(
    texts: Texts, model: str, calls: Calls, per_level: int, seed: int
) -> tuple[list[TableQuestion], list[Rejected]]:
    """Return at most `per_level` questions per level, and what was left out and why.

    A pair that fails a check twice ends its chain. More chats begin until each level is full, no
    row is left or no chat gives a question. Raises Stopped as `complete` does.
    """
    waiting, kept, rejected, missing, barren = _chats(texts, seed), [], [], per_level, 0
    chosen = []
    while waiting and missing > 0 and barren < _MOST_BARREN:
        n_chats = -(-missing * _STARTS // _ROWS)
        wave, waiting = waiting[:n_chats], waiting[n_chats:]
        written, failed = _rounds(wave, model, calls, kept)
        new, dropped = filtered(written, texts, model, calls)
        kept += new
        rejected += failed + dropped
        barren = 0 if new else barren + len(wave)
        chosen = _chosen(kept, per_level)
        missing = per_level - min(sum(one.level == level for one in chosen) for level in LEVELS)
    return chosen, rejected


def _chosen(kept: Sequence[TableQuestion], per_level: int) -> list[TableQuestion]:
    # filings in turn; a cell is used by at most _MOST_USES
    chosen, uses = [], Counter()
    for level in LEVELS:
        room = per_level
        for one in _in_turn(one for one in kept if one.level == level):
            cells = {*one.cells.values()}
            if room and all(uses[cell] < _MOST_USES for cell in cells):
                chosen.append(one)
                room -= 1
                uses.update(cells)
    return chosen


def _in_turn(rows: Iterable) -> list:
    # the first of each filing, then the second of each, and so on
    turns = defaultdict(count)
    return sorted(rows, key=lambda one: next(turns[one.filing_id]))


def filtered(
    questions: Sequence[TableQuestion], texts: Texts, model: str, calls: Calls
) -> tuple[list[TableQuestion], list[Rejected]]:
    """Return the questions that `model` calls relevant, reasonable and valid, and the others.

    A reply without a clear decision counts as a no. Raises Stopped as `complete` does.
    """
    groups, faults = defaultdict(list), {}
    for one in questions:
        groups[one.passage_id].append(one)
    requests = [_check(texts, group) for group in groups.values()]
    for group, reply in zip(groups.values(), complete(requests, model, calls), strict=True):
        checks = _numbered(reply, "checks")
        for number, one in enumerate(group, 1):
            faults[one.question_id] = _filter_fault(reply, checks.get(str(number), {}))
    rejected = [
        left_out(one.filing_id, one.question, f"{fault} ({model})")
        for one in questions
        if (fault := faults[one.question_id])
    ]
    return [one for one in questions if not faults[one.question_id]], rejected


def _check(texts: Texts, questions: Sequence[TableQuestion]) -> Request:
    passage = serialized(texts.passages[questions[0].passage_id], texts.grids, "markdown")
    shown = [
        escape_slots(
            _TAGS,
            level=one.level,
            question=one.question,
            answer=one.answer,
            steps="\n".join(one.steps),
        )
        for one in questions
    ]
    slots = escape_slots(_TAGS, passage=passage)
    prompt = prompt_template("tablequest/filter").render(questions=shown, **slots)
    return Request.ask(prompt, max_tokens=_MAX_TOKENS, shape="checks")


def _filter_fault(reply: Reply, decided: Mapping) -> str:
    for name in CRITERIA:
        match decided.get(name):
            case {"ok": True}:
                continue
            case {"reason": why}:
                return f"not {name}: {why}"
        return f"not {name}: {reply.reason or 'the reply holds no decision'}"
    return ""


def _numbered(reply: Reply, name: str) -> dict[str, dict]:
    # the objects of a reply's list, by their field "number"
    listed = last_object(reply.text, name).get(name)
    if reply.reason or not isinstance(listed, list):
        return {}
    return {str(one.get("number")): one for one in listed if isinstance(one, dict)}


def _rounds(
    chats: Sequence[Chat], model: str, calls: Calls, before: Sequence[TableQuestion]
) -> tuple[list[TableQuestion], list[Rejected]]:
    questions, rejected, known = [], [], {*map(_task, before)}
    for level in LEVELS:
        for chat in chats:
            chat.begin(level)
        asked = chats
        for _ in range(2):  # a pair that fails a check is asked for once more
            replies = complete([chat.request for chat in asked], model, calls)
            for chat, reply in zip(asked, replies, strict=True):
                rejected += chat.read(reply, level, known)
            asked = [chat for chat in asked if chat.asked]
        chats = [chat for chat in chats if chat.last]
        in_turn = zip_longest(*(chat.last.values() for chat in chats))
        questions += [one for turn in in_turn for one in turn if one]
    return questions, rejected


def _task(question: TableQuestion) -> tuple:
    return question.level, question.expression, frozenset(question.cells.items())


def read_pair(written: dict, level: Level, chat: Chat, number: str) -> TableQuestion:
    """Return the pair as a question. Raises BadReply if it has a fault."""
    try:
        pair = _Pair.model_validate(written)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise BadReply(f"the field {wrong['loc'][0]!r} is wrong: {wrong['msg']}") from None
    found = {named.name: _found(named, chat.tables) for named in pair.cells}
    if not found or len(found) < len(pair.cells):
        raise BadReply("the cells are empty, or two have one name")
    cells = {name: grid.cell(ref) for name, (grid, ref) in found.items()}
    read = [
        f"{name}: {grid.label(ref)} = {cells[name].text}" for name, (grid, ref) in found.items()
    ]
    expression, value, unit, scale = "", None, "", 1.0
    if level == "hard":
        check_figures(pair.answer, pair.steps, cells, " ".join([pair.question, *read]))
    else:
        expression = pair.expression or next(iter(found))
        value, unit, scale = computed(expression, cells, pair.answer)
    chain_id = f"{chat.chat_id}.{number}"
    question = TableQuestion(
        question_id=f"{chain_id}-{level}",
        chain_id=chain_id,
        level=level,
        filing_id=chat.filing_id,
        passage_id=chat.passage.passage_id,
        kind="extraction" if level == "easy" else pair.kind.lower() or level,
        question=folded(pair.question),
        answer=folded(pair.answer),
        steps=(*read, *pair.steps),
        cells={name: ref for name, (_, ref) in found.items()},
        expression=expression,
        value=value,
        unit=unit,
        scale=scale,
    )
    rows = [grid.rows[ref.row] for grid, ref in found.values()]
    if fault := fault_of(question, rows, chat.filing.company):
        raise BadReply(fault)
    return question


def _found(named: _Named, tables: Mapping[str, Grid]) -> tuple[Grid, CellRef]:
    if named.table not in tables:
        raise BadReply(f"there is no table {named.table!r}: the tables are {', '.join(tables)}")
    grid, places = tables[named.table], {}
    for side, labels in (("row", grid.rows), ("column", grid.columns)):
        label = getattr(named, side)
        at = [number for number, other in enumerate(labels) if other.split() == label.split()]
        if len(at) != 1:
            raise BadReply(f"the {side} {label!r} occurs {len(at)} times in table {named.table}")
        places[side] = at[0]
    ref = CellRef(grid_id=grid.grid_id, **places)
    if grid.cell(ref).value is None:
        raise BadReply(f"the cell {named.row!r}, {named.column!r} is not a number")
    return grid, ref


def _chats(texts: Texts, seed: int) -> list[Chat]:
    chance, chats = random.Random(seed), []
    for passage in texts.passages.values():
        filing = texts.filings[passage.filing_id]
        own = {f"T{at}": texts.grids[name] for at, name in enumerate(passage.grid_ids, 1)}
        rows = [
            (name, escape_prompt_markup(row, _TAGS))
            for name, grid in own.items()
            for row, cells in zip(grid.rows, grid.cells, strict=True)
            if row.strip()
            and grid.rows.count(row) == 1
            and any(cell.value is not None for cell in cells)
        ]
        chance.shuffle(rows)
        for at in range(0, len(rows), _ROWS):
            numbered = {str(number): row for number, row in enumerate(rows[at : at + _ROWS], 1)}
            chat = Chat(f"{passage.passage_id}-m{at}", filing, passage, own, numbered)
            chats.append((at, chance.random(), chat))
    return _in_turn(chat for *_, chat in sorted(chats, key=itemgetter(0, 1)))  # first of passages


_JINJA = SandboxedEnvironment()
_ARITHMETIC = re.compile(r"(?:[\w.()+/\s-]|\*(?!\*))+")
_POINTS = re.compile(
    r"\b(?:this|the|these|following) (?:table|passage|text|excerpt)s? (?:above|below)\b"
    r"|\b(?:in|from|of|the following) (?:this |the )?(?:passage|excerpt|table)\b(?! of)",
    re.I,
)


def evaluate(expression: str, values: Mapping[str, float]) -> float:
    """Return what + - * / of numbers and named `values` give. Raises BadReply for anything else."""
    names = {*re.findall(r"[^\W\d]\w*", expression)}
    if names - values.keys() or len(expression) > 300 or not _ARITHMETIC.fullmatch(expression):
        raise BadReply(f"{expression[:300]!r} is not + - * / of numbers and {', '.join(values)}")
    try:
        result = _JINJA.compile_expression(expression, undefined_to_none=False)(**values)
        return float(Fraction(result))  # refuses what is not finite
    except Exception as error:  # a model writes anything
        raise BadReply(f"the expression {expression!r} cannot be computed: {error}") from None


def computed(expression: str, cells: Mapping[str, Cell], answer: str) -> tuple[float, str, float]:
    """Return value, unit and scale of `expression`, which `answer` gives rounded.

    Raises BadReply if the answer has another value, unit or scale. An expression that does not
    change with the size of its cells is a ratio or percentage, one in proportion has their unit.
    """
    kinds = {(cell.unit, cell.scale) for cell in cells.values()}
    if len(kinds) > 1:
        raise BadReply(f"the cells differ in unit or scale: {sorted(kinds)}")
    ((unit, scale),) = kinds
    value, twice = (
        evaluate(expression, {name: factor * cell.value for name, cell in cells.items()})
        for factor in (1, 2)
    )
    if not (found := amounts(answer)):
        raise BadReply("the answer has no figure")
    figure = found[0]
    if math.isclose(twice, value, abs_tol=1e-12):
        unit, scale = "%" * (figure.unit == "%"), 1.0
    elif not math.isclose(twice, 2 * value):
        raise BadReply(f"the expression {expression!r} mixes amounts with plain numbers")
    if figure.unit not in ("", unit.split("/")[0]):
        raise BadReply(f"the answer is in {figure.unit}, its cells give {unit or 'no unit'}")
    if not _agrees(figure, in_whole_units(value, scale)):
        raise BadReply(
            f"the answer says {figure.text}, but {expression} gives {value:,.6g} {unit}"
            f" × {scale:,.0f}".removesuffix(" × 1")
        )
    is_points = unit == "%" and len(cells) > 1 and "point" in answer
    return value, POINTS if is_points else unit, scale


def fault_of(question: TableQuestion, rows: Sequence[str], company: str) -> str:
    """Return why a question is not used, "" if nothing is wrong; `rows` are its cells' labels."""
    asked, n_cells = words_of(question.question), len(question.cells)
    if not words_of(company.split()[0]) <= asked:
        return f"the question does not name {company}"
    if not re.search(r"\b(?:19|20)\d\d\b", question.question):
        return "the question names no year"
    if pointing := _POINTS.search(question.question):
        return f"the question points at what a reader may not have: {pointing[0]!r}"
    if question.level == "hard":  # it may ask which row
        ended = len(re.findall(r"[.!?](?=\s+[A-Z]|\s*$)", question.answer))
        return f"the answer has {ended} sentences, not 1 or 2" if ended > 2 else ""
    for label in rows:
        if not words_of(label) & asked:
            return f"the question does not name {label!r}"
    if (n_cells == 1) != (question.level == "easy"):
        return f"a question that is {question.level} has {n_cells} cells"
    named, given = (
        {one.value for one in amounts(text)} for text in (question.question, question.answer)
    )
    return "the question contains its answer" if named & given else ""


def check_figures(answer: str, steps: Sequence[str], cells: Mapping[str, Cell], named: str) -> None:
    """Recompute each "expression = figure" in `steps` over `cells`, in whole units.

    Raises BadReply for a wrong one, or for another figure that is neither a cell, a result, a
    rounding of one, a year nor in the texts `named`.
    """
    values = {name: float(cell.exact) for name, cell in cells.items()}
    results, rest = [*values.values()], [answer]
    for step in steps:
        *lefts, last = re.sub("[\u2010-\u2015\u2212]", "-", step).split("=")
        for left, right in pairwise([*lefts, last]):
            expression = _expression(left, values)
            result, figures = evaluate(expression, values), amounts(right)
            if not figures or not _agrees(figures[0], result):
                raise BadReply(f"{expression.strip()} gives {result:,.6g}, unlike {step!r}")
            results.append(result)
            rest.append(left.removesuffix(expression))
        rest.append(last)
    free = {abs(one.value) for one in amounts(named)}
    for figure in amounts("\n".join(rest)):
        is_free = re.fullmatch(YEAR, figure.text) or abs(figure.value) in free
        if not is_free and not any(_agrees(figure, n * one) for one in results for n in (1, -1)):
            raise BadReply(f"{figure.text} is neither a cell nor the result of a step")


def _expression(text: str, values: Mapping[str, float]) -> str:
    # the longest end of `text` that is one; of numbers it has 100, days or counts only
    name = rf"\b(?:{'|'.join(map(re.escape, values))})\b"
    end = re.search(rf"(?:{name}|(?<![\w.])\d+\b(?!\.\d)|[-+*/()\s])*$", text[-300:])[0]
    for word in re.finditer(r"\S+", end):
        found = end[word.start() :]
        with suppress(BadReply):
            evaluate(found, values)
            if re.search(name, found) and all(int(n) < 367 for n in re.findall(r"\b\d+", found)):
                return found
    raise BadReply(f"no expression over names stands before '=' in {text!r}")


def _agrees(figure: Amount, value: float | Fraction) -> bool:
    return abs(float(figure.value) - value) <= float(figure.step) / 2 + abs(value) / 10**9
