"""Seeds and queries: hand-worked cases, coverage over both sources, and one seed alone."""

import numpy as np
import pandas as pd
import pytest

from lib.analyze.format import compact
from lib.analyze.statistics.paired import paired
from lib.analyze.statistics.seeds import (
    BOTH,
    NONE,
    QUERIES_ONLY,
    spread,
)
from lib.analyze.stats import share_interval
from lib.analyze.tables import table2
from tests.analyze.statistics.test_paired import rows_of

SEEDS = {"dapt": "1100000000", "daptAt2": "1110000000", "daptAt3": "1111000000"}


def cell(table: pd.DataFrame, arm: str = "dapt", structure: str = "natural") -> pd.Series:
    return table.set_index(["arm", "structure"]).loc[(arm, structure)]


def test_three_seeds_by_hand():
    row = cell(spread(rows_of(**SEEDS)))
    assert (row.n, row.clusters, row.seeds, row.interval) == (10, 10, 3, BOTH)
    assert row["mean"] == pytest.approx(0.3) and row.each == pytest.approx([0.2, 0.3, 0.4])
    assert row.sd_seeds == pytest.approx(0.1)
    means = np.array([1, 1, 2 / 3, 1 / 3] + [0] * 6)
    assert row.se_queries == pytest.approx(means.std(ddof=1) / 10**0.5)
    assert row.design_effect == pytest.approx(1)  # every query is a cluster
    assert row.low < 0.3 < row.high


def test_the_interval_for_both_sources_covers_where_that_for_queries_does_not():
    rng, hits = np.random.default_rng(8), {"queries": 0, "both": 0}
    for _ in range(80):
        facility, seeds = rng.normal(0, 1, 120), rng.normal(0, 0.5, 4)
        right = [facility + seed + rng.normal(0, 1, 120) > 0 for seed in seeds]
        rows = rows_of(
            **{
                f"daptAt{number}" if number > 1 else "dapt": "".join(
                    "01"[int(value)] for value in values
                )
                for number, values in enumerate(right, 1)
            }
        )
        row = cell(spread(rows))
        low, high = share_interval(pd.Series(np.mean(right, axis=0)), pd.Series(range(120)))
        hits["queries"] += low <= 0.5 <= high
        hits["both"] += row.low <= 0.5 <= row.high
    assert hits["both"] >= 72 > hits["queries"] + 5


def test_unscored_answers_of_a_seed_are_not_correct_as_in_table_2():
    row = cell(spread(rows_of(dapt="1-00", daptAt2="1100")))
    assert row.n == 4 and row.each == pytest.approx([0.25, 0.5])
    assert row["mean"] == pytest.approx(0.375)


def test_differences_are_averaged_over_seeds():
    rows = rows_of(base="0001000000", **SEEDS, dapt_n="1111110000", dapt_nAt2="1111111100")
    table = paired(rows)
    by_pair = table.set_index(["first", "second", "structure"])
    row = by_pair.loc[("dapt", "dapt-n", "natural")]
    assert row.difference_points == pytest.approx(70 - 30)
    assert (row.seeds_first, row.seeds_second, row.interval) == (3, 2, BOTH)
    assert row.sd_first_points == pytest.approx(10)
    assert row.sd_second_points == pytest.approx(200**0.5)
    assert by_pair.interval["base", "dapt", "natural"] == BOTH  # the base has no seeds to vary
    assert compact(table)["difference_points [95%]"].str.startswith("40.0 [").any()


def test_the_gain_beyond_prose_is_the_difference_of_two_gains():
    rng, arms = np.random.default_rng(4), ("dapt", "dapt_n", "dapt_nAt2")
    draws = {
        structure: {arm: rng.integers(0, 2, 80) for arm in arms}
        for structure in ("natural", "tabular")
    }
    rows = pd.concat(
        [
            rows_of(
                structure, 2, **{arm: "".join(map(str, states)) for arm, states in cells.items()}
            )
            for structure, cells in draws.items()
        ]
    )
    one = paired(rows[rows.arm != "dapt-n@2"]).set_index("structure")
    row = one.loc["tabular – natural"]
    gains = one.difference_points
    assert row.difference_points == pytest.approx(gains["tabular"] - gains["natural"])
    assert row.interval == QUERIES_ONLY
    both = paired(rows).set_index("structure").loc["tabular – natural"]
    gaps = [draws["tabular"][arm].mean() - draws["natural"][arm].mean() for arm in arms[1:]]
    assert both.sd_second_points == pytest.approx(100 * np.std(gaps, ddof=1)) and both.n == 160


def test_one_seed_has_no_variance_and_the_interval_of_table_2():
    rows = rows_of(per_cluster=3, dapt="1001" * 9)
    columns = ["low", "high"]
    table, same = spread(rows).set_index("structure"), table2(rows.assign(kind="numeric"))
    assert table[columns].equals(same.set_index("structure")[columns])
    assert table.sd_seeds.isna().all() and table.interval["natural"] == QUERIES_ONLY


def test_one_cluster_keeps_its_estimates_and_says_why_there_is_no_interval():
    rows = rows_of(per_cluster=10, base="0" * 10, **SEEDS)
    row, gain = cell(spread(rows)), paired(rows).iloc[0]
    assert row["mean"] == pytest.approx(0.3) and gain.difference_points == pytest.approx(30)
    assert np.isnan([row.low, gain.low_points, gain.high_points]).all()
    assert row.interval == gain.interval == NONE


def test_clusters_that_all_answer_alike_have_no_error():
    rows = rows_of(dapt="1010", daptAt2="1010").assign(cluster=["one", "one", "two", "two"] * 2)
    row = cell(spread(rows))
    assert row["mean"] == 0.5 and np.isnan(row.se_queries)
    assert row.low < 0.1 and row.high > 0.9  # two clusters say little
    assert "nan" not in compact(spread(rows)).to_string()
