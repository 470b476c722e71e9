"""Questions by a model, as the paper's: three rounds in one chat over a passage, then a filter.

All chats run side by side, a round at a time; each round is given the pair before it. Cells are
named by their labels, and an answer is computed again from them.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pydantic import BaseModel, ConfigDict, ValidationError

from lib.core.errors import BadReply
from lib.core.prompts import prompt_template
from lib.core.records import Rejected
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tasks.tablequest.answer.prompts import defused_slots, last_object, serialized, source_of
from lib.tasks.tablequest.questions.checks import computed, fault_of
from lib.tasks.tablequest.records import (
    LEVELS,
    Cell,
    CellRef,
    Filing,
    Grid,
    Level,
    Passage,
    TableQuestion,
    Texts,
    by_id,
)

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
                **defused_slots(
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
    faults = [*map(_filter_fault, complete(requests, model, calls))]
    return [one for one, fault in zip(questions, faults, strict=True) if not fault], [
        Rejected(document_id=one.filing_id, item=one.question, reason=f"{fault} ({model})")
        for one, fault in zip(questions, faults, strict=True)
        if fault
    ]


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
        asked = [(chat, _request(chat, level)) for chat in chats]
        replies = complete([request for _, request in asked], model, calls)
        chats = []
        for (chat, request), reply in zip(asked, replies, strict=True):
            try:
                chat.last = read_pair(reply, level, chat, [*before, *questions])
            except BadReply as error:  # ends the chat
                item = reply.text or f"{chat.chain_id}-{level}"
                rejected.append(
                    Rejected(document_id=chat.filing.filing_id, reason=str(error), item=item)
                )
            else:
                chat.messages = (*request.messages, ("assistant", reply.text))
                questions.append(chat.last)
                chats.append(chat)
    return questions, rejected


def _request(chat: Chat, level: Level) -> Request:
    if pair := chat.last:
        slots = defused_slots(_TAGS, question=pair.question, answer=pair.answer)
        task = _ROUNDS[level].render(**slots)
        return Request((*chat.messages, ("user", task)), _MAX_TOKENS)
    shown = serialized(
        chat.passage,
        by_id(chat.tables.values()),
        "markdown",
        {grid.grid_id: f"Table {name}:" for name, grid in chat.tables.items()},
    )
    table, row = chat.focus
    slots = defused_slots(_TAGS, source=source_of(chat.filing), row=row, passage=shown)
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
    expression, value, unit, scale = "", None, "", 1.0
    if level != "hard":
        cells: dict[str, Cell] = {name: own[ref.grid_id].cell(ref) for name, ref in refs.items()}
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
            chats.append(
                (
                    at,
                    chance.random(),
                    Chat(f"{passage.passage_id}-m{at}", filing, passage, own, row),
                )
            )
    return [chat for *_, chat in sorted(chats, key=lambda one: one[:2])]  # passages in turn
