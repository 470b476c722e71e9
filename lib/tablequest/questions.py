"""A passage as prompts show it; questions on it by a model in three rounds, checks and filter."""

import json
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, pairwise

import jinja2
from jinja2.sandbox import SandboxedEnvironment
from pydantic import BaseModel, ConfigDict, ValidationError

from lib.core.prompts import escape_prompt_markup, objects_in, prompt_template
from lib.core.records import Rejected
from lib.core.store import BadReply
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tablequest.cells import POINTS, YEAR, Amount, amounts, words_of
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
)

_JINJA = SandboxedEnvironment()
_ARITHMETIC = re.compile(r"(?:[\w.()+/\s-]|\*(?!\*))+")
_POINTS = re.compile(
    r"\b(?:this|the|these|following) (?:table|passage|text|excerpt)s? (?:above|below)\b"
    r"|\b(?:in|from|of|the following) (?:this |the )?(?:passage|excerpt|table)\b(?! of)",
    re.I,
)


def _as_json(grid: Grid, _: Block) -> str:
    rows = (("", *grid.columns), *grid.lines)
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    return "[" + ",\n ".join(lines) + "]"


FORMS: dict[str, Callable[[Grid, Block], str]] = {
    "html": lambda grid, _: grid.html,
    "markdown": lambda _, block: block.text,
    "json": _as_json,
}


def serialized(
    passage: Passage, grids: Mapping[str, Grid], form: str, titles: Mapping[str, str] | None = None
) -> str:
    """Return the passage's blocks, separated by blank lines, each table in `form` (FORMS).

    A caption and unit note that nothing else says, and `titles` by grid_id, precede a table.
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
        parts += [(titles or {}).get(grid.grid_id, ""), *above, table]
    return "\n\n".join(part for part in parts if part.strip())


def escape_slots(tags: str, **texts: str) -> dict[str, str]:
    """Return the slots of a prompt, each escaped for `tags` (see lib.core.prompts)."""
    return {name: escape_prompt_markup(text, tags) for name, text in texts.items()}


def source_of(filing: Filing) -> str:
    """Describe a passage's source, as in "the 10-K of Apple Inc. for September 28, 2024"."""
    period = f" for {filing.period}" if filing.period else ""
    return f"the {filing.form} of {filing.company}{period}"


def last_object(text: str, *keys: str) -> dict:
    """Return the last JSON object in a reply that has one of `keys`, in lower case, or {}."""
    found = (one for one in objects_in(text)[::-1] if one.keys() & {*keys})
    return next(found, {})


def evaluate(expression: str, values: Mapping[str, float]) -> float:
    """Return the value of `expression` over named `values`.

    It has numbers, these names, + - * / and brackets. Raises BadReply for anything else.
    """
    names = {*re.findall(r"[^\W\d]\w*", expression)}
    if names - values.keys() or len(expression) > 300 or not _ARITHMETIC.fullmatch(expression):
        raise BadReply(f"{expression[:300]!r} is not + - * / of numbers and {', '.join(values)}")
    try:
        return float(_JINJA.compile_expression(expression, undefined_to_none=False)(**values))
    except (jinja2.TemplateError, TypeError, ArithmeticError, RecursionError) as error:
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
        unit, scale = (figure.unit if figure.unit == "%" else ""), 1.0
    elif not math.isclose(twice, 2 * value):
        raise BadReply(f"the expression {expression!r} mixes amounts with plain numbers")
    if figure.unit not in ("", unit.split("/")[0]):
        raise BadReply(f"the answer is in {figure.unit}, its cells give {unit or 'no unit'}")
    wanted = in_whole_units(value, scale)
    if abs(figure.value - wanted) > figure.step / 2 + abs(wanted) / 10**9:
        raise BadReply(
            f"the answer says {figure.text}, but {expression} gives {value:,.6g} {unit}"
            f" × {scale:,.0f}".removesuffix(" × 1")
        )
    is_points = unit == "%" and len(cells) > 1 and "point" in answer
    return value, POINTS if is_points else unit, scale


def fault_of(question: TableQuestion, grids: Mapping[str, Grid], company: str) -> str:
    """Return why a question is not used, "" if nothing is wrong; `grids` are the passage's."""
    asked, n_cells = words_of(question.question), len(question.cells)
    if not words_of(company.split()[0]) <= asked:
        return f"the question does not name {company}"
    if not re.search(r"\b(?:19|20)\d\d\b", question.question):
        return "the question names no year"
    if pointing := _POINTS.search(question.question):
        return f"the question points at what a reader may not have: {pointing[0]!r}"
    for ref in question.cells.values():
        label = grids[ref.grid_id].rows[ref.row]
        if not words_of(label) & asked:
            return f"the question does not name {label!r}"
    if question.level == "hard":
        ended = len(re.findall(r"[.!?](?=\s+[A-Z]|\s*$)", question.answer))
        return f"the answer has {ended} sentences, not 1 or 2" if ended > 2 else ""
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


