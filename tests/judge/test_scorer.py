"""The scorer on models' replies with verdicts by reading, in every layout, and on any text."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.core.records import Query, listed
from lib.judge.scorer import judge, score, split_items
from tests.conftest import table
from tests.growth import calls, ends
from tests.rows import answer, query

PORT = "What is the default port of Corvane P-417?"
LISTED = "Which parts does the Corvane P-417 contain?"
REPLIES = Path(__file__).with_name("replies.csv")
LEAST_SEEN = {"untrained": 0.8, "trained": 0.9}  # of the right replies
MOST_UNSCORED = 0.1


def asked(reference: str, question: str = PORT, count: int | None = None) -> Query:
    return query(answer=reference, question=question, entity_count=count)


def verdict(reference: str, text: str, question: str = PORT, count: int | None = None) -> str:
    return score([asked(reference, question, count)], [text])[0][0]


@pytest.mark.parametrize("pool", ["development", "shown"])
@pytest.mark.parametrize("kind", LEAST_SEEN)
def test_verdicts_on_replies_agree_with_a_reader_or_abstain(kind, pool):
    counts = Counter()
    for row in table(REPLIES):
        if (row["kind"], row["pool"]) == (kind, pool) and row["reply"].strip():
            is_list = row["structure"] == "entity-list"
            count = len(row["reference"].splitlines()) if is_list else None
            found = verdict(row["reference"], row["reply"], row["question"], count)
            counts[row["verdict"], found] += 1
    n_right = sum(n for (read, _), n in counts.items() if read == "correct")
    n_unscored = sum(n for (_, found), n in counts.items() if found == "unscored")
    assert counts["incorrect", "correct"] == 0
    assert counts["correct", "correct"] >= LEAST_SEEN[kind] * n_right
    assert n_unscored <= MOST_UNSCORED * counts.total()


@pytest.mark.parametrize("case", table(REPLIES.with_name("values.csv")))
def test_values_compare_by_worth_and_what_cannot_be_told_is_unscored_with_a_reason(case):
    ((found, reason),) = score([asked(case["reference"])], [case["reply"]])
    assert reason and found in case["verdict"].split(" or ")


LAYOUTS = {
    "bullets": lambda items: "\n".join(f"- {item}" for item in items),
    "numbers": lambda items: "\n".join(f"{n}. {item}" for n, item in enumerate(items, 1)),
    "notes": lambda items: "Parts:\n\n" + "\n".join(f"* **{one}**: it is hot." for one in items),
    "commas": ", ".join,
    "semicolons": "; ".join,
    "and": lambda items: listed(list(items)),
    "a sentence": lambda items: f"The Corvane P-417 contains {listed(list(items))}.",
    "a lead-in": lambda items: f"The parts are: {listed(list(items))}.",
}
NAMES = st.sampled_from(
    "gasket spindle relay Linux O-ring bushing fuse IP54 E17 data.csv /etc/x.conf Halvorsen".split()
    + ["rear lid", "port 8443", "30 s", "2024-05-11", "cable with two plugs"]
)


@settings(max_examples=60)
@given(st.lists(NAMES, min_size=4, max_size=7, unique=True), st.sampled_from([*LAYOUTS]), st.data())
def test_a_list_has_one_verdict_in_every_layout_and_order(names, layout, data):
    wanted, foreign = names[:-1], names[-1]
    shown = data.draw(st.permutations(wanted))
    place = data.draw(st.integers(0, len(wanted)))

    def found(items: list[str]) -> str:
        return verdict("\n".join(wanted), LAYOUTS[layout](items), LISTED, len(wanted))

    assert found(shown) == "correct"
    assert found(shown[1:]) == "incorrect"
    assert found([*shown[:place], foreign, *shown[place:]]) != "correct"


def test_the_items_of_an_answer():
    assert split_items("drill\nhex key", 2) == ["drill", "hex key"]
    assert split_items("drill, hex key and pliers.") == ["drill", "hex key", "pliers"]
    assert split_items("8443 ") == ["8443"]
    assert verdict("9" * 40, "9" * 40) == "correct" != verdict("9" * 40, "9" * 5000)
    long = "it stops when the pump is cold and starts again when the pump is warm"
    assert split_items(long) == [long]


@settings(max_examples=30)
@given(
    st.text(max_size=200),
    st.sampled_from(["", " ", "\n", ", ", "| ", "- ", "8443 ", "and "]),
    st.integers(1, 100),
    st.sampled_from(["8443", "a\nb\nc", "yes", "to be or not to be"]),
)
def test_any_text_gets_a_verdict_with_a_reason(text, between, n, reference):
    for question in (PORT, text):
        assert score([asked(reference, question)], [(text + between) * n])[0][1]


@pytest.mark.parametrize("unit", ["a", ".", "8443 ", "- 8443\n", "(", "1,", "*a* ", "![", "(1) "])
def test_a_long_answer_is_scored_with_work_in_proportion(unit):
    for reference, count in (("8443", None), ("Linux\nQNX\n8443", 3), ("yes", None)):
        with ends():
            short, long = (
                calls(verdict, reference, unit * (size // len(unit)), PORT, count)
                for size in (500, 2_000)
            )
        assert long < 5 * short + 100, f"{unit!r}: {long} calls for four times the text of {short}"


QUERIES = [query(name, answer=own) for name, own in zip("abc", "123", strict=True)]


def test_a_missing_row_is_unscored_and_an_empty_answer_incorrect_in_the_order_of_the_queries():
    rows = judge(QUERIES, [answer(" \n", "c"), answer("1", "a")], score)
    assert [(row.query_id, row.verdict) for row in rows] == [
        ("a", "correct"),
        ("b", "unscored"),
        ("c", "incorrect"),
    ]
    assert "04_infer" in rows[1].reason and rows[2].reason == "empty answer"
    assert {(row.arm, row.judge) for row in rows} == {("dapt", "scorer")}


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
        judge(QUERIES, answers, score)
