"""Paired comparisons over clusters: hand-worked cases."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.analyze.format import compact
from lib.analyze.statistics.paired import (
    add_clusters,
    clusters_of,
    paired,
)
from lib.analyze.tables import table2
from lib.core.arms import ARMS
from lib.core.records import Fact, Query
from lib.core.structures import STRUCTURES

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


def query(query_id: str, document_id: str, start: int = 0, end: int = 5) -> Query:
    return Query(
        query_id=query_id,
        document_id=document_id,
        question="q",
        answer="a",
        structure="natural",
        source_reference="",
        start=start,
        end=end,
        entity_count=None,
        block_type="prose",
    )


def fact(entity: str, document_id: str, start: int, end: int) -> Fact:
    return Fact(
        fact_id=f"{document_id}/{start}",
        entity=entity,
        attribute="port",
        value=["1"],
        structure="natural",
        document_id=document_id,
        start=start,
        end=end,
        public=False,
    )


def natural(table: pd.DataFrame) -> pd.Series:
    return table.set_index("structure").loc["natural"]


def test_a_cluster_is_the_product_in_all_its_documents_else_the_document():
    facts = [
        fact("Pump", "d1", 0, 5),
        fact("Pump", "d2", 0, 5),
        fact("Valve", "d2", 6, 9),
        fact("Fan", "d4", 0, 5),
    ]
    queries = [
        query("a", "d1"),
        query("b", "d2"),
        query("c", "d2", 6, 9),
        query("d", "d2", 5, 6),
        query("e", "d3"),
        query("f", "d4", 7, 9),
    ]
    assert clusters_of(queries, facts) == {
        "a": "Pump",
        "b": "Pump",
        "c": "Valve",
        "d": "d2",
        "e": "d3",
        "f": "Fan",
    }
    assert set(clusters_of(queries).values()) == {"d1", "d2", "d3", "d4"}
    rows = add_clusters(pd.DataFrame({"query_id": ["c", "a"]}), queries, facts)
    assert list(rows.cluster) == ["Valve", "Pump"]


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
    table = paired(rows_of(per_cluster=per_cluster, base=base, dapt=dapt), draws=199)
    apart = table.p_holm.le(0.05) & ~(table.low_points.le(0) & table.high_points.ge(0))
    assert table.differs.tolist() == apart.tolist()
    known = table.dropna(subset="low_points")
    assert known.low_points.ge(-100).all() and known.high_points.le(100).all()
    assert "nan" not in compact(table).to_string()
