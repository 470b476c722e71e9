"""Numbers that are nearly correct: answers by hand, and what must hold at any tolerance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.analyze.paper.tolerance import (
    NO_NUMBER,
    is_quantity,
    is_within,
    near_misses,
    numeric_tolerance,
)
from lib.core.records import Answer, Query, Verdict
from lib.judge.rules import compare


def query(answer: str, question: str = "What is it?", structure: str = "natural",
          query_id: str = "q") -> Query:
    n_entities = len(answer.splitlines()) if structure == "entity-list" else None
    return Query(query_id=query_id, document_id="d", question=question, answer=answer,
                 structure=structure, source_reference="", start=0, end=0, block_type="prose",
                 entity_count=n_entities)


@pytest.mark.parametrize(("reference", "answer", "least"), [
    ("30 s", "30.2 s", 0.01), ("30 s", "0.5 min", 0), ("1,024 MB", "1 GiB", 0),
    ("1 GB", "1040 MB", 0.05), ("$5 million", "$5.1 million", 0.05), ("5%", "5.2 %", 0.05),
    ("5%", "0.05", 0), ("0.05", "5 percent", 0), ("-20 °C", "-20.5 °C", 0.05), ("0 s", "0.0 s", 0),
    ("10 GB", "The value is 10.05 GB, as a rule.", 0.01)])
def test_an_answer_is_correct_from_its_distance_on(reference, answer, least):
    assert is_within(query(reference), answer, least)
    assert not least or not is_within(query(reference), answer, least / 10)


@pytest.mark.parametrize(("reference", "answer"), [
    ("8443", "8444"), ("3.10", "3.11"), ("12 pumps", "12.1 pumps"),  # a port, a version, a count
    ("30 s", "30.2"), ("30 s", "30.2 m"), ("-20 °C", "20 °C"), ("30 s", "30.1 s or 60 s"),
    ("0 s", "0.001 s"), ("30 s", ""), ("30 s", "some time"), ("5-10 s", "5-10.1 s"),
    ("v1.2.3", "2%")])
def test_no_tolerance_makes_another_thing_correct(reference, answer):
    assert not is_within(query(reference), answer, 0.05)


@pytest.mark.parametrize("reference", ["30", "30 s"])
def test_a_number_is_read_in_the_unit_that_the_question_names(reference):
    assert is_within(query(reference, "How long is it in seconds?"), "30.2", 0.01)


@pytest.mark.parametrize(("reference", "question", "is_so"), [
    ("30 s", "How long?", True), ("30", "How long, in seconds?", True), ("5%", "What?", True),
    ("$5", "What?", True), ("8443", "Which port?", False), ("12 pumps", "How many?", False),
    ("Oslo", "Where, in km?", False)])
def test_a_quantity_has_a_unit_or_is_asked_for_in_one(reference, question, is_so):
    assert is_quantity(query(reference, question)) == is_so


def test_a_list_needs_each_of_its_numbers_and_no_other():
    numbers = query("10 s\n20 s", structure="entity-list")
    assert is_within(numbers, "20.1 s, 10 s", 0.01) and not is_within(numbers, "20.1 s", 0.01)
    assert not is_within(numbers, "10 s, 20 s, 30 s", 0.05)


def test_a_negative_tolerance_is_refused():
    with pytest.raises(ValueError, match="-0.1: give a fraction"):
        is_within(query("1 s"), "1 s", -0.1)


@given(st.integers(1, 10**6), st.sampled_from(["s", "MB", "%", "rpm", "kW"]),
       st.floats(-0.2, 0.2), st.floats(0, 0.2))
def test_within_is_what_the_arithmetic_says(number, unit, shift, tolerance):
    answer = f"{number * (1 + shift):.9f}"
    distance = abs(float(answer) - number) / number
    if abs(distance - tolerance) > 1e-9:
        found = is_within(query(f"{number} {unit}"), f"{answer} {unit}", tolerance)
        assert found == (distance < tolerance)


@given(st.sampled_from(["30 s", "8443", "5%", "10 s\n20 s", "2-3 GB"]),
       st.text(max_size=30) | st.from_regex(
           r"(It is )?(30|8443|5|10|20|2-3) ?(s|%|GB|min)?(, (10|20) s)?", fullmatch=True),
       st.floats(0, 0.5))
def test_what_the_rules_find_correct_stays_correct(reference, answer, tolerance):
    asked = query(reference, structure="entity-list" if "\n" in reference else "natural")
    if compare(asked.question, asked.answer, answer, asked.entity_count).is_correct:
        assert is_within(asked, answer, tolerance)


def test_the_table_counts_exact_near_and_missing_numbers_of_numeric_queries_only():
    queries = [query("30 s", query_id="a"), query("60 s", query_id="b"),
               query("Oslo", query_id="c"), query("90 s", query_id="d", structure="tabular"),
               query("90 s", query_id="e", structure="tabular")]
    texts = {"a": "30 s", "b": "61 s", "c": "Oslo", "d": "soon"}
    answers = [Answer(query_id=name, arm="dapt", answer=text, n_tokens=1, truncated=False)
               for name, text in texts.items()]
    states = ("correct", "incorrect", "correct", "incorrect", "unscored")
    verdicts = [Verdict(query_id=name, arm="dapt", judge="rules", reason="so", verdict=state)
                for name, state in zip("abcde", states, strict=True)]
    table = numeric_tolerance(queries, answers, verdicts, [0.01, 0.05])
    kinds = ["exact, by rules", "within 1%", "within 5%", NO_NUMBER]
    assert list(table.kind.unique()) == kinds
    cells = table.set_index(["structure", "kind"])[["n", "correct", "unscored"]]
    assert cells.loc["natural"].loc[kinds].values.tolist() == [
        [2, 1, 0], [2, 1, 0], [2, 2, 0], [2, 0, 0]]
    assert cells.loc["all"].loc[kinds].values.tolist() == [
        [4, 1, 1], [4, 1, 1], [4, 2, 1], [4, 1, 1]]
    assert near_misses(queries, answers, 0.05).query_id.tolist() == ["b"]
    assert numeric_tolerance(queries[2:3], answers, verdicts).empty
