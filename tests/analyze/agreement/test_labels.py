"""Judges against a person: weights, agreement, leniency and its test, on hand-worked labels."""

import numpy as np
import pytest

from lib.analyze.agreement.labels import (
    human_agreement,
    human_findings,
    formatted,
    labelled,
    leniency,
    leniency_test,
)
from lib.analyze.agreement.sheet import draw, items_of
from lib.core.records import STRUCTURES, Answer, Query, Verdict

N = 120


@pytest.fixture
def items():
    """120 answers, 40 a structure; the rules call one in four correct."""
    queries = [Query(query_id=f"q{n}", document_id="d", question="Which?", answer="a", structure=STRUCTURES[n % 3],
                     source_reference="", start=0, end=0, block_type="prose", entity_count=None) for n in range(N)]
    answers = [Answer(query_id=f"q{n}", arm="dapt", answer=f"{n}", n_tokens=1, truncated=False) for n in range(N)]
    return items_of(queries, answers, verdicts("rules", lambda n: n % 4 == 0))


def verdicts(judge: str, is_correct) -> list[Verdict]:
    return [Verdict(query_id=f"q{n}", arm="dapt", judge=judge, verdict="correct" if is_correct(n) else "incorrect",
                    reason="") for n in range(N)]


def number(item) -> int:
    return int(item.query_id[1:])


def test_weights_undo_the_strata(items):
    """A person who finds wrong a fifth of what the rules call correct, and agrees with all else: 94 of 100."""
    drawn = [item for item in items if item.verdict == "correct"][:20] + [
        item for item in items if item.verdict == "incorrect"][:20]
    wrong = {item.item for item in drawn[:20] if number(item) % 5 == 0}
    labels = {item.item: "correct" if item.verdict == "correct" and item.item not in wrong else "incorrect"
              for item in drawn}
    rows = labelled(items, labels, {"rules": verdicts("rules", lambda n: n % 4 == 0)})
    strata = rows.groupby(["structure", "verdict"]).weight
    assert (strata.sum().round(9) == [10, 30] * 3).all() and rows.weight.sum() == pytest.approx(N)
    whole = human_agreement(rows, items).set_index("structure").loc["all"]
    assert (whole.labelled, whole.scored, whole.agreed) == (40, 40, 40 - len(wrong)) and len(wrong) == 4
    disagreeing = rows[rows.person != rows.verdict].weight.sum() / N
    assert whole.agreement == pytest.approx(1 - disagreeing) and whole.agreement > 36 / 40
    assert whole.effective_n == pytest.approx(rows.weight.sum() ** 2 / (rows.weight ** 2).sum())
    assert whole.effective_n < 40
    assert whole.agreement_low < whole.agreement < whole.agreement_high
    assert (whole.lenient, whole.strict) == (4, 0) and whole.leniency == pytest.approx(disagreeing)


def test_unsure_and_unscored_are_in_no_agreement(items):
    labels = {items[0].item: "unsure", items[1].item: "correct", items[2].item: "correct", "item-gone": "correct"}
    said = [row for row in verdicts("m", lambda n: True) if row.query_id != items[2].query_id]
    row = human_agreement(labelled(items, labels, {"m": said}), items).set_index("structure").loc["all"]
    assert (row.labelled, row.unsure, row.unscored, row.scored, row.agreed) == (3, 1, 1, 1, 1)
    assert human_agreement(labelled(items, {}, {"m": said}), items).empty


def test_leniency_by_hand():
    """10 lenient and 2 strict of 40; half an answer more in each cell: (10.5 - 2.5) / 42, and the width to it."""
    found = leniency(np.array([[8, 10], [2, 20]]))
    reach = 1.959964 * (13 - 8 ** 2 / 42) ** 0.5 / 42
    assert list(found.values()) == pytest.approx([0.2, 8 / 42 - reach, 8 / 42 + reach])
    nobody = leniency(np.diag([8, 20]))
    assert nobody["leniency"] == 0 and nobody["leniency_low"] < 0 < nobody["leniency_high"]
    assert np.isnan(list(leniency(np.zeros((2, 2))).values())).all()


