"""Check a question's answer by recomputing it from its cells, whoever wrote the question."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pandas as pd

from lib.core.errors import BadReply
from lib.tasks.tablequest.analyze.amounts import Amount, amounts
from lib.tasks.tablequest.questions.expression import evaluate, names_in
from lib.tasks.tablequest.questions.wording import POINTS
from lib.tasks.tablequest.records import Cell, CellRef, Grid, TableQuestion, in_whole_units

MOST_SENTENCES = 2  # a hard answer has "under three"
# 'rose. It', 'rose." It'; not 'rose. it'
_SENTENCE_END = re.compile(r"(?<=[.!?][\"”')])\s+(?=[\"“A-Z])|(?<=[.!?])\s+(?=[\"“A-Z])")
_ABBREVIATION = re.compile(r"\b(?:Inc|Corp|Co|Ltd|vs|No|U\.S|approx|e\.g|i\.e)\.$")


def verified(question: TableQuestion, grids: Mapping[str, Grid]) -> str:
    """Return why the answer does not follow from the cells of `grids` (by grid_id), or "".

    For an easy question, the cell must hold the answer. For a medium one, the expression over the
    cells must yield the question's value, and the answer must be a rounding of it. For a hard one,
    each figure of the answer must be a cell or the result of a step "expression = figure", which is
    recomputed.
    """
    try:
        cells = {name: _cell(ref, grids) for name, ref in question.cells.items()}
        if not cells:
            return "no cell is named"
        values = {name: cell.value for name, cell in cells.items()}
        if question.level == "hard":
            labels = {grids[ref.grid_id].rows[ref.row] for ref in question.cells.values()}
            return _fault_of_hard(question, list(cells.values()), values, labels)
        result = evaluate(question.expression, values)
        unused = set(cells) - set(names_in(question.expression))
    except (LookupError, BadReply) as error:
        return str(error.args[0])
    if unused:
        return f"the expression does not use {', '.join(sorted(unused))}"
    if question.level == "easy" and [question.expression.strip()] != list(cells):
        return "an easy question must ask for a single cell, with no arithmetic"
    if fault := _fault_of_unit(question, list(cells.values())):
        return fault
    if question.value is None or abs(result - question.value) > 1e-9 * max(1.0, abs(result)):
        return f"the expression gives {result:g}, not {question.value}"
    return _fault_of_figure(question)


def evidence(questions: Sequence[TableQuestion], grids: Mapping[str, Grid]) -> pd.DataFrame:
    """Return by filing what the questions' answers rest on.

    Columns are filing_id, questions, `recomputed` (answers that follow from value × scale × unit of
    their cells as read), cells (each once), `tagged` (cells whose value, unit, scale and period
    come from inline XBRL) and `all tagged` (questions with tagged cells alone). Nothing here says
    whether the rules read an untagged cell rightly.
    """
    rows = []
    for filing_id in dict.fromkeys(question.filing_id for question in questions):
        own = [question for question in questions if question.filing_id == filing_id]
        cells = {(ref.grid_id, ref.row, ref.column): grids[ref.grid_id].cell(ref)
                 for question in own for ref in question.cells.values()}
        rows.append((
            filing_id, len(own), sum(not verified(question, grids) for question in own), len(cells),
            sum(bool(cell.period) for cell in cells.values()),
            sum(all(cell.period for cell in question.cells_in(grids)) for question in own)))
    return pd.DataFrame(rows, columns=["filing_id", "questions", "recomputed", "cells", "tagged",
                                       "all tagged"])


def _fault_of_unit(question: TableQuestion, cells: list[Cell]) -> str:
    units = {cell.unit for cell in cells}
    if question.kind in ("ratio", "share", "percent change", "comparison"):
        return ""
    if len(units) > 1:
        return f"the cells differ in unit: {', '.join(sorted(units))}"
    wanted = {*units, POINTS} if units == {"%"} and question.kind == "difference" else units
    return "" if question.unit in wanted else (
        f"the answer is in {question.unit or 'no unit'}, the cells in {units.pop() or 'none'}")


def _fault_of_figure(question: TableQuestion) -> str:
    found = amounts(question.answer)
    if question.kind == "comparison":
        return "" if question.answer.strip() else "the answer is empty"
    if not found:
        return "the answer has no figure"
    if is_rounding(found[0], question.exact):
        return ""
    return (f"the answer says {found[0].text}, the cells give {question.value:g} (in units of "
            f"{question.scale:g})")


def is_rounding(amount: Amount, wanted: Fraction) -> bool:
    """Return whether `amount` equals `wanted` rounded to the precision of `amount`.

    Both are in whole units.
    """
    return abs(amount.value - wanted) <= amount.step / 2 + abs(wanted) * Fraction(1, 10**9)


def _fault_of_hard(question: TableQuestion, cells: list[Cell], values: Mapping[str, float],
                   labels: set[str]) -> str:
    if (n := n_sentences(question.answer)) > MOST_SENTENCES:
        return f"the answer has {n} sentences, at most {MOST_SENTENCES} are allowed"
    known = [cell.exact for cell in cells]
    scales = {cell.scale for cell in cells} | {1.0}
    for step in question.steps:
        expression, _, figure = step.rpartition(" = ")
        try:
            result = evaluate(expression, values)
        except BadReply:
            continue  # words: what a letter stands for, or a thought
        printed = amounts(figure)
        if not printed or not any(is_rounding(printed[0], in_whole_units(result, scale))
                                  for scale in scales):
            return f"the step {step!r} gives {result:g}"
        known.append(printed[0].value)
    asked = {amount.value for amount in amounts(question.question)}
    figures = [amount for amount in amounts(_without_labels(question.answer, labels))
               if not amount.is_year and amount.value not in asked]
    for amount in figures:
        if not any(is_rounding(amount, sign * value) for value in known for sign in (1, -1)):
            return f"no cell and no step gives the figure {amount.text}"
    return "" if figures else "the answer has no figure"


def _without_labels(text: str, labels: set[str]) -> str:
    for label in labels:
        parts = label.split(": ")
        for first in range(len(parts)):
            text = text.replace(f'"{": ".join(parts[first:])}"', '""')
    return text


def n_sentences(text: str) -> int:
    """Count the sentences of `text`, ignoring periods in numbers and common abbreviations."""
    parts = _SENTENCE_END.split(text.strip())
    ended = [part for part in parts if part.strip() and not _ABBREVIATION.search(part)]
    return len(ended) or bool(text.strip())


def _cell(ref: CellRef, grids: Mapping[str, Grid]) -> Cell:
    grid = grids.get(ref.grid_id)
    if grid is None:
        raise LookupError(f"the table {ref.grid_id} is missing")
    if not (0 <= ref.row < len(grid.rows) and 0 <= ref.column < len(grid.columns)):
        raise LookupError(f"the table {ref.grid_id} has no cell in row {ref.row}, column "
                          f"{ref.column}")
    cell = grid.cell(ref)
    if cell.value is None:
        raise LookupError(f"the cell {grid.rows[ref.row]!r}, {grid.columns[ref.column]!r} is not a "
                          "number")
    return cell