def _agrees(figure: Amount, value: float) -> bool:
    return abs(float(figure.value) - value) <= float(figure.step) / 2 + abs(value) / 10**9


CRITERIA = ("relevant", "reasonable", "valid")
_TAGS = "passage|pair|question|answer|steps"
_MAX_TOKENS = 1500  # per reply
_MOST_BARREN = 8  # chats in a row without a question: more would waste money
_ROUNDS = {
    "easy": prompt_template("tablequest/easy"),
    "hard": prompt_template("tablequest/hard"),
    "medium": prompt_template("tablequest/medium"),
}


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


@dataclass
class Chat:
    """The rounds on one passage; the first question begins at a row of a table."""

    chain_id: str
    filing: Filing
    passage: Passage
    tables: Mapping[str, Grid]  # the passage's, by their names in the prompt: "T1", …
    focus: tuple[str, str]  # table and row
    messages: tuple[tuple[str, str], ...] = ()
    last: TableQuestion | None = None


def ask_by_model(
    texts: Texts, model: str, calls: Calls, per_level: int, seed: int
) -> tuple[list[TableQuestion], list[Rejected]]:
    """Return at most `per_level` questions per level, and what was left out and why.

    A pair that fails a check ends its chat. More chats begin until each level is full, no row is
    left or no chat gives a question. Raises Stopped as `complete` does.
    """
    waiting, kept, rejected, missing, barren = _chats(texts, seed), [], [], per_level, 0
    while waiting and missing > 0 and barren < _MOST_BARREN:
        wave, waiting = waiting[:missing], waiting[missing:]
        written, failed = _rounds(wave, model, calls, kept)
        new, dropped = filtered(written, texts, model, calls)
        kept, rejected = kept + new, rejected + failed + dropped
        barren = 0 if new else barren + len(wave)
        missing = per_level - min(sum(one.level == level for one in kept) for level in LEVELS)
    of_level = ([one for one in kept if one.level == level][:per_level] for level in LEVELS)
    return list(chain(*of_level)), rejected


def filtered(
    questions: Sequence[TableQuestion], texts: Texts, model: str, calls: Calls
) -> tuple[list[TableQuestion], list[Rejected]]:
    """Return the questions that `model` calls relevant, reasonable and valid, and the others.

    A reply without a clear decision counts as a no. Raises Stopped as `complete` does.
    """
    prompt = prompt_template("tablequest/filter")
    requests = [
        Request.ask(
            prompt.render(
                level=one.level,
                **escape_slots(
                    _TAGS,
                    passage=serialized(texts.passages[one.passage_id], texts.grids, "markdown"),
                    question=one.question,
                    answer=one.answer,
                    steps="\n".join(one.steps),
                ),
            ),
            max_tokens=_MAX_TOKENS,
        )
        for one in questions
    ]
    kept, rejected = [], []
    for one, reply in zip(questions, complete(requests, model, calls), strict=True):
        if fault := _filter_fault(reply):
            reason = f"{fault} ({model})"
            rejected.append(
                Rejected(document_id=one.filing_id, rejected_text=one.question, reason=reason)
            )
        else:
            kept.append(one)
    return kept, rejected


def _filter_fault(reply: Reply) -> str:
    decided = {} if reply.reason else last_object(reply.text, *CRITERIA)
    for name in CRITERIA:
        match decided.get(name):
            case {"ok": True}:
                continue
            case {"reason": why}:
                return f"not {name}: {why}"
        return f"not {name}: {reply.reason or 'the reply holds no decision'}"
    return ""


def _rounds(
    chats: Sequence[Chat], model: str, calls: Calls, before: Sequence[TableQuestion]
) -> tuple[list[TableQuestion], list[Rejected]]:
    questions, rejected = [], []
    for level in LEVELS:
        requests, going = [_request(chat, level) for chat in chats], []
        replies = complete(requests, model, calls)
        for chat, request, reply in zip(chats, requests, replies, strict=True):
            try:
                chat.last = read_pair(reply, level, chat, [*before, *questions])
            except BadReply as error:  # ends the chat
                item = reply.text or f"{chat.chain_id}-{level}"
                rejected.append(
                    Rejected(
                        document_id=chat.filing.filing_id, reason=str(error), rejected_text=item
                    )
                )
            else:
                chat.messages = (*request.messages, ("assistant", reply.text))
                questions.append(chat.last)
                going.append(chat)
        chats = going
    return questions, rejected


