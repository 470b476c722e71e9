"""Write questions on grids by rules, in checked chains of easy, medium and hard over a passage."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from lib.core.records import Rejected
from lib.tasks.tablequest.places.places import Place, places
from lib.tasks.tablequest.questions.drafts import Draft
from lib.tasks.tablequest.questions.filter import (
    Synthesis,
    duplicate_of,
    screened,
    screened_by_rules,
)
from lib.tasks.tablequest.questions.hard import hards_of
from lib.tasks.tablequest.questions.medium import easy_of, mediums_of
from lib.tasks.tablequest.questions.tables import Table, tables_of
from lib.tasks.tablequest.records import LEVELS, Filing, Grid, Level, Passage, TableQuestion, by_id

_MOST_TRIED = 400  # cells of a table; of a longer one, every second, third … is tried


@dataclass
class _Anchor:
    place: Place
    mediums: list[Draft]
    hards: list[Draft]


@dataclass
class _Choice:
    per_level: int
    chance: random.Random
    grids: dict[str, Grid]
    chosen: list[TableQuestion] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    kinds: Counter[tuple[Level, str]] = field(default_factory=Counter)
    rows: Counter[tuple[str, int]] = field(default_factory=Counter)
    chains: Counter[str] = field(default_factory=Counter)  # per filing and per passage

    @property
    def is_full(self) -> bool:
        return len(self.chosen) >= len(LEVELS) * self.per_level

    def rank(self, anchor: _Anchor) -> tuple:
        """Rank by chains from the same row, then by those of its rarest kinds, then at random."""
        ref = anchor.place.ref
        n_medium = min(self.kinds["medium", draft.kind] for draft in anchor.mediums)
        n_hard = min(self.kinds["hard", draft.kind] for draft in anchor.hards)
        return self.rows[ref.grid_id, ref.row], n_medium + n_hard, self.chance.random()


Waiting = dict[str, dict[str, list[_Anchor]]]  # filing_id -> passage_id -> anchors


def synthesis_by_rules(filings: Sequence[Filing], grids: Sequence[Grid],
                       passages: Sequence[Passage], per_level: int = 80,
                       seed: int = 42) -> Synthesis:
    """Return at most `per_level` questions per level, screened by the rules.

    Raises ValueError as `questions_by_rules` does.
    """
    questions, rejected = questions_by_rules(filings, grids, passages, per_level, seed)
    return Synthesis(questions, rejected, screened(questions, filings, passages, by_id(grids)))


def questions_by_rules(filings: Sequence[Filing], grids: Sequence[Grid],
                       passages: Sequence[Passage], per_level: int = 80, seed: int = 42,
                       ) -> tuple[list[TableQuestion], list[Rejected]]:
    """Return at most `per_level` chains of three questions, and what was left out and why.

    The chains are spread over filings, their passages, rows and kinds; `seed` breaks ties. There
    are fewer chains if the tables allow fewer. Raises ValueError if per_level is below 1.
    """
    if per_level < 1:
        raise ValueError(f"per_level is {per_level}: ask for at least 1 question per level")
    choice = _Choice(per_level, random.Random(seed), by_id(grids))
    waiting: Waiting = {}
    for filing in filings:
        own = [grid for grid in grids if grid.filing_id == filing.filing_id]
        tables = tables_of(places(filing, own))
        waiting[filing.filing_id] = {
            passage.passage_id: _anchors(passage, tables, choice.rejected)
            for passage in passages if passage.filing_id == filing.filing_id}
    of_filing, of_passage = by_id(filings), by_id(passages)
    while not choice.is_full and (found := _next(waiting, choice)) is not None:
        passage, anchor = of_passage[found[0]], found[1]
        _add_chain(anchor, of_filing[passage.filing_id], passage, choice)
    choice.rejected += [
        Rejected(document_id=filing_id, item=easy_of(anchor.place).question,
                 reason=f"fits, but each level already has its {per_level} questions")
        for filing_id, by_passage in waiting.items() for anchors in by_passage.values()
        for anchor in anchors]
    return choice.chosen, choice.rejected


def _anchors(passage: Passage, tables: dict[str, Table], rejected: list[Rejected]) -> list[_Anchor]:
    anchors = []
    read = [tables[grid_id] for grid_id in passage.grid_ids if grid_id in tables]
    for table in read:
        others = [other for other in read if other is not table]
        for number, place in enumerate(table.places):
            mediums, hards = [], []
            is_tried = number % (1 + len(table.places) // _MOST_TRIED) == 0
            if is_tried and not place.fault:
                mediums = mediums_of(place, table)
            if mediums:
                hards = hards_of(place, table, others)
            if hards:
                anchors.append(_Anchor(place, mediums, hards))
                continue
            reason = place.fault or (
                "not tried, as its table is long" if not is_tried else
                "no analysis of the set rests on the cell" if mediums else
                "no calculation of the set rests on the cell")
            rejected.append(Rejected(
                document_id=passage.filing_id, reason=reason,
                item=f"{place.ref.grid_id}: {place.row or '(no label)'} | "
                     f"{place.column or '(no label)'}"))
    return anchors


def _next(waiting: Waiting, choice: _Choice) -> tuple[str, _Anchor] | None:
    open_filings = [filing_id for filing_id, by_passage in waiting.items()
                    if any(by_passage.values())]
    if not open_filings:
        return None
    filing_id = min(open_filings, key=lambda name: choice.chains[name])
    open_passages = [passage_id for passage_id, anchors in waiting[filing_id].items() if anchors]
    passage_id = min(open_passages,
                     key=lambda name: (choice.chains[name], choice.chance.random()))
    anchors = waiting[filing_id][passage_id]
    best = min(range(len(anchors)), key=lambda number: choice.rank(anchors[number]))
    return passage_id, anchors.pop(best)


def _add_chain(anchor: _Anchor, filing: Filing, passage: Passage, choice: _Choice) -> None:
    chain_id = f"{passage.passage_id}-c{choice.chains[passage.passage_id] + 1}"
    questions: list[TableQuestion] = []
    drafts_of = zip(LEVELS, ([easy_of(anchor.place)], anchor.mediums, anchor.hards), strict=True)
    for level, drafts in drafts_of:
        reasons = []
        for draft in sorted(drafts, key=lambda draft: choice.kinds[level, draft.kind]):
            question = TableQuestion(
                question_id=f"{chain_id}-{level}", chain_id=chain_id, filing_id=filing.filing_id,
                passage_id=passage.passage_id, level=level, **vars(draft))
            reason = _fault(question, filing, passage, choice)
            if not reason:
                questions.append(question)
                break
            reasons.append(Rejected(document_id=filing.filing_id, item=question.question,
                                    reason=reason))
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
