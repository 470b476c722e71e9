"""Questions from grids by rules: chains of easy, medium and hard over one passage, every answer computed again."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from lib.core.records import Rejected
from lib.tablequest.questions.check import by_id
from lib.tablequest.questions.filter import duplicate_of, screened_by_rules
from lib.tablequest.questions.hard import hards_of
from lib.tablequest.questions.medium import Draft, easy_of, mediums_of
from lib.tablequest.questions.places import Place, places
from lib.tablequest.questions.rankings import ranked_mediums_of, rankings_of
from lib.tablequest.questions.tables import Table, tables_of
from lib.tablequest.records import LEVELS, Filing, Grid, Level, Passage, TableQuestion


@dataclass
class _Anchor:
    """A cell from which chains of a passage can start, with all that can be asked from it on."""

    place: Place
    table: Table
    mediums: list[Draft]
    hards: list[Draft]


@dataclass
class _Choice:
    """The chains chosen so far, and the counts by which they are spread."""

    per_level: int
    chance: random.Random
    grids: dict[str, Grid]
    chosen: list[TableQuestion] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    kinds: Counter[tuple[Level, str]] = field(default_factory=Counter)
    rows: Counter[tuple[str, int]] = field(default_factory=Counter)
    chains: Counter[str] = field(default_factory=Counter)  # of a filing, of a passage

    @property
    def is_full(self) -> bool:
        return len(self.chosen) >= len(LEVELS) * self.per_level


def questions_by_rules(filings: Sequence[Filing], grids: Sequence[Grid], passages: Sequence[Passage],
                       per_level: int = 80, seed: int = 42) -> tuple[list[TableQuestion], list[Rejected]]:
    """At most `per_level` chains of three questions, and each cell or question that was left out with its reason.

    The chains are spread over filings, their passages, rows and kinds; equal ones are drawn by `seed`. Fewer come
    where the tables hold fewer. Raises ValueError where per_level is below 1.
    """
    if per_level < 1:
        raise ValueError(f"per_level is {per_level}: ask for at least 1 question a level")
    choice = _Choice(per_level, random.Random(seed), by_id(grids))
    waiting: dict[str, dict[str, list[_Anchor]]] = {}
    for filing in filings:
        own = [grid for grid in grids if grid.filing_id == filing.filing_id]
        found = tables_of(places(filing, own))
        read = [passage for passage in passages if passage.filing_id == filing.filing_id]
        waiting[filing.filing_id] = {passage.passage_id: _anchors(passage, found, choice.rejected) for passage in read}
    of_filing, of_passage = ({filing.filing_id: filing for filing in filings},
                             {passage.passage_id: passage for passage in passages})
    while not choice.is_full and (anchors := _next(waiting, choice)) is not None:
        passage_id, anchor = anchors
        _chain(anchor, of_filing[of_passage[passage_id].filing_id], of_passage[passage_id], choice)
    choice.rejected += [Rejected(document_id=filing_id, item=easy_of(anchor.place).question,
                                 reason=f"fits, but each level already has its {per_level} questions")
                        for filing_id, by_passage in waiting.items() for anchors in by_passage.values()
                        for anchor in anchors]
    return choice.chosen, choice.rejected


def _anchors(passage: Passage, tables: dict[str, Table], rejected: list[Rejected]) -> list[_Anchor]:
    """The cells of a passage that give a whole chain; why others give none goes to `rejected`."""
    anchors = []
    for grid_id in dict.fromkeys(block.grid_id for block in passage.blocks if block.grid_id in tables):
        table = tables[grid_id]
        for place in table.places:
            mediums = [] if place.fault else [*mediums_of(place, table), *ranked_mediums_of(place, table)]
            hards = [*hards_of(place, table), *rankings_of(place, table)] if mediums else []
            if hards:
                anchors.append(_Anchor(place, table, mediums, hards))
                continue
            reason = place.fault or ("no trend or contrast rests on the cell" if mediums else
                                     "no calculation of the set rests on the cell")
            rejected.append(Rejected(document_id=passage.filing_id, reason=reason,
                                     item=f"{grid_id}: {place.row or '(no label)'} | {place.column or '(no label)'}"))
    return anchors


def _next(waiting: dict[str, dict[str, list[_Anchor]]], choice: _Choice) -> tuple[str, _Anchor] | None:
    """Take the next anchor out of `waiting`: of the filing, then the passage with fewest chains, then of a new row."""
    open_filings = [filing_id for filing_id, by_passage in waiting.items() if any(by_passage.values())]
    if not open_filings:
        return None
    filing_id = min(open_filings, key=lambda name: choice.chains[name])
    of_passage = {passage_id: anchors for passage_id, anchors in waiting[filing_id].items() if anchors}
    passage_id = min(of_passage, key=lambda name: (choice.chains[name], choice.chance.random()))
    anchors = of_passage[passage_id]
    best = min(range(len(anchors)), key=lambda number: (*_rank(anchors[number], choice), choice.chance.random()))
    return passage_id, anchors.pop(best)


def _rank(anchor: _Anchor, choice: _Choice) -> tuple[int, int]:
    ref = anchor.place.ref
    return choice.rows[ref.grid_id, ref.row], min(choice.kinds["medium", draft.kind] for draft in anchor.mediums) + min(
        choice.kinds["hard", draft.kind] for draft in anchor.hards)


def _chain(anchor: _Anchor, filing: Filing, passage: Passage, choice: _Choice) -> None:
    """Add the three questions from `anchor` on, or the reason why there are not three."""
    chain_id = f"{passage.passage_id}-c{choice.chains[passage.passage_id] + 1}"
    questions: list[TableQuestion] = []
    for level, drafts in zip(LEVELS, ([easy_of(anchor.place)], anchor.mediums, anchor.hards), strict=True):
        order = sorted(drafts, key=lambda draft: choice.kinds[level, draft.kind])
        reasons = []
        for draft in order:
            question = _question(draft, level, chain_id, filing, passage)
            reason = _fault(question, filing, passage, choice)
            if not reason:
                questions.append(question)
                break
            reasons.append(Rejected(document_id=filing.filing_id, item=question.question, reason=reason))
        else:
            choice.rejected += reasons
            return
    choice.chosen += questions
    choice.chains.update((filing.filing_id, passage.passage_id))
    choice.kinds.update((question.level, question.kind) for question in questions)
    choice.rows[anchor.place.ref.grid_id, anchor.place.ref.row] += 1


def _fault(question: TableQuestion, filing: Filing, passage: Passage, choice: _Choice) -> str:
    if reason := screened_by_rules(question, filing, passage, choice.grids).fault:
        return reason
    other = duplicate_of(question, choice.chosen, choice.grids)
    return f"nearly the same is asked already: {other.question_id}" if other else ""


def _question(draft: Draft, level: Level, chain_id: str, filing: Filing, passage: Passage) -> TableQuestion:
    return TableQuestion(question_id=f"{chain_id}-{level}", chain_id=chain_id, filing_id=filing.filing_id,
                         passage_id=passage.passage_id, level=level, kind=draft.kind, question=draft.question,
                         answer=draft.answer, steps=draft.steps, cells=draft.cells, expression=draft.expression,
                         value=draft.value, unit=draft.unit, scale=draft.scale)
