"""Simulate the intervals and tests in use, at the shapes of the studies: coverage and type I.

    python -m benchmarks statistics
    python -m benchmarks.statistics --quick  # 20 data sets a row; prints, and writes nothing
"""

import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.simulated import (
    ALIKE,
    COVERAGE,
    DRAWS,
    POWER,
    RESAMPLES,
    TYPE_I,
    advised,
    both_ways,
    judges,
    labels,
    lists,
    one_count,
    one_share,
    over_many_bases,
    rated,
    replicated,
    retained,
    scores,
    trainings,
    two_arms,
)
from lib.analyze.stats import wilson

SEED, SIMULATIONS, CHEAP = 19, 400, 1000  # CHEAP: of what takes a millisecond
WANTED = {COVERAGE: (93, 97), TYPE_I: (0, 6), POWER: (0, 100)}
NOTE = f"""\
- Each row calls the function that the studies call, on made-up data with a known truth (fixed
  seeds). "No result" is the share without an interval or p; "measured" is over the others.
- Met: "yes" if the share is as wanted, "unclear" if only its Monte Carlo interval (Wilson) is.
- Answers of a cluster are correlated (ICC, beta-binomial), and so are two trainings ({ALIKE}).
  There are {DRAWS} sign flips a data set, and {RESAMPLES} bootstraps of a rating."""


def sized(*groups: tuple[int, int], noun: str = "documents") -> dict[str, tuple[int, ...]]:
    """Map names such as "10 documents × 18" to the sizes of their clusters."""
    return {f"{n} {noun[:-1] if n == 1 else noun} × {size}": (size,) * n for n, size in groups}


LAB = sized((60, 3), (60, 9), noun="products")
FEW = sized((10, 18), (5, 18))
UNEQUAL = {"10 documents × 2 to 38": tuple(range(2, 39, 4))}
REFUSED = sized((2, 18), (1, 18))
THIRDS = {"60 products × 3 × 3": (3,) * 60, "10 documents × 6 × 3": (6,) * 10,
          "5 documents × 6 × 3": (6,) * 5}  # queries of each structure
