"""Compute a medium answer: an expression over named cells, evaluated by our own calculator.

A model may write the expression, so no part of it is executed. Its syntax tree is walked, and
anything except plain arithmetic is an error.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from statistics import fmean

from lib.core.errors import BadReply

_MOST_CHARACTERS = 500
_MOST_NESTED = 40  # levels
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "min": min, "max": max, "sum": math.fsum, "mean": fmean, "abs": lambda values: abs(values[0])}


def evaluate(expression: str, values: Mapping[str, float]) -> float:
    """Return the value of `expression` over `values`.

    The expression may contain numbers, names, + - * /, brackets, and min, max, abs, sum and mean,
    which take numbers as arguments: mean(a, b, c). Raises BadReply, saying what is wrong,
    for any other construct, an unknown name, a division by zero, or a result that is not finite.
    """
    try:
        result = _value(_tree(expression), values, 0)
    except ZeroDivisionError:
        raise BadReply(f"{expression!r} divides by zero") from None
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise BadReply(f"{expression!r} has no finite value")
    return result


def names_in(expression: str) -> tuple[str, ...]:
    """Return the distinct names of values in `expression`, in order. Raises BadReply."""
    tree = _tree(expression)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name)
             and id(node) not in called]
    return tuple(dict.fromkeys(node.id for node in sorted(found, key=lambda node: node.col_offset)))


def _tree(expression: str) -> ast.expr:
    if len(expression) > _MOST_CHARACTERS:
        raise BadReply(f"the expression has {len(expression)} characters, at most "
                              f"{_MOST_CHARACTERS} are read")
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadReply(f"{expression!r} is not an expression: write such as "
                              "(a - b) / b * 100") from None


def _value(node: ast.expr, values: Mapping[str, float], depth: int) -> float:
    if depth > _MOST_NESTED:
        raise BadReply(f"the expression is nested more than {_MOST_NESTED} levels deep")
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id=name):
            if name not in values:
                raise BadReply(f"the name {name!r} is unknown: known are "
                                      f"{', '.join(values) or 'none'}")
            return float(values[name])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, values, depth + 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, values, depth + 1),
                                     _value(right, values, depth + 1))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _called(name, [_value(argument, values, depth + 1) for argument in args])
    raise BadReply(f"{ast.unparse(node)!r} is not allowed: only numbers, names, + - * /, "
                          f"brackets and {', '.join(_FUNCTIONS)}")


def _called(name: str, arguments: list[float]) -> float:
    if not arguments or (name == "abs" and len(arguments) != 1):
        raise BadReply(f"{name}() has {len(arguments)} values: give it "
                              f"{'1' if name == 'abs' else '1 or more'}")
    return _FUNCTIONS[name](arguments)
