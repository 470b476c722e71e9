"""Agreement of two judges: published examples, tables by hand, and missing values or intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.analyze.agreement.coefficients import (
    COEFFICIENTS,
    agreement,
    clustered_coefficients,
    coefficients,
    confusion_table,
    disagreements,
    formatted,
    gwet_ac1,
    paired_verdicts,
)
from lib.core.records import Query, Verdict

# The two abstractors of K. L. Gwet's R package irrCAC, whose vignette prints the values below.
ABSTRACTORS = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])


def test_the_published_example_of_two_raters_and_three_categories():
    found = coefficients(ABSTRACTORS)
    assert found["agreement"] == 0.89 and found["agreed"] == 89
    assert found["kappa"] == pytest.approx(0.7964094, abs=1e-7)
    error = (found["kappa_high"] - found["kappa_low"]) / 2 / 1.959964
    assert error == pytest.approx(0.05891072, abs=1e-6)
    assert gwet_ac1(ABSTRACTORS) == pytest.approx((0.8493305, 0.04321747), abs=1e-7)
    assert (round(found["ac1_low"], 3), round(found["ac1_high"], 3)) == (0.764, 0.935)


def test_with_a_rare_state_kappa_is_near_zero_and_ac1_is_not():
    """By hand: a = 118/125; mean shares 245/250 and 5/250, so e = 2 × 0.98 × 0.02 for AC1."""
    found = coefficients([[118, 5], [2, 0]])
    assert found["kappa"] == pytest.approx((0.944 - 0.94528) / (1 - 0.94528), abs=1e-4)
    chance = 2 * (123 + 120) / 250 * (2 + 5) / 250
    assert found["ac1"] == pytest.approx((0.944 - chance) / (1 - chance))
    assert found["kappa"] < 0 < 0.9 < found["ac1"]


def test_no_interval_claims_certainty_and_no_value_is_made_up():
    perfect = coefficients([[10, 0], [0, 5]])
    assert perfect["kappa"] == perfect["ac1"] == perfect["agreement_high"] == 1
    assert np.isnan([perfect["kappa_low"], perfect["ac1_high"]]).all()
    assert perfect["agreement_low"] == pytest.approx(0.796, abs=1e-3)
    one_state = coefficients([[0, 0], [0, 5]])
    assert np.isnan(one_state["kappa"]) and one_state["ac1"] == 1
    constant = coefficients([[5, 1], [0, 0]])
    assert constant["kappa"] == 0 and np.isnan(constant["kappa_low"])
    nothing = coefficients(np.zeros((2, 2)))
    assert nothing.pop("scored") == nothing.pop("agreed") == 0
    assert np.isnan(list(nothing.values())).all()


@given(st.lists(st.lists(st.integers(0, 40), min_size=4, max_size=4), min_size=1, max_size=6))
def test_values_are_in_their_intervals_and_range_whatever_the_order_of_judges(counts):
    tables = np.array(counts).reshape(-1, 2, 2)
    for found in (clustered_coefficients(tables), coefficients(tables.sum(axis=0))):
        for name in COEFFICIENTS:
            assert np.isnan(found[name]) or -1 - 1e-9 <= found[name] <= 1
            if not np.isnan(found[f"{name}_low"]):
                assert found[f"{name}_low"] <= found[name] <= found[f"{name}_high"]
    turned = coefficients(tables.sum(axis=0).T)
    assert found == pytest.approx(turned, nan_ok=True)


def test_intervals_are_clustered_by_document():
    """24 documents of one answer are 24 answers; four equal answers per document add nothing."""
    tables = np.array([[[1, 0], [0, 0]]] * 12 + [[[0, 0], [0, 1]]] * 6 + [[[0, 1], [0, 0]]] * 4
                      + [[[0, 0], [1, 0]]] * 2)
    once, plain = clustered_coefficients(tables), coefficients(tables.sum(axis=0))
    for name in ("agreement", "agreement_low", "agreement_high", "kappa", "ac1"):
        assert once[name] == pytest.approx(plain[name], abs=0.02)
    for name in ("kappa", "ac1"):
        width, formula = (found[f"{name}_high"] - found[f"{name}_low"] for found in (once, plain))
        assert width == pytest.approx(formula, rel=0.2)
    alike, apart = clustered_coefficients(4 * tables), coefficients(4 * tables.sum(axis=0))
    assert alike["scored"] == 4 * once["scored"]
    for name in ("agreement_low", "kappa_low", "ac1_low", "ac1_high"):
        assert alike[name] == pytest.approx(once[name], abs=0.02)
    assert apart["agreement_low"] > alike["agreement_low"]
    one = clustered_coefficients(tables.sum(axis=0, keepdims=True))
    assert one["kappa"] == plain["kappa"] and np.isnan(one["kappa_low"] + one["agreement_low"])
    assert np.isnan(clustered_coefficients(np.zeros((3, 2, 2)))["agreement"])


STATES = {"c": "correct", "i": "incorrect", "u": "unscored"}


def verdicts(judge: str, states: str, arm: str = "dapt") -> list[Verdict]:
    return [Verdict(query_id=f"q{n}", arm=arm, judge=judge, verdict=STATES[state],
                    reason=f"{judge} {n}") for n, state in enumerate(states)]


QUERIES = [Query(query_id=f"q{n}", document_id="d", question="Which?", answer="a\nb",
                 structure=structure, source_reference="", start=0, end=0, block_type="prose",
                 entity_count=None)
           for n, structure in enumerate(["natural"] * 3 + ["tabular"] * 2)]


def test_unscored_is_counted_and_shown_and_is_in_no_coefficient():
    rows = paired_verdicts(QUERIES, verdicts("rules", "ciciu"), verdicts("m", "ciiuu"))
    counts = confusion_table(rows)
    assert counts.iloc[-3:, 2:].to_numpy().tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    assert counts.shape == (9, 5)
    table = agreement(rows).set_index(["arm", "structure"])
    assert list(table.index) == [("all", "natural"), ("all", "tabular"), ("all", "all")]
    total, tabular = table.loc[("all", "all")], table.loc[("all", "tabular")]
    assert (total.n, total.unscored_first, total.unscored_second, total.scored, total.agreed) == (
        5, 1, 2, 3, 2)
    assert tabular.scored == 0 and np.isnan(tabular.agreement)
    text = formatted(agreement(rows)).agreement
    assert text[0] == "2/3 = 66.67%" and text[1] == "–"  # one document: no interval
    differ = disagreements(rows, QUERIES, {("q2", "dapt"): "x\ny"})
    assert list(differ["query"]) == ["q2", "q3"] and differ.answer[0] == "x ↵ y"
    assert differ["first's reason"][0] == "rules 2" and differ["second"][1] == "unscored"


def test_arms_are_apart_where_there_are_several():
    first = verdicts("rules", "ccccc") + verdicts("rules", "iiiii", arm="base")
    second = verdicts("m", "ccccc") + verdicts("m", "cccc", arm="base")
    table = agreement(paired_verdicts(QUERIES, first, second)).set_index(["arm", "structure"])
    assert list(table.index[-2:]) == [("base", "all"), ("dapt", "all")]
    assert list(table.n[-2:]) == [4, 5] and list(table.agreed[-2:]) == [0, 5]  # judged by both


STRANGER = Verdict(query_id="zzz", arm="dapt", judge="m", verdict="correct", reason="")


@pytest.mark.parametrize(("second", "message"), [
    ([], "no answer in common"), (verdicts("m", "c") * 2, "two verdicts on an answer"),
    ([STRANGER], "'zzz' is not in queries.jsonl")])
def test_verdicts_that_do_not_belong_together_are_refused(second, message):
    with pytest.raises(ValueError, match=f"{message}.*05_judge"):
        paired_verdicts(QUERIES, verdicts("rules", "c"), second)
