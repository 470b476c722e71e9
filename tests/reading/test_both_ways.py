"""Reading beside learning, on questions counted by hand."""

import pytest

from lib.core.records import Answer, Query, Verdict
from lib.reading.both_ways import asked_both_ways, closed_book, learning_for_reading, reading_and_learning


def query(question: str, form: str) -> Query:
    return Query(query_id=f"{question}:{form}", document_id=f"d{question[-1]}", question=question, answer="1",
                 structure="tabular", source_reference="", start=0, end=0, entity_count=None, block_type="table",
                 context="" if form == "recall" else f"passage as {form}")


def verdict(question: str, form: str, said: str, arm: str = "base") -> Verdict:
    return Verdict(query_id=f"{question}:{form}", arm=arm, judge="rules", verdict=said, reason="-")


# question -> verdicts of html, csv and recall: both, only read, only recalled, neither; q5 is unscored once
SAID = {"q1": ("correct", "correct", "correct"), "q2": ("correct", "incorrect", "incorrect"),
        "q3": ("incorrect", "correct", "correct"), "q4": ("incorrect", "incorrect", "incorrect"),
        "q5": ("correct", "unscored", "correct"), "q6": ("correct", "incorrect", "incorrect")}
FORMS = ("html", "csv", "recall")
QUERIES = [query(question, form) for question in SAID for form in FORMS] + [query("hard7", "html")]
VERDICTS = [verdict(question, form, said) for question, row in SAID.items() for form, said in zip(
    FORMS, row, strict=True)] + [verdict("hard7", "html", "correct")]


def test_the_same_questions_are_counted_read_and_recalled():
    table = reading_and_learning(asked_both_ways(QUERIES, VERDICTS)).set_index("form")
    assert list(table.loc["html", ["n", "both", "only_read", "only_recalled", "neither"]]) == [6, 2, 2, 1, 1]
    assert list(table.loc["csv", ["n", "both", "only_read", "only_recalled", "neither"]]) == [5, 2, 0, 0, 3]
    assert table.difference_points["html"] == pytest.approx(-100 / 6) and table.p["html"] == 1.0
    assert table.low_points["html"] < -100 / 6 < table.high_points["html"]
    assert "4/6" in set(learning_for_reading(table.reset_index())["read"])


def test_a_study_without_twins_has_no_row_and_keeps_all_its_queries():
    alone = [query("q1", "html")]
    assert reading_and_learning(asked_both_ways(alone, [verdict("q1", "html", "correct")])).empty
    assert closed_book(alone, [], [])[0] == alone


def test_what_was_learned_is_counted_over_closed_book_queries_alone():
    answers = [Answer(query_id=one.query_id, arm="base", answer="1", n_tokens=1, truncated=False) for one in QUERIES]
    queries, answers, verdicts = closed_book(QUERIES, answers, VERDICTS)
    assert [one.query_id for one in queries] == [f"{question}:recall" for question in SAID]
    assert len(answers) == len(verdicts) == len(SAID)
