"""Is a question's answer what its cells say? Recomputed from the grids for all three levels, whoever wrote it."""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction

from lib.tablequest.analyze.amounts import Amount, amounts
from lib.tablequest.questions.expression import ExpressionError, evaluate, names_in
from lib.tablequest.records import Cell, CellRef, Grid, TableQuestion

MOST_SENTENCES = 2  # of a hard answer: "under three"
_SENTENCE_END = re.compile(r"(?<=[.!?][\"”')])\s+(?=[\"“A-Z])|(?<=[.!?])\s+(?=[\"“A-Z])")
_ABBREVIATION = re.compile(r"\b(?:Inc|Corp|Co|Ltd|vs|No|U\.S|approx|e\.g|i\.e)\.$")


def verified(question: TableQuestion, grids: Mapping[str, Grid]) -> str:
    """Why the answer does not follow from the cells of `grids` (by grid_id); "" where it does.

    Easy: the cell holds the answer. Medium: the expression over the cells gives value and answer. Hard: each figure of
    the answer is a cell, or the result of a step "expression = figure" that is computed again.
    """
    try:
        cells = {name: _cell(ref, grids) for name, ref in question.cells.items()}
    except LookupError as error:
        return str(error.args[0])
    if not cells:
        return "no cell is named"
    if question.level == "hard":
        return _hard(question, cells, {grids[ref.grid_id].rows[ref.row] for ref in question.cells.values()})
    values = {name: _number(cell) for name, cell in cells.items()}
    try:
        result = evaluate(question.expression, values)
        unused = set(cells) - set(names_in(question.expression))
    except ExpressionError as error:
        return str(error)
    if unused:
        return f"the expression does not use {', '.join(sorted(unused))}"
    if question.level == "easy" and [question.expression.strip()] != list(cells):
        return "an easy question asks for one cell as it stands"
    if question.value is None or not _near(result, question.value):
        return f"the expression gives {result:g}, not {question.value}"
    return _stated(question)


def _stated(question: TableQuestion) -> str:
    """Whether the answer's own figure is the value; a comparison names an item instead."""
    said = amounts(question.answer)
    if question.kind == "comparison":
        return "" if question.answer.strip() else "the answer is empty"
    if not said:
        return "the answer has no figure"
    wanted = Fraction(str(question.value)) * Fraction(str(question.scale))
    if any(is_rounding(amount, wanted) for amount in said[:1]):
        return ""
    return f"the answer says {said[0].text}, the cells give {question.value:g} (in units of {question.scale:g})"


def is_rounding(amount: Amount, wanted: Fraction) -> bool:
    """Whether `amount` is `wanted` (both in whole units) to the digits that it is written with."""
    return abs(amount.value - wanted) <= amount.step / 2 + abs(wanted) * Fraction(1, 10**9)


def _hard(question: TableQuestion, cells: dict[str, Cell], labels: set[str]) -> str:
    """Whether each figure of the answer is a cell or a step; digits of row `labels` ("Level 2") are no figures."""
    if n_sentences(question.answer) > MOST_SENTENCES:
        return f"the answer has {n_sentences(question.answer)} sentences, at most {MOST_SENTENCES} are allowed"
    values = {name: _number(cell) for name, cell in cells.items()}
    known = [Fraction(str(cell.value)) * Fraction(str(cell.scale)) for cell in cells.values()]
    asked = {amount.value for amount in amounts(question.question)}
    scales = {Fraction(str(cell.scale)) for cell in cells.values()} | {Fraction(1)}
    for step in question.steps:
        expression, _, figure = step.rpartition(" = ")
        try:
            result = Fraction(str(evaluate(expression, values)))
        except ExpressionError:
            continue  # words: what a letter stands for, or a thought
        if not (printed := amounts(figure)) or not any(is_rounding(printed[0], result * scale) for scale in scales):
            return f"the step {step!r} gives {float(result):g}"
        known.append(printed[0].value)
    figures = [amount for amount in amounts(_unquoted(question.answer, labels))
               if not amount.is_year and amount.value not in asked]
    loose = [amount.text for amount in figures if not any(is_rounding(amount, sign * value)
                                                          for value in known for sign in (1, -1))]
    if loose:
        return f"no cell and no step gives the figure {loose[0]}"
    return "" if figures else "the answer has no figure"


def _unquoted(text: str, labels: set[str]) -> str:
    """`text` without quoted row labels, whole or from one of their levels on."""
    for label in labels:
        parts = label.split(": ")
        for first in range(len(parts)):
            text = text.replace(f'"{": ".join(parts[first:])}"', '""')
    return text


def n_sentences(text: str) -> int:
    """How many sentences `text` has; points in numbers and the usual abbreviations end none."""
    parts = _SENTENCE_END.split(text.strip())
    return sum(1 for part in parts if part.strip() and not _ABBREVIATION.search(part)) or bool(text.strip())


def _cell(ref: CellRef, grids: Mapping[str, Grid]) -> Cell:
    grid = grids.get(ref.grid_id)
    if grid is None:
        raise LookupError(f"the table {ref.grid_id} is not there")
    if not (0 <= ref.row < len(grid.rows) and 0 <= ref.column < len(grid.columns)):
        raise LookupError(f"the table {ref.grid_id} has no cell in row {ref.row}, column {ref.column}")
    cell = grid.cells[ref.row][ref.column]
    if cell.value is None:
        raise LookupError(f"the cell {grid.rows[ref.row]!r}, {grid.columns[ref.column]!r} holds no number")
    return cell


def _number(cell: Cell) -> float:
    assert cell.value is not None  # _cell has seen to it
    return cell.value


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(1.0, abs(one))


def by_id(grids: Iterable[Grid]) -> dict[str, Grid]:
    """Grids by their id."""
    return {grid.grid_id: grid for grid in grids}

