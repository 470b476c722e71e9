"""Compute what n queries can detect: power of exact McNemar and of two independent proportions.

`python -m lib.analyze.statistics.power <study>` prints this; it needs queries but no verdicts.
Queries are treated as independent. Those of one document are not: n of them are worth n / the
design effect (--design-effect; see `seeds.csv`). --replicates gives the power of replicates.
"""

import argparse
import sys
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import binom
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import power_proportions_2indep

from lib.analyze.format import number
from lib.analyze.paper.published import QUERIES
from lib.analyze.stats import ALPHA
from lib.analyze.tables import widened
from lib.core.arms import ALL
from lib.core.files import load
from lib.core.records import STRUCTURES, Query
from lib.core.text import listed

POWER = 0.8
DISCORDANT = (0.1, 0.2, 0.3, 0.5)  # shares of queries that one of two arms answers correctly
BASELINES = (0.05, 0.25, 0.4)  # accuracy of the structure that is learned less well
DIFFERENCES = (0.05, 0.1, 0.15, 0.2, 0.3)
ARMS_COMPARED, STRUCTURES_COMPARED = "two arms, same queries", "two structures, one arm"
MOST = 20_000  # queries; larger numbers are not reported


def mcnemar_power(n: int, discordant: float, difference: float, alpha: float = ALPHA) -> float:
    """Return the probability that the exact two-sided McNemar test on n pairs gives p <= alpha.

    A pair is discordant with probability `discordant`; the two kinds of discordant pairs differ in
    probability by `difference`. Given d discordant pairs, those in favour are Binomial(d, 1/2 +
    difference / (2 discordant)). The test rejects at or below c(d) and at or above d - c(d), with
    c(d) the largest c with 2 P(Binomial(d, 1/2) <= c) <= alpha. The power is the mean rejection
    probability over d ~ Binomial(n, discordant) (Duffy 1984, Biometrics 40:1005-1015; also
    SAS/STAT PROC POWER, PAIREDFREQ with DIST=EXACT_COND). Raises ValueError unless
    0 <= difference <= discordant <= 1.
    """
    if not 0 <= difference <= discordant <= 1:
        raise ValueError(f"difference {difference} and discordant share {discordant}: a difference "
                         "is at most the share of discordant pairs, and that at most 1")
    if discordant == 0:
        return 0.0
    d = np.arange(n + 1)
    in_favour = min(1.0, 0.5 + difference / (2 * discordant))
    c = _critical(n, alpha)
    rejects = binom.cdf(c, d, in_favour) + binom.sf(d - c - 1, d, in_favour)
    return float((binom.pmf(d, n, discordant) * rejects).sum())


@lru_cache(maxsize=256)
def _critical(n: int, alpha: float) -> np.ndarray:
    """Return c(d) for d = 0 ... n discordant pairs, shape [n + 1]; -1 if no outcome is enough."""
    d = np.arange(n + 1)
    c = binom.ppf(alpha / 2, d, 0.5)
    return np.where(2 * binom.cdf(c, d, 0.5) <= alpha, c, c - 1)


def smallest_difference(n: int, discordant: float | None, power: float = POWER,
                        alpha: float = ALPHA) -> float:
    """Return the smallest difference between two arms that n queries detect, a fraction of 1.

    `discordant` None is the best case: all changes go one way, so the share of discordant pairs is
    the difference. NaN if even that does not reach `power`.
    """
    def missing(difference: float) -> float:
        share = difference if discordant is None else discordant
        return mcnemar_power(n, share, difference, alpha) - power

    most = 1.0 if discordant is None else discordant
    return brentq(missing, 0, most, xtol=1e-5) if n and missing(most) >= 0 else float("nan")


def queries_needed(difference: float, discordant: float | None, power: float = POWER,
                   alpha: float = ALPHA) -> int | None:
    """Return how many queries detect `difference` between two arms; None if more than MOST.

    The test is discrete and its power not quite monotone in n: one query fewer may also suffice.
    """
    share = difference if discordant is None else discordant
    if share < difference:
        return None
    low, high = 0, 8
    while mcnemar_power(high, share, difference, alpha) < power:
        low, high = high, 2 * high
        if low > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        is_enough = mcnemar_power(middle, share, difference, alpha) >= power
        low, high = (low, middle) if is_enough else (middle, high)
    return high


