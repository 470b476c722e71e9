"""Arms on the same queries, averaged over seeds: hand-worked cases, and how often they cover."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.analyze.stats import (
    BOTH,
    NONE,
    QUERIES_ONLY,
    clusters_of,
    paired,
    share_interval,
    spread,
)
from lib.analyze.tables import compact, joined, table2
from lib.core.arms import ARMS
from lib.core.records import STRUCTURES, Fact
from tests.analyze.test_tables import query, verdicts

SEEDS = {"dapt": "1100000000", "daptAt2": "1110000000", "daptAt3": "1111000000"}
STATES = {"1": "correct", "0": "incorrect", "-": "unscored"}


def rows_of(structure: str = "natural", per_cluster: int = 1, **arms: str) -> pd.DataFrame:
    """Return rows of `joined` with clusters; verdicts are 1 (correct), 0 and - (unscored).

    `dapt_nAt2` is the arm dapt-n@2.
    """
    return pd.DataFrame(
        [
            {
                "arm": arm.replace("_", "-").replace("At", "@"),
                "query_id": f"{structure}{number}",
                "structure": structure,
                "verdict": STATES[state],
                "cluster": f"{structure}{number // per_cluster}",
            }
            for arm, states in arms.items()
            for number, state in enumerate(states)
        ]
    )


def natural(table: pd.DataFrame) -> pd.Series:
    return table.set_index("structure").loc["natural"]


def test_a_cluster_is_the_product_in_all_its_documents_else_the_document():
    known = {"attribute": "port", "value": ["1"], "structure": "natural", "in_pretraining": False}
    places = [
        ("Pump", "d1", 0, 5),
        ("Pump", "d2", 0, 5),
        ("Valve", "d2", 6, 9),
        ("Fan", "d4", 0, 5),
    ]
    facts = [
        Fact(fact_id=str(at), entity=entity, document_id=document, start=at, end=end, **known)
        for entity, document, at, end in places
    ]
    cases = [
        ("a", "d1", 0, 5, "Pump"),
        ("b", "d2", 0, 5, "Pump"),
        ("c", "d2", 6, 9, "Valve"),
        ("d", "d2", 5, 6, "d2"),
        ("e", "d3", 0, 5, "d3"),
        ("f", "d4", 7, 9, "Fan"),
    ]
    queries = [query(name, document_id=of, start=at, end=end) for name, of, at, end, _ in cases]
    assert list(clusters_of(queries, facts).values()) == [cluster for *_, cluster in cases]
    assert set(clusters_of(queries).values()) == {"d1", "d2", "d3", "d4"}
    states = dict.fromkeys("cabdef", "correct")
    assert list(joined(queries, verdicts("dapt", states), facts=facts).cluster)[:2] == [
        "Valve",
        "Pump",
    ]


def test_a_hand_worked_comparison():
    table = paired(rows_of(base="110000000-", dapt="1011111111"))
    row = natural(table)
    assert (row["first"], row.second) == ("base", "dapt")
    assert (row.n, row.clusters, row.only_first, row.only_second) == (10, 10, 1, 8)
    assert row.p == pytest.approx(2 * (1 + 9) / 2**9)  # P(Binomial(9, 1/2) <= 1), twice
    assert not row.differs and row.finding == "no difference shown"  # after Holm
    assert row.p_holm == pytest.approx(2 * row.p)  # this structure and "all"
    assert row.low_points < row.difference_points < row.high_points
    assert row.difference_points == pytest.approx(70)
    empty = table.set_index("structure").loc["tabular"]
    assert empty.n == 0 and np.isnan(empty.p) and np.isnan(empty.p_holm)


def test_a_difference_is_that_of_table_2_in_which_unscored_is_not_correct():
    rows = rows_of(base="110-00--", dapt="1-1011-0")
    accuracy = table2(rows).set_index(["arm", "structure"]).accuracy
    for row in paired(rows).dropna(subset="p").itertuples():
        change = accuracy["dapt", row.structure] - accuracy["base", row.structure]
        assert (row.n, row.difference_points) == (8, pytest.approx(100 * change))


def test_all_arms_are_compared():
    rows = rows_of(base="00", dapt="01", daptAt2="11", dapt_n="10")
    pairs = paired(rows)[["first", "second"]].drop_duplicates()
    assert list(pairs.itertuples(index=False, name=None)) == list(combinations(ARMS, 2))
    assert paired(rows[rows.arm == "base"]).empty


def test_holm_is_over_every_row_with_a_query():
    table = paired(
        pd.concat(
            [
                rows_of(structure, base="0" * 12, dapt="1" * 9 + "0" * 3, dapt_n="1" * 6 + "0" * 6)
                for structure in STRUCTURES
            ]
        )
    )
    assert table.p_holm.min() == pytest.approx(12 * table.p.min())


def test_queries_of_few_documents_that_change_together_are_no_evidence():
    row = natural(paired(rows_of(per_cluster=15, base="0" * 60, dapt="1" * 45 + "0" * 15)))
    assert row.p == 0.25  # three documents changed
    assert not row.differs and row.high_points == 100  # clipped
    assert row.finding == "too few documents to tell"
    row = natural(paired(rows_of(per_cluster=3, base="0" * 60, dapt="1" * 60)))
    assert (
        np.isnan(row.low_points) and row.differs and row.p < 0.001 and row.finding == "a difference"
    )  # 20 products, each by 100
    one = natural(paired(rows_of(per_cluster=60, base="0" * 60, dapt="1" * 30 + "0" * 30)))
    assert one.difference_points == 50 and one.p == 1 and not one.differs


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("10-"), st.sampled_from("10-")), min_size=1, max_size=40),
    st.integers(1, 12),
)
def test_what_differs_has_a_small_p_and_an_interval_without_0(pairs, per_cluster):
    base, dapt = ("".join(side) for side in zip(*pairs, strict=True))
    table = paired(rows_of(per_cluster=per_cluster, base=base, dapt=dapt))
    apart = table.p_holm.le(0.05) & ~(table.low_points.le(0) & table.high_points.ge(0))
    assert table.differs.tolist() == apart.tolist()
    known = table.dropna(subset="low_points")
    assert known.low_points.ge(-100).all() and known.high_points.le(100).all()
    assert "nan" not in compact(table).to_string()


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
