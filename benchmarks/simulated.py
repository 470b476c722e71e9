"""Draw data of each study with a known truth, and give them to the intervals and tests in use.

Every function below returns, for its intervals, whether they cover the truth, and for its tests,
whether they reject: type I without an effect, power with one. None is no result.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import betaincinv, expit, gammaincinv, logit, ndtr

from lib.analyze.advice.costs import NORMALIZED
from lib.analyze.advice.gains import gains_here, on_my_mix
from lib.analyze.agreement.coefficients import (
    COEFFICIENTS,
    clustered_coefficients,
    coefficients,
)
from lib.analyze.agreement.labels import human_agreement, leniency_test
from lib.analyze.agreement.list_items import item_table
from lib.analyze.retention import table3
from lib.analyze.statistics.interaction import JOINT, ODDS, POINTS, interaction
from lib.analyze.statistics.paired import paired
from lib.analyze.statistics.replicates import PRIMARY, summarized
from lib.analyze.statistics.seeds import spread, spread_pairs
from lib.analyze.stats import ALPHA, cluster_interval, share_interval, wilson
from lib.controlled.analyze.bases import decided, over_bases
from lib.core.arms import ALL, BASE
from lib.core.records import RECALL, STRUCTURES
from lib.reading.both_ways import reading_and_learning
from lib.retention.records import Retention, RetentionItem
from lib.tablequest.analyze.matches import Match
from lib.tablequest.analyze.ratings import START, ratings

DRAWS = 999  # sign flips of a data set; studies draw 9,999
RESAMPLES = 400  # bootstraps of a rating; studies draw 1,000
ALIKE = 0.7  # correlation of two trainings on the same product, and on the same query
TABULAR = "tabular – natural"
BEFORE = np.array([0.38, 0.30, 0.27])  # the laboratory's accuracy by structure
COVERAGE, TYPE_I, POWER = "coverage", "type I", "power"
Found = dict[tuple[str, str], bool | None]  # by what is tested and COVERAGE, TYPE_I or POWER


def interval(what: str, truth: float, low: float, high: float) -> Found:
    """Return whether low to high holds the truth; None without an interval."""
    is_known = not (np.isnan(low) or np.isnan(high))
    return {(what, COVERAGE): bool(low - 1e-9 <= truth <= high + 1e-9) if is_known else None}


def rejection(what: str, p: float, has_effect: bool = False) -> Found:
    """Return whether p is at most ALPHA; None without a p."""
    return {(what, POWER if has_effect else TYPE_I): None if np.isnan(p) else bool(p <= ALPHA)}


def answers(rng: np.random.Generator, means, sizes: tuple[int, ...], rho: float) -> np.ndarray:
    """Return which queries are right, by arm, part and query of clusters of `sizes`.

    The last axis of `means` is the part (structure, with queries of its own); the others are arms,
    which answer the same queries. Beta-binomial: a cluster's chance has a Beta distribution with
    the cell's mean and the intraclass correlation rho (Skellam 1948, J. Royal Statistical Society B
    10:257-261). A cluster's chances in all cells, and a query's luck in all arms, are joined by a
    normal copula of correlation ALIKE (Cario and Nelson 1997, "NORTA", Northwestern University).
    """
    means = np.asarray(means, dtype=float)
    which = np.repeat(np.arange(len(sizes)), sizes)

    def ranks(common: np.ndarray) -> np.ndarray:
        own = rng.standard_normal((*means.shape, common.shape[-1]))
        return ndtr(ALIKE**0.5 * common + (1 - ALIKE) ** 0.5 * own)

    a, b = (np.multiply.outer(mean, np.ones(len(sizes))) * (1 / rho - 1)
            for mean in (means, 1 - means))
    chances = betaincinv(a, b, ranks(rng.standard_normal(len(sizes))))
    luck = ranks(rng.standard_normal((means.shape[-1], len(which))))
    return luck < chances[..., which]


def verdict_rows(right: np.ndarray, arms: list[str], sizes: tuple[int, ...]) -> pd.DataFrame:
    """Return rows as of lib.analyze.tables.joined; `right` is by arm, structure and query."""
    n_arms, n_structures, n = right.shape
    return pd.DataFrame({
        "arm": np.repeat(arms, n_structures * n),
        "query_id": np.tile(np.arange(n_structures * n), n_arms),
        "structure": np.tile(np.repeat(STRUCTURES, n), n_arms),
        "cluster": np.tile(np.repeat(np.arange(len(sizes)), sizes), n_arms * n_structures),
        "verdict": np.where(right.ravel(), "correct", "incorrect")})


def one_share(rng, sizes, mean, rho) -> Found:
    """A share: accuracy (Table 2 and every study), win rates, the ledger, reviews, failures."""
    right = answers(rng, [mean], sizes, rho)[0].astype(float)
    ends = share_interval(right, np.repeat(np.arange(len(sizes)), sizes))
    return interval("accuracy (`share_interval`)", mean, *ends)


def one_count(rng, sizes, mean, rho) -> Found:
    """Wilson's interval, as of items (Table 3), of flips with the order and of published counts."""
    count = int(answers(rng, [mean], sizes, rho).sum())
    return interval("count of n (`wilson`)", mean, *wilson(count, sum(sizes)))