def independent_power(difference: float, baseline: float, n: int, n_other: int,
                      alpha: float = ALPHA) -> float:
    """Return the power to distinguish baseline + difference (n) from baseline (n_other).

    It is that of statsmodels' z test on n and n_other queries.
    """
    return float(power_proportions_2indep(difference, baseline, n, ratio=n_other / n, alpha=alpha,
                                          return_results=False))


def smallest_independent_difference(n: int, n_other: int, baseline: float, power: float = POWER,
                                    alpha: float = ALPHA) -> float:
    """Return the smallest difference above `baseline` that two structures show; NaN if none."""
    def missing(difference: float) -> float:
        return independent_power(difference, baseline, n, n_other, alpha) - power

    most = 1 - baseline - 1e-6
    if not n or not n_other or missing(most) < 0:
        return float("nan")
    return brentq(missing, 1e-6, most, xtol=1e-5)


def independent_needed(difference: float, baseline: float, power: float = POWER,
                       alpha: float = ALPHA) -> int | None:
    """Return how many queries in each of two structures detect `difference`; None if over MOST."""
    def missing(n: float) -> float:
        return independent_power(difference, baseline, n, n, alpha) - power

    if baseline + difference >= 1 or missing(MOST) < 0:
        return None
    return 2 if missing(2) >= 0 else int(np.ceil(brentq(missing, 2, MOST)))


def sizes_of(queries: Iterable[Query]) -> dict[str, int]:
    """Count queries by structure, "all" last; structures without a query are left out."""
    structures = [query.structure for query in queries]
    sizes = {name: structures.count(name) for name in STRUCTURES} | {ALL: len(structures)}
    return {structure: n for structure, n in sizes.items() if n}


def power_table(studies: dict[str, dict[str, int]], discordant: Iterable[float] = DISCORDANT,
                baselines: Iterable[float] = BASELINES, power: float = POWER,
                alpha: float = ALPHA, design_effect: float = 1.0) -> pd.DataFrame:
    """Return the smallest difference that each n detects, as n / `design_effect` queries would.

    Columns are study, compares, structure, n, n_other, assumed, smallest_points. `studies` maps a
    name to its sizes (see `sizes_of`). Between arms, `assumed` is the share of discordant pairs
    (None: all changes go one way); between structures, which are compared with natural, it is the
    lower accuracy. Raises ValueError if `design_effect` is below 1.
    """
    if design_effect < 1:
        raise ValueError(f"the design effect is {design_effect}: it is at least 1")

    rows = []
    for study, sizes in studies.items():
        worth = {name: int(n / design_effect) for name, n in sizes.items()}
        rows += [(study, ARMS_COMPARED, structure, n, n, share,
                  100 * smallest_difference(worth[structure], share, power, alpha))
                 for structure, n in sizes.items() for share in (None, *discordant)]
        natural = sizes.get("natural")
        rows += [(study, STRUCTURES_COMPARED, f"{structure} – natural", n, natural, baseline,
                  100 * smallest_independent_difference(worth[structure], worth["natural"],
                                                        baseline, power, alpha))
                 for structure, n in sizes.items() if natural and structure not in (ALL, "natural")
                 for baseline in baselines]
    return pd.DataFrame(rows, columns=["study", "compares", "structure", "n", "n_other", "assumed",
                                       "smallest_points"])


def replicate_table(replicates: int, sd_points: float,
                    differences: Iterable[float] = DIFFERENCES) -> pd.DataFrame:
    """Return the power of a two-sided t test over replicates of a study to find each difference.

    Columns are difference_points and power; `sd_points` is the SD of the difference between
    replicates. Raises ValueError with fewer than two replicates or an SD that is not above 0.
    """
    if replicates < 2 or not sd_points > 0:
        raise ValueError("--replicates is at least 2, and needs --sd-between above 0")
    points = 100 * np.array([*differences])
    return pd.DataFrame({"difference_points": points,
                         "power": TTestPower().power(points / sd_points, replicates, ALPHA)})


