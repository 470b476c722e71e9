"""Expressions: arithmetic and nothing else."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.tablequest.questions.expression import ExpressionError, evaluate, names_in

CELLS = {"a": 391035.0, "b": 383285.0, "c": -4.0}


@pytest.mark.parametrize(("expression", "value"), [
    ("a - b", 7750.0), ("(a - b) / b * 100", 2.0219940775), ("-c", 4.0), ("abs(c) + 1", 5.0),
    ("2 * (a + b)", 1548640.0), ("max(a, b) - min(a, b)", 7750.0), ("sum(a, b, c)", 774316.0),
    ("mean(a, b)", 387160.0), ("a / b", 1.0202199408), ("  a\n", 391035.0), ("1e3 / 4", 250.0),
    ("a - b - c", 7754.0), ("a / b / c", -0.2550549852)])
def test_arithmetic_over_named_cells(expression, value):
    assert evaluate(expression, CELLS) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("expression", [
    "__import__('os').system('true')", "a.real", "a ** b", "a // b", "a % b", "[a, b][0]",
    "lambda: a", "a if b else c", "a < b", "'a'", "True", "~a", "+a", "max(a, key=b)", "max(*a)",
    "open(a)", "abs(a, b)", "sum()", "d + 1", "", "a b", "a = 3", "(a := 3)", "f'{a}'", "1j * a",
    "a; b", "9" * 501, "-" * 300 + "a", "(" * 300 + "a" + ")" * 300, "a / (b - b)", "1e308 * 10",
    "nan", "a\0"])
def test_anything_else_is_an_error_that_names_it(expression):
    with pytest.raises(ExpressionError, match=r"\w{3}"):
        evaluate(expression, CELLS)


def test_names_are_those_of_values_in_their_order():
    assert names_in("(new - old) / abs(old) * 100 + min(new, x)") == ("new", "old", "x")


_NUMBERS = st.floats(-1e6, 1e6).filter(lambda number: abs(number) > 1e-3)


def nested(inner):
    binary = st.tuples(inner, st.sampled_from("+-*/"), inner)
    return st.one_of(binary.map(lambda part: f"({part[0]} {part[1]} {part[2]})"),
                     inner.map(lambda part: f"(-{part})"),
                     st.tuples(inner, inner).map(lambda part: f"max({part[0]}, {part[1]})"))


_LEAVES = st.sampled_from("abc") | st.integers(1, 999).map(str)


@given(st.recursive(_LEAVES, nested, max_leaves=8), _NUMBERS, _NUMBERS, _NUMBERS)
def test_it_agrees_with_python_on_what_both_allow(expression, a, b, c):
    values = {"a": a, "b": b, "c": c}
    try:
        expected = float(eval(expression, {"__builtins__": {}, "max": max}, values))
    except ZeroDivisionError:
        expected = math.nan
    try:
        assert evaluate(expression, values) == pytest.approx(expected, rel=1e-12, abs=1e-300)
    except ExpressionError:
        assert not math.isfinite(expected)
