"""How numbers are shown in tables and sentences: estimates, intervals, percentages, p values."""

import numpy as np
import pandas as pd

DASH = "–"  # what is not known


def in_points(estimate: float, low: float, high: float) -> str:
    """Format a difference in percentage points: "-7.2 [-12.0, -2.4]"; a dash for what is unknown."""
    ends = f"[{DASH}]" if np.isnan(low) else f"[{low:+.1f}, {high:+.1f}]"
    return DASH if np.isnan(estimate) else f"{estimate:+.1f} {ends}"


def percent(share: float, low: float | None = None, high: float | None = None,
            digits: int = 1) -> str:
    """Format a fraction as percent: "26.2%", or with its interval "26.2 [17.0, 38.0]"."""
    if pd.isna(share):
        return DASH
    if low is None:
        return f"{share:.{digits}%}"
    ends = DASH if pd.isna(low) else f"{100 * low:.{digits}f}, {100 * high:.{digits}f}"
    return f"{100 * share:.{digits}f} [{ends}]"


def p_value(p: float) -> str:
    """Format a p value with two digits, never as 0."""
    if np.isnan(p):
        return DASH
    return "<0.0001" if p < 1e-4 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def number(value: object, pattern: str = ".2f") -> str:
    """Format a cell of a table: floats by `pattern`, a dash for NaN, anything else as text."""
    if pd.isna(value):
        return DASH
    return f"{value:{pattern}}" if isinstance(value, float) else str(value)


def one_line(text: str) -> str:
    """Show a text of several lines on one line, with ↵ for each line break."""
    return " ↵ ".join(text.splitlines())