def needed_table(differences: Iterable[float] = DIFFERENCES,
                 discordant: Iterable[float] = DISCORDANT, baselines: Iterable[float] = BASELINES,
                 power: float = POWER, alpha: float = ALPHA) -> pd.DataFrame:
    """Return how many queries detect each difference: one row per comparison and assumption.

    `assumed` is as in `power_table`; queries counts those of each structure, <NA> if none suffice.
    """
    rows = [(compares, assumed, 100 * difference, needed(difference, assumed, power, alpha))
            for difference in differences
            for compares, needed, assumptions in (
                (ARMS_COMPARED, queries_needed, (None, *discordant)),
                (STRUCTURES_COMPARED, independent_needed, baselines))
            for assumed in assumptions]
    return pd.DataFrame(rows, columns=["compares", "assumed", "difference_points", "queries"]
                        ).astype({"queries": "Int64"})


def formatted_power(table: pd.DataFrame) -> pd.DataFrame:
    """Format `power_table` with one column per assumption."""
    queries = [f"{row.n}" if row.compares == ARMS_COMPARED else f"{row.n} and {row.n_other}"
               for row in table.itertuples()]
    texts = ["impossible" if np.isnan(points) else f"{points:.1f}"
             for points in table.smallest_points]
    return widened(table.assign(queries=queries, assumed=_assumptions(table)),
                   ["study", "compares", "structure", "queries"], "assumed", texts)


def formatted_needed(table: pd.DataFrame) -> pd.DataFrame:
    """Format `needed_table` with one column per difference."""
    points = [f"{value:.0f} points" for value in table.difference_points]
    return widened(table.assign(difference_points=points, assumed=_assumptions(table)),
                   ["compares", "assumed"], "difference_points", [*map(number, table.queries)])


def _assumptions(table: pd.DataFrame) -> list[str]:
    return [assumption(row.compares, row.assumed) for row in table.itertuples()]


def assumption(compares: str, assumed: float | None) -> str:
    """Name an assumption of `power_table` in a table or figure."""
    if compares == STRUCTURES_COMPARED:
        return f"lower accuracy {assumed:.0%}"
    return "all changes one way" if pd.isna(assumed) else f"{assumed:.0%} discordant"


def summary(table: pd.DataFrame, study: str, power: float = POWER) -> str:
    """Summarize in a sentence what the queries of `study` can detect, from `power_table`."""
    arms = table[(table.study == study) & (table.compares == ARMS_COMPARED)]
    best, most = arms[arms.assumed.isna()], arms.assumed.max()
    worst = best if pd.isna(most) else arms[arms.assumed == most]
    points = [["none" if np.isnan(value) else f"{value:.1f}" for value in part.smallest_points]
              for part in (best, worst)]
    cells: dict[tuple, list[str]] = {}  # structures with the same n show the same
    for structure, n, one, other in zip(best.structure, best.n, *points, strict=True):
        cells.setdefault((n, one, other), []).append(structure)
    texts = [f"{one}{'' if pd.isna(most) else f' or {other}'} on {listed(names)} "
             f"(n = {n}{' each' if len(names) > 1 else ''})"
             for (n, one, other), names in cells.items()]
    return (f"The smallest difference between two arms that {study}'s queries show with "
            f"{power:.0%} power is, in points, {'; '.join(texts)}: "
            + ("if all changes go one way." if pd.isna(most) else "the first value if all changes "
               f"go one way, the second if {most:.0%} of the pairs are discordant."))


def main(arguments: list[str]) -> int:
    """Print what the queries of the paper and of a study show; return 0, or 2 with a message."""
    parser = argparse.ArgumentParser(prog="python -m lib.analyze.statistics.power")
    parser.add_argument("study")
    parser.add_argument("--design-effect", type=float, default=1.0, metavar="D",
                        help="n queries are worth n / D independent ones (default: 1)")
    parser.add_argument("--replicates", type=int, metavar="R", help="replicates of the study")
    parser.add_argument("--sd-between", type=float, default=0, help="their SD, in points")
    try:
        options = parser.parse_args(arguments)
        shows = power_table({"the paper": QUERIES,
                             options.study: sizes_of(load(options.study, "queries"))},
                            design_effect=options.design_effect)
        tables = [replicate_table(options.replicates, options.sd_between).map(number)
                  ] if options.replicates is not None else []
    except SystemExit as stop:  # argparse has printed the help or what is wrong
        return stop.code
    except (FileNotFoundError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    for table in (*(formatted_power(shows[shows.compares == compares])
                    for compares in (ARMS_COMPARED, STRUCTURES_COMPARED)),
                  formatted_needed(needed_table()), *tables):
        print(table.to_string(index=False), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
