"""Verdicts: one per query, in order, whatever decides; answers that do not belong are refused."""

import pytest

from lib.core.records import Answer, Query
from lib.judge.rules import by_rules
from lib.judge.verdicts import judge

QUERIES = [
    Query(
        query_id=name,
        document_id="d",
        question="What is the port?",
        answer=reference,
        structure="natural",
        source_reference="",
        start=0,
        end=0,
        block_type="prose",
        entity_count=None,
    )
    for name, reference in zip("abc", "123", strict=True)
]


def answer(text: str, query_id: str, arm: str = "dapt") -> Answer:
    return Answer(query_id=query_id, arm=arm, answer=text, n_tokens=1, truncated=False)


def test_a_missing_row_is_unscored_and_an_empty_answer_incorrect_in_the_order_of_the_queries():
    rows = judge(QUERIES, [answer(" \n", "c"), answer("1", "a")], by_rules)
    assert [(row.query_id, row.verdict) for row in rows] == [
        ("a", "correct"),
        ("b", "unscored"),
        ("c", "incorrect"),
    ]
    assert "04_infer" in rows[1].reason and rows[2].reason == "empty answer"
    assert {(row.arm, row.judge) for row in rows} == {("dapt", "rules")}


@pytest.mark.parametrize(
    "answers",
    [
        [],
        [answer("1", "a"), answer("1", "a")],
        [answer("1", "zzz")],
        [answer("1", "a"), answer("1", "b", arm="base")],
    ],
)
def test_answers_that_do_not_belong_together_are_refused(answers):
    with pytest.raises(ValueError, match="04_infer"):
        judge(QUERIES, answers, by_rules)
