"""Paired comparisons: hand-worked cases, the paper's counts in every pairing, and clusters that widen an interval."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.analyze.statistics.paired import (
    add_clusters,
    bounds_by_counts,
    bounds_for_reading,
    clusters_of,
    mcnemar_bounds,
    paired,
    paired_for_reading,
    told,
    unscored_bounds,
    unscored_for_reading,
)
from lib.analyze.stats import cluster_interval, exact_p, smallest_p
from lib.analyze.tables import table2
from lib.core.arms import ARMS
from lib.core.records import STRUCTURES, Fact, Query

PAPER = {"natural": (65, (4, 17, 17)), "entity-list": (85, (0, 11, 24)), "tabular": (41, (1, 3, 6))}
STATES = {"1": "correct", "0": "incorrect", "-": "unscored"}


def rows_of(structure: str = "natural", per_cluster: int = 1, **arms: str) -> pd.DataFrame:
    """Rows as of lib.analyze.tables.joined with clusters; an arm's verdicts are a text of 1 (correct), 0 and - (unscored)."""
    return pd.DataFrame([
        {"arm": arm.replace("_", "-").replace("At", "@"), "query_id": f"{structure}{number}", "structure": structure,
         "verdict": STATES[state], "cluster": f"{structure}{number // per_cluster}"}
        for arm, states in arms.items() for number, state in enumerate(states)])


def query(query_id: str, document_id: str, start: int = 0, end: int = 5) -> Query:
    return Query(query_id=query_id, document_id=document_id, question="q", answer="a", structure="natural",
                 source_reference="", start=start, end=end, entity_count=None, block_type="prose")


def fact(entity: str, document_id: str, start: int, end: int) -> Fact:
    return Fact(fact_id=f"{document_id}/{start}", entity=entity, attribute="port", value=["1"], structure="natural",
                document_id=document_id, start=start, end=end, public=False)


def test_a_cluster_is_the_product_in_all_its_documents_else_the_document():
    facts = [fact("Pump", "d1", 0, 5), fact("Pump", "d2", 0, 5), fact("Valve", "d2", 6, 9), fact("Fan", "d4", 0, 5)]
    queries = [query("a", "d1"), query("b", "d2"), query("c", "d2", 6, 9), query("d", "d2", 5, 6), query("e", "d3"),
               query("f", "d4", 7, 9)]
    assert clusters_of(queries, facts) == {"a": "Pump", "b": "Pump", "c": "Valve", "d": "d2", "e": "d3", "f": "Fan"}
    assert set(clusters_of(queries).values()) == {"d1", "d2", "d3", "d4"}
    assert list(add_clusters(pd.DataFrame({"query_id": ["c", "a"]}), queries, facts).cluster) == ["Valve", "Pump"]


def test_a_hand_worked_comparison():
    table = paired(rows_of(base="1100000000-", dapt="10111111110"))
    row = table.set_index("structure").loc["natural"]
    assert (row["first"], row.second, row.n, row.clusters, row.left_out) == ("base", "dapt", 10, 10, 1)
    assert (row.only_first, row.only_second) == (1, 8)
    assert row.difference_points == pytest.approx(70)
    assert row.p == pytest.approx(2 * (1 + 9) / 2**9)  # P(Binomial(9, 1/2) <= 1), twice
    assert row.smallest_p == pytest.approx(2 / 2**9)
    assert row.family == 2 and row.p_holm == pytest.approx(2 * row.p)  # this structure and "all"
    assert row.low_points < 70 < row.high_points
    assert table.set_index("structure").n["tabular"] == 0 and np.isnan(table.set_index("structure").p["tabular"])


def test_a_row_that_can_never_be_significant_says_so():
    row = paired(rows_of(base="0" * 20, dapt="1" * 5 + "0" * 15)).set_index("structure").loc["natural"]
    assert row.smallest_p == row.p == pytest.approx(2 / 2**5) and "can never be significant: 5 disc" in row.note
    row = paired(rows_of(base="0" * 20, dapt="1" * 6 + "0" * 14)).set_index("structure").loc["natural"]
    assert row.p == pytest.approx(2 / 2**6) and row.note == ""


def test_no_discordant_pair_gives_no_interval_of_width_zero():
    row = paired(rows_of(base="0" * 20, dapt="0" * 20)).set_index("structure").loc["natural"]
    assert row.p == 1 and np.isnan(row.low_points) and "nothing varies" in row.note
    row = paired(rows_of(per_cluster=20, base="0" * 20, dapt="01" * 10)).set_index("structure").loc["natural"]
    assert np.isnan(row.low_points) and "one cluster" in row.note


def test_all_first_seeds_are_compared_and_an_absent_arm_is_named():
    rows = rows_of(base="00", dapt="01", daptAt2="11", dapt_n="10")
    assert list(paired(rows)[["first", "second"]].drop_duplicates().itertuples(index=False, name=None)) == list(
        combinations(ARMS, 2))
    with pytest.raises(ValueError, match="arm other has no verdicts here; there are base, dapt"):
        paired(rows, [("base", "other")])


