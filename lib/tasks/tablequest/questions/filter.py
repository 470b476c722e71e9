"""Filter questions by quality: a question must be relevant, reasonable, valid and distinct."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from rapidfuzz import fuzz

from lib.core.records import Record, Rejected
from lib.core.values import folded as plain
from lib.tasks.tablequest.analyze.amounts import amounts
from lib.tasks.tablequest.questions.check import verified
from lib.tasks.tablequest.questions.wording import folded, label_of, period_of
from lib.tasks.tablequest.records import Filing, Grid, Passage, TableQuestion, by_id, own_label

CRITERIA = ("relevant", "reasonable", "valid")
LEAST_SIMILAR = 90.0  # rapidfuzz's token_sort_ratio (0 to 100) from which words are nearly the same
# "the table above", "following passage", "in this text"; not "the table of leases"
_POINTS = re.compile(
    r"\b(?:this|the|these) (?:table|passage|text|document|excerpt|context)s? (?:above|below)\b|"
    r"\b(?:above|following|provided|given) (?:table|passage|text|context)\b|"
    r"\b(?:in|from|of) (?:this|the) (?:passage|excerpt|context|text|table)\b", re.I)
_SUFFIX = re.compile(r"\b(?:inc|incorporated|corp|corporation|co|company|ltd|llc|plc|the|group"
                     r"|holdings?)\b")
_MOST_WORDS = 130


class Screening(Record):
    """A filter's findings on a question: for each criterion, "" if met, else the reason."""

    question_id: str
    by: str  # "rules" or a model's id
    relevant: str
    reasonable: str
    valid: str

    @property
    def fault(self) -> str:
        """Return the first criterion that is not met, with its reason; "" if all are met."""
        return next((f"not {name}: {reason}" for name in CRITERIA
                     if (reason := getattr(self, name))), "")


@dataclass(frozen=True)
class Synthesis:
    """The questions of a study, what was left out, and each filter's findings on every question."""

    questions: list[TableQuestion]
    rejected: list[Rejected]
    screenings: list[Screening] = field(default_factory=list)


def screened(questions: Iterable[TableQuestion], filings: Iterable[Filing],
             passages: Iterable[Passage], grids: Mapping[str, Grid]) -> list[Screening]:
    """Return the rules' findings on each question, in order; `grids` are by grid_id."""
    of_filing, read = by_id(filings), by_id(passages)
    return [screened_by_rules(one, of_filing[one.filing_id], read[one.passage_id], grids)
            for one in questions]


def screened_by_rules(question: TableQuestion, filing: Filing, passage: Passage,
                      grids: Mapping[str, Grid]) -> Screening:
    """Return the rules' findings on a question; `grids` are by grid_id."""
    return Screening(question_id=question.question_id, by="rules",
                     relevant=_irrelevance(question, filing, passage),
                     reasonable=_unreason(question, grids), valid=verified(question, grids))


def _irrelevance(question: TableQuestion, filing: Filing, passage: Passage) -> str:
    used = {ref.grid_id for ref in question.cells.values()}
    if elsewhere := sorted(used.difference(passage.grid_ids)):
        return f"the table {elsewhere[0]} is not in the passage"
    company = folded(filing.company)
    words = _SUFFIX.sub("", company).split() or company.split()
    if not set(words[:2]) <= set(folded(question.question).split()):
        return f"the question does not name {filing.company}"
    if not re.search(r"\b(?:19|20)\d\d\b", question.question):
        return "the question names no year"
    if pointing := _POINTS.search(re.sub(r'"[^"]*"', '""', question.question)):
        return f"the question points at what a reader may not have: {pointing[0]!r}"
    return ""


def _unreason(question: TableQuestion, grids: Mapping[str, Grid]) -> str:
    n_cells, n_words = len(question.cells), len(question.question.split())
    if n_words > _MOST_WORDS:
        return f"the question has {n_words} words, at most {_MOST_WORDS} are read"
    if question.level != "easy" and n_cells < 2:
        what = "a calculation" if question.level == "medium" else "an analysis"
        return f"{what} rests on one cell"
    if question.level == "hard":
        return ""
    named = {amount.value for amount in amounts(question.question)}
    if question.kind != "comparison" and any(amount.value in named and not amount.is_year
                                             for amount in amounts(question.answer)):
        return "the question itself names the figure that it asks for"
    kinds = {(cell.unit, cell.scale) for ref in question.cells.values()
             if (grid := grids.get(ref.grid_id)) and ref.row < len(grid.cells)
             and ref.column < len(grid.columns) for cell in (grid.cell(ref),)}
    different = {scale for _, scale in kinds} if question.kind == "ratio" else kinds
    if len(different) > 1:
        return "the cells differ in unit or scale: " + ", ".join(
            f"{unit or 'none'} × {scale:g}" for unit, scale in sorted(kinds))
    return ""


def duplicate_of(question: TableQuestion, others: Iterable[TableQuestion],
                 grids: Mapping[str, Grid]) -> TableQuestion | None:
    """Return the first of `others`, on the same filing and level, that asks nearly the same.

    Questions from one pattern share most of their words, so similar words count only together with
    the same numbers and with the same answer or cells. Whatever its words, a question is also a
    duplicate if another of its kind uses the same figures for the same years in rows that share a
    word, because reports print net income three times.
    """
    scope = (question.filing_id, question.level)
    return next((other for other in others if (other.filing_id, other.level) == scope
                 and _is_same(question, other, grids)), None)


def _is_same(one: TableQuestion, other: TableQuestion, grids: Mapping[str, Grid]) -> bool:
    words = [folded(question.question) for question in (one, other)]
    if words[0] == words[1] or one.kind == other.kind and _has_same_figures(one, other, grids):
        return True
    if not fuzz.token_sort_ratio(*words, score_cutoff=LEAST_SIMILAR):
        return False
    if set(one.cells.values()) == set(other.cells.values()):
        return True
    numbers = [sorted(re.findall(r"\d+", question.question)) for question in (one, other)]
    return numbers[0] == numbers[1] and plain(one.answer) == plain(other.answer)


def _has_same_figures(one: TableQuestion, other: TableQuestion, grids: Mapping[str, Grid]) -> bool:
    figures, words = [], []
    for question in (one, other):
        cells = [(grids[ref.grid_id], ref) for ref in question.cells.values()
                 if ref.grid_id in grids]
        figures.append(Counter(_figure(grid, ref) for grid, ref in cells))
        words.append({word for grid, ref in cells
                      for word in folded(own_label(grid.rows[ref.row])).split()})
    has_years = None not in {year for *_, year in figures[0]}
    return figures[0] == figures[1] and has_years and bool(words[0] & words[1])


def _figure(grid: Grid, ref) -> tuple:
    cell = grid.cell(ref)
    return cell.value, cell.scale, cell.unit, _year_of(grid.columns[ref.column])


@lru_cache(maxsize=4096)
def _year_of(column: str) -> int | None:
    period = period_of(label_of(column))
    return period.order[0] if period else None
