"""What a question must satisfy: its answer follows from its cells, and it can be understood."""

import ast
import math
import operator
import re
from collections.abc import Mapping
from fractions import Fraction

from lib.core.errors import BadReply
from lib.tasks.tablequest.records import Cell, Grid, TableQuestion, in_whole_units
from lib.tasks.tablequest.wording import POINTS, Amount, amounts, words_of

_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_MOST_CHARACTERS = 300
_POINTS = re.compile(
    r"\b(?:this|the|these|following) (?:table|passage|text|excerpt)s? (?:above|below)\b"
    r"|\b(?:in|from|of|the following) (?:this |the )?(?:passage|excerpt|table)\b(?! of)",
    re.I,
)


def evaluate(expression: str, values: Mapping[str, float]) -> float:
    """Return the value of `expression` over named `values`; no part of it is executed.

    It has numbers, names, + - * / and brackets. Raises BadReply for anything else.
    """
    try:
        if len(expression) > _MOST_CHARACTERS:
            raise BadReply(f"it has {len(expression)} characters, more than {_MOST_CHARACTERS}")
        result = _value(ast.parse(expression.strip(), mode="eval").body, values)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise BadReply(f"the expression {expression[:100]!r} cannot be computed: {error}") from None
    if not math.isfinite(result):
        raise BadReply(f"the expression {expression!r} has no finite value")
    return result


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id=name) if name in values:
            return float(values[name])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, values)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, values), _value(right, values))
    raise BadReply(
        f"{ast.unparse(node)!r} is neither a number, one of the names "
        f"{', '.join(values)}, nor + - * /"
    )


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
        unit, scale = (figure.unit if figure.unit == "%" else ""), 1.0
    elif not math.isclose(twice, 2 * value):
        raise BadReply(f"the expression {expression!r} mixes amounts with plain numbers")
    if figure.unit not in ("", unit.split("/")[0]):
        raise BadReply(f"the answer is in {figure.unit}, its cells give {unit or 'no unit'}")
    if not is_rounding(figure, in_whole_units(value, scale)):
        raise BadReply(
            f"the answer says {figure.text}, but {expression} gives {value:,.6g} {unit}"
            f" × {scale:,.0f}".removesuffix(" × 1")
        )
    is_points = unit == "%" and len(cells) > 1 and "point" in answer
    return value, POINTS if is_points else unit, scale


def is_rounding(amount: Amount, wanted: Fraction) -> bool:
    """Return whether `amount` is `wanted`, in whole units, rounded to the digits that it has."""
    return abs(amount.value - wanted) <= amount.step / 2 + abs(wanted) / 10**9


def fault_of(question: TableQuestion, grids: Mapping[str, Grid], company: str) -> str:
    """Return why a question is not used, "" if nothing is wrong; `grids` are the passage's."""
    if elsewhere := {ref.grid_id for ref in question.cells.values()} - grids.keys():
        return f"the table {elsewhere.pop()} is not in the passage"
    asked, n_cells = words_of(question.question), len(question.cells)
    if not words_of(company.split()[0]) <= asked:
        return f"the question does not name {company}"
    if not re.search(r"\b(?:19|20)\d\d\b", question.question):
        return "the question names no year"
    if pointing := _POINTS.search(question.question):
        return f"the question points at what a reader may not have: {pointing[0]!r}"
    for ref in question.cells.values():
        label = grids[ref.grid_id].rows[ref.row]
        if not words_of(label) & asked:
            return f"the question does not name {label!r}"
    if question.level == "hard":
        ended = len(re.findall(r"[.!?](?=\s+[A-Z]|\s*$)", question.answer))
        return f"the answer has {ended} sentences, not 1 or 2" if ended > 2 else ""
    if (n_cells == 1) != (question.level == "easy"):
        return f"a question that is {question.level} has {n_cells} cells"
    named, given = (
        {one.value for one in amounts(text)} for text in (question.question, question.answer)
    )
    if named & given:
        return "the question contains its answer"
    return ""