def scores(rng, sizes, rho) -> Found:
    """Mean ROUGE or recall between 0 and 1 (here the share of 4 tokens), and its difference."""
    four = tuple(4 * size for size in sizes)
    one, two = answers(rng, [[0.2], [0.3]], four, rho).reshape(2, -1, 4).mean(-1)
    texts = np.repeat(np.arange(len(sizes)), sizes)
    return (interval("mean score (`share_interval`)", 0.2, *share_interval(one, texts))
            | interval("difference of scores (`cluster_interval`)", 0.1,
                       *cluster_interval(two - one, texts, 1)))


def two_arms(rng, sizes, rho, gains) -> Found:
    """Two trainings on the same queries (02_statistics)."""
    means, is_real = np.array([BEFORE, BEFORE + gains]), any(gains)
    rows = verdict_rows(answers(rng, means, sizes, rho), ["dapt", "dapt-n"], sizes)
    pairs = paired(rows, draws=DRAWS, seed=int(rng.integers(2**31))).set_index("structure")
    found = {}
    for name, gain in (("natural", gains[0]), (ALL, np.mean(gains))):
        row = pairs.loc[name]
        found |= interval(f"gain on {name} (`paired`)", 100 * gain, row.low_points, row.high_points)
        found |= rejection(f"gain on {name}: sign flips of clusters (`paired`)", row.p, is_real)
        found |= rejection(f"gain on {name}: McNemar, which decides nothing (`paired`)",
                           row.p_mcnemar, is_real)
    found |= rejection("any of 4 gains differs, Holm (`paired`)", float(not pairs.differs.any()),
                       is_real)
    tests = interaction(rows).set_index(["scale", "contrast"])
    odds = np.exp(logit(means) @ [-1, 0, 1] @ [-1, 1])
    for scale, truth in ((POINTS, 100 * (gains[2] - gains[0])), (ODDS, odds)):
        row, what = tests.loc[scale, TABULAR], f"gain on {TABULAR}, {scale}"
        found |= interval(f"{what} (`interaction`)", truth, row.low, row.high)
        found |= rejection(f"{what}: t (`interaction`)", row.p, is_real)
    joint = tests.p.get((POINTS, JOINT), np.nan)
    return found | rejection("gains beyond natural: F (`interaction`)", joint, is_real)


def trainings(rng, sizes, rho, gains, seeds=3, sd=0.03) -> Found:
    """Two arms of several seeds, whose accuracies differ by `sd` between seeds (02_statistics)."""
    noise = [rng.normal(0, sd / 2**0.5, (2, seeds, n)) for n in (1, len(STRUCTURES))]
    means = np.array([BEFORE, BEFORE + gains])[:, None] + noise[0] + noise[1]
    arms = [f"{arm}@{seed}".removesuffix("@1")
            for arm in ("dapt", "dapt-n") for seed in range(1, seeds + 1)]
    right = answers(rng, means, sizes, rho).reshape(len(arms), len(STRUCTURES), -1)
    rows = verdict_rows(right, arms, sizes)
    own = spread(rows[rows.arm.isin(arms[:seeds])]).set_index("structure").loc[ALL]
    differ = spread_pairs(rows, [("dapt", "dapt-n")]).set_index("structure")
    found = (interval("accuracy over queries and seeds (`spread`)", BEFORE.mean(), own.low,
                      own.high)
             | interval("accuracy over queries only (`spread`)", means[0].mean(), own.low_queries,
                        own.high_queries))
    for name, gain in ((ALL, np.mean(gains)), (TABULAR, gains[2] - gains[0])):
        found |= interval(f"gain on {name} over queries and seeds (`spread_pairs`)", 100 * gain,
                          differ.low_points[name], differ.high_points[name])
    return found


