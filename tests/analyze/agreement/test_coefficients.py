"""Agreement of two judges: published examples, hand-worked tables, and what has no value or no interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.analyze.agreement.coefficients import (
    agreement,
    formatted,
    clustered_coefficients,
    coefficients,
    confusion_table,
    disagreements,
    gwet_ac1,
    paired_verdicts,
)
from lib.core.records import Query, Verdict

# The two abstractors of K. L. Gwet's R package irrCAC, whose vignette prints the values below.
ABSTRACTORS = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])


def test_published_example_of_two_raters_and_three_categories():
    found = coefficients(ABSTRACTORS)
    assert found["agreement"] == 0.89 and found["agreed"] == 89
    assert found["kappa"] == pytest.approx(0.7964094, abs=1e-7)
    assert (found["kappa_high"] - found["kappa_low"]) / 2 / 1.959964 == pytest.approx(0.05891072, abs=1e-6)
    assert gwet_ac1(ABSTRACTORS) == pytest.approx((0.8493305, 0.04321747), abs=1e-7)
    assert (round(found["ac1_low"], 3), round(found["ac1_high"], 3)) == (0.764, 0.935)


def test_high_agreement_on_a_rare_state_where_kappa_is_near_zero_and_ac1_is_not():
    """By hand: a = 118/125; mean shares 245/250 and 5/250, so e = 2 × 0.98 × 0.02 for AC1 (q = 2)."""
    found = coefficients([[118, 5], [2, 0]])
    assert found["kappa"] == pytest.approx((0.944 - 0.94528) / (1 - 0.94528), abs=1e-4)
    mean = np.array([(123 + 120) / 250, (2 + 5) / 250])
    chance = 2 * mean[0] * mean[1]
    assert found["ac1"] == pytest.approx((0.944 - chance) / (1 - chance))
    assert found["kappa"] < 0 < 0.9 < found["ac1"]


def test_no_interval_claims_certainty_and_no_value_is_made_up():
    perfect = coefficients([[10, 0], [0, 5]])
    assert perfect["kappa"] == perfect["ac1"] == 1 and np.isnan([perfect["kappa_low"], perfect["ac1_high"]]).all()
    assert perfect["agreement_low"] == pytest.approx(0.796, abs=1e-3) and perfect["agreement_high"] == 1
    one_state = coefficients([[0, 0], [0, 5]])
    assert np.isnan(one_state["kappa"]) and one_state["ac1"] == 1
    constant = coefficients([[5, 1], [0, 0]])
    assert constant["kappa"] == 0 and np.isnan(constant["kappa_low"])
    nothing = coefficients(np.zeros((2, 2)))
    assert nothing.pop("scored") == nothing.pop("agreed") == 0 and np.isnan(list(nothing.values())).all()


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=6))
def test_any_tables_of_documents_have_values_inside_their_intervals(counts):
    found = clustered_coefficients(np.array(counts).reshape(-1, 2, 2))
    for name in ("agreement", "kappa", "ac1"):
        if not np.isnan(found[f"{name}_low"]):
            assert found[f"{name}_low"] <= found[name] <= found[f"{name}_high"]


@given(st.lists(st.integers(0, 40), min_size=4, max_size=4).filter(any))
def test_coefficients_have_no_order_of_judges_and_stay_in_their_range(counts):
    table = np.array(counts).reshape(2, 2)
    found, turned = coefficients(table), coefficients(table.T)
    assert found == pytest.approx(turned, nan_ok=True)
    for name in ("kappa", "ac1"):
        assert np.isnan(found[name]) or -1 - 1e-9 <= found[name] <= 1
        if not np.isnan(found[f"{name}_low"]):
            assert found[f"{name}_low"] <= found[name] <= found[f"{name}_high"]


def test_intervals_are_for_documents():
    """24 documents of one answer each are 24 answers; four equal answers a document say no more than one."""
    answers = [[[1, 0], [0, 0]]] * 12 + [[[0, 0], [0, 1]]] * 6 + [[[0, 1], [0, 0]]] * 4 + [[[0, 0], [1, 0]]] * 2
    once, plain = clustered_coefficients(tables := np.array(answers)), coefficients(tables.sum(axis=0))
    for name in ("agreement", "agreement_low", "agreement_high", "kappa", "ac1"):
        assert once[name] == pytest.approx(plain[name])
    for name in ("kappa", "ac1"):
        width, formula = (found[f"{name}_high"] - found[f"{name}_low"] for found in (once, plain))
        assert width == pytest.approx(formula, rel=0.2)
    alike, apart = clustered_coefficients(4 * tables), coefficients(4 * tables.sum(axis=0))
    assert alike["scored"] == 4 * once["scored"]
    for name in ("agreement_low", "kappa_low", "ac1_low", "ac1_high"):
        assert alike[name] == pytest.approx(once[name])
    assert apart["agreement_low"] > alike["agreement_low"]
    one = clustered_coefficients(tables.sum(axis=0, keepdims=True))
    assert one == pytest.approx(plain, nan_ok=True)
    assert np.isnan(clustered_coefficients(np.zeros((3, 2, 2)))["agreement"])


def verdicts(judge: str, *said: str, arm: str = "dapt") -> list[Verdict]:
    return [Verdict(query_id=f"q{n}", arm=arm, judge=judge, verdict=one, reason=f"{judge} {n}")
            for n, one in enumerate(said)]


@pytest.fixture
def queries() -> list[Query]:
    structures = ("natural", "natural", "natural", "tabular", "tabular")
    return [Query(query_id=f"q{n}", document_id="d", question="Which?", answer="a\nb", structure=structure,
                  source_reference="", start=0, end=0, block_type="prose", entity_count=None)
            for n, structure in enumerate(structures)]


def test_unscored_is_counted_and_shown_and_is_in_no_coefficient(queries):
    rows = paired_verdicts(queries, verdicts("rules", "correct", "incorrect", "correct", "incorrect", "unscored"),
                           verdicts("m", "correct", "incorrect", "incorrect", "unscored", "unscored"))
    counts = confusion_table(rows)
    assert counts.iloc[-3:, 2:].to_numpy().tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    assert counts.shape == (9, 5)
    table = agreement(rows).set_index(["arm", "structure"])
    assert list(table.index) == [("all", "natural"), ("all", "tabular"), ("all", "all")]
    whole = table.loc[("all", "all")]
    assert (whole.n, whole.unscored_first, whole.unscored_second, whole.scored, whole.agreed) == (5, 1, 2, 3, 2)
    assert table.loc[("all", "tabular")].scored == 0 and np.isnan(table.loc[("all", "tabular")].agreement)
    reading = formatted(agreement(rows))
    assert reading.agreement.iloc[0].startswith("2/3 = 66.67% [") and reading.agreement.iloc[1] == "–"
    read = disagreements(rows, queries, {("q2", "dapt"): "x\ny"})
    assert list(read["query"]) == ["q2", "q3"] and read.answer.iloc[0] == "x ↵ y"
    assert read["first's reason"].iloc[0] == "rules 2" and read["second"].iloc[1] == "unscored"


def test_arms_are_apart_where_there_are_several(queries):
    first = verdicts("rules", *["correct"] * 5) + verdicts("rules", *["incorrect"] * 5, arm="base")
    second = verdicts("m", *["correct"] * 5) + verdicts("m", *["correct"] * 4, arm="base")
    table = agreement(paired_verdicts(queries, first, second)).set_index(["arm", "structure"])
    assert list(table.index[-2:]) == [("base", "all"), ("dapt", "all")]
    assert list(table.n[-2:]) == [4, 5] and list(table.agreed[-2:]) == [0, 5]  # only what both judged


@pytest.mark.parametrize(("second", "message"), [
    ([], "no answer in common"), (verdicts("m", "correct") * 2, "two verdicts on an answer"),
    ([Verdict(query_id="zzz", arm="dapt", judge="m", verdict="correct", reason="")], "'zzz' is not in queries.jsonl")])
def test_verdicts_that_do_not_belong_together_are_refused(queries, second, message):
    with pytest.raises(ValueError, match=f"{message}.*05_judge"):
        paired_verdicts(queries, verdicts("rules", "correct"), second)
