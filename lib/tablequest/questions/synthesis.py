"""From filings to questions: by rules or by a model, each filtered, and what was left out with its reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lib.core.records import Rejected
from lib.tablequest.questions.by_rules import questions_by_rules
from lib.tablequest.questions.check import by_id
from lib.tablequest.questions.filter import Screening, screened_by_rules
from lib.tablequest.records import Filing, Grid, Passage, TableQuestion

if TYPE_CHECKING:
    from lib.llm.calls import Calls


@dataclass(frozen=True)
class Synthesis:
    """The questions of a study, what was left out, and what each filter said of every whole question."""

    questions: list[TableQuestion]
    rejected: list[Rejected]
    screenings: list[Screening]


def synthesize(filings: Sequence[Filing], grids: Sequence[Grid], passages: Sequence[Passage], annotator: str = "rules",
               per_level: int = 80, seed: int = 42, calls: "Calls | None" = None,
               examples: Sequence[str] = ()) -> Synthesis:
    """At most `per_level` questions a level, every answer computed again from the grids.

    `annotator` is "rules" or the id of a model, which then filters too, with `examples` of faults in its prompt.
    Raises ValueError and CallsStopped as `questions_by_rules` and `questions_by_model` do.
    """
    tables, by_filing = by_id(grids), {filing.filing_id: filing for filing in filings}
    read = {passage.passage_id: passage for passage in passages}
    if annotator == "rules":
        questions, rejected = questions_by_rules(filings, grids, passages, per_level, seed)
        return Synthesis(questions, rejected, _screened(questions, by_filing, read, tables))
    from lib.tablequest.questions.by_model import questions_by_model
    from lib.tablequest.questions.filter_by_model import kept, screened_by_model  # the rules need no client
    screenings: list[Screening] = []

    def keep(new: Sequence[TableQuestion]) -> tuple[list[TableQuestion], list[Rejected]]:
        words = screened_by_model(new, filings, passages, tables, annotator, calls, examples)
        screenings.extend([*_screened(new, by_filing, read, tables), *words])
        return kept(new, words)

    questions, rejected = questions_by_model(filings, grids, passages, annotator, calls, per_level, seed, keep)
    return Synthesis(questions, rejected, screenings)


def _screened(questions: Sequence[TableQuestion], filings: Mapping[str, Filing], passages: Mapping[str, Passage],
              grids: Mapping[str, Grid]) -> list[Screening]:
    return [screened_by_rules(one, filings[one.filing_id], passages[one.passage_id], grids) for one in questions]