NO_GAIN, GAINS = (0.0, 0.0, 0.0), (0.05, 0.10, 0.15)
SCENARIOS: list[tuple[Callable, int, str, dict]] = [
    *((one_share, CHEAP, f"{name}; {mean:.0%}, ICC {rho}",
       {"sizes": sizes, "mean": mean, "rho": rho})
      for name, sizes in (LAB | FEW | UNEQUAL).items() for mean in (0.02, 0.3, 0.98)
      for rho in (0.1, 0.2)),
    *((one_share, CHEAP, f"{name}; 30%, ICC 0.2", {"sizes": sizes, "mean": 0.3, "rho": 0.2})
      for name, sizes in REFUSED.items()),
    *((one_count, CHEAP, f"{n} independent; {mean:.0%}", {"sizes": (1,) * n, "mean": mean,
                                                          "rho": 0.1})
      for n in (60, 180) for mean in (0.02, 0.3, 0.98)),
    *((one_count, CHEAP, f"{name}; 30%, ICC 0.1", {"sizes": sizes, "mean": 0.3, "rho": 0.1})
      for name, sizes in (LAB | FEW).items()),
    *((scores, CHEAP, f"{name}; ICC {rho}", {"sizes": sizes, "rho": rho})
      for name, sizes in (sized((32, 4), noun="texts") | sized((20, 4), noun="passages")).items()
      for rho in (0.1, 0.2)),
    *((two_arms, SIMULATIONS, f"{name}; no gain; ICC 0.2",
       {"sizes": sizes, "rho": 0.2, "gains": NO_GAIN}) for name, sizes in THIRDS.items()),
    *((two_arms, SIMULATIONS, f"{name}; gains 5, 10, 15; ICC 0.1",
       {"sizes": sizes, "rho": 0.1, "gains": GAINS}) for name, sizes in [*THIRDS.items()][:2]),
    *((trainings, SIMULATIONS, f"{name}; gains 5, 10, 15; 3 seeds, SD 3 points; ICC 0.1",
       {"sizes": sizes, "rho": 0.1, "gains": GAINS}) for name, sizes in [*THIRDS.items()][:2]),
    *((advised, SIMULATIONS // 2 if len(sizes) > 2 else 20,
       f"{name} × 3; gains 5, 10, 15; ICC 0.1", {"sizes": sizes, "rho": 0.1, "gains": GAINS})
      for name, sizes in sized((10, 6), (2, 6), (1, 6)).items()),
    *((both_ways, SIMULATIONS, f"{name}; ICC 0.1", {"sizes": sizes, "rho": 0.1})
      for name, sizes in (LAB | FEW).items()),
    *((over_many_bases, SIMULATIONS, f"10 bases, {arms} contrasts, SD {100 * sd:.0f} points",
       {"bases": 10, "arms": arms, "sd": sd}) for arms, sd in (
          (2, 0.05), (2, 0.09), (4, 0.09), (9, 0.05), (9, 0.09))),
    (over_many_bases, SIMULATIONS, "10 bases, 2 contrasts, SD 5 points; one gain of 8",
     {"bases": 10, "arms": 2, "sd": 0.05, "effect": 0.08}),
    *((replicated, CHEAP, f"12 replicates, SD 10 points, skewness {skewness}",
       {"skewness": skewness}) for skewness in (0, 1, 2)),
    (replicated, CHEAP, "12 replicates, SD 10 points; gains of 12", {"effect": 12.0}),
    (rated, SIMULATIONS, "80 questions of 20 passages, 3 models",
     {"sizes": (4,) * 20, "strengths": (0, 0.5, 1.5)}),
    (rated, SIMULATIONS, "80 questions of 20 passages, 4 models",
     {"sizes": (4,) * 20, "strengths": (0, 0.5, 1.5, 5)}),
    *((judges, SIMULATIONS, f"{documents} documents × {per}; ICC 0.1",
       {"documents": documents, "per": per, "shares": (0.3, 0.05, 0.05, 0.6), "rho": 0.1})
      for documents, per in ((60, 9), (10, 18))),
    (judges, SIMULATIONS, "60 labels", {"documents": 60, "per": 1,
                                        "shares": (0.3, 0.05, 0.05, 0.6), "rho": 0.1}),
    (labels, SIMULATIONS // 2, "60 labels, 10 a stratum", {"drawn": 60}),
    *((lists, SIMULATIONS, f"{name}; ICC 0.1", {"sizes": sizes, "rho": 0.1})
      for name, sizes in sized((60, 3), (10, 6), (5, 6)).items()),
    *((retained, SIMULATIONS, f"200 items, {before:.0%} and {after:.0%}",
       {"items": 200, "before": before, "after": after})
      for before, after in ((0.6, 0.6), (0.98, 0.98), (0.98, 0.69))),
]


def counted(function: Callable, n: int, shape: str, arguments: dict) -> list[dict]:
    """Return one row for each interval and test of a function of simulated.py, over n data sets."""
    rng = np.random.default_rng([SEED, *f"{function.__name__} {shape}".encode()])
    found = pd.DataFrame([function(rng, **arguments) for _ in range(n)])
    rows = []
    for what, kind in found:
        known = found[what, kind].dropna().astype(bool)
        share, (low, high) = known.mean(), wilson(known.sum(), len(known))
        rows.append({"what": what, "kind": kind, "shape": shape, "n": n,
                     "refused": 1 - len(known) / n, "share": share, "low": low, "high": high})
    return rows


def met(row) -> str:
    """Say whether the share is as wanted; "unclear" if only its Monte Carlo interval reaches it."""
    least, most = WANTED[row.kind]
    if row.kind == POWER or np.isnan(row.share):
        return "refused" if np.isnan(row.share) else ""
    if least <= round(100 * row.share, 1) <= most:
        return "yes"
    if 100 * row.low <= most and 100 * row.high >= least:
        return "unclear"
    if row.kind == TYPE_I:
        return "no"
    return "no: too narrow" if 100 * row.share < least else "no: too wide"


def main(simulations: int = 0) -> str:
    """Return a Markdown table; `simulations` is the number of each row, by default its own."""
    warnings.simplefilter("ignore")  # of divisions that end in NaN, which is counted
    started = time.process_time()
    table = pd.DataFrame([row for function, n, *shape in SCENARIOS
                          for row in counted(function, simulations or n, *shape)])
    table["met"] = [met(row) for row in table.itertuples()]
    order = {what: place for place, what in enumerate(dict.fromkeys(table.what))}
    table = table.sort_values("what", key=lambda what: what.map(order), kind="stable")
    goals = {COVERAGE: "coverage 93–97", TYPE_I: "type I ≤ 6", POWER: "(power)"}
    judged = table[table.met != ""]
    counts = judged.met.value_counts()
    missed = judged[judged.met.str.startswith("no")]
    lines = [
        "## Intervals and tests", "",
        f"`python -m benchmarks statistics`: {time.process_time() - started:.0f} s of processor "
        f"time. Of {len(judged)} rows with a goal, " + ", ".join(
            f"{n} {name}" for name, n in counts.items()) + ".", "", NOTE, "", "Not met:", "",
        *(f"- {row.what} ({row.shape}): {row.kind} {100 * row.share:.1f}%, {row.met}"
          for row in missed.itertuples()), "",
        "| what | shape | simulations | no result, % | wanted, % | measured, % [Monte Carlo 95%] | "
        "met |", "|---|---|---:|---:|---|---|---|"]
    for row in table.itertuples():
        share = "–" if np.isnan(row.share) else (
            f"{100 * row.share:.1f} [{100 * row.low:.1f}, {100 * row.high:.1f}]")
        lines.append(f"| {row.what} | {row.shape} | {row.n} | {100 * row.refused:.0f} | "
                     f"{goals[row.kind]} | {share} | {row.met} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(main(20 if "--quick" in sys.argv else 0))
