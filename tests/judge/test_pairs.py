"""Preferences: the rules on hand-worked pairs, and a scripted model asked in both orders."""

import pytest

from lib.core.records import Answer, Document, Query
from lib.judge.pair_judges import by_model, by_rules
from lib.judge.pairs import Preference, prefer
from lib.llm.calls import Calls
from tests.played_model import outside, played, within

TAGS = ("question", "reference", "first", "second")
RULES = by_rules(
    [
        Document(
            document_id="d",
            title="",
            path="",
            text="The Corvane pump listens on port 8443; Sorrel on 9000.",
        )
    ]
)


def queries(n: int) -> list[Query]:
    return [
        Query(
            query_id=f"q{number}",
            document_id="d",
            answer="8443",
            structure="natural",
            question="What is the default port of Corvane?",
            source_reference="",
            start=0,
            end=0,
            block_type="prose",
            entity_count=None,
        )
        for number in range(n)
    ]


def answers(arm: str, *texts: str) -> list[Answer]:
    return [
        Answer(query_id=f"q{n}", arm=arm, answer=text, n_tokens=1, truncated=False)
        for n, text in enumerate(texts)
    ]


def by_criterion(rows: list[Preference], criterion: str) -> list[str]:
    return [row.verdict for row in rows if row.criterion == criterion]


def test_rules_prefer_the_only_correct_answer_and_the_words_of_the_domain():
    first = answers("base", "8443", "9000", "9000", "the sky is blue", "", "7 pump", "Corvane port")
    second = answers("dapt", "9000", "8443", "77", "it is 77", "8443", "7 8 9 pump", "6 pump")
    rows = prefer(queries(7), first, second, RULES)
    assert [(row.query_id, row.criterion) for row in rows[:3]] == [
        ("q0", "correctness"),
        ("q0", "domain relevance"),
        ("q1", "correctness"),
    ]
    assert by_criterion(rows, "correctness") == ["A", "B", "tie", "tie", "B", "unscored", "tie"]
    # 1/1 : 1/1, 1/1 : 1/1, 1/1 : 0/1, 0/2 : 0/1, none : 1/1, 1/2 : 1/4, only the question's : 1/2
    assert by_criterion(rows, "domain relevance") == ["tie", "tie", "A", "tie", "B", "A", "B"]
    assert rows[-3].reason == ("A: 1 of 2 words are the domain's; B: 1 of 4 words are the domain's")


def test_a_missing_row_is_unscored_and_equal_answers_tie_without_a_judge():
    rows = prefer(
        queries(3), answers("base", "9000", "8443"), answers("dapt", " 9000\n", "8443", "1"), RULES
    )
    assert by_criterion(rows, "correctness") == ["tie", "tie", "unscored"]
    assert not any(row.is_asked for row in rows) and "04_infer" in rows[-1].reason


@pytest.fixture
def calls(tmp_path) -> Calls:
    return Calls(tmp_path / "llm.sqlite")


def biased_judge(prompt: str) -> str:
    """Recognize a correct answer, else prefer the first; reply unreadably to "mumble"."""
    reference, first, second = (within(prompt, tag) for tag in ("reference", "first", "second"))
    if "does not matter. a wrong value" in outside(prompt, TAGS):  # domain relevance
        return "Neither.\n[[Tie]]"
    if "mumble" in first:
        return "I cannot tell."
    if reference in first or reference in second:
        return f"One has it.\n[[{'First' if reference in first else 'Second'}]]"
    return "Hm.\n[[ first ]]"


def test_a_model_is_asked_in_both_orders_a_flip_is_a_tie_and_nothing_is_paid_twice(
    monkeypatch, calls
):
    first = answers("base", "8443", "9009", "9000", "mumble", "fault:length")
    second = answers("dapt", "9000", "8443", "9001", "77", "78")
    with played(biased_judge, monkeypatch) as prompts:
        rows = prefer(queries(5), first, second, by_model("m", calls), "m")
        again = by_model("m", Calls(calls.cache))
        assert prefer(queries(4), first[:4], second[:4], again, "m") == rows[:8]
    assert by_criterion(rows, "correctness") == ["A", "B", "tie", "unscored", "unscored"]
    assert by_criterion(rows, "domain relevance") == ["tie", "tie", "tie", "tie", "unscored"]
    assert len(prompts) == 5 * 2 * 2 == len(set(prompts))
    [flipped] = [row for row in rows if row.is_flipped]
    assert (flipped.query_id, flipped.as_first, flipped.as_second, flipped.reason) == (
        "q2",
        "A",
        "B",
        "Hm.",
    )
    unread = next(row for row in rows if row.query_id == "q3")
    assert unread.reason.startswith("the last line is not [[First]] or [[Second]] or")
    assert rows[-1].reason.startswith("no complete reply, ") and rows[-1].judge == "m"