def advised(rng, sizes, rho, gains) -> Found:
    """One training of each arm: the gain on a third of each structure, measured and derived."""
    right = answers(rng, np.array([BEFORE, BEFORE + gains]), sizes, rho)
    measured = gains_here(verdict_rows(right, ["dapt", "dapt-n"], sizes))
    mix = on_my_mix(measured, dict.fromkeys(STRUCTURES, 1 / 3)).set_index("intervention")
    found = {}
    for name, row, parts in (("measured", NORMALIZED, gains),
                             ("derived", "verbalize", gains[1:])):
        found |= interval(f"advice: {name} gain (`on_my_mix`)", 100 * sum(parts) / 3,
                          mix.low_points[row], mix.high_points[row])
    return found


def both_ways(rng, sizes, rho) -> Found:
    """A model asked with the passage and from memory, right equally often (lib.reading)."""
    right, n = answers(rng, [[0.3], [0.3]], sizes, rho), sum(sizes)
    rows = pd.DataFrame({"arm": "dapt", "question_id": np.tile(np.arange(n), 2),
                         "form": np.repeat(["html", RECALL], n), "right": right.ravel(),
                         "cluster": np.tile(np.repeat(np.arange(len(sizes)), sizes), 2)})
    row, what = reading_and_learning(rows).iloc[0], "recalled - read"
    return (interval(f"{what} (`reading_and_learning`)", 0, row.low_points, row.high_points)
            | rejection(f"{what}: p (`reading_and_learning`)", row.p))


def over_many_bases(rng, bases, arms, sd, effect=0.0) -> Found:
    """Gains of arms over raw text: 60 products × 9 facts, and Holm over the arms (controlled).

    A base adds normal noise to its accuracy on raw text and with each arm, so that gains have the
    standard deviation `sd` between bases and the correlation 0.5 between arms. The first arm gains
    `effect`.
    """
    means = 0.35 + rng.normal(0, sd / 2**0.5, (bases, arms + 1))
    means[:, 1] += effect
    shares = np.array([answers(rng, np.clip(own, 0.01, 0.99)[:, None], (9,) * 60, 0.1)
                       .mean((1, 2)) for own in means])
    rows = [over_bases(pd.Series(100 * gain)) for gain in (shares[:, 1:] - shares[:, [0]]).T]
    table = pd.DataFrame(rows).assign(contrast=[f"arm {arm}" for arm in range(arms)])
    table = decided(table, ["arms"] * arms)
    first, is_found = table.iloc[0], table.found[0] if effect else table.found.any()
    return (interval("gain over bases (`over_bases`)", 100 * effect, first.low, first.high)
            | rejection("gain over bases: t (`over_bases`)", first.p, bool(effect))
            | rejection(f"{'that' if effect else 'any'} gain found, Holm (`decided`)",
                        float(not is_found), bool(effect)))


def replicated(rng, skewness=0, effect=0.0, replicates=12, sd=10) -> Found:
    """Three primary contrasts of independent laboratories, correlated by 0.5 (replicates.yaml).

    Estimates have a normal distribution, or a gamma distribution of this skewness.
    """
    normal = (rng.standard_normal((replicates, 1)) + rng.standard_normal((replicates, 3))) / 2**0.5
    if skewness:
        shape = 4 / skewness**2
        normal = (gammaincinv(shape, ndtr(normal)) - shape) / shape**0.5
    values = effect + sd * normal
    table = pd.DataFrame({"contrast": np.tile(PRIMARY, replicates), "points": values.ravel()})
    cells = summarized(table).set_index("contrast").loc[[*PRIMARY]]
    first = cells.iloc[0]
    p = first.p_holm if effect else cells.p_holm.min()
    return (interval("contrast over replicates (`summarized`)", effect, first.low, first.high)
            | rejection(f"{'that contrast' if effect else 'any of 3'} found, Holm (`summarized`)",
                        p, bool(effect)))


def rated(rng, sizes, strengths, rho=0.1) -> Found:
    """Bradley-Terry ratings from matches on questions of passages; strengths are log-odds.

    A passage's chance of each pair is Beta with intraclass correlation rho; up to 20% are ties.
    """
    arms, played = [f"arm {n}" for n in range(len(strengths))], []
    passages = np.repeat(np.arange(len(sizes)), sizes)
    for one, two in combinations(range(len(arms)), 2):
        chance, scale = expit(strengths[one] - strengths[two]), 1 / rho - 1
        mean = rng.beta(chance * scale, (1 - chance) * scale, len(sizes))[passages]
        tie, luck = 0.4 * np.minimum(mean, 1 - mean), rng.random(len(passages))
        verdicts = np.select([luck < mean - tie / 2, luck < mean + tie / 2], ["A", "tie"], "B")
        played += [Match.model_construct(
            question_id=str(n), passage_id=str(passage), level="medium", first_arm=arms[one],
            second_arm=arms[two], verdict=str(verdict))
            for n, (passage, verdict) in enumerate(zip(passages, verdicts, strict=True))]
    table = ratings(played, arms[0], seed=int(rng.integers(2**31)), resamples=RESAMPLES, orders=1)
    table, found = table[table.level == ALL].set_index("arm"), {}
    for arm, apart in zip(arms[1:], strengths[1:], strict=True):  # the first has 0
        found |= interval(f"rating, log-odds {apart} (`ratings`)", START + apart * 400 / np.log(10),
                          table.low[arm], table.high[arm])
    return found