def _request(chat: Chat, level: Level) -> Request:
    if pair := chat.last:
        slots = escape_slots(_TAGS, question=pair.question, answer=pair.answer)
        task = _ROUNDS[level].render(**slots)
        return Request((*chat.messages, ("user", task)), _MAX_TOKENS)
    shown = serialized(
        chat.passage,
        by_id(chat.tables.values()),
        "markdown",
        {grid.grid_id: f"Table {name}:" for name, grid in chat.tables.items()},
    )
    table, row = chat.focus
    slots = escape_slots(_TAGS, source=source_of(chat.filing), row=row, passage=shown)
    return Request.ask(_ROUNDS[level].render(table=table, **slots), max_tokens=_MAX_TOKENS)


def read_pair(
    reply: Reply, level: Level, chat: Chat, others: Sequence[TableQuestion] = ()
) -> TableQuestion:
    """Return the question in `reply`. Raises BadReply if it has a fault, or `others` have it."""
    if reply.reason:
        raise BadReply(f"the reply is not a complete answer: {reply.reason}")
    try:
        pair = _Pair.model_validate(last_object(reply.text, "question"))
    except ValidationError as error:
        wrong = error.errors()[0]
        raise BadReply(f"the field {wrong['loc'][0]!r} is wrong: {wrong['msg']}") from None
    refs = {named.name: _found(named, chat.tables) for named in pair.cells}
    if not refs or len(refs) < len(pair.cells):
        raise BadReply("the cells are empty, or two have one name")
    own = by_id(chat.tables.values())
    cells: dict[str, Cell] = {name: own[ref.grid_id].cell(ref) for name, ref in refs.items()}
    expression, value, unit, scale = "", None, "", 1.0
    if level == "hard":
        labels = [f"{named.row} {named.column}" for named in pair.cells]
        check_figures(pair.answer, pair.steps, cells, " ".join([pair.question, *labels]))
    else:
        expression = pair.expression or next(iter(refs))
        value, unit, scale = computed(expression, cells, pair.answer)
    question = TableQuestion(
        question_id=f"{chat.chain_id}-{level}",
        chain_id=chat.chain_id,
        level=level,
        filing_id=chat.filing.filing_id,
        passage_id=chat.passage.passage_id,
        kind="extraction" if level == "easy" else pair.kind.lower() or level,
        question=" ".join(pair.question.split()),
        answer=" ".join(pair.answer.split()),
        steps=tuple(pair.steps),
        cells=refs,
        expression=expression,
        value=value,
        unit=unit,
        scale=scale,
    )
    if any((one.level, one.expression, one.cells) == (level, expression, refs) for one in others):
        raise BadReply("the same is asked already")
    if fault := fault_of(question, own, chat.filing.company):
        raise BadReply(fault)
    return question


def _found(named: _Named, tables: Mapping[str, Grid]) -> CellRef:
    if named.table not in tables:
        raise BadReply(f"there is no table {named.table!r}: the tables are {', '.join(tables)}")
    grid, places = tables[named.table], []
    sides = (("row", grid.rows, named.row), ("column", grid.columns, named.column))
    for what, labels, label in sides:
        at = [number for number, other in enumerate(labels) if other.split() == label.split()]
        if len(at) != 1:
            raise BadReply(f"the {what} {label!r} occurs {len(at)} times in table {named.table}")
        places += at
    ref = CellRef(grid_id=grid.grid_id, row=places[0], column=places[1])
    if grid.cell(ref).value is None:
        raise BadReply(f"the cell {named.row!r}, {named.column!r} is not a number")
    return ref


def _chats(texts: Texts, seed: int) -> list[Chat]:
    chance, chats = random.Random(seed), []
    for passage in texts.passages.values():
        own = {f"T{at}": texts.grids[name] for at, name in enumerate(passage.grid_ids, 1)}
        rows = [
            (name, row)
            for name, grid in own.items()
            for row, cells in zip(grid.rows, grid.cells, strict=True)
            if row.strip() and any(cell.value is not None for cell in cells)
        ]
        chance.shuffle(rows)
        filing = texts.filings[passage.filing_id]
        for at, row in enumerate(rows):
            chat = Chat(f"{passage.passage_id}-m{at}", filing, passage, own, row)
            chats.append((at, chance.random(), chat))
    return [chat for *_, chat in sorted(chats, key=lambda one: one[:2])]  # passages in turn
