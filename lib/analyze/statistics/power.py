"""What n queries can show, before anything is spent: power of exact McNemar and of two independent proportions.

Needs no verdict. `python -m lib.analyze.statistics.power <study>` prints it from data/<study>/queries.jsonl. All of it takes queries as
independent; queries of one document are alike, so that more of them are needed than is said here.
"""

import sys
from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import binom
from statsmodels.stats.proportion import power_proportions_2indep

from lib.analyze.paper.published import QUERIES
from lib.core.arms import ALL
from lib.core.files import read_records
from lib.core.paths import data_path
from lib.core.records import STRUCTURES, Query
from lib.core.text import listed

ALPHA, POWER = 0.05, 0.8
DISCORDANT = (0.1, 0.2, 0.3, 0.5)  # shares of queries that one arm answers and the other does not
BASELINES = (0.05, 0.25, 0.4)  # accuracy of the structure that is learned less well
DIFFERENCES = (0.05, 0.1, 0.15, 0.2, 0.3)
ARMS_COMPARED, STRUCTURES_COMPARED = "two arms, same queries", "two structures, one arm"
MOST = 20_000  # queries; a study that needs more is told so


def mcnemar_power(n: int, discordant: float, difference: float, alpha: float = ALPHA) -> float:
    """The probability that the exact two-sided McNemar test on n pairs gives p <= alpha.

    A pair is discordant with probability `discordant`; the two kinds of discordant pairs differ in probability by
    `difference`. Given d discordant pairs, those in favour are Binomial(d, 1/2 + difference / (2 discordant)) and the
    test rejects at or below c(d) and at or above d - c(d), the largest c with 2 P(Binomial(d, 1/2) <= c) <= alpha;
    the power is the mean of that over d ~ Binomial(n, discordant) (Duffy 1984, Biometrics 40:1005-1015; also SAS/STAT
    PROC POWER, PAIREDFREQ with DIST=EXACT_COND). Raises ValueError unless 0 <= difference <= discordant <= 1.
    """
    if not 0 <= difference <= discordant <= 1:
        raise ValueError(f"difference {difference} and discordant share {discordant}: a difference is at most the "
                         "share of discordant pairs, and that at most 1")
    if discordant == 0:
        return 0.0
    d = np.arange(n + 1)
    in_favour = min(1.0, 0.5 + difference / (2 * discordant))
    c = _critical(n, alpha)
    rejects = binom.cdf(c, d, in_favour) + binom.sf(d - c - 1, d, in_favour)
    return float((binom.pmf(d, n, discordant) * rejects).sum())


def _critical(n: int, alpha: float) -> np.ndarray:
    """c(d) for d = 0..n, -1 where no outcome of d discordant pairs is significant; shape (n + 1,)."""
    d = np.arange(n + 1)
    c = binom.ppf(alpha / 2, d, 0.5)
    return np.where(2 * binom.cdf(c, d, 0.5) <= alpha, c, c - 1)


def smallest_difference(n: int, discordant: float | None, power: float = POWER, alpha: float = ALPHA) -> float:
    """The smallest difference between two arms that n queries show with `power`, a fraction of 1.

    `discordant` None is the best case: every changed answer changes one way, so that the share of discordant pairs is
    the difference. NaN where even that share going all one way does not reach `power`: this n cannot show anything.
    """
    def missing(difference: float) -> float:
        return mcnemar_power(n, difference if discordant is None else discordant, difference, alpha) - power

    most = 1.0 if discordant is None else discordant
    return brentq(missing, 0, most, xtol=1e-5) if n and missing(most) >= 0 else float("nan")