def test_holm_is_over_every_row_with_a_query():
    rows = pd.concat([rows_of(s, base="0" * 12, dapt="1" * 9 + "0" * 3, dapt_n="1" * 6 + "0" * 6) for s in STRUCTURES])
    table = paired(rows)
    ordered = table.sort_values("p", ignore_index=True)
    factors = np.arange(len(table), 0, -1)
    assert table.family.unique() == [12]
    assert list(ordered.p_holm) == pytest.approx(list(np.minimum(np.maximum.accumulate(ordered.p * factors), 1)))


def test_an_interval_over_clusters_is_wider_where_a_cluster_answers_alike():
    values = pd.Series([0, 0, 0, 0, 1, 1, 1, 1] * 10)
    alike, alone = pd.Series(np.arange(80) // 4), pd.Series(np.arange(80))
    (low, high), (low_alone, high_alone) = cluster_interval(values, alike), cluster_interval(values, alone)
    assert (high - low) / (high_alone - low_alone) == pytest.approx(2, rel=0.15)  # sqrt of the design effect, 4
    assert cluster_interval(values, alike) == (low, high)  # seeded


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    clusters = pd.Series(np.repeat(np.arange(30), 4))
    covered = 0
    for _ in range(100):
        values = pd.Series(rng.binomial(1, np.repeat(rng.beta(2, 3, 30), 4)))
        low, high = cluster_interval(values, clusters, resamples=500)
        covered += low <= 0.4 <= high
    assert 88 <= covered <= 99


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
@settings(max_examples=60, deadline=None)
def test_any_joint_table_lies_within_the_bounds_of_its_counts(both, first, second, neither):
    low, high = mcnemar_bounds(both + first + second + neither, both + first, both + second)
    assert low <= exact_p(first, second) <= high
    assert smallest_p(first + second) <= exact_p(first, second) <= 1


def test_the_paper_tabular_counts_can_never_be_significant_in_any_pair_of_arms():
    bounds = [mcnemar_bounds(41, *pair) for pair in combinations(PAPER["tabular"][1], 2)]
    assert [tuple(round(p, 4) for p in pair) for pair in bounds] == [(0.5, 0.625), (0.0625, 0.125), (0.25, 0.5078)]


def test_the_paper_counts_and_what_every_pairing_says():
    rows = pd.concat([rows_of(structure, **{arm.replace("-", "_"): "1" * correct + "0" * (n - correct)
                                            for arm, correct in zip(ARMS, counts, strict=True)})
                      for structure, (n, counts) in PAPER.items()])
    table = bounds_by_counts(table2(rows.assign(kind="numeric"))).set_index(["first", "second", "structure"])
    assert set(table.verdict[:, :, "tabular"]) == {"never significant"}
    assert table.verdict["dapt", "dapt-n", "natural"] == "never significant"  # 17 and 17 of 65: p = 1
    assert table.verdict["base", "dapt-n", "entity-list"] == "significant in every pairing, also after Holm"
    assert table.verdict["dapt", "dapt-n", "entity-list"] == "significant in every pairing"
    assert len(table) == 12 and "never significant" in bounds_for_reading(table.reset_index()).to_string()


@pytest.mark.parametrize("counts", [(41, 42, 1), (41, -1, 3)])
def test_counts_that_do_not_fit_are_refused(counts):
    with pytest.raises(ValueError, match="do not fit into 41"):
        mcnemar_bounds(*counts)


def test_unscored_answers_move_accuracy_between_two_bounds():
    rows = rows_of(base="110--", dapt="11000")
    cell = unscored_bounds(rows).set_index(["arm", "structure"]).loc["base", "natural"]
    assert (cell.n, cell.correct, cell.unscored, cell.worst, cell.best) == (5, 2, 2, 0.4, 0.8)
    reading = unscored_for_reading(unscored_bounds(rows)).set_index("structure")
    assert reading.base["natural"] == "2 of 5 unscored: 40.0% to 80.0%" and reading.base["tabular"] == "–"
    assert reading.dapt["natural"] == "0 of 5 unscored: 40.0%"
    assert "40.0% to 80.0% for base (2 of 5)" in told(paired(rows), unscored_bounds(rows))


def test_words_and_tables_come_from_the_numbers():
    rows = rows_of(base="0" * 30, dapt="1" * 20 + "0" * 10)
    text = told(paired(rows), unscored_bounds(rows))
    assert "2 differ: McNemar's p, which takes queries as independent, is at most 5% after Holm's correction" in text
    assert "on natural +66.7 [" in text
    assert "None of 60 answers is unscored." in text
    reading = paired_for_reading(paired(rows))
    assert reading["only first / only second"][0] == "0 / 20" and reading["n (clusters)"][0] == "30 (30)"
    nothing = rows_of(base="--", dapt="01")
    assert told(paired(nothing), unscored_bounds(nothing)).startswith("No query was scored in two arms")
