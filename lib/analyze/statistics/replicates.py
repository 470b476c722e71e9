"""Compare independent laboratories: one estimate each, t over replicates, Holm over the primaries.

The paper trains one base once (section 4.2), so nothing in it says what another base would give.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from lib.analyze.format import estimate, in_points, named_p, p_value, percent
from lib.analyze.stats import ALPHA, holm, t_over
from lib.core.arms import ALL
from lib.core.records import STRUCTURES, Query, Score, Segment, Verdict
from lib.core.text import listed

PRIMARY = ("dapt tabular - natural", "dapt-n - dapt tabular - natural", "dapt-n - dapt all")
ROWS = ["replicate", "arm", "query_id", "structure", "correct", "stored", "in_training"]
SUMMARY = ["contrast", "is_primary", "replicates", "mean", "sd", "low", "high", "p", "p_holm"]


def replicate_rows(replicate: str, arm: str, queries: Sequence[Query], segments: Sequence[Segment],
                   held_out: Iterable[str], verdicts: Sequence[Verdict],
                   scores: Sequence[Score]) -> pd.DataFrame:
    """Return one row per query of a replicate's arm, in columns ROWS.

    A query is in training unless its source reference overlaps a segment in `held_out`. An unscored
    answer counts as incorrect. `stored` is whether each token of the reference answer is the argmax
    after the record's words; None if there is no such score. Raises ValueError if queries, verdicts
    and scores do not match one to one.
    """
    ids = [query.query_id for query in queries]
    if [row.query_id for row in verdicts] != ids or [row.query_id for row in scores] != ids:
        raise ValueError(f"replicate {replicate}, arm {arm}: queries, verdicts and scores do not "
                         "match one to one: remove its folder and run the study again")
    held = set(held_out)
    out = [segment for segment in segments if segment.segment_id in held]
    rows = [(replicate, arm, query.query_id, query.structure, verdict.verdict == "correct",
             score.cloze_argmax, not any(one.document_id == query.document_id
                                         and one.start < query.end and query.start < one.end
                                         for one in out))
            for query, verdict, score in zip(queries, verdicts, scores, strict=True)]
    return pd.DataFrame(rows, columns=ROWS)


def estimates(rows: pd.DataFrame, arms: Sequence[str] = ("dapt", "dapt-n")) -> pd.DataFrame:
    """Return the contrasts of each replicate: replicate, contrast, points (percent for accuracies).

    Only queries in training are counted. A contrast is named "<arm> <structure>" for an accuracy;
    "<arm> <structure> - natural" compares structures; with "<second> - <first>" for the arm, it is
    the second arm's gain over the first.
    """
    cells = rows[rows.in_training]
    share = 100 * pd.concat([cells, cells.assign(structure=ALL)]).groupby(
        ["replicate", "arm", "structure"]).correct.mean()
    sides = {arm: share.xs(arm, level="arm").unstack() for arm in arms}
    first, second = arms
    sides[f"{second} - {first}"] = sides[second] - sides[first]
    found = []
    for name, table in sides.items():
        others = {f"{name} {structure} - natural": table[structure] - table["natural"]
                  for structure in STRUCTURES[1:]}
        own = {f"{name} {structure}": table[structure] for structure in (*STRUCTURES, ALL)}
        found += [values.rename("points").reset_index().assign(contrast=contrast)
                  for contrast, values in {**own, **others}.items()]
    return pd.concat(found)[["replicate", "contrast", "points"]].reset_index(drop=True)


def summarized(table: pd.DataFrame, primary: Sequence[str] = PRIMARY) -> pd.DataFrame:
    """Return one row per contrast of `estimates`, the primary ones first; columns SUMMARY.

    low and high are the 95% t interval over replicates, p is the t test of a mean of 0, p_holm is
    Holm's over the primary contrasts (NaN for others, which are exploratory). If all replicates
    agree exactly, there is no interval. Raises ValueError if a primary contrast is unknown.
    """
    if unknown := [name for name in primary if name not in set(table.contrast)]:
        raise ValueError(f"primary: {unknown[0]!r} is not a contrast; choose among "
                         f"{', '.join(dict.fromkeys(table.contrast))}")
    order = [*primary, *(name for name in dict.fromkeys(table.contrast) if name not in primary)]
    found = []
    for name in order:
        one = t_over(table.points[table.contrast == name])
        p = one["p"] if " - " in name else np.nan  # an accuracy is not tested against 0
        found.append((name, name in primary, one["n"], one["estimate"], one["sd"], one["low"],
                      one["high"], p, np.nan))
    summary = pd.DataFrame(found, columns=SUMMARY)
    summary.loc[summary.is_primary, "p_holm"] = holm(summary.p[summary.is_primary])
    return summary


def conclusion(summary: pd.DataFrame, rows: pd.DataFrame, most_sd: float,
               most_replicates: int) -> str:
    """Describe the primary contrasts, what is left out and whether to go on, as Markdown."""
    primary = list(summary[summary.is_primary].itertuples())
    lines = [f"- {_named(row.contrast)}: {in_points(row.mean, row.low, row.high)} points "
             f"(SD {estimate(row.sd)}, {named_p(row.p)}, Holm's {named_p(row.p_holm)}, "
             f"{row.replicates} replicates): {_verdict(row)}." for row in primary]
    shares = []
    for arm, cells in rows.groupby("arm", sort=False):
        inside, outside = cells[cells.in_training], cells[~cells.in_training]
        shares.append(f"{arm} answers {percent(inside.correct.mean())} of {len(inside)} queries "
                      f"about facts in training and {percent(outside.correct.mean())} of "
                      f"{len(outside)} about held-out facts")
    lines.append(f"- Over all replicates, {listed(shares)}. The held-out facts were in no arm's "
                 "training, so they are in no contrast.")
    stored = rows[rows.in_training & rows.stored.notna()].astype({"stored": bool})
    lines += [f"- After {arm}, {percent(cells.stored.mean())} of {len(cells)} facts in training "
              "are stored (each token of the answer is the argmax after the raw record's words), "
              f"and {percent((cells.stored & ~cells.correct).mean())} are stored but not answered."
              for arm, cells in stored.groupby("arm", sort=False)]
    return "\n".join([*lines, f"- {_goes_on(primary, most_sd, most_replicates)}"]) + "\n"


def short(contrast: str) -> str:
    """Return a contrast as a figure's label: "gain of dapt-n: tabular – natural"."""
    arm, _, rest = contrast.partition(" - dapt ")
    if rest:
        return f"gain of {arm}: {rest.replace(' - ', ' – ')}"
    arm, _, rest = contrast.partition(" ")
    return f"after {arm}: {rest.replace(' - ', ' – ')}"


