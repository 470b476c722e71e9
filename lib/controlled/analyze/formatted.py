"""Format the tables of the controlled experiment as text, for Markdown and notebooks."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from lib.analyze.format import DASH, estimate, in_points, p_value
from lib.analyze.stats import ALPHA
from lib.controlled.analyze.bases import OVER_BASES
from lib.controlled.analyze.rows import MEASURES, POINTS


def contrasts(table: pd.DataFrame) -> pd.DataFrame:
    """Format `contrasts.contrasts`, one row per measure and structure."""
    return _table(({
        "measure": MEASURES[row.measure].label,
        "structure – reference": f"{row.structure} – {row.reference}", **_sample(row),
        "means": means(row),
        "only reference / only structure": DASH if np.isnan(row.only_reference) else
        f"{row.only_reference:.0f} / {row.only_structure:.0f} of {row.pairs}",
        "difference [95%]": difference(row.estimate, row.low, row.high, row.unit),
        **_decision(row, 1 if row.unit == POINTS else 3)}
        for row in table.itertuples()), "measure")


def shuffled(table: pd.DataFrame) -> pd.DataFrame:
    """Format `controls.shuffled_control`."""
    return _table(({
        "shuffled labels": f"{row.structure} – {row.reference}", "bases": str(row.bases),
        "one shuffle, points [95%]": in_points(row.estimate, row.low, row.high),
        "its p": p_value(row.p),
        f"shuffles with p ≤ {ALPHA}": f"{row.p_below} of {row.shuffles} = "
        f"{row.p_below / row.shuffles:.1%} [{row.p_below_low:.1%}, {row.p_below_high:.1%}]"}
        for row in table.itertuples()), "shuffled labels")


def known(table: pd.DataFrame) -> pd.DataFrame:
    """Format `controls.known_effect`."""
    return _table(({
        "planted among shuffled labels":
        f"{row.structure} – {row.reference}: {row.planted_points:+.1f} points", **_sample(row),
        "estimate, points [95%]": in_points(row.estimate, row.low, row.high), **_decision(row),
        "interval includes the planted effect": "yes" if row.is_held else "NO"}
        for row in table.itertuples()), "planted among shuffled labels")


def planted(table: pd.DataFrame) -> pd.DataFrame:
    """Format `controls.planted_control`."""
    return _table(({
        "planted arm": row.arm, **_sample(row, "raw"),
        "gain on the planted structure, points": f"{row.gain_planted:+.1f}",
        "gain on the others, points": f"{row.gain_others:+.1f}",
        "difference [95%]": in_points(row.estimate, row.low, row.high), **_decision(row)}
        for row in table.itertuples()), "planted arm")


def interventions(table: pd.DataFrame) -> pd.DataFrame:
    """Format `interventions.interventions`, one row per arm and structure."""
    return _table(({
        "run": f"{row.arm} ({row.role})", "structure": row.structure, **_sample(row, "raw"),
        "raw → arm": _change(row.accuracy_raw, row.accuracy_arm, 1),
        "gain, points [95%]": in_points(row.gain_points, row.low_points, row.high_points),
        **_decision(row), "tokens added": _signed(row.tokens_added_percent, ".1f", "%"),
        "points per 1% more tokens": _signed(row.points_per_percent, ".2f"),
        "in the question's words": _change(row.as_asked_raw_percent, row.as_asked_arm_percent, 0)}
        for row in table.itertuples()), "run")


def arm_pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Format `interventions.arm_pairs`."""
    return _table(({
        "arms": f"{row.first} → {row.second}", **_sample(row, row.first),
        "first → second": _change(row.accuracy_first, row.accuracy_second, 1),
        "difference, points [95%]": in_points(row.estimate, row.low, row.high), **_decision(row),
        "tokens added": _signed(row.tokens_added_percent, ".1f", "%"),
        "in the question's words": _change(row.as_asked_first_percent,
                                           row.as_asked_second_percent, 0)}
        for row in table.itertuples()), "arms")


