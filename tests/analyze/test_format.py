"""Numbers as text: estimates, percentages and p values, and dashes for what is unknown."""

import pandas as pd
import pytest

from lib.analyze.tables import (
    compact,
    estimate,
    fraction,
    number,
    one_line,
    p_value,
    percent,
)

NAN = float("nan")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (estimate(31.46, 26, 37), "31.5 [26.0, 37.0]"),
        (estimate(1, digits=2), "1.00"),
        (estimate(NAN, 1, 2), "–"),
        (estimate(1, NAN, NAN), "1.0 [–]"),
        (estimate(-7.2, -12, 2.4, sign="+"), "-7.2 [-12.0, +2.4]"),
        (estimate(0, NAN, NAN, sign="+"), "+0.0 [–]"),
        (percent(0.262), "26.2%"),
        (percent(0.262, 0.17, 0.38), "26.2 [17.0, 38.0]"),
        (percent(NAN), "–"),
        (percent(NAN, 0, 1), "–"),
        (fraction(17, 65, 0.17, 0.38), "17/65 = 26.15% [17.0, 38.0]"),
        (fraction(0, 0), "–"),
        (fraction(NAN, NAN), "–"),
        (estimate(1, 0, NAN), "1.0 [–]"),
        (fraction(1, 2, 0, NAN), "1/2 = 50.00%"),
        (fraction(1, 2, digits=1), "1/2 = 50.0%"),
        (fraction(1, 2, NAN, NAN), "1/2 = 50.00%"),
        (p_value(NAN), "–"),
        (p_value(1e-9), "<0.0001"),
        (p_value(0.00123), "0.0012"),
        (p_value(0.123), "0.12"),
        (p_value(1), "1.00"),
        (number(0.126), "0.13"),
        (number(None), "–"),
        (number(3), "3"),
        (number(3.0, ".0f"), "3"),
        (one_line("a\nb\r\nc"), "a ↵ b ↵ c"),
        (one_line(""), ""),
    ],
)
def test_it_reads_as(text, expected):
    assert text == expected


def test_a_table_has_each_estimate_with_its_interval_in_one_cell():
    table = pd.DataFrame(
        {
            "arm": ["dapt"],
            "difference_points": [-7.2],
            "low_points": [-12.0],
            "high_points": [-2.4],
            "kappa": [0.5],
            "kappa_low": [NAN],
            "kappa_high": [NAN],
            "each": [[0.25, 0.5]],
            "p_holm": [1e-9],
            "pairs": [8],
        }
    )
    assert compact(table).to_dict("list") == {
        "arm": ["dapt"],
        "difference_points [95%]": ["-7.2 [-12.0, -2.4]"],
        "kappa [95%]": ["0.500 [–]"],
        "each": ["0.25, 0.50"],
        "p_holm": ["<0.0001"],
        "pairs": ["8"],
    }
