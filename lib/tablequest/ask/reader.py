"""A reader that needs no model, the arm "lexical": it picks cells by words of their labels and applies the operation.

It sees what a model sees, the question's words and the passage's tables, and never the reference. What it gets right
can be had by matching words; a model has to do better to show that it reads.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from lib.core.records import Answer, Query
from lib.tablequest.ask.prompts import question_id_of
from lib.tablequest.ask.serialize import printed
from lib.tablequest.questions.amounts import amount, decimals_of
from lib.tablequest.records import Cell, Grid, Passage, TableQuestion

ARM = "lexical"
_OPERATIONS = (  # the first whose words the question has; percent change before difference, share before sum
    ("trend", r"\btrends?\b|\bdevelop(?:ed|s)?\b|\bevolved?\b|\bcontrast\b|\bdr(?:ove|ives?|iven)\b|\bassess|"
              r"\banaly[sz]e|\binsight|\bsuggest"),
    ("percent change", r"(?:percent(?:age)?|%|rate)[^.?]{0,60}\b(?:change|increase|decrease|grow|decline|rise|fall)|"
                       r"\b(?:change|increase|decrease|grow|growth|decline|rise|fall)[^.?]{0,60}(?:percent\b|%)"),
    ("share", r"\b(?:share|percent(?:age)?|proportion|portion|fraction)\b[^.?]{0,60}\bof\b"),
    ("ratio", r"\bratio\b|\bhow many times\b|\btimes as\b|\bdivided by\b"),
    ("average", r"\b(?:average|mean)\b"),
    ("sum", r"\b(?:sum|total of|combined|together|altogether|add(?:ed)? up)\b"),
    ("larger", r"\bwh(?:ich|o)\b[^?]*\b(?:larger|greater|higher|more|largest|highest|bigger|most|fastest)\b"),
    ("difference", r"\b(?:difference|change|increase|decrease|exceed|by how much|how much (?:more|less|higher|lower))"))
_MANY = ("sum", "average", "trend", "larger")  # of as many cells as years or items are named; else of two
_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')  # an item's name says nothing of the operation
_SOURCE = re.compile(r"^(?:according to|based on|in|from)\b.*?, (?=(?:what|which|who|how|by|in which|contrast)\b)",
                     re.I | re.S)  # the clause that names the document, with dates that are not asked for
_WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)*")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_SAID_NOTHING = re.compile(r"an?|the|of|in|for|and|or|to|at|on|by|as|is|was|were|are|what|how|much|many|did|does|do|"
                           r"its|from|with|which|between|than|that|this|years?|fiscal|ended|per")


class _Place(NamedTuple):
    """A cell, where it stands, and how well its labels fit the question."""

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


def read_by_rules(question: str, passage: Passage, grids: Mapping[str, Grid]) -> str:
    """A reply in the form that prompts/tablequest/answer.md asks for; its answer is "" where no cell has a number.

    Each cell's labels are scored by the inverse frequencies of the words that they share with the question, less a
    little for words that they do not; a calculation takes the best cells of one row or of one column.
    """
    tables = [grids[block.grid_id] for block in passage.blocks if block.kind == "table"]
    places = _scored(question, tables)
    if not places:
        return _reply([], "")
    operation = operation_of(question)
    if operation == "extraction":
        best = max(places, key=lambda place: place.score)
        return _reply([_step(best)], printed(best.cell))
    chosen = _chosen(question, places, operation)
    return _reply([_step(place) for place in chosen], _computed(question, operation, chosen))


def answer_by_rules(queries: Sequence[Query], questions: Sequence[TableQuestion], passages: Sequence[Passage],
                    grids: Sequence[Grid]) -> list[Answer]:
    """One reply a query with a context; closed-book ones get none, since this arm has no memory to ask.

    The tables are read as grids, so that the reply is the same in every serialization, and what a cut took from a
    prompt is still seen.
    """
    asked = {question.question_id: question.question for question in questions}
    read, tables = {one.passage_id: one for one in passages}, {one.grid_id: one for one in grids}
    replies: dict[str, str] = {}
    rows = []
    for query in queries:
        if query.context:
            key = question_id_of(query.query_id)
            if key not in replies:
                replies[key] = read_by_rules(asked[key], read[query.document_id], tables)
            rows.append(Answer(query_id=query.query_id, arm=ARM, answer=replies[key],
                               n_tokens=len(replies[key].split()), truncated=False))
    return rows


def operation_of(question: str) -> str:
    """The operation that the question's words name, "extraction" where they name none."""
    text = _QUOTED.sub(" ", _asked(question).lower())
    return next((name for name, words in _OPERATIONS if re.search(words, text)), "extraction")


def words_of(text: str) -> list[str]:
    """Lower-case words and numbers, a plural's s cut off, without those that say nothing."""
    return [word.removesuffix("s") if len(word) > 3 and not word.endswith("ss") else word
            for word in _WORD.findall(text.lower()) if not _SAID_NOTHING.fullmatch(word)]


