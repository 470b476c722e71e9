"""Checks of a pair: its expression and figures recomputed, what its question must name."""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise

from jinja2.sandbox import SandboxedEnvironment

from lib.core.store import BadReply
from lib.tablequest.cells import POINTS, YEAR, Amount, amounts, words_of
from lib.tablequest.records import Cell, TableQuestion, in_whole_units

_JINJA = SandboxedEnvironment()
_ARITHMETIC = re.compile(r"(?:[\w.()+/\s-]|\*(?!\*))+")
_POINTS = re.compile(
    r"\b(?:this|the|these|following) (?:table|passage|text|excerpt)s? (?:above|below)\b"
    r"|\b(?:in|from|of|the following) (?:this |the )?(?:passage|excerpt|table)\b(?! of)",
    re.I,
)


def evaluate(expression: str, values: Mapping[str, float]) -> float:
    """Return the value of `expression` over named `values`.

    It has numbers, these names, + - * / and brackets. Raises BadReply for anything else.
    """
    names = {*re.findall(r"[^\W\d]\w*", expression)}
    if names - values.keys() or len(expression) > 300 or not _ARITHMETIC.fullmatch(expression):
        raise BadReply(f"{expression[:300]!r} is not + - * / of numbers and {', '.join(values)}")
    try:
        result = _JINJA.compile_expression(expression, undefined_to_none=False)(**values)
        return float(Fraction(result))  # refuses what is not finite
    except Exception as error:  # a model writes anything
        raise BadReply(f"the expression {expression!r} cannot be computed: {error}") from None


def computed(expression: str, cells: Mapping[str, Cell], answer: str) -> tuple[float, str, float]:
    """Return value, unit and scale of `expression`, which `answer` gives rounded.

    Raises BadReply if the answer has another value, unit or scale. An expression that does not
    change with the size of its cells is a ratio or percentage, one in proportion has their unit.
    """
    kinds = {(cell.unit, cell.scale) for cell in cells.values()}
    if len(kinds) > 1:
        raise BadReply(f"the cells differ in unit or scale: {sorted(kinds)}")
    ((unit, scale),) = kinds
    value, twice = (
        evaluate(expression, {name: factor * cell.value for name, cell in cells.items()})
        for factor in (1, 2)
    )
    if not (found := amounts(answer)):
        raise BadReply("the answer has no figure")
    figure = found[0]
    if math.isclose(twice, value, abs_tol=1e-12):
        unit, scale = "%" * (figure.unit == "%"), 1.0
    elif not math.isclose(twice, 2 * value):
        raise BadReply(f"the expression {expression!r} mixes amounts with plain numbers")
    if figure.unit not in ("", unit.split("/")[0]):
        raise BadReply(f"the answer is in {figure.unit}, its cells give {unit or 'no unit'}")
    if not _agrees(figure, in_whole_units(value, scale)):
        raise BadReply(
            f"the answer says {figure.text}, but {expression} gives {value:,.6g} {unit}"
            f" × {scale:,.0f}".removesuffix(" × 1")
        )
    is_points = unit == "%" and len(cells) > 1 and "point" in answer
    return value, POINTS if is_points else unit, scale


def fault_of(question: TableQuestion, rows: Sequence[str], company: str) -> str:
    """Return why a question is not used, "" if nothing is wrong; `rows` are its cells' labels."""
    asked, n_cells = words_of(question.question), len(question.cells)
    if not words_of(company.split()[0]) <= asked:
        return f"the question does not name {company}"
    if not re.search(r"\b(?:19|20)\d\d\b", question.question):
        return "the question names no year"
    if pointing := _POINTS.search(question.question):
        return f"the question points at what a reader may not have: {pointing[0]!r}"
    if question.level == "hard":  # it may ask which row
        ended = len(re.findall(r"[.!?](?=\s+[A-Z]|\s*$)", question.answer))
        return f"the answer has {ended} sentences, not 1 or 2" if ended > 2 else ""
    for label in rows:
        if not words_of(label) & asked:
            return f"the question does not name {label!r}"
    if (n_cells == 1) != (question.level == "easy"):
        return f"a question that is {question.level} has {n_cells} cells"
    named, given = (
        {one.value for one in amounts(text)} for text in (question.question, question.answer)
    )
    return "the question contains its answer" if named & given else ""


def check_figures(answer: str, steps: Sequence[str], cells: Mapping[str, Cell], named: str) -> None:
    """Recompute each "expression = figure" in `steps` over `cells`, in whole units.

    Raises BadReply for a wrong one, or for another figure that is neither a cell, a result, a
    rounding of one, a year nor in the texts `named`.
    """
    values = {name: float(cell.exact) for name, cell in cells.items()}
    results, rest = [*values.values()], [answer]
    for step in steps:
        *lefts, last = re.sub("[\u2010-\u2015\u2212]", "-", step).split("=")
        for left, right in pairwise([*lefts, last]):
            expression = _expression(left, values)
            result, figures = evaluate(expression, values), amounts(right)
            if not figures or not _agrees(figures[0], result):
                raise BadReply(f"{expression.strip()} gives {result:,.6g}, unlike {step!r}")
            results.append(result)
            rest.append(left.removesuffix(expression))
        rest.append(last)
    free = {abs(one.value) for one in amounts(named)}
    for figure in amounts("\n".join(rest)):
        is_free = re.fullmatch(YEAR, figure.text) or abs(figure.value) in free
        if not is_free and not any(_agrees(figure, n * one) for one in results for n in (1, -1)):
            raise BadReply(f"{figure.text} is neither a cell nor the result of a step")


def _expression(text: str, values: Mapping[str, float]) -> str:
    # the longest end of `text` that is one; of numbers it has 100, days or counts only
    name = rf"\b(?:{'|'.join(map(re.escape, values))})\b"
    end = re.search(rf"(?:{name}|(?<![\w.])\d+\b(?!\.\d)|[-+*/()\s])*$", text[-300:])[0]
    for word in re.finditer(r"\S+", end):
        found = end[word.start() :]
        with suppress(BadReply):
            evaluate(found, values)
            if re.search(name, found) and all(int(n) < 367 for n in re.findall(r"\b\d+", found)):
                return found
    raise BadReply(f"no expression over names stands before '=' in {text!r}")


def _agrees(figure: Amount, value: float | Fraction) -> bool:
    return abs(float(figure.value) - value) <= float(figure.step) / 2 + abs(value) / 10**9