def judges(rng, documents, per, shares, rho) -> Found:
    """Agreement of two judges, whose four outcomes are Dirichlet-multinomial within documents.

    Mosimann (1962), Biometrika 49:65-82. With one answer per document, answers are independent.
    """
    each = rng.dirichlet(np.array(shares) * (1 / rho - 1), documents)
    tables = np.array([rng.multinomial(per, own) for own in each]).reshape(-1, 2, 2)
    truth = coefficients(1e6 * np.reshape(shares, (2, 2)))
    function = coefficients if per == 1 else clustered_coefficients
    own, found = function(tables.sum(0) if per == 1 else tables), {}
    for name in COEFFICIENTS:
        found |= interval(f"two judges: {name} (`{function.__name__}`)", truth[name],
                          own[f"{name}_low"], own[f"{name}_high"])
    return found


def labels(rng, drawn, right=0.9) -> Found:
    """A person's labels of `drawn` answers of 540, as many of each structure and verdict.

    The person agrees with `right` of the judge's verdicts, of which 30% are correct.
    """
    strata = pd.MultiIndex.from_product([STRUCTURES, ("correct", "incorrect")])
    rows = strata.repeat(drawn // 6).to_frame(index=False, name=["structure", "verdict"])
    is_right, is_same = rows.verdict == "correct", rng.random(len(rows)) < right
    rows = rows.assign(
        judge="rules", arm="dapt", person=np.where(is_right == is_same, "correct", "incorrect"),
        weight=np.where(is_right, 54, 126) / (drawn // 6))
    row = human_agreement(rows, []).set_index("structure").loc[ALL]
    table = np.array([[0.3 * right, 0.3 * (1 - right)], [0.7 * (1 - right), 0.7 * right]])
    truth = coefficients(1e6 * table) | {"leniency": table[0, 1] - table[1, 0]}
    p = leniency_test(rows, int(rng.integers(2**31))).p[0]
    found = rejection("leniency by structure: permutations (`leniency_test`)", p)
    for name in (*COEFFICIENTS, "leniency"):
        found |= interval(f"a person's labels: {name} (`human_agreement`)", truth[name],
                          row[f"{name}_low"], row[f"{name}_high"])
    return found


def lists(rng, sizes, rho) -> Found:
    """Mean recall of lists of four entities (04_agreement)."""
    named = answers(rng, [0.5], tuple(4 * size for size in sizes), rho).reshape(-1, 4).sum(-1)
    items = pd.DataFrame({
        "arm": "dapt", "structure": "entity-list", "wanted": 4, "named": named, "surplus": 0,
        "recall": named / 4, "precision": named / 4, "is_whole": named == 4,
        "document_id": np.repeat(np.arange(len(sizes)), sizes)})
    row = item_table(items).iloc[0]
    return interval("recall of list items (`item_table`)", 0.5, row.recall_low, row.recall_high)


def retained(rng, items, before, after) -> Found:
    """Three tasks by the base and an arm, item by item (Table 3); items are independent."""
    right = np.stack([answers(rng, [[before], [after]], (1,) * items, 0.1)[:, 0]
                      for _ in range(3)], 1)
    arms = [Retention(arm, {}, [{"task": f"{n}", "asked": "", "n": items} for n in range(3)], [
        RetentionItem.model_construct(arm=arm, task=f"{task}", item=f"{item}", repeat=0,
                                      is_correct=bool(right[a, task, item]))
        for task, item in np.ndindex(3, items)]) for a, arm in enumerate((BASE, "dapt"))]
    table = table3(arms)
    table = table[table.arm == "dapt"]
    row, is_real = table.iloc[0], before != after
    return (interval("loss from the base (`table3`)", 100 * (after - before), row.low_points,
                     row.high_points)
            | rejection("loss from the base: McNemar (`table3`)", row.p, is_real)
            | rejection("any of 3 losses, Holm (`table3`)", table.p_holm.min(), is_real))