def _asked(question: str) -> str:
    """The question without the clause that names its document."""
    return _SOURCE.sub("", question)


def _scored(question: str, tables: Sequence[Grid]) -> list[_Place]:
    asked, named = set(words_of(_asked(question))), set(words_of(question))
    labels = [(grid, row, column, {*words_of(grid.rows[row]), *words_of(grid.columns[column])},
               {*words_of(grid.caption), *words_of(grid.section), *words_of(grid.corner)})
              for grid in tables for row in range(len(grid.rows)) for column in range(len(grid.columns))
              if grid.cells[row][column].value is not None]
    frequency = Counter(word for *_, own, _ in labels for word in own)

    def weight(word: str) -> float:
        return math.log(1 + len(labels) / (1 + frequency[word]))

    return [_Place(grid, row, column, sum(map(weight, own & asked)) + 0.3 * sum(map(weight, (around - own) & named))
                   - 0.25 * sum(map(weight, own - asked))) for grid, row, column, own, around in labels]


def _chosen(question: str, places: Sequence[_Place], operation: str) -> list[_Place]:
    """The cells of a calculation, in the order in which it takes them: the latest year first, else as mentioned."""
    question = _asked(question)
    n_years = len(set(_YEAR.findall(question)))
    wanted = max(2, n_years, len(_QUOTED.findall(question))) if operation in _MANY else 2
    lines: dict[tuple, list[_Place]] = {}
    for place in places:
        lines.setdefault((place.grid.grid_id, "row", place.row), []).append(place)
        if n_years < 2:  # two years stand in two columns of a row
            lines.setdefault((place.grid.grid_id, "column", place.column), []).append(place)
    best = max((_best_of(line, min(wanted, len(line)), question) for line in lines.values()),
               key=lambda found: (len(found) >= 2, sum(place.score for place in found) / len(found)))
    years = [max(_YEAR.findall(place.grid.columns[place.column]), default="") for place in best]
    if all(years) and len(set(years)) == len(years):
        return [place for _, place in sorted(zip(years, best, strict=True), key=lambda pair: pair[0], reverse=True)]
    if operation == "share":  # the part, then the whole
        return sorted(best, key=lambda place: abs(place.cell.value * place.cell.scale))
    return sorted(best, key=lambda place: _mentioned(question, place))


def _best_of(line: Sequence[_Place], wanted: int, question: str) -> list[_Place]:
    """The `wanted` best cells of a row or column, together naming as many words of the question as they can."""
    best = sorted(line, key=lambda place: place.score, reverse=True)[:wanted + 3]
    asked = set(words_of(question))

    def named(found: Sequence[_Place]) -> tuple[int, float]:
        return len(asked & {word for place in found for word in words_of(place.name)}), sum(p.score for p in found)

    return list(max(combinations(best, wanted), key=named))


def _mentioned(question: str, place: _Place) -> int:
    """Where the question first says a word of the row's own label."""
    said, own = words_of(question), words_of(place.grid.rows[place.row].rpartition(": ")[2])
    return min((said.index(word) for word in own if word in said), default=len(said))


def _computed(question: str, operation: str, chosen: Sequence[_Place]) -> str:
    cell, values = chosen[0].cell, [place.cell.value for place in chosen]
    first, last = values[0], values[-1]
    if operation == "larger":
        largest = max(chosen, key=lambda place: place.cell.value * place.cell.scale)
        return _row_of(largest) if len({place.row for place in chosen}) > 1 else largest.grid.columns[largest.column]
    if operation == "trend":
        verb = "rose" if first > last else "fell" if first < last else "stayed the same"
        return (f"{_row_of(chosen[0])} {verb} from {printed(chosen[-1].cell)} ({chosen[-1].name}) to {printed(cell)} "
                f"({chosen[0].name}).")
    if operation in ("percent change", "share", "ratio") and not last:
        return ""
    if operation == "percent change":
        return f"{100 * (first - last) / abs(last):.1f}%"
    if operation == "share":
        return f"{100 * first / last:.1f}%"
    if operation == "ratio":
        return f"{first / last:.2f}"
    of_all = {"sum": sum(values), "average": sum(values) / len(values)}
    return _amount(of_all.get(operation, first - last), cell)


def _row_of(place: _Place) -> str:
    return place.grid.rows[place.row].rpartition(": ")[2]


def _amount(value: float, like: Cell) -> str:
    """A result in the unit and scale of a cell, with the decimals of that cell, or one more where it has more."""
    decimals = decimals_of(like)
    return amount(value, like.unit, like.scale, decimals + (abs(value - round(value, decimals)) > 1e-9))


def _step(place: _Place) -> str:
    return f"{place.name}: {printed(place.cell)}."


def _reply(steps: Sequence[str], answer: str) -> str:
    return json.dumps({"steps": list(steps), "answer": answer}, ensure_ascii=False)