@pytest.mark.parametrize(("is_lenient_with", "is_found"), [("entity-list", True), ("", False)])
def test_leniency_with_one_structure_is_found_and_an_even_one_is_not(items, is_lenient_with, is_found):
    """The person calls all incorrect; the judge calls a third correct: of lists only, or of all structures alike."""
    labels = {item.item: "incorrect" for item in items}
    structures = {item.query_id: item.structure for item in items}
    said = verdicts("m", lambda n: structures[f"q{n}"] == is_lenient_with if is_lenient_with else n // 3 % 3 == 0)
    rows = labelled(items, labels, {"m": said})
    test = leniency_test(rows).iloc[0]
    assert (test.p < 0.001 if is_found else test.p > 0.9) and test.n == N and test.structures == 3
    assert test.p == leniency_test(rows).iloc[0].p, "the same seed gives the same p value"
    text = human_findings(human_agreement(rows, items), leniency_test(rows), 0)
    assert ("Leniency differs by structure" in text) == is_found and "n = 120" in text
    assert f"m agrees with the person on {N - test.differing} of 120 labelled answers" in text


def test_what_cannot_be_tested_says_why(items):
    natural = [item for item in items if item.structure == "natural"]
    labels = {item.item: "correct" for item in natural}
    rows = labelled(items, labels, {"m": verdicts("m", lambda n: False)})
    test = leniency_test(rows).iloc[0]
    assert test.p != test.p and test.structures == 1 and test.differing == 40
    text = human_findings(human_agreement(rows, items), leniency_test(rows), 0)
    assert "cannot be tested: the two differ on 40 of 40 answers, and 1 of 3 structures are labelled" in text
    assert "No answer is labelled" in human_findings(human_agreement(rows[:0], items), leniency_test(rows[:0]), 0)


def test_a_partly_labelled_sheet_speaks_for_the_strata_of_its_labels_alone(items):
    """Of 40 answers a structure the rules call 10 correct; labelled: 3 natural correct ones and a tabular incorrect."""
    natural = [item for item in items if (item.structure, item.verdict) == ("natural", "correct")][:3]
    tabular = [item for item in items if (item.structure, item.verdict) == ("tabular", "incorrect")][:1]
    labels = {item.item: item.verdict for item in natural + tabular}
    rows = labelled(items, labels, {"rules": verdicts("rules", lambda n: n % 4 == 0)})
    table = human_agreement(rows, items)
    assert [(row.structure, row.covered, row.answers) for row in table.itertuples()] == [
        ("natural", 10, 40), ("tabular", 30, 40), ("all", 40, 120)]
    text = human_findings(table, leniency_test(rows), 7)
    assert "Re-weighted to 40 of 120 answers (the strata with a label), it agrees on 100.0" in text
    assert "7 further answers have no text" in text and "all answers" not in text
    assert list(formatted(table)["weighted to"]) == ["10 of 40", "30 of 40", "40 of 120"]


def test_two_judges_are_told_apart_on_a_drawn_sample(items):
    drawn = draw(items, 60, 1)
    labels = {item.item: "correct" if number(item) % 4 == 0 else "incorrect" for item in drawn}
    rows = labelled(items, labels, {"rules": verdicts("rules", lambda n: n % 4 == 0),
                                    "m": verdicts("m", lambda n: n % 2 == 0)})
    table = human_agreement(rows, items).set_index(["judge", "structure"])
    assert table.loc[("rules", "all")].agreement == 1 and table.loc[("rules", "all")].leniency == 0
    # by weights exactly a quarter of all answers: those with n % 4 == 2, as far as the drawn ones are like all
    assert table.loc[("m", "all")].agreement == pytest.approx(0.75, abs=0.12)
    assert table.loc[("m", "all")].strict == 0 < table.loc[("m", "all")].lenient
