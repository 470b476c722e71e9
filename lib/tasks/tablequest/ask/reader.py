"""Answer as the arm "lexical", without a model: pick cells by their labels' words, and compute.

The arm sees what a model sees, the question's words and the passage's tables, but never the
reference. A question that it answers correctly needs only matching of words; a model must do better
to show that it reads.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from lib.core.records import Answer, Query
from lib.tasks.tablequest.ask.prompts import question_id_of
from lib.tasks.tablequest.ask.serialize import printed
from lib.tasks.tablequest.questions.wording import amount, decimals_of
from lib.tasks.tablequest.records import Cell, Grid, Passage, TableQuestion, by_id, own_label

ARM = "lexical"
_CHANGE = r"change|increase|decrease|grow|growth|decline|rise|fall"
# The first operation named by a question's words counts, so percent change is before difference,
# and share before sum.
_OPERATIONS = (
    ("trend", r"\btrends?\b|\bdevelop(?:ed|s)?\b|\bevolved?\b|\bcontrast\b"
              r"|\bdr(?:ove|ives?|iven)\b|\bassess|\banaly[sz]e|\binsight|\bsuggest"),
    ("percent change", rf"(?:percent(?:age)?|%|rate)[^.?]{{0,60}}\b(?:{_CHANGE})"
                       rf"|\b(?:{_CHANGE})[^.?]{{0,60}}(?:percent\b|%)"),
    ("share", r"\b(?:share|percent(?:age)?|proportion|portion|fraction)\b[^.?]{0,60}\bof\b"),
    ("ratio", r"\bratio\b|\bhow many times\b|\btimes as\b|\bdivided by\b"),
    ("average", r"\b(?:average|mean)\b"),
    ("sum", r"\b(?:sum|total of|combined|together|altogether|add(?:ed)? up)\b"),
    ("larger", r"\bwh(?:ich|o)\b[^?]*"
               r"\b(?:larger|greater|higher|more|largest|highest|bigger|most|fastest)\b"),
    ("difference", r"\b(?:difference|change|increase|decrease|exceed|by how much"
                   r"|how much (?:more|less|higher|lower))"))
_MANY = ("sum", "average", "trend", "larger")  # use all years or items named; the others use two
_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')  # an item's name says nothing about the operation
# In "According to Alm's 10-K for 2024, what", the year is not what the question asks about.
_SOURCE = re.compile(r"^(?:according to|based on|in|from)\b.*?, "
                     r"(?=(?:what|which|who|how|by|in which|contrast)\b)", re.I | re.S)
_WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)*")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_FILLER = re.compile(r"an?|the|of|in|for|and|or|to|at|on|by|as|is|was|were|are|what|how|much|many"
                     r"|did|does|do|its|from|with|which|between|than|that|this|years?|fiscal|ended"
                     r"|per")


class _Place(NamedTuple):
    """A cell, its position, and how well its labels fit the question."""

    grid: Grid
    row: int
    column: int
    score: float

    @property
    def cell(self) -> Cell:
        return self.grid.cells[self.row][self.column]

    @property
    def name(self) -> str:
        return f"{self.grid.rows[self.row]}, {self.grid.columns[self.column]}"

    @property
    def own(self) -> str:
        return own_label(self.grid.rows[self.row])

    @property
    def size(self) -> float:
        return self.cell.value * self.cell.scale


def read_by_rules(question: str, passage: Passage, grids: Mapping[str, Grid]) -> str:
    """Return a reply in the form that prompts/tablequest/answer.md asks for.

    A cell's score sums the inverse frequencies of the words that its labels share with the
    question, with a small penalty for other words. A calculation uses the best cells of one row or
    one column. The answer is "" if no cell has a number.
    """
    places = _scored(question, [grids[key] for key in passage.grid_ids])
    operation = operation_of(question)
    if not places:
        chosen, answer = [], ""
    elif operation == "extraction":
        chosen = [max(places, key=lambda place: place.score)]
        answer = printed(chosen[0].cell)
    else:
        chosen = _chosen(question, places, operation)
        answer = _computed(operation, chosen)
    steps = [f"{place.name}: {printed(place.cell)}." for place in chosen]
    return json.dumps({"steps": steps, "answer": answer}, ensure_ascii=False)


def answer_by_rules(queries: Sequence[Query], questions: Sequence[TableQuestion],
                    passages: Sequence[Passage], grids: Sequence[Grid]) -> list[Answer]:
    """Return one reply per query with a context; closed-book queries would need a model's memory.

    Tables are read as grids, so a reply is the same for every serialization, and truncating the
    prompt does not change it.
    """
    asked, read, tables = by_id(questions), by_id(passages), by_id(grids)
    replies: dict[str, str] = {}
    rows = []
    for query in queries:
        if query.context:
            key = question_id_of(query.query_id)
            if key not in replies:
                replies[key] = read_by_rules(asked[key].question, read[query.document_id], tables)
            rows.append(Answer(query_id=query.query_id, arm=ARM, answer=replies[key],
                               n_tokens=len(replies[key].split()), truncated=False))
    return rows


def operation_of(question: str) -> str:
    """Return the operation that the question's words name, or "extraction"."""
    text = _QUOTED.sub(" ", _SOURCE.sub("", question).lower())
    return next((name for name, words in _OPERATIONS if re.search(words, text)), "extraction")


