"""Floors: arms that answer without reading. One matches words with labels, one says one thing."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lib.core.records import Query
from lib.tasks.tablequest.answer.prompts import question_id_of
from lib.tasks.tablequest.records import Cell, Grid, Passage, TableQuestion, by_id
from lib.tasks.tablequest.wording import decimals_of, period_words, printed, words_of

CONSTANT = json.dumps({"steps": [], "answer": "0"})
# The first operation that a question's words name counts
_OPERATIONS = (
    ("percent change", r"percentage[^?]*\b(?:change|grow|increase|decrease)|\bgrowth rate\b"),
    ("share", r"\b(?:percentage|share|portion)\b[^?]* of\b"), ("ratio", r"\bratio\b|\btimes\b"),
    ("difference", r"\b(?:how much|many)\b[^?]*\b(?:change|increase|decrease|differ|exceed|more)"),
    ("extraction", ""))


class _Place(NamedTuple):
    grid: Grid
    row: int
    column: int
    score: float

    @property
    def cell(self) -> Cell:
        return self.grid.cells[self.row][self.column]

    @property
    def time(self) -> str:
        years = re.findall(r"\b(?:19|20)\d\d\b", self.grid.columns[self.column])
        return self.cell.period[-10:] or max(years, default="")


def lexical(queries: Sequence[Query], questions: Sequence[TableQuestion],
            passages: Sequence[Passage], grids: Sequence[Grid]) -> dict[str, str]:
    """Return query_id -> a reply that comes from matching the question's words with labels.

    It reads the passage's grids, never the reference; forms and truncation do not change it.
    """
    asked, read, tables = by_id(questions), by_id(passages), by_id(grids)
    keys = {question_id_of(query.query_id) for query in queries}
    replies = {key: _reply(asked[key].question, read[asked[key].passage_id], tables)
               for key in keys}
    return {query.query_id: replies[question_id_of(query.query_id)] for query in queries}


def _reply(question: str, passage: Passage, grids: Mapping[str, Grid]) -> str:
    places = _scored(words_of(question), [grids[key] for key in passage.grid_ids])
    plain = re.sub(r'"[^"]*"', " ", question)
    operation = next(name for name, words in _OPERATIONS if re.search(words, plain, re.I))
    chosen = [] if not places else [max(places, key=lambda place: place.score)]
    if operation != "extraction" and places:
        chosen = _pair(question, places, is_row="change" in operation or operation == "difference")
    steps = [f"{place.grid.rows[place.row]}, {place.grid.columns[place.column]}: {place.cell.text}"
             for place in chosen]
    answer = _computed(operation, [place.cell for place in chosen]) if chosen else ""
    return json.dumps({"steps": steps, "answer": answer}, ensure_ascii=False)


def _scored(asked: frozenset[str], tables: Sequence[Grid]) -> list[_Place]:
    labels = [(grid, row, column, words_of(f"{label} {grid.columns[column]} "
                                           f"{period_words(cell.period)}"),
               words_of(f"{grid.section} {grid.caption}"))
              for grid in tables for row, label in enumerate(grid.rows)
              for column, cell in enumerate(grid.cells[row]) if cell.value is not None]
    frequency = Counter(word for *_, own, _ in labels for word in own)

    def weight(words: frozenset[str]) -> float:
        return sum(math.log(1 + len(labels) / (1 + frequency[word])) for word in words)

    return [_Place(grid, row, column, weight(own & asked) + 0.3 * weight((around - own) & asked)
                   - 0.25 * weight(own - asked)) for grid, row, column, own, around in labels]


def _pair(question: str, places: Sequence[_Place], is_row: bool) -> list[_Place]:
    lines: dict[tuple, list[_Place]] = {}
    for place in places:
        line = place.row if is_row else place.column
        lines.setdefault((place.grid.grid_id, line), []).append(place)
    pairs = [sorted(line, key=lambda place: -place.score)[:2] for line in lines.values()]
    best = max(pairs, key=lambda pair: (len(pair), sum(place.score for place in pair)))
    if is_row:  # the later one first
        return sorted(best, key=lambda place: place.time, reverse=True)
    if "ratio" in question:  # as mentioned
        return sorted(best, key=lambda place: question.find(place.grid.rows[place.row]))
    return sorted(best, key=lambda place: abs(place.cell.value))


def _computed(operation: str, cells: Sequence[Cell]) -> str:
    first, last = cells[0], cells[-1]
    if operation in ("extraction", "difference"):
        value = first.value - (last.value if operation == "difference" else 0)
        return printed(value, first.unit, first.scale, decimals_of(cells))
    if not last.value:
        return ""
    ratio = first.value / last.value
    if operation == "ratio":
        return f"{ratio:.2f}"
    return f"{100 * (ratio - 1 if operation == 'percent change' else ratio):.1f}%"
