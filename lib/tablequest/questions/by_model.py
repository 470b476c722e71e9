"""A model as annotator: three rounds in one chat over a passage, each fed the pair before, every pair checked.

Chains are asked side by side, one round after the other, so that a round is one batch.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lib.core.prompts import prompt_template
from lib.core.records import Rejected
from lib.core.untrusted import defused
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tablequest.ask.serialize import as_markdown
from lib.tablequest.questions.check import by_id
from lib.tablequest.questions.filter import duplicate_of, screened_by_rules
from lib.tablequest.questions.model_replies import Cells, Ground, Unusable, read_pair, tables_of_passage
from lib.tablequest.questions.places import places, source_of
from lib.tablequest.records import LEVELS, Filing, Grid, Level, Passage, TableQuestion

TAGS = "passage|pair|question|answer|steps|faults"
MAX_TOKENS = 1500  # of a reply
BARREN = 20  # chains in a row that give no question: more of them would cost and give none either
Filter = Callable[[Sequence[TableQuestion]], tuple[list[TableQuestion], list[Rejected]]]
_LAST_CHARACTERS = 3000  # of a reply that cannot be used, shown to the model again


@dataclass(eq=False)
class _Chain:
    """One chat: what it stands on, its messages so far, and its last question."""

    ground: Ground
    filing: Filing
    passage: Passage
    focus: tuple[str, str]  # table and row at which the first question begins
    messages: tuple[tuple[str, str], ...] = ()
    last: TableQuestion | None = None
    fault: str = ""  # why the last reply gave no question; with one the chain ends


def questions_by_model(filings: Sequence[Filing], grids: Sequence[Grid], passages: Sequence[Passage], model: str,
                       calls: Calls | None, per_level: int = 80, seed: int = 42,
                       keep: Filter | None = None) -> tuple[list[TableQuestion], list[Rejected]]:
    """At most `per_level` questions a level of `model`, and what was left out: an unusable reply, why, and its rounds.

    A pair that fails a check is sent back once with the reason. Where chains fail or `keep` drops questions, further
    chains are asked until each level is full, no row is left, or BARREN chains in a row gave nothing.
    Raises ValueError without `calls` or where per_level is below 1, CallsStopped as `lib.llm.complete` does.
    """
    if calls is None:
        raise ValueError(f"the annotator {model!r} is a model: give `calls`, a lib.llm.Calls with the cache of the "
                         "study and what may be spent")
    if per_level < 1:
        raise ValueError(f"per_level is {per_level}: ask for at least 1 question a level")
    waiting = _chains(filings, grids, passages, seed)
    order = {chain.ground.chain_id: number for number, chain in enumerate(waiting)}
    written: list[TableQuestion] = []
    kept: list[TableQuestion] = []
    rejected, barren, tables = [], 0, by_id(grids)
    while waiting and barren < BARREN and (missing := per_level - min(_counts(kept))) > 0:
        wave, waiting = waiting[:missing], waiting[missing:]
        new, left_out = _wave(wave, model, calls, tables, written)
        written += new
        new, dropped = keep(new) if keep else (new, [])
        kept += new
        rejected += [*left_out, *dropped]
        barren = 0 if new else barren + len(wave)
    if waiting and barren >= BARREN:
        rejected.append(_left_out(waiting[0], LEVELS[0], f"not asked, as {len(waiting) - 1} more: the {barren} chains "
                                                         "before gave no question"))
    whole = {chain_id for chain_id, n in Counter(one.chain_id for one in kept).items() if n == len(LEVELS)}
    ranked = sorted(kept, key=lambda one: (one.chain_id not in whole, order[one.chain_id]))
    chosen = [one for level in LEVELS for one in [one for one in ranked if one.level == level][:per_level]]
    rejected += [Rejected(document_id=one.filing_id, item=one.question,
                          reason=f"fits, but each level already has its {per_level} questions")
                 for one in kept if one not in chosen]
    return sorted(chosen, key=lambda one: (order[one.chain_id], LEVELS.index(one.level))), rejected


def _counts(questions: Sequence[TableQuestion]) -> list[int]:
    return [sum(question.level == level for question in questions) for level in LEVELS]


def _wave(chains: Sequence[_Chain], model: str, calls: Calls, tables: Mapping[str, Grid],
          before: Sequence[TableQuestion]) -> tuple[list[TableQuestion], list[Rejected]]:
    """The questions of `chains`, asked side by side, none of them nearly one of `before`; and what was left out."""
    questions, rejected = list(before), []
    for level in LEVELS:
        rejected += [_left_out(chain, level, f"not asked, because the round before gave no question: {chain.fault}")
                     for chain in chains if chain.fault]
        asked = {chain: _task(chain, level) for chain in chains if not chain.fault}
        unread = _round(asked, level, model, calls, tables, questions)
        again = {chain: asked[chain].then(reply.text[-_LAST_CHARACTERS:], prompt_template("tablequest/repair").render(reason=defused(chain.fault, TAGS)))
            for chain, reply in unread.items() if not reply.reason}  # what was cut or refused would be so again
        unread |= _round(again, level, model, calls, tables, questions)
        rejected += [_left_out(chain, level, chain.fault, reply.text) for chain, reply in unread.items() if chain.fault]
    return questions[len(before):], rejected


def _round(asked: Mapping[_Chain, Request], level: Level, model: str, calls: Calls, tables: Mapping[str, Grid],
           questions: list[TableQuestion]) -> dict[_Chain, Reply]:
    """Ask one round: what can be used goes to `questions`; of the rest each reply comes back, its chain at fault."""
    unread = {}
    replies = complete(list(asked.values()), model, calls) if asked else []
    for (chain, request), reply in zip(asked.items(), replies, strict=True):
        try:
            question = _checked(read_pair(reply, level, chain.ground), chain, tables, questions)
        except Unusable as error:
            chain.fault, unread[chain] = str(error), reply
            continue
        questions.append(question)
        kept = request.messages[:-2] if request.attempt else request.messages  # the repair is no part of the chat
        chain.fault, chain.last, chain.messages = "", question, (*kept, ("assistant", reply.text))
    return unread


def _checked(question: TableQuestion, chain: _Chain, tables: Mapping[str, Grid],
             questions: Sequence[TableQuestion]) -> TableQuestion:
    """`question`, where the rules' filter passes it and none of `questions` is nearly the same; else Unusable."""
    if fault := screened_by_rules(question, chain.filing, chain.passage, tables).fault:
        raise Unusable(fault)
    if other := duplicate_of(question, questions, tables):
        raise Unusable(f"nearly the same is asked already: {other.question}")
    return question