def words_of(text: str) -> list[str]:
    """Return lower-case words and numbers without fillers; a plural loses its s."""
    return [word.removesuffix("s") if len(word) > 3 and not word.endswith("ss") else word
            for word in _WORD.findall(text.lower()) if not _FILLER.fullmatch(word)]


def _scored(question: str, tables: Sequence[Grid]) -> list[_Place]:
    asked, named = set(words_of(_SOURCE.sub("", question))), set(words_of(question))
    labels = []
    for grid in tables:
        around = {*words_of(grid.caption), *words_of(grid.section), *words_of(grid.corner)}
        of_column = [words_of(column) for column in grid.columns]
        for row, label in enumerate(grid.rows):
            of_row = words_of(label)
            labels += [(grid, row, column, {*of_row, *words}, around)
                       for column, words in enumerate(of_column)
                       if grid.cells[row][column].value is not None]
    frequency = Counter(word for *_, own, _ in labels for word in own)

    def weight(words: set[str]) -> float:
        return sum(math.log(1 + len(labels) / (1 + frequency[word])) for word in words)

    return [_Place(grid, row, column, weight(own & asked) + 0.3 * weight((around - own) & named)
                   - 0.25 * weight(own - asked)) for grid, row, column, own, around in labels]


def _chosen(question: str, places: Sequence[_Place], operation: str) -> list[_Place]:
    """Return a calculation's cells in its order: the latest year first, or as mentioned."""
    question = _SOURCE.sub("", question)
    n_years = len(set(_YEAR.findall(question)))
    n_items = len(_QUOTED.findall(question))
    wanted = max(2, n_years, n_items) if operation in _MANY else 2
    lines: dict[tuple, list[_Place]] = {}
    for place in places:
        lines.setdefault((place.grid.grid_id, "row", place.row), []).append(place)
        if n_years < 2:  # two years are two columns of a row
            lines.setdefault((place.grid.grid_id, "column", place.column), []).append(place)
    best = max((_best_of(line, min(wanted, len(line)), question) for line in lines.values()),
               key=lambda found: (len(found) >= 2, _score(found) / len(found)))
    years = [max(_YEAR.findall(place.grid.columns[place.column]), default="") for place in best]
    if all(years) and len(set(years)) == len(years):
        by_year = dict(zip(years, best, strict=True))
        return [by_year[year] for year in sorted(years, reverse=True)]
    if operation == "share":  # the part, then the total
        return sorted(best, key=lambda place: abs(place.size))
    words = words_of(question)
    return sorted(best, key=lambda place: min(
        (words.index(word) for word in words_of(place.own) if word in words), default=len(words)))


def _best_of(line: Sequence[_Place], wanted: int, question: str) -> list[_Place]:
    """Return `wanted` cells of a row or column that together name most of the question's words."""
    best = sorted(line, key=lambda place: place.score, reverse=True)[:wanted + 3]
    asked = set(words_of(question))

    def named(found: Sequence[_Place]) -> tuple[int, float]:
        words = {word for place in found for word in words_of(place.name)}
        return len(asked & words), _score(found)

    return list(max(combinations(best, wanted), key=named))


def _score(found: Sequence[_Place]) -> float:
    return sum(place.score for place in found)


def _computed(operation: str, chosen: Sequence[_Place]) -> str:
    place, values = chosen[0], [place.cell.value for place in chosen]
    first, last = values[0], values[-1]
    if operation == "larger":
        largest = max(chosen, key=lambda place: place.size)
        is_one_row = len({place.row for place in chosen}) == 1
        return largest.grid.columns[largest.column] if is_one_row else largest.own
    if operation == "trend":
        verb = "rose" if first > last else "fell" if first < last else "stayed the same"
        old = chosen[-1]
        return (f"{place.own} {verb} from {printed(old.cell)} ({old.name}) to "
                f"{printed(place.cell)} ({place.name}).")
    if operation in ("percent change", "share", "ratio"):
        if not last:
            return ""
        percent = 100 * first / last if operation == "share" else 100 * (first - last) / abs(last)
        return f"{first / last:.2f}" if operation == "ratio" else f"{percent:.1f}%"
    of_all = {"sum": sum(values), "average": sum(values) / len(values)}
    value, decimals = of_all.get(operation, first - last), decimals_of(place.cell)
    has_more = abs(value - round(value, decimals)) > 1e-9
    return amount(value, place.cell.unit, place.cell.scale, decimals + has_more)
