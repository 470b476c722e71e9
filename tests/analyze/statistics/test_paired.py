"""Paired comparisons: hand-worked cases, the paper's counts in every pairing, clusters."""

import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.analyze.paper.published import paper_rows
from lib.analyze.statistics.paired import (
    add_clusters,
    bounds_by_counts,
    clusters_of,
    formatted_bounds,
    formatted_paired,
    formatted_unscored,
    mcnemar_bounds,
    paired,
    summary,
    unscored_bounds,
)
from lib.analyze.stats import exact_p, smallest_p
from lib.analyze.tables import table2
from lib.core.arms import ARMS
from lib.core.records import STRUCTURES, Fact, Query

STATES = {"1": "correct", "0": "incorrect", "-": "unscored"}


def rows_of(structure: str = "natural", per_cluster: int = 1, **arms: str) -> pd.DataFrame:
    """Return rows of `joined` with clusters; verdicts are 1 (correct), 0 and - (unscored).

    `dapt_nAt2` is the arm dapt-n@2.
    """
    return pd.DataFrame([
        {"arm": arm.replace("_", "-").replace("At", "@"), "query_id": f"{structure}{number}",
         "structure": structure, "verdict": STATES[state],
         "cluster": f"{structure}{number // per_cluster}"}
        for arm, states in arms.items() for number, state in enumerate(states)])


def query(query_id: str, document_id: str, start: int = 0, end: int = 5) -> Query:
    return Query(query_id=query_id, document_id=document_id, question="q", answer="a",
                 structure="natural", source_reference="", start=start, end=end,
                 entity_count=None, block_type="prose")


def fact(entity: str, document_id: str, start: int, end: int) -> Fact:
    return Fact(fact_id=f"{document_id}/{start}", entity=entity, attribute="port", value=["1"],
                structure="natural", document_id=document_id, start=start, end=end, public=False)


def natural(table: pd.DataFrame) -> pd.Series:
    return table.set_index("structure").loc["natural"]


def test_a_cluster_is_the_product_in_all_its_documents_else_the_document():
    facts = [fact("Pump", "d1", 0, 5), fact("Pump", "d2", 0, 5), fact("Valve", "d2", 6, 9),
             fact("Fan", "d4", 0, 5)]
    queries = [query("a", "d1"), query("b", "d2"), query("c", "d2", 6, 9), query("d", "d2", 5, 6),
               query("e", "d3"), query("f", "d4", 7, 9)]
    assert clusters_of(queries, facts) == {"a": "Pump", "b": "Pump", "c": "Valve", "d": "d2",
                                           "e": "d3", "f": "Fan"}
    assert set(clusters_of(queries).values()) == {"d1", "d2", "d3", "d4"}
    rows = add_clusters(pd.DataFrame({"query_id": ["c", "a"]}), queries, facts)
    assert list(rows.cluster) == ["Valve", "Pump"]


def test_a_hand_worked_comparison():
    table = paired(rows_of(base="1100000000-", dapt="10111111110"))
    row = natural(table)
    assert (row["first"], row.second) == ("base", "dapt")
    assert (row.n, row.clusters, row.left_out) == (10, 10, 1)
    assert (row.only_first, row.only_second) == (1, 8)
    assert row.p == pytest.approx(2 * (1 + 9) / 2**9)  # P(Binomial(9, 1/2) <= 1), twice
    assert row.p_mcnemar == pytest.approx(row.p)  # every query is its own cluster
    assert not row.differs  # after Holm
    assert row.smallest_p == pytest.approx(2 / 2**9)
    assert row.family == 2 and row.p_holm == pytest.approx(2 * row.p)  # this structure and "all"
    assert row.low_points < row.difference_points < row.high_points
    assert row.difference_points == pytest.approx(70)
    empty = table.set_index("structure").loc["tabular"]
    assert empty.n == 0 and np.isnan(empty.p) and np.isnan(empty.p_holm)


@pytest.mark.parametrize(("per_cluster", "base", "dapt", "note"), [
    (1, "0" * 20, "1" * 5 + "0" * 15, "can never be significant: 5 of 20 clusters differ"),
    (1, "0" * 20, "0" * 20, "no answer differs"), (20, "0" * 20, "01" * 10, "one cluster"),
    (4, "0" * 20, "1" * 10 + "0" * 10, "less certain: only 5"),
    (1, "0" * 20, "1" * 20, "all clusters differ by the same"),
    (1, "0" * 20, "1" * 6 + "0" * 14, "")])
def test_what_a_row_cannot_show_is_in_its_note(per_cluster, base, dapt, note):
    row = natural(paired(rows_of(per_cluster=per_cluster, base=base, dapt=dapt)))
    assert note in row.note and bool(note) == bool(row.note)
    is_known = note not in ("no answer differs", "one cluster", "all clusters differ by the same")
    assert np.isnan(row.low_points) != is_known and np.isnan(row.high_points) != is_known


def test_all_first_seeds_are_compared_and_an_absent_arm_is_named():
    rows = rows_of(base="00", dapt="01", daptAt2="11", dapt_n="10")
    pairs = paired(rows)[["first", "second"]].drop_duplicates()
    assert list(pairs.itertuples(index=False, name=None)) == list(combinations(ARMS, 2))
    with pytest.raises(ValueError, match="arm other has no verdicts here; there are base, dapt"):
        paired(rows, [("base", "other")])