def _task(chain: _Chain, level: Level) -> Request:
    """The next round's request: the chat so far and the task, with the pair before."""
    if level == "easy":
        table, row = chain.focus
        prompt = prompt_template("tablequest/easy").render(source=defused(source_of(chain.filing) or chain.filing.company, TAGS),
                          table=table, row=defused(row, TAGS),
                          passage=defused(_shown(chain.passage, chain.ground.tables), TAGS))
        return Request.ask(prompt, max_tokens=MAX_TOKENS)
    before = chain.last
    template = prompt_template("tablequest/medium") if level == "medium" else prompt_template("tablequest/hard")
    text = template.render(question=defused(before.question, TAGS),
                      answer=defused(before.answer, TAGS))
    return Request((*chain.messages, ("user", text)), MAX_TOKENS)


def _shown(passage: Passage, tables: Mapping[str, Grid]) -> str:
    """The passage with its tables as Markdown, each under its name."""
    names = {grid.grid_id: name for name, grid in tables.items()}
    parts = []
    for block in passage.blocks:
        if block.grid_id in names:
            grid = tables[names[block.grid_id]]
            note = f" {grid.unit_note}" if grid.unit_note else ""
            parts.append(f"Table {names[block.grid_id]}{note}:\n\n{as_markdown(grid)}")
        else:
            parts.append(block.text)
    return "\n\n".join(parts)


def _chains(filings: Sequence[Filing], grids: Sequence[Grid], passages: Sequence[Passage], seed: int) -> list[_Chain]:
    """All chains: of filings and passages in turn, each begun at another row of a table, in an order by `seed`."""
    chance, tables = random.Random(seed), by_id(grids)
    waiting: dict[str, list[list[_Chain]]] = {}
    for filing in filings:
        cells = Cells.of(places(filing, [grid for grid in grids if grid.filing_id == filing.filing_id]))
        own = [passage for passage in passages if passage.filing_id == filing.filing_id]
        waiting[filing.filing_id] = [_of_passage(filing, passage, tables, cells, chance) for passage in own]
        chance.shuffle(waiting[filing.filing_id])
    chains: list[_Chain] = []
    while any(any(of_filing) for of_filing in waiting.values()):
        for of_filing in waiting.values():  # one chain a filing in turn, of the passage that waited longest
            if here := next((one for one in of_filing if one), None):
                chains.append(here.pop())
                of_filing.append(of_filing.pop(of_filing.index(here)))
    return chains


def _of_passage(filing: Filing, passage: Passage, tables: Mapping[str, Grid], cells: Cells,
                chance: random.Random) -> list[_Chain]:
    """A chain for each row with a number, of the passage's tables, shuffled."""
    named = tables_of_passage([block.grid_id for block in passage.blocks if block.grid_id in tables], tables)
    focuses = [(name, row) for name, grid in named.items() for number, row in enumerate(grid.rows)
               if row.strip() and any(cell.value is not None for cell in grid.cells[number])]
    chance.shuffle(focuses)
    return [_Chain(Ground(f"{passage.passage_id}-m{number}", filing.filing_id, passage.passage_id, named, cells),
                   filing, passage, focus) for number, focus in enumerate(focuses, 1)]


def _left_out(chain: _Chain, level: Level, reason: str, text: str = "") -> Rejected:
    return Rejected(document_id=chain.filing.filing_id, reason=reason, item=text or f"{chain.ground.chain_id}-{level}")