def augmentations(table: pd.DataFrame) -> pd.DataFrame:
    """Format `augment.augmentations`, one row per arm and structure."""
    return _table(({
        "arm": row.arm, "structure": row.structure, **_sample(row),
        "accuracy, % [95%]": estimate(row.estimate, row.low, row.high),
        "without a pair, % [95%]": estimate(row.unpaired_percent, row.unpaired_low,
                                            row.unpaired_high),
        "gain over raw-2x, points [95%]": in_points(row.gain_points, row.gain_low, row.gain_high),
        "tokens of the texts": f"{row.text_tokens:,.0f}",
        "tokens trained on": f"{row.trained_tokens:,.0f}",
        "public questions still answered": f"{row.retained_percent:.0f}%",
        "longest run of the question's words": f"{row.overlap_percent:.0f}%"}
        for row in table.itertuples()), "arm")


def hypotheses(table: pd.DataFrame) -> pd.DataFrame:
    """Format `augment.hypotheses`."""
    return _table(({
        "hypothesis": row.contrast, "facts": str(row.n),
        "points [95%]": in_points(row.estimate, row.low, row.high), **_decision(row)}
        for row in table.itertuples()), "hypothesis")


def factors(table: pd.DataFrame) -> pd.DataFrame:
    """Format `factors.factors`, one row per factor, level and structure."""
    return _table(({
        "factor": row.factor, "level": row.level, "structure": row.structure, **_sample(row),
        "accuracy, % [95%]": estimate(row.accuracy, row.low, row.high),
        "against": f"{row.against} (n = {row.n_difference:.0f})" if row.against else DASH,
        "difference, points [95%]": in_points(row.difference, row.difference_low,
                                              row.difference_high)}
        for row in table.itertuples()), "factor")


def difference(value: float, low: float, high: float, unit: str) -> str:
    """Format a difference in a measure's unit; nats have three decimals."""
    text = in_points(value, low, high, digits=1 if unit == POINTS else 3)
    return text if np.isnan(value) else f"{text} {unit}"


def means(row) -> str:
    """Format the two means of a row of contrasts: "31.5% → 24.2%", or nats with three decimals."""
    if row.unit == POINTS:
        return _change(row.mean_reference, row.mean_structure, 1)
    return " → ".join(estimate(mean, digits=3) for mean in (row.mean_reference, row.mean_structure))


def _table(rows: Iterable[dict], first: str) -> pd.DataFrame:
    rows = list(rows)
    return pd.DataFrame(rows, columns=None if rows else [first])  # at least one column


def _sample(row, partner: str = "") -> dict[str, str]:
    """Return the cell that gives the numbers of facts, products, bases and rows left out."""
    text = f"{row.n} ({row.clusters}), {row.bases}"
    if left_out := getattr(row, "left_out", 0):
        text += (f"; {left_out} without {partner}" if partner else
                 f"; {left_out} of {row.pairs + left_out} pairs left out")
    return {"facts (products), bases": text}


def _decision(row, digits: int = 1) -> dict[str, str]:
    """Return the cells from which a row is found or not; an exploratory row has no Holm's p."""
    covers = "" if row.interval == OVER_BASES else f" ({row.interval})"
    of = f"{row.family} (of {row.hypotheses})" if row.hypotheses else row.family
    return {"SD between bases": estimate(row.sd_bases, digits=digits),
            "p (uncorrected)": p_value(row.p) + covers, "family": of,
            "p (Holm)": p_value(row.p_holm), "found": "yes" if row.found else "no"}


def _change(first: float, second: float, digits: int) -> str:
    if np.isnan(first) and np.isnan(second):
        return DASH
    return " → ".join(DASH if np.isnan(value) else f"{value:.{digits}f}%"
                      for value in (first, second))


def _signed(value: float, pattern: str, unit: str = "") -> str:
    return DASH if np.isnan(value) else f"{value:+{pattern}}{unit}"
