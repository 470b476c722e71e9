"""Agreement of two judges: tables by hand, missing values, and intervals over documents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.analyze.agreement.coefficients import (
    COEFFICIENTS,
    PERSON,
    agreement,
    clustered_coefficients,
    coefficients,
    paired_verdicts,
)

from lib.core.records import Query, Verdict


def test_the_published_example_of_two_raters_and_three_categories():
    """The two abstractors of K. L. Gwet's R package irrCAC, whose vignette prints the values."""
    found = coefficients(np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]]))
    assert found == pytest.approx({"agreement": 0.89, "kappa": 0.7964094, "ac1": 0.8493305})


def test_with_a_rare_state_kappa_is_near_zero_and_ac1_is_not():
    """By hand: a = 118/125; mean shares 245/250 and 5/250, so e = 2 × 0.98 × 0.02 for AC1."""
    found = coefficients(np.array([[118, 5], [2, 0]]))
    chance = 2 * (123 + 120) / 250 * (2 + 5) / 250
    assert found["ac1"] == pytest.approx((0.944 - chance) / (1 - chance))
    assert found["kappa"] < 0 < 0.9 < found["ac1"]


@given(st.lists(st.lists(st.integers(0, 40), min_size=4, max_size=4), min_size=1, max_size=6))
def test_values_are_in_their_intervals_and_no_interval_claims_certainty(counts):
    found = clustered_coefficients(np.array(counts).reshape(-1, 2, 2))
    for name in COEFFICIENTS:
        low, high = found[f"{name}_low"], found[f"{name}_high"]
        assert np.isnan(found[name]) or -1 - 1e-9 <= found[name] <= 1
        assert np.isnan([low, high]).all() or low <= found[name] <= high and low < high


def test_intervals_are_over_documents():
    """Four equal answers per document add nothing to one, and one document has no interval."""
    tables = np.array(
        [[[1, 0], [0, 0]]] * 12
        + [[[0, 0], [0, 1]]] * 6
        + [[[0, 1], [0, 0]]] * 4
        + [[[0, 0], [1, 0]]] * 2
    )
    once, alike = clustered_coefficients(tables), clustered_coefficients(4 * tables)
    assert alike == pytest.approx(once) and once["kappa_low"] < once["kappa"] < once["kappa_high"]
    one = clustered_coefficients(tables.sum(axis=0, keepdims=True))
    assert one["kappa"] == pytest.approx(once["kappa"]) and np.isnan(one["agreement_low"])
    assert np.isnan(list(clustered_coefficients(np.zeros((3, 2, 2))).values())).all()


STATES = {"c": "correct", "i": "incorrect", "u": "unscored"}


def verdicts(judge: str, states: str, arm: str = "dapt") -> list[Verdict]:
    return [
        Verdict(
            query_id=f"q{n}", arm=arm, judge=judge, verdict=STATES[state], reason=f"{judge} {n}"
        )
        for n, state in enumerate(states)
    ]


QUERIES = [
    Query(
        query_id=f"q{n}",
        document_id="d",
        question="Which?",
        answer="a\nb",
        structure=structure,
        source_reference="",
        start=0,
        end=0,
        block_type="prose",
        entity_count=None,
    )
    for n, structure in enumerate(["natural"] * 3 + ["tabular"] * 2)
]


def test_unscored_is_counted_and_shown_and_is_in_no_coefficient():
    judges = {"rules": verdicts("rules", "ciciu"), "m": verdicts("m", "ciiuu")}
    rows = paired_verdicts(QUERIES, judges)
    table = agreement(rows).set_index("structure")
    assert list(table.index) == ["natural", "tabular", "all"]
    total = table.loc["all"]
    assert total[
        ["n", "unscored_first", "unscored_second", "scored", "agreed", "lenient", "strict"]
    ].tolist() == [5, 1, 2, 3, 2, 1, 0]
    assert table.scored["tabular"] == 0 and np.isnan(table.agreement["tabular"])


def test_every_pair_of_judges_has_its_arms_and_a_labelled_answer_its_weight():
    judges = {
        "rules": verdicts("rules", "cccci") + verdicts("rules", "iiiii", "base"),
        "m": verdicts("m", "ccccc") + verdicts("m", "cccc", "base"),
        PERSON: verdicts(PERSON, "ci"),
    }
    table = agreement(paired_verdicts(QUERIES, judges, {("q0", "dapt"): 3.0}))
    table = (
        table[table.structure == "all"]
        .set_index(["first_judge", "second_judge", "arm"])
        .sort_index()
    )
    assert table.n["rules", "m"].tolist() == [9, 4, 5] and table.agreed["rules", "m", "base"] == 0
    person = table.loc["rules", PERSON, "all"]
    assert (person.agreed, person.scored, person.agreement) == (1, 2, 0.75)  # 3 of 3 + 1
