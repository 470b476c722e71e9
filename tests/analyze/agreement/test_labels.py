"""Judges against a person: weights, agreement, leniency and its test, on labels by hand."""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lib.analyze.agreement.labels import (
    formatted,
    human_agreement,
    human_findings,
    labelled,
    leniency,
    leniency_test,
)
from lib.analyze.agreement.sheet import draw, items_of
from lib.core.records import STRUCTURES, Answer, Query, Verdict

N = 120


def verdicts(judge: str, is_correct) -> list[Verdict]:
    return [Verdict(query_id=f"q{n}", arm="dapt", judge=judge, reason="",
                    verdict="correct" if is_correct(n) else "incorrect") for n in range(N)]


RULES = verdicts("rules", lambda n: n % 4 == 0)


@pytest.fixture
def items():
    """Return 120 answers, 40 per structure; the rules call one in four correct."""
    queries = [Query(query_id=f"q{n}", document_id="d", question="Which?", answer="a",
                     structure=STRUCTURES[n % 3], source_reference="", start=0, end=0,
                     block_type="prose", entity_count=None) for n in range(N)]
    answers = [Answer(query_id=f"q{n}", arm="dapt", answer=f"{n}", n_tokens=1, truncated=False)
               for n in range(N)]
    return items_of(queries, answers, RULES)


def number(item) -> int:
    return int(item.query_id[1:])


def test_weights_undo_the_strata(items):
    """A person disagrees with a fifth of what the rules call correct and agrees with the rest."""
    correct, incorrect = ([item for item in items if item.verdict == verdict][:20]
                          for verdict in ("correct", "incorrect"))
    wrong = {item.item for item in correct if number(item) % 5 == 0}
    labels = {item.item: "incorrect" if item.item in wrong else item.verdict
              for item in correct + incorrect}
    rows = labelled(items, labels, {"rules": RULES})
    strata = rows.groupby(["structure", "verdict"]).weight.sum()
    assert (strata.round(9) == [10, 30] * 3).all() and strata.sum() == pytest.approx(N)
    found = human_agreement(rows, items).set_index("structure").loc["all"]
    assert len(wrong) == 4
    assert (found.labelled, found.scored, found.agreed) == (40, 40, 36)
    disagreeing = rows[rows.person != rows.verdict].weight.sum() / N
    assert found.agreement == pytest.approx(1 - disagreeing) and found.agreement > 36 / 40
    kish = rows.weight.sum() ** 2 / (rows.weight ** 2).sum()
    assert found.effective_n == pytest.approx(kish) and kish < 40
    assert found.agreement_low < found.agreement < found.agreement_high
    assert (found.lenient, found.strict) == (4, 0)
    assert found.leniency == pytest.approx(disagreeing)


def test_unsure_and_unscored_are_in_no_agreement(items):
    labels = {items[0].item: "unsure", items[1].item: "correct", items[2].item: "correct",
              "item-gone": "correct"}
    given = [row for row in verdicts("m", lambda n: True) if row.query_id != items[2].query_id]
    found = human_agreement(labelled(items, labels, {"m": given}), items).iloc[-1]
    assert (found.structure, found.labelled, found.unsure, found.unscored) == ("all", 3, 1, 1)
    assert (found.scored, found.agreed) == (1, 1)
    assert human_agreement(labelled(items, {}, {"m": given}), items).empty


def test_leniency_by_hand():
    """10 lenient and 2 strict of 40; half an answer more in each cell: (10.5 - 2.5) / 42."""
    found = leniency(np.array([[8, 10], [2, 20]]))
    reach = 1.959964 * (13 - 8 ** 2 / 42) ** 0.5 / 42
    assert list(found.values()) == pytest.approx([0.2, 8 / 42 - reach, 8 / 42 + reach])
    nobody = leniency(np.diag([8, 20]))
    assert nobody["leniency_low"] < nobody["leniency"] == 0 < nobody["leniency_high"]
    assert np.isnan(list(leniency(np.zeros((2, 2))).values())).all()


