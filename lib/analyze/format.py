"""Format numbers for tables and sentences: estimates, intervals, percentages, p values."""

import re

import pandas as pd

from lib.core.arms import arm_label
from lib.core.records import structure_label

DASH = "–"  # an unknown value
_ESTIMATES = ("estimate", "mean", "difference", "odds_ratio")  # whose ends are low and high
# the start of a formula in Excel, LibreOffice and Google Sheets
_FORMULA = re.compile(r"\t|\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def as_csv(table: pd.DataFrame, **options: object) -> str:
    """Return `table` as CSV without its index; no text in it can start a spreadsheet's formula."""
    texts = table.select_dtypes(["object", "string"]).map(_harmless)
    return table.assign(**texts).to_csv(index=False, lineterminator="\n", **options)


def _harmless(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    text = re.sub(r"\r\n?", "\n", cell)  # a bare return starts a row, unquoted
    return f"'{text}" if _FORMULA.match(text) else text


def estimate(
    value: float,
    low: float | None = None,
    high: float | None = None,
    *,
    digits: int = 1,
    sign: str = "",
) -> str:
    """Format an estimate with its interval: "31.5 [26.0, 37.0]"; without `low`, the value alone.

    Unknown is a dash, an interval with an unknown end "[–]". With `sign` "+", plus is shown.
    """
    if pd.isna(value):
        return DASH
    pattern = f"{sign}.{digits}f"
    if low is None:
        return f"{value:{pattern}}"
    ends = DASH if pd.isna([low, high]).any() else f"{low:{pattern}}, {high:{pattern}}"
    return f"{value:{pattern}} [{ends}]"


def in_points(difference: float, low: float | None = None, high: float | None = None) -> str:
    """Format a difference in percentage points: "-7.2 [-12.0, -2.4]"."""
    return estimate(difference, low, high, sign="+")


def percent(
    share: float, low: float | None = None, high: float | None = None, digits: int = 1
) -> str:
    """Format a fraction as percent: "26.2%", or with its interval "26.2 [17.0, 38.0]"."""
    if low is None:
        return DASH if pd.isna(share) else f"{share:.{digits}%}"
    return estimate(100 * share, 100 * low, 100 * high, digits=digits)


def fraction(
    count: int, n: int, low: float | None = None, high: float | None = None, digits: int = 2
) -> str:
    """Format a count and its share: "17/65 = 26.15%", or with "[17.0, 38.0]"; a dash without n.

    `low` and `high` are fractions of 1 and appear in percent.
    """
    if pd.isna(n) or not n:
        return DASH
    ends = "" if pd.isna([low, high]).any() else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{count:.0f}/{n:.0f} = {count / n:.{digits}%}{ends}"


def with_error(value: float, error: float, sign: str = "") -> str:
    """Format a value with its standard error: "63.35 ± 0.38"; without it if unknown."""
    text = estimate(value, digits=2, sign=sign)
    return text if pd.isna(value) or pd.isna(error) else f"{text} ± {error:.2f}"


def p_value(p: float) -> str:
    """Format a p value with two digits, never as 0."""
    if pd.isna(p):
        return DASH
    return "<0.0001" if p < 1e-4 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def number(value: object, pattern: str = ".2f") -> str:
    """Format a cell of a table: floats by `pattern`, a dash for NaN, anything else as text."""
    if isinstance(value, list):
        return ", ".join(number(one, pattern) for one in value)
    if pd.isna(value):
        return DASH
    return f"{value:{pattern}}" if isinstance(value, float) else str(value)


def compact(table: pd.DataFrame, digits: int = 1) -> pd.DataFrame:
    """Format a table: an estimate and its interval (low, high; x_low, x_high) in one cell.

    Estimates below 1, unless in points or percent, have three digits, others `digits`; p values
    two.
    """
    names = {re.sub("_(points|percent)$", "", column): column for column in table}
    plain = next((name for name in _ESTIMATES if name in names), "")
    cells = {}
    for name, column in names.items():
        prefix = "" if name == plain else f"{name}_"
        ends = [names.get(f"{prefix}{end}") for end in ("low", "high")]
        if all(ends):
            places = 3 if name == column and table[column].abs().max() <= 1 else digits
            rows = table[[column, *ends]].itertuples(index=False)
            cells[f"{column} [95%]"] = [estimate(*row, digits=places) for row in rows]
        elif not re.search("(^|_)(low|high)$", name):
            write = p_value if re.match("p(_|$)", name) else number
            cells[column] = [write(value) for value in table[column]]
    return pd.DataFrame(cells)


def in_words(name: object) -> object:
    """Return what a person reads for a structure, an arm, or a difference of two; else `name`."""
    if not isinstance(name, str):
        return name
    return " – ".join(arm_label(structure_label(part)) for part in name.split(" – "))


def labelled(table: pd.DataFrame) -> pd.DataFrame:
    """Replace names of structures and arms, as columns or cells, by what a person reads."""
    return table.map(in_words).rename(columns=in_words)


def one_line(text: str) -> str:
    """Show a text of several lines on one line, with ↵ for each line break."""
    return " ↵ ".join(text.splitlines())
