"""The quality filter: is a question relevant, reasonable and valid? Each doubt keeps its reason; near-duplicates go."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from rapidfuzz import fuzz

from lib.core.records import Record
from lib.core.values import folded as plain
from lib.tablequest.analyze.amounts import amounts
from lib.tablequest.questions.check import MOST_SENTENCES, n_sentences, verified
from lib.tablequest.questions.periods import label_of, period_of
from lib.tablequest.questions.places import folded
from lib.tablequest.records import Filing, Grid, Passage, TableQuestion

CRITERIA = ("relevant", "reasonable", "valid")
LEAST_SIMILAR = 90.0  # rapidfuzz's token_sort_ratio from which two questions are nearly the same, 0-100
_POINTS = re.compile(r"\b(?:this|the|these) (?:table|passage|text|document|excerpt|context)s? (?:above|below)\b|"
                     r"\b(?:above|following|provided|given) (?:table|passage|text|context)\b|"
                     r"\b(?:in|from|of) (?:this|the) (?:passage|excerpt|context|text|table)\b", re.I)
_SUFFIX = re.compile(r"\b(?:inc|incorporated|corp|corporation|co|company|ltd|llc|plc|the|group|holdings?)\b")
_MOST_WORDS = 130


class Screening(Record):
    """What one filter says of a question: for each criterion "" where it is met, else the reason."""

    question_id: str
    by: str  # "rules" or a model's id
    relevant: str
    reasonable: str
    valid: str

    @property
    def fault(self) -> str:
        """The first criterion that is not met, with its reason; "" where all are."""
        return next((f"not {name}: {reason}" for name in CRITERIA if (reason := getattr(self, name))), "")


def screened_by_rules(question: TableQuestion, filing: Filing, passage: Passage,
                      grids: Mapping[str, Grid]) -> Screening:
    """The rules' word on one question; `grids` by grid_id."""
    return Screening(question_id=question.question_id, by="rules", relevant=_relevant(question, filing, passage),
                     reasonable=_reasonable(question, grids), valid=verified(question, grids))


def _relevant(question: TableQuestion, filing: Filing, passage: Passage) -> str:
    """Whether the question stands alone and is about the passage's own tables."""
    there = {block.grid_id for block in passage.blocks if block.grid_id}
    if elsewhere := sorted({ref.grid_id for ref in question.cells.values()} - there):
        return f"the table {elsewhere[0]} does not stand in the passage"
    company = _SUFFIX.sub("", folded(filing.company)).split() or folded(filing.company).split()
    if not set(company[:2]) <= set(folded(question.question).split()):
        return f"the question does not name {filing.company}"
    if filing.form != "paper" and not re.search(r"\b(?:19|20)\d\d\b", question.question):
        return "the question names no year"
    pointing = _POINTS.search(question.question)
    return f"the question points at what a reader may not have: {pointing[0]!r}" if pointing else ""


def _reasonable(question: TableQuestion, grids: Mapping[str, Grid]) -> str:
    """Whether a reader of reports would ask so, at this level."""
    n_cells, n_words = len(question.cells), len(question.question.split())
    if n_words > _MOST_WORDS:
        return f"the question has {n_words} words, at most {_MOST_WORDS} are read"
    if question.level == "medium" and n_cells < 2:
        return "a calculation rests on one cell"
    if question.level == "hard":
        return ("an analysis rests on one cell" if n_cells < 2 else "" if n_sentences(question.answer) <= MOST_SENTENCES
                else f"the answer has more than {MOST_SENTENCES} sentences")
    said, named = amounts(question.answer), {amount.value for amount in amounts(question.question)}
    if question.kind != "comparison" and any(amount.value in named and not amount.is_year for amount in said):
        return "the question itself names the figure that it asks for"
    kinds = {(cell.unit, cell.scale) for ref in question.cells.values()
             if (grid := grids.get(ref.grid_id)) and ref.row < len(grid.cells) and ref.column < len(grid.columns)
             for cell in (grid.cells[ref.row][ref.column],)}
    is_mixed = len({scale for _, scale in kinds} if question.kind == "ratio" else kinds) > 1
    return "the cells differ in unit or scale: " + ", ".join(
        f"{unit or 'none'} × {scale:g}" for unit, scale in sorted(kinds)) if is_mixed else ""


def duplicate_of(question: TableQuestion, others: Iterable[TableQuestion],
                 grids: Mapping[str, Grid]) -> TableQuestion | None:
    """The one of `others` that asks nearly the same of the same filing at the same level; None where none does.

    Questions from one pattern are alike in most of their words, so similar words count only with the same numbers in
    them, and with the same answer or the same cells. Whatever its words, a question is asked already where one of its
    kind is on the same figures of the same years, on rows that have a word in common: reports print net income thrice.
    """
    return next((other for other in others if (other.filing_id, other.level) == (question.filing_id, question.level)
                 and _same(question, other, grids)), None)


def _same(one: TableQuestion, other: TableQuestion, grids: Mapping[str, Grid]) -> bool:
    words = [folded(question.question) for question in (one, other)]
    if words[0] == words[1] or one.kind == other.kind and _same_figures(one, other, grids):
        return True
    if not fuzz.token_sort_ratio(*words, score_cutoff=LEAST_SIMILAR):
        return False
    cells = [{(ref.grid_id, ref.row, ref.column) for ref in question.cells.values()} for question in (one, other)]
    return cells[0] == cells[1] or (_numbers(one) == _numbers(other) and plain(one.answer) == plain(other.answer))


def _same_figures(one: TableQuestion, other: TableQuestion, grids: Mapping[str, Grid]) -> bool:
    """Whether both rest on the same (value, unit, year), all of which have a year, of rows with a word in common."""
    figures, words = [], []
    for question in (one, other):
        cells = [(grids[ref.grid_id], ref) for ref in question.cells.values() if ref.grid_id in grids]
        figures.append(Counter(((cell := grid.cells[ref.row][ref.column]).value, cell.scale, cell.unit,
                                _year_of(grid.columns[ref.column])) for grid, ref in cells))
        words.append({word for grid, ref in cells for word in folded(grid.rows[ref.row].rpartition(": ")[2]).split()})
    return figures[0] == figures[1] and None not in {year for *_, year in figures[0]} and bool(words[0] & words[1])


@lru_cache(maxsize=4096)
def _year_of(column: str) -> int | None:
    period = period_of(label_of(column))
    return period.order[0] if period else None


def _numbers(question: TableQuestion) -> list[str]:
    return sorted(re.findall(r"\d+", question.question))
