"""Annotate with a model: three rounds in one chat over a passage, with every pair checked.

Each round is given the previous pair. All chains run in parallel and round by round, so each round
is one batch.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lib.core.errors import BadReply
from lib.core.prompts import prompt_template
from lib.core.records import Rejected
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tasks.tablequest.ask.prompts import defused_slots
from lib.tasks.tablequest.ask.serialize import as_markdown
from lib.tasks.tablequest.places.places import places, source_of
from lib.tasks.tablequest.questions.filter import (
    Screening,
    Synthesis,
    duplicate_of,
    screened,
    screened_by_rules,
)
from lib.tasks.tablequest.questions.filter_by_model import kept, screened_by_model
from lib.tasks.tablequest.questions.model_replies import Cells, Ground, read_pair
from lib.tasks.tablequest.records import LEVELS, Filing, Grid, Level, Passage, TableQuestion, by_id

TAGS = "passage|pair|question|answer|steps"
MAX_TOKENS = 1500  # per reply
BARREN = 20  # chains in a row without a question, after which more would probably waste money
Filter = Callable[[Sequence[TableQuestion]], tuple[list[TableQuestion], list[Rejected]]]
_LAST_CHARACTERS = 3000  # the end of an unusable reply that the model is shown again


@dataclass(eq=False)
class _Chain:
    ground: Ground
    filing: Filing
    passage: Passage
    focus: tuple[str, str]  # table and row at which the first question begins
    messages: tuple[tuple[str, str], ...] = ()
    last: TableQuestion | None = None
    fault: str = ""  # why the last reply gave no question, which ends the chain

    def left_out(self, level: Level, reason: str, text: str = "") -> Rejected:
        item = text or f"{self.ground.chain_id}-{level}"
        return Rejected(document_id=self.filing.filing_id, reason=reason, item=item)


def synthesis_by_model(filings: Sequence[Filing], grids: Sequence[Grid],
                       passages: Sequence[Passage], model: str, calls: Calls, per_level: int = 80,
                       seed: int = 42) -> Synthesis:
    """Return the questions that `model` writes and then filters.

    Raises ValueError and Stopped as `questions_by_model` does.
    """
    screenings: list[Screening] = []
    tables = by_id(grids)

    def keep(new: Sequence[TableQuestion]) -> tuple[list[TableQuestion], list[Rejected]]:
        by_model = screened_by_model(new, filings, passages, tables, model, calls)
        screenings.extend([*screened(new, filings, passages, tables), *by_model])
        return kept(new, by_model)

    questions, rejected = questions_by_model(filings, grids, passages, model, calls, per_level,
                                             seed, keep)
    return Synthesis(questions, rejected, screenings)


def questions_by_model(filings: Sequence[Filing], grids: Sequence[Grid],
                       passages: Sequence[Passage], model: str, calls: Calls, per_level: int = 80,
                       seed: int = 42, keep: Filter | None = None,
                       ) -> tuple[list[TableQuestion], list[Rejected]]:
    """Return at most `per_level` questions per level, and what was left out and why.

    A pair that fails a check is sent back once with the reason. If chains fail or `keep` drops
    questions, further chains are asked until each level is full, no row is left, or BARREN chains
    in a row gave no question. Raises ValueError if per_level is below 1, and Stopped as
    `complete` does.
    """
    if per_level < 1:
        raise ValueError(f"per_level is {per_level}: ask for at least 1 question per level")
    waiting = _chains(filings, grids, passages, seed)
    order = {chain.ground.chain_id: number for number, chain in enumerate(waiting)}
    written: list[TableQuestion] = []
    found: list[TableQuestion] = []
    rejected, barren, tables = [], 0, by_id(grids)
    while waiting and barren < BARREN:
        n_found = min(sum(one.level == level for one in found) for level in LEVELS)
        if n_found >= per_level:
            break
        wave = waiting[:per_level - n_found]
        waiting = waiting[len(wave):]
        new, left_out = _wave(wave, model, calls, tables, written)
        written += new
        new, dropped = keep(new) if keep else (new, [])
        found += new
        rejected += [*left_out, *dropped]
        barren = 0 if new else barren + len(wave)
    if waiting and barren >= BARREN:
        rejected.append(waiting[0].left_out(
            LEVELS[0], f"not asked, as {len(waiting) - 1} more: the {barren} chains before gave no "
                       "question"))
    chosen, dropped = _chosen(found, order, per_level)
    return chosen, rejected + dropped


def _chosen(found: list[TableQuestion], order: Mapping[str, int],
            per_level: int) -> tuple[list[TableQuestion], list[Rejected]]:
    n_of_chain = Counter(one.chain_id for one in found)
    ranked = sorted(found, key=lambda one: (n_of_chain[one.chain_id] < len(LEVELS),
                                            order[one.chain_id]))
    chosen = []
    for level in LEVELS:
        chosen += [one for one in ranked if one.level == level][:per_level]
    dropped = [Rejected(document_id=one.filing_id, item=one.question,
                        reason=f"fits, but each level already has its {per_level} questions")
               for one in found if one not in chosen]
    return sorted(chosen, key=lambda one: (order[one.chain_id], LEVELS.index(one.level))), dropped


def _wave(chains: Sequence[_Chain], model: str, calls: Calls, tables: Mapping[str, Grid],
          before: Sequence[TableQuestion]) -> tuple[list[TableQuestion], list[Rejected]]:
    questions, rejected = list(before), []
    for level in LEVELS:
        rejected += [chain.left_out(level, "not asked, because the round before gave no question: "
                                           f"{chain.fault}") for chain in chains if chain.fault]
        asked = {chain: _task(chain, level) for chain in chains if not chain.fault}
        unread = _round(asked, level, model, calls, tables, questions)
        again = {chain: asked[chain].then(
            reply.text[-_LAST_CHARACTERS:],
            prompt_template("tablequest/repair").render(
                **defused_slots(TAGS, reason=chain.fault)))
            for chain, reply in unread.items() if not reply.reason}  # else it fails again
        unread |= _round(again, level, model, calls, tables, questions)
        rejected += [chain.left_out(level, chain.fault, reply.text)
                     for chain, reply in unread.items() if chain.fault]
    return questions[len(before):], rejected


def _round(asked: Mapping[_Chain, Request], level: Level, model: str, calls: Calls,
           tables: Mapping[str, Grid], questions: list[TableQuestion]) -> dict[_Chain, Reply]:
    unread = {}
    replies = complete(list(asked.values()), model, calls) if asked else []
    for (chain, request), reply in zip(asked.items(), replies, strict=True):
        try:
            question = read_pair(reply, level, chain.ground)
            _check(question, chain, tables, questions)
        except BadReply as error:
            chain.fault, unread[chain] = str(error), reply
            continue
        questions.append(question)
        # The chat goes on without the unusable reply and the request to repair it.
        before = request.messages[:-2] if request.attempt else request.messages
        chain.messages = (*before, ("assistant", reply.text))
        chain.fault, chain.last = "", question
    return unread


def _check(question: TableQuestion, chain: _Chain, tables: Mapping[str, Grid],
           questions: Sequence[TableQuestion]) -> None:
    if fault := screened_by_rules(question, chain.filing, chain.passage, tables).fault:
        raise BadReply(fault)
    if other := duplicate_of(question, questions, tables):
        raise BadReply(f"nearly the same is asked already: {other.question}")


def _task(chain: _Chain, level: Level) -> Request:
    if level == "easy":
        table, row = chain.focus
        slots = defused_slots(TAGS, source=source_of(chain.filing) or chain.filing.company, row=row,
                              passage=_shown(chain.passage, chain.ground.tables))
        return Request.ask(prompt_template("tablequest/easy").render(table=table, **slots),
                           max_tokens=MAX_TOKENS)
    template = (prompt_template("tablequest/medium") if level == "medium" else
                prompt_template("tablequest/hard"))
    task = template.render(**defused_slots(TAGS, question=chain.last.question,
                                           answer=chain.last.answer))
    return Request((*chain.messages, ("user", task)), MAX_TOKENS)


def _shown(passage: Passage, tables: Mapping[str, Grid]) -> str:
    names = {grid.grid_id: name for name, grid in tables.items()}
    parts = []
    for block in passage.blocks:
        if name := names.get(block.grid_id):
            note = f" {tables[name].unit_note}" if tables[name].unit_note else ""
            parts.append(f"Table {name}{note}:\n\n{as_markdown(tables[name])}")
        else:
            parts.append(block.text)
    return "\n\n".join(parts)


def _chains(filings: Sequence[Filing], grids: Sequence[Grid], passages: Sequence[Passage],
            seed: int) -> list[_Chain]:
    chance, tables = random.Random(seed), by_id(grids)
    waiting: list[list[list[_Chain]]] = []
    for filing in filings:
        own = [grid for grid in grids if grid.filing_id == filing.filing_id]
        cells = {place.ref: place for place in places(filing, own)}
        of_filing = [_of_passage(filing, passage, tables, cells, chance)
                     for passage in passages if passage.filing_id == filing.filing_id]
        chance.shuffle(of_filing)
        waiting.append(of_filing)
    chains: list[_Chain] = []
    while any(map(any, waiting)):
        for of_filing in waiting:  # one chain per filing, from the passage that waited longest
            if here := next((one for one in of_filing if one), None):
                chains.append(here.pop())
                of_filing.append(of_filing.pop(of_filing.index(here)))
    return chains


def _of_passage(filing: Filing, passage: Passage, tables: Mapping[str, Grid], cells: Cells,
                chance: random.Random) -> list[_Chain]:
    used = [tables[grid_id] for grid_id in passage.grid_ids if grid_id in tables]
    named = {f"T{number}": grid for number, grid in enumerate(used, 1)}
    focuses = [(name, row) for name, grid in named.items()
               for row, values in zip(grid.rows, grid.cells, strict=True)
               if row.strip() and any(cell.value is not None for cell in values)]
    chance.shuffle(focuses)
    return [_Chain(Ground(f"{passage.passage_id}-m{number}", filing.filing_id, passage.passage_id,
                          named, cells), filing, passage, focus)
            for number, focus in enumerate(focuses, 1)]