@pytest.mark.parametrize("lenient_with", ["entity-list", ""])
def test_leniency_with_one_structure_is_found_and_an_even_one_is_not(items, lenient_with):
    """The person calls all incorrect; the judge calls a third correct: only lists, or evenly."""
    labels = {item.item: "incorrect" for item in items}
    structures = {number(item): item.structure for item in items}
    rows = labelled(items, labels, {"m": verdicts("m", lambda n: (
        structures[n] == lenient_with if lenient_with else n // 3 % 3 == 0))})
    test = leniency_test(rows).iloc[0]
    assert (test.p < 0.001 if lenient_with else test.p > 0.9)
    assert test.n == N and test.structures == 3
    assert test.p == leniency_test(rows).iloc[0].p, "the same seed gives the same p value"
    text = human_findings(human_agreement(rows, items), leniency_test(rows), 0)
    assert ("Leniency differs by structure" in text) == bool(lenient_with) and "n = 120" in text
    assert f"m agrees with the person on {N - test.differing} of 120 labelled answers" in text


def test_what_cannot_be_tested_says_why(items):
    labels = {item.item: "correct" for item in items if item.structure == "natural"}
    rows = labelled(items, labels, {"m": verdicts("m", lambda n: False)})
    test = leniency_test(rows).iloc[0]
    assert np.isnan(test.p) and test.structures == 1 and test.differing == 40
    text = human_findings(human_agreement(rows, items), leniency_test(rows), 0)
    assert "cannot be tested" in text and "40 of 40 answers, and 1 of 3 structures" in text
    nothing = human_findings(human_agreement(rows[:0], items), leniency_test(rows[:0]), 0)
    assert "No answer is labelled" in nothing


VERDICTS = st.sampled_from(["correct", "incorrect", "unscored"])
LABELLED = st.dictionaries(st.integers(0, 23), st.tuples(
    VERDICTS, st.sampled_from(["correct", "incorrect", "unsure"])))


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LABELLED, st.integers(0, 3))
def test_the_findings_are_true_of_the_labels(items, labels, without_text):
    some = items[:24]
    given_ = {item.item: labels[place][1] for place, item in enumerate(some) if place in labels}
    judged = [Verdict(query_id=item.query_id, arm="dapt", judge="m", reason="",
                      verdict=labels.get(place, ("correct", ""))[0])
              for place, item in enumerate(some)]
    rows = labelled(some, given_, {"m": judged})
    table, tests = human_agreement(rows, some), leniency_test(rows)
    text = human_findings(table, tests, without_text)
    assert not re.search(r"\b(nan|inf)|--", text), text
    both = [pair for pair in labels.values() if not {"unscored", "unsure"} & set(pair)]
    agreed = sum(judge == person for judge, person in both)
    lenient = sum(judge == "correct" != person for judge, person in both)
    if both:
        assert (f"m agrees with the person on {agreed} of {len(both)} labelled answers, and is "
                f"lenient in {lenient} and strict in {len(both) - agreed - lenient}") in text
        low, value, high = (table.iloc[-1][name] for name in (
            "leniency_low", "leniency", "leniency_high"))
        assert low <= value <= high
        assert ("Leniency differs" in text) == (tests.p[0] <= 0.05)
    else:
        assert ("No answer is labelled" in text) == (not labels)
        assert ("no answer in common" in text) == bool(labels)
    if not labels:
        return
    assert (f"{without_text} further answers" in text) == bool(without_text)


def test_a_partly_labelled_sheet_represents_only_the_strata_of_its_labels(items):
    """Of 40 answers per structure the rules call 10 correct; labelled: 3 of these, 1 other."""
    strata = {("natural", "correct"): 3, ("tabular", "incorrect"): 1}
    labels = {item.item: item.verdict for stratum, n in strata.items()
              for item in [one for one in items if (one.structure, one.verdict) == stratum][:n]}
    rows = labelled(items, labels, {"rules": RULES})
    table = human_agreement(rows, items)
    assert list(zip(table.structure, table.covered, table.answers, strict=True)) == [
        ("natural", 10, 40), ("tabular", 30, 40), ("all", 40, 120)]
    text = human_findings(table, leniency_test(rows), 7)
    assert "40 of 120 answers (the strata with a label), it agrees on 100.0" in text
    assert "7 further answers have no text" in text
    assert list(formatted(table)["weighted to"]) == ["10 of 40", "30 of 40", "40 of 120"]


def test_two_judges_are_distinguished_on_a_drawn_sample(items):
    labels = {item.item: "correct" if number(item) % 4 == 0 else "incorrect"
              for item in draw(items, 60, 1)}
    judges = {"rules": RULES, "m": verdicts("m", lambda n: n % 2 == 0)}
    table = human_agreement(labelled(items, labels, judges), items)
    table = table.set_index(["judge", "structure"])
    rules, m = table.loc[("rules", "all")], table.loc[("m", "all")]
    assert rules.agreement == 1 and rules.leniency == 0
    # by weights a quarter of all answers: those with n % 4 == 2, if the drawn ones are like all
    assert m.agreement == pytest.approx(0.75, abs=0.12) and m.strict == 0 < m.lenient