def test_holm_is_over_every_row_with_a_query():
    table = paired(pd.concat([rows_of(structure, base="0" * 12, dapt="1" * 9 + "0" * 3,
                                      dapt_n="1" * 6 + "0" * 6) for structure in STRUCTURES]))
    assert table.family.unique() == [12]
    assert table.p_holm.min() == pytest.approx(12 * table.p.min())


def test_queries_of_few_documents_that_change_together_are_no_evidence():
    row = natural(paired(rows_of(per_cluster=15, base="0" * 60, dapt="1" * 45 + "0" * 15)))
    assert row.p_mcnemar < 1e-9 and row.p == row.smallest_p == 0.25  # three documents changed
    assert not row.differs and row.high_points == 100  # clipped
    row = natural(paired(rows_of(per_cluster=3, base="0" * 60, dapt="1" * 60)))
    assert np.isnan(row.low_points) and row.differs and row.p < 0.001  # 20 products, each by 100
    one = natural(paired(rows_of(per_cluster=60, base="0" * 60, dapt="1" * 30 + "0" * 30)))
    assert one.difference_points == 50 and one.p == 1 and not one.differs


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("10-"), st.sampled_from("10-")), min_size=1,
                max_size=40), st.integers(1, 12))
def test_every_number_of_the_summary_is_that_of_the_table(pairs, per_cluster):
    base, dapt = ("".join(side) for side in zip(*pairs, strict=True))
    rows = rows_of(per_cluster=per_cluster, base=base, dapt=dapt)
    table, bounds = paired(rows, draws=199), unscored_bounds(rows)
    text = summary(table, bounds)
    assert "nan" not in text + formatted_paired(table).to_string()
    n_both = sum("-" not in pair for pair in pairs)
    assert ("No query was scored in two arms" in text) == (n_both == 0)
    if n_both:
        counts = re.search(r"Of (\d+) paired comparisons .*?, (\d+) differ", text).groups()
        apart = table.p_holm.le(0.05) & ~(table.low_points.le(0) & table.high_points.ge(0))
        assert tuple(map(int, counts)) == (table.p.notna().sum(), apart.sum())
        never = re.search(r"In (\d+) of \d+ so few clusters", text)
        assert (int(never[1]) if never else 0) == (table.smallest_p > 0.05).sum()
    unscored = sum(pair.count("-") for pair in pairs)
    assert ("is unscored." in text) == (unscored == 0)
    known = table.dropna(subset="low_points")
    assert known.low_points.ge(-100).all() and known.high_points.le(100).all()
    assert ((table.p >= table.smallest_p - 1e-9) | table.p.isna()).all()


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_any_joint_table_lies_within_the_bounds_of_its_counts(both, first, second, neither):
    low, high = mcnemar_bounds(both + first + second + neither, both + first, both + second)
    assert low <= exact_p(first, second) <= high
    assert smallest_p(first + second) <= exact_p(first, second) <= 1


def test_the_paper_counts_and_what_every_pairing_says():
    table = bounds_by_counts(table2(paper_rows()))
    bounds = table.set_index(["first", "second", "structure"])
    tabular = [tuple(bounds.loc[(*pair, "tabular"), ["smallest_p", "largest_p"]].round(4))
               for pair in combinations(ARMS, 2)]
    assert tabular == [(0.5, 0.625), (0.0625, 0.125), (0.25, 0.5078)]
    assert set(bounds.verdict[:, :, "tabular"]) == {"never significant"}
    assert bounds.verdict["dapt", "dapt-n", "natural"] == "never significant"  # 17 and 17 of 65
    lists = [bounds.verdict[first, "dapt-n", "entity-list"] for first in ("base", "dapt")]
    assert lists == ["significant in every pairing, also after Holm",
                     "significant in every pairing"]
    texts = formatted_bounds(table)
    assert len(texts) == 12 and texts["p, by pairing"][2] == "0.50 to 0.62"


@pytest.mark.parametrize("counts", [(41, 42, 1), (41, -1, 3)])
def test_counts_that_do_not_fit_are_refused(counts):
    with pytest.raises(ValueError, match="do not fit into 41"):
        mcnemar_bounds(*counts)


def test_unscored_answers_move_accuracy_between_two_bounds():
    rows = rows_of(base="110--", dapt="11000")
    bounds = unscored_bounds(rows)
    cell = bounds.set_index(["arm", "structure"]).loc["base", "natural"]
    assert list(cell) == [5, 2, 2, 0.4, 0.8]  # n, correct, unscored, worst, best
    texts = formatted_unscored(bounds).set_index("structure")
    assert texts.base["natural"] == "2 of 5 unscored: 40.0% to 80.0%"
    assert texts.base["tabular"] == "–" and texts.dapt["natural"] == "0 of 5 unscored: 40.0%"
    assert "40.0% to 80.0% for base (2 of 5)" in summary(paired(rows), bounds)


def test_summary_and_tables_have_the_numbers():
    rows = rows_of(base="0" * 30, dapt="1" * 20 + "0" * 10)
    text = summary(paired(rows), unscored_bounds(rows))
    assert "Of 2 paired comparisons (each arm's first seed), 2 differ" in text
    assert "on natural +66.7 [" in text and "None of 60 answers is unscored." in text
    texts = formatted_paired(paired(rows))
    assert list(texts.loc[0, ["only first / only second", "n (clusters)"]]) == ["0 / 20", "30 (30)"]
    nothing = rows_of(base="--", dapt="01")
    assert "no arms are compared" in summary(paired(nothing), unscored_bounds(nothing))
