"""A passage as prompts show it; questions on it by a model in three rounds, and the filter."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, zip_longest
from operator import itemgetter

from pydantic import BaseModel, ConfigDict, ValidationError

from lib.core.prompts import escape_prompt_markup, objects_in, prompt_template
from lib.core.records import Rejected
from lib.core.store import BadReply
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tablequest.checks import check_figures, computed, fault_of
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
    """The rounds on one passage: each has a pair for each row at which a first one begins."""

    chat_id: str
    filing: Filing
    passage: Passage
    tables: Mapping[str, Grid]  # the passage's, by their names in the prompt: "T1", …
    rows: Mapping[str, tuple[str, str]]  # number -> table and row
    messages: tuple[tuple[str, str], ...] = ()
    last: dict[str, TableQuestion] = field(default_factory=dict)  # of the round before, by number


def ask_by_model(
    texts: Texts, model: str, calls: Calls, per_level: int, seed: int
) -> tuple[list[TableQuestion], list[Rejected]]:
    """Return at most `per_level` questions per level, and what was left out and why.

    A pair that fails a check twice ends its chain. More chats begin until each level is full, no
    row is left or no chat gives a question. Raises Stopped as `complete` does.
    """
    waiting, kept, rejected, missing, barren = _chats(texts, seed), [], [], per_level, 0
    chosen: list[TableQuestion] = []
    while waiting and missing > 0 and barren < _MOST_BARREN:
        n_chats = -(-missing * _STARTS // _ROWS)
        wave, waiting = waiting[:n_chats], waiting[n_chats:]
        written, failed = _rounds(wave, model, calls, kept)
        new, dropped = filtered(written, texts, model, calls)
        kept, rejected = kept + new, rejected + failed + dropped
        barren = 0 if new else barren + len(wave)
        chosen = _chosen(kept, per_level)
        missing = per_level - min(sum(one.level == level for one in chosen) for level in LEVELS)
    return chosen, rejected


def _chosen(kept: Sequence[TableQuestion], per_level: int) -> list[TableQuestion]:
    # filings in turn; a cell is used by at most _MOST_USES
    chosen, uses = [], Counter()
    for level in LEVELS:
        turns, room = defaultdict(count), per_level
        of_level = [one for one in kept if one.level == level]
        for one in sorted(of_level, key=lambda one, turns=turns: next(turns[one.filing_id])):
            cells = {*one.cells.values()}
            if room and all(uses[cell] < _MOST_USES for cell in cells):
                chosen, room = [*chosen, one], room - 1
                uses.update(cells)
    return chosen


def filtered(
    questions: Sequence[TableQuestion], texts: Texts, model: str, calls: Calls
) -> tuple[list[TableQuestion], list[Rejected]]:
    """Return the questions that `model` calls relevant, reasonable and valid, and the others.

    A reply without a clear decision counts as a no. Raises Stopped as `complete` does.
    """
    groups, faults = defaultdict(list), {}
    for one in questions:
        groups[one.passage_id].append(one)
    requests = [_check(texts, key, group) for key, group in groups.items()]
    for group, reply in zip(groups.values(), complete(requests, model, calls), strict=True):
        checks = _numbered(reply, "checks")
        for number, one in enumerate(group, 1):
            faults[one.question_id] = _filter_fault(reply, checks.get(str(number), {}))
    rejected = [
        _rejected(one.filing_id, one.question, f"{fault} ({model})")
        for one in questions
        if (fault := faults[one.question_id])
    ]
    return [one for one in questions if not faults[one.question_id]], rejected


def _check(texts: Texts, passage_id: str, questions: Sequence[TableQuestion]) -> Request:
    shown = [
        {"level": one.level, "question": one.question, "answer": one.answer}
        | {"steps": "\n".join(one.steps)}
        for one in questions
    ]
    passage = serialized(texts.passages[passage_id], texts.grids, "markdown")
    slots = escape_slots(_TAGS, passage=passage)
    return Request.ask(
        prompt_template("tablequest/filter").render(
            questions=[escape_slots(_TAGS, **one) for one in shown], **slots
        ),
        max_tokens=_MAX_TOKENS,
    )


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
    objects = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return {} if reply.reason else {str(one.get("number")): one for one in objects}


def _rejected(filing_id: str, text: str, reason: str) -> Rejected:
    return Rejected(document_id=filing_id, rejected_text=text, reason=reason)


def _rounds(
    chats: Sequence[Chat], model: str, calls: Calls, before: Sequence[TableQuestion]
) -> tuple[list[TableQuestion], list[Rejected]]:
    questions, rejected, known = [], [], {*map(_task, before)}
    for level in LEVELS:
        asked = [(chat, _request(chat, level), [*(chat.last or chat.rows)]) for chat in chats]
        for chat, request, _ in asked:
            chat.messages, chat.last = request.messages, {}
        for is_repair in (False, True):
            replies, again = complete([one[1] for one in asked], model, calls), []
            for (chat, request, numbers), reply in zip(asked, replies, strict=True):
                faults = _read(reply, level, chat, numbers, known)
                chat.last = dict(sorted(chat.last.items()))
                rejected += faults.values()
                chat.messages += () if is_repair else (("assistant", reply.text),)
                if faults:
                    repair = request.then(reply.text, _REPAIR.render(faults=faults))
                    again.append((chat, repair, [*faults]))
            asked = again
        chats = [chat for chat in chats if chat.last]
        in_turn = zip_longest(*(chat.last.values() for chat in chats))
        questions += [one for turn in in_turn for one in turn if one]
    return questions, rejected


def _task(question: TableQuestion) -> tuple:
    return question.level, question.expression, frozenset(question.cells.items())


def _read(
    reply: Reply, level: Level, chat: Chat, numbers: Sequence[str], known: set[tuple]
) -> dict[str, Rejected]:
    # the pairs go to the chat, the tasks that they set to `known`, and faults are returned
    pairs, faults = _numbered(reply, "pairs"), {}
    for number in [one for one in numbers if one in pairs] or numbers:  # one may be left out
        pair = pairs.get(number, {})
        try:
            if not pair:
                raise BadReply("the reply has no such pair")
            question = read_pair(pair, level, chat, number)
            if _task(question) in known:
                raise BadReply("the same is asked already")
            chat.last[number] = question
            known.add(_task(question))
        except BadReply as error:
            text, reason = json.dumps(pair, ensure_ascii=False), reply.reason or str(error)
            faults[number] = _rejected(chat.filing.filing_id, text, reason)
    return faults


def _request(chat: Chat, level: Level) -> Request:
    if chat.last:
        pairs = {
            number: escape_slots(_TAGS, question=pair.question, answer=pair.answer).values()
            for number, pair in chat.last.items()
        }
        task = _ROUNDS[level].render(pairs=pairs)
        return Request((*chat.messages, ("user", task)), _MAX_TOKENS)
    shown = serialized(
        chat.passage,
        by_id(chat.tables.values()),
        "markdown",
        {grid.grid_id: f"Table {name}:" for name, grid in chat.tables.items()},
    )
    rows = {
        number: (table, escape_prompt_markup(row, _TAGS))
        for number, (table, row) in chat.rows.items()
    }
    slots = escape_slots(_TAGS, source=source_of(chat.filing), passage=shown)
    return Request.ask(_ROUNDS[level].render(rows=rows, **slots), max_tokens=_MAX_TOKENS)


def read_pair(written: dict, level: Level, chat: Chat, number: str) -> TableQuestion:
    """Return the pair as a question. Raises BadReply if it has a fault."""
    try:
        pair = _Pair.model_validate(written)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise BadReply(f"the field {wrong['loc'][0]!r} is wrong: {wrong['msg']}") from None
    refs = {named.name: _found(named, chat.tables) for named in pair.cells}
    if not refs or len(refs) < len(pair.cells):
        raise BadReply("the cells are empty, or two have one name")
    own = by_id(chat.tables.values())
    cells: dict[str, Cell] = {name: own[ref.grid_id].cell(ref) for name, ref in refs.items()}
    read = [
        f"{name}: {own[ref.grid_id].label(ref)} = {cells[name].text}" for name, ref in refs.items()
    ]
    expression, value, unit, scale = "", None, "", 1.0
    if level == "hard":
        check_figures(pair.answer, pair.steps, cells, " ".join([pair.question, *read]))
    else:
        expression = pair.expression or next(iter(refs))
        value, unit, scale = computed(expression, cells, pair.answer)
    chain_id = f"{chat.chat_id}.{number}"
    question = TableQuestion(
        question_id=f"{chain_id}-{level}",
        chain_id=chain_id,
        level=level,
        filing_id=chat.filing.filing_id,
        passage_id=chat.passage.passage_id,
        kind="extraction" if level == "easy" else pair.kind.lower() or level,
        question=" ".join(pair.question.split()),
        answer=" ".join(pair.answer.split()),
        steps=(*read, *pair.steps),
        cells=refs,
        expression=expression,
        value=value,
        unit=unit,
        scale=scale,
    )
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
            if row.strip()
            and grid.rows.count(row) == 1
            and any(cell.value is not None for cell in cells)
        ]
        chance.shuffle(rows)
        filing = texts.filings[passage.filing_id]
        for at in range(0, len(rows), _ROWS):
            numbered = {str(number): row for number, row in enumerate(rows[at : at + _ROWS], 1)}
            chat = Chat(f"{passage.passage_id}-m{at}", filing, passage, own, numbered)
            chats.append((at, chance.random(), chat))
    turns = defaultdict(count)
    in_turn = [chat for *_, chat in sorted(chats, key=itemgetter(0, 1))]  # passages, then filings
    return sorted(in_turn, key=lambda chat: next(turns[chat.filing.filing_id]))