def queries_needed(difference: float, discordant: float | None, power: float = POWER,
                   alpha: float = ALPHA) -> int | None:
    """How many queries show `difference` between two arms with `power`; None where more than MOST are needed.

    The test is discrete, so that its power is not quite monotone in n: one query fewer may do as well now and then.
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
        low, high = (low, middle) if mcnemar_power(middle, share, difference, alpha) >= power else (middle, high)
    return high


def independent_power(difference: float, baseline: float, n: int, n_other: int, alpha: float = ALPHA) -> float:
    """The power to tell baseline + difference (n queries) from baseline (n_other queries); z test of statsmodels."""
    return float(power_proportions_2indep(difference, baseline, n, ratio=n_other / n, alpha=alpha,
                                          return_results=False))


def smallest_independent_difference(n: int, n_other: int, baseline: float, power: float = POWER,
                                    alpha: float = ALPHA) -> float:
    """The smallest difference above `baseline` between two structures of n and n_other queries; NaN where none is."""
    most = 1 - baseline - 1e-6
    if not n or not n_other or independent_power(most, baseline, n, n_other, alpha) < power:
        return float("nan")
    return brentq(lambda difference: independent_power(difference, baseline, n, n_other, alpha) - power, 1e-6, most,
                  xtol=1e-5)


def independent_needed(difference: float, baseline: float, power: float = POWER, alpha: float = ALPHA) -> int | None:
    """Queries a structure (equally many in both) that show `difference` above `baseline`; None where over MOST."""
    if baseline + difference >= 1 or independent_power(difference, baseline, MOST, MOST, alpha) < power:
        return None
    if independent_power(difference, baseline, 2, 2, alpha) >= power:
        return 2
    return int(np.ceil(brentq(lambda n: independent_power(difference, baseline, n, n, alpha) - power, 2, MOST)))


def sizes_of(queries: Iterable[Query]) -> dict[str, int]:
    """Queries by structure in the fixed order, and of all; structures without a query are left out."""
    structures = [query.structure for query in queries]
    sizes = {structure: structures.count(structure) for structure in STRUCTURES} | {ALL: len(structures)}
    return {structure: n for structure, n in sizes.items() if n}


def power_table(studies: dict[str, dict[str, int]], discordant: Iterable[float] = DISCORDANT,
                baselines: Iterable[float] = BASELINES, power: float = POWER, alpha: float = ALPHA) -> pd.DataFrame:
    """The smallest difference that each n shows: study, compares, structure, n, n_other, assumed, smallest_points.

    `studies` maps a name to its sizes (see sizes_of). `assumed` is the share of discordant pairs between arms (None:
    all changes go one way) and the lower accuracy between structures, which are compared with natural.
    """
    rows = []
    for study, sizes in studies.items():
        for structure, n in sizes.items():
            rows += [(study, ARMS_COMPARED, structure, n, n, share, 100 * smallest_difference(n, share, power, alpha))
                     for share in (None, *discordant)]
        rows += [(study, STRUCTURES_COMPARED, f"{structure} – natural", n, sizes["natural"], baseline,
                  100 * smallest_independent_difference(n, sizes["natural"], baseline, power, alpha))
                 for structure, n in sizes.items() if structure not in (ALL, "natural") and "natural" in sizes
                 for baseline in baselines]
    return pd.DataFrame(rows, columns=["study", "compares", "structure", "n", "n_other", "assumed", "smallest_points"])


def needed_table(differences: Iterable[float] = DIFFERENCES, discordant: Iterable[float] = DISCORDANT,
                 baselines: Iterable[float] = BASELINES, power: float = POWER, alpha: float = ALPHA) -> pd.DataFrame:
    """Queries needed: compares, assumed (as in power_table), difference_points, queries (a structure; <NA>: none)."""
    rows = []
    for difference in differences:
        rows += [(ARMS_COMPARED, share, 100 * difference, queries_needed(difference, share, power, alpha))
                 for share in (None, *discordant)]
        rows += [(STRUCTURES_COMPARED, baseline, 100 * difference,
                  independent_needed(difference, baseline, power, alpha)) for baseline in baselines]
    return pd.DataFrame(rows, columns=["compares", "assumed", "difference_points", "queries"]).astype(
        {"queries": "Int64"})


def power_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`power_table` or `needed_table` as text, a column an assumption or a difference."""
    if "queries" in table:
        keys, column = ["compares", "assumed"], "difference_points"
        texts = ["–" if pd.isna(n) else str(n) for n in table.queries]
        table = table.assign(assumed=_assumptions(table), difference_points=[
            f"{value:.0f} points" for value in table.difference_points])
    else:
        keys, column = ["study", "compares", "structure", "queries"], "assumed"
        texts = ["impossible" if np.isnan(value) else f"{value:.1f}" for value in table.smallest_points]
        table = table.assign(assumed=_assumptions(table), queries=[
            str(row.n) if row.compares == ARMS_COMPARED else f"{row.n} and {row.n_other}"
            for row in table.itertuples()])
    wide = table.assign(text=texts).pivot(index=keys, columns=column, values="text")
    wide = wide.loc[list(dict.fromkeys(table[keys].itertuples(index=False, name=None))), list(table[column].unique())]
    wide.columns.name = None
    return wide.fillna("").reset_index()


def _assumptions(table: pd.DataFrame) -> list[str]:
    return [("all changes one way" if pd.isna(row.assumed) else f"{row.assumed:.0%} discordant")
            if row.compares == ARMS_COMPARED else f"lower accuracy {row.assumed:.0%}" for row in table.itertuples()]


def told(table: pd.DataFrame, study: str, power: float = POWER) -> str:
    """What the n of `study` can show, as sentences from power_table."""
    arms = table[(table.study == study) & (table.compares == ARMS_COMPARED)]
    best, worst = arms[arms.assumed.isna()], arms[arms.assumed == arms.assumed.max()]
    points = [["none" if np.isnan(value) else f"{value:.1f}" for value in part.smallest_points]
              for part in (best, worst)]
    cells: dict[tuple, list[str]] = {}  # structures with the same n say the same
    for structure, n, one, other in zip(best.structure, best.n, *points, strict=True):
        cells.setdefault((n, one, other), []).append(structure)
    said = [f"{one} or {other} on {listed(names)} (n = {n}{' each' if len(names) > 1 else ''})"
            for (n, one, other), names in cells.items()]
    return (f"The smallest difference between two arms that {study}'s queries show with {power:.0%} power is, in "
            f"points, {'; '.join(said)}: the first where every change goes one way, the second where "
            f"{worst.assumed.max():.0%} of the pairs are discordant.")


def main(arguments: list[str]) -> int:
    """Print what the queries of the paper and of the one study in `arguments` show; 0, or 2 with a message."""
    if len(arguments) != 1:
        print("usage: python -m lib.analyze.statistics.power <study>", file=sys.stderr)
        return 2
    try:
        queries = read_records(data_path(arguments[0], "queries.jsonl"), Query, made_by="01_annotate.ipynb")
    except (FileNotFoundError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    shows = power_table({"the paper": QUERIES, arguments[0]: sizes_of(queries)})
    for part in (shows[shows.compares == ARMS_COMPARED], shows[shows.compares == STRUCTURES_COMPARED], needed_table()):
        print(power_for_reading(part).to_string(index=False), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
