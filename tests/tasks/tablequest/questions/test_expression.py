"""Expressions: arithmetic and nothing else."""

import pytest

from lib.core.errors import BadReply
from lib.tasks.tablequest.questions.expression import evaluate, names_in

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
    with pytest.raises(BadReply, match=r"\w{3}"):
        evaluate(expression, CELLS)


def test_names_are_those_of_values_in_their_order():
    assert names_in("(new - old) / abs(old) * 100 + min(new, x)") == ("new", "old", "x")
