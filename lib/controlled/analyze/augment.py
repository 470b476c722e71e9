"""Estimate what added texts do: slopes in paraphrases, facts without a pair, gain and price."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib.analyze.format import estimate, in_points, named_p
from lib.controlled.analyze.bases import ESTIMATE, NONE, decided, estimated, over_bases, share
from lib.controlled.analyze.rows import matched, pairs_of, sorted_structures
from lib.core.arms import ALL
from lib.core.text import listed

SLOPES = ["structure", "arms", "n", "bases", "estimate", "low", "high", "sd_bases", "interval",
          "p", "each"]
AUGMENTED = ["arm", "structure", *ESTIMATE, "unpaired_percent", "unpaired_low", "unpaired_high",
             "gain_points", "gain_low", "gain_high", "text_tokens", "trained_tokens",
              "retained_percent", "overlap_percent"]
TRANSFER = ("pairs - raw-2x",)  # arms compared on facts without a pair


def slopes(rows: pd.DataFrame, prefix: str = "paraphrase-",
           reference: str = "natural") -> pd.DataFrame:
    """Return the slope of strict accuracy over the arms <prefix>k, in points per doubling of k.

    One row per structure and "all", columns SLOPES. Each base has one slope, by least squares over
    its arms' accuracies (`each`, in the order of the bases); the estimate is their mean, with
    interval and p (uncorrected) over bases. A base with fewer than two arms has no slope.
    """
    names = rows.arm.str.removeprefix(prefix).where(rows.arm.str.startswith(prefix))
    copies = pd.to_numeric(names, errors="coerce")
    rows, found = rows[copies > 0].assign(doublings=np.log2(copies[copies > 0])), []
    for structure in (*sorted_structures(rows.structure, reference), ALL):
        cells = rows[(rows.structure == structure) | (structure == ALL)]
        each = pd.Series([_slope(base) for _, base in cells.groupby("seed")], dtype=float)
        found.append({"structure": structure, "arms": cells.arm.nunique(),
                      "n": cells.fact_id.nunique(), **over_bases(each), "each": each.tolist()})
    return pd.DataFrame(found, columns=SLOPES)


def _slope(base: pd.DataFrame) -> float:
    """Return the least-squares slope over a base's arms, in points; NaN with one arm."""
    points = 100 * base.correct.astype(float).groupby(base.doublings).mean()
    return float(np.polyfit(points.index, points, 1)[0]) if len(points) > 1 else np.nan


def augmentations(rows: pd.DataFrame, first: str = "raw-2x",
                  reference: str = "natural") -> pd.DataFrame:
    """Return each arm's accuracy by structure and "all", in percent over bases, with its price.

    One row per arm of `rows` and structure, columns AUGMENTED. unpaired_percent is the accuracy on
    the facts that have no pair in any arm; gain_points is over `first` (see rows.matched). The
    price: text_tokens (of the texts to train on), trained_tokens (read in all of
    the training) and retained_percent, the share of public questions that the run still answers,
    all as means over bases. overlap_percent is the mean over facts of the longest run of the
    question's words in the record's texts, as a share of the question.
    """
    found = []
    for arm in rows.arm.unique():
        own = rows[rows.arm == arm]
        pairs = matched(rows, arm, first)[0]
        price = own.groupby("seed")[["run_tokens", "trained_tokens", "retained"]].first().mean()
        for structure in (*sorted_structures(own.structure, reference), ALL):
            cells, gains = (table[(table.structure == structure) | (structure == ALL)]
                            for table in (own, pairs))
            gained, left = estimated(gains), share(cells[~cells.has_pair.astype(bool)])
            found.append({
                "arm": arm, "structure": structure, **share(cells),
                "unpaired_percent": left["estimate"], "unpaired_low": left["low"],
                "unpaired_high": left["high"], "gain_points": gained["estimate"],
                "gain_low": gained["low"], "gain_high": gained["high"],
                "text_tokens": price.run_tokens,
                "trained_tokens": price.trained_tokens,
                "retained_percent": 100 * price.retained,
                "overlap_percent": 100 * cells.question_overlap.mean()})
    return pd.DataFrame(found, columns=AUGMENTED)


def hypotheses(rows: pd.DataFrame, transfer: Sequence[str] = TRANSFER,
               reference: str = "natural") -> pd.DataFrame:
    """Return the primary contrasts of an augmentation study, decided as one family.

    They are the slope in each structure and the contrasts in `transfer`, which are over facts
    without a pair (see rows.pairs_of). Columns contrast, n, bases, estimate, low, high, sd_bases,
    interval, p and those of bases.decided. Raises ValueError if an arm in `transfer` was not run.
    """
    sloped = slopes(rows, reference=reference)
    sloped = sloped[sloped.structure != ALL].assign(
        contrast=lambda table: "points per doubling of paraphrases, " + table.structure)
    columns = ["contrast", "n", "bases", "estimate", "low", "high", "sd_bases", "interval", "p"]
    compared = pd.DataFrame([{"contrast": f"{name}, facts without a pair",
                              **estimated(pairs_of(rows, name))}
                             for name in transfer], columns=columns)
    table = pd.concat([sloped[columns], compared], ignore_index=True)
    return decided(table, ["primary"] * len(table))


def findings(decided: pd.DataFrame, table: pd.DataFrame, goal_percent: float,
             first: str = "raw-2x") -> str:
    """Describe `hypotheses` and the best arm of `augmentations` with its price, as Markdown.

    The best arm has the highest accuracy in its worst structure, on the facts that have no pair in
    any arm.
    """
    lines = [f"{row.contrast}: {in_points(row.estimate, row.low, row.high)} points "
             f"({row.n} facts, {row.bases} base{'s' * (row.bases != 1)}): {_verdict(row)}."
             for row in decided.itertuples()]
    each = table[table.structure != ALL]
    worst = each.groupby("arm", sort=False).unpaired_percent.min()
    if worst.notna().any():
        best = worst.idxmax()
        own = list(each[each.arm == best].itertuples())
        cells = [f"{row.structure} "
                 f"{estimate(row.unpaired_percent, row.unpaired_low, row.unpaired_high)}%"
                 for row in own]
        verb = "is" if worst.max() >= goal_percent else "is not"
        whole = listed([f"{row.structure} {estimate(row.estimate)}%" for row in own])
        lines.append("On the facts without a pair in any arm, the best arm in its worst structure "
                     f"is {best}: {listed(cells)}. The goal of {goal_percent:.0f}% in every "
                     f"structure {verb} reached. On all facts: {whole}. It is the best of "
                     f"{len(worst)} arms on the same bases, so its accuracy is probably "
                     "overestimated.")
        priced = table[table.structure == ALL].set_index("arm")
        prices = [f"{arm} has texts of {priced.text_tokens[arm]:,.0f} tokens, reads "
                  f"{priced.trained_tokens[arm]:,.0f} in training and still answers "
                  f"{priced.retained_percent[arm]:.0f}% of the public questions"
                  for arm in dict.fromkeys((best, first)) if arm in priced.index]
        lines.append(f"The price: {'; '.join(prices)}.")
    return "".join(f"- {line}\n" for line in lines)


def _verdict(row) -> str:
    if np.isnan(row.low):
        return f"nothing is concluded ({row.interval.removeprefix(NONE)})"
    return f"{'found' if row.found else 'not shown'}, Holm's {named_p(row.p_holm)}"