def _named(contrast: str) -> str:
    arm, _, rest = contrast.partition(" - dapt ")
    if not rest:
        return f"After {contrast.replace(' - ', ' minus ', 1).replace(' ', ', ', 1)}"
    what = "all queries" if rest == ALL else rest.replace(" - ", " beyond its gain on ")
    return f"Gain of {arm} over dapt on {what}"


def _verdict(row) -> str:
    if np.isnan(row.p_holm):
        return "no test is possible, because the replicates do not vary or there is only one"
    if row.p_holm > ALPHA:
        return "no effect is shown"
    return "found, " + ("higher" if row.mean > 0 else "lower")


def _goes_on(primary: list, most_sd: float, most_replicates: int) -> str:
    """Apply the rule for going on, which depends on the SD alone."""
    largest = max(primary, key=lambda row: np.nan_to_num(row.sd, nan=-1.0))
    if np.isnan(largest.sd):
        return "One replicate has no SD: run more."
    rule = (f"The largest SD of the primary contrasts is {largest.sd:.1f} points; the limit is "
            f"{most_sd:.1f}")
    if largest.sd <= most_sd:
        return f"{rule}, so no more replicates are needed."
    if largest.replicates >= most_replicates:
        return f"{rule}, and {largest.replicates} replicates, the most allowed, were run."
    return f"{rule}: set `replicates: {most_replicates}` in the study's file and run it again."


def formatted(summary: pd.DataFrame) -> pd.DataFrame:
    """Format `summarized` with one row per contrast."""
    return pd.DataFrame([{
        "contrast": row.contrast, "kind": "primary" if row.is_primary else "exploratory",
        "replicates": row.replicates,
        "mean [95%]": (in_points if " - " in row.contrast else _plain)(row.mean, row.low, row.high),
        "SD": estimate(row.sd), "p": p_value(row.p), "p (Holm)": p_value(row.p_holm)}
        for row in summary.itertuples()])


def _plain(mean: float, low: float, high: float) -> str:
    return percent(mean / 100, low / 100, high / 100)
