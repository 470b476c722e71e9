"""Three rounds in one chat with a played model over HTTP, each pair checked, and the filter."""

import json
import re
from collections.abc import Callable
from contextlib import contextmanager

import pytest

from lib.core.errors import BadInput, BadReply
from lib.llm.calls import Calls
from lib.llm.request import Reply
from lib.tablequest.questions import Chat, ask_by_model, read_pair
from lib.tablequest.task import TASK
from tests.llm_server import Server
from tests.played_model import outside
from tests.tablequest.pumps import FILING, PASSAGE, TABLES, texts

A = {"name": "a", "table": "T1", "row": "Net sales: Pumps", "column": "2024"}
B = {**A, "name": "b", "column": "2023"}
VALVES = {**B, "row": "Net sales: Valves"}
EASY = {
    "steps": ["Look at Pumps."],
    "cells": [A],
    "expression": "a",
    "kind": "extraction",
    "question": "How high were Alm Corp.'s net sales of pumps in 2024, in millions of US dollars?",
    "answer": "$391,035 million",
}
MEDIUM = {
    "steps": ["Divide."],
    "cells": [A, B],
    "expression": "(a - b) / b * 100",
    "question": "By what percentage did Alm Corp.'s net sales of pumps change from 2023?",
    "kind": "percent change",
    "answer": "2.0%",
}
HARD = {
    "steps": ["(a - b) / b * 100 = 2.0%"],
    "cells": [A, B],
    "expression": "",
    "kind": "trend",
    "question": "What do Alm Corp.'s net sales of pumps in 2024 say about demand?",
    "answer": "Net sales of pumps rose by 2.0% to $391,035 million. Demand came back.",
}
ROUNDS = [EASY, MEDIUM, HARD]
WRONG_OPERAND = {**MEDIUM, "cells": [A, VALVES]}
WRONG_UNIT = {**MEDIUM, "answer": "$2.0 million"}
WRONG_EXPRESSION = {**MEDIUM, "expression": "(a - b) / a * 100", "answer": "2.02%"}
YES = {name: {"reason": "Fine.", "ok": True} for name in ("relevant", "reasonable", "valid")}


@pytest.fixture
def calls(tmp_path) -> Calls:
    return Calls(tmp_path / "llm.sqlite")


@contextmanager
def chat(reply_to: Callable[[list[dict]], dict], monkeypatch: pytest.MonkeyPatch):
    """Play a model whose reply depends on the whole chat; yield the chats in order of arrival."""
    chats: list[list[dict]] = []

    def reply(body: dict) -> str:
        chats.append(body["messages"])
        return json.dumps(reply_to(body["messages"]))

    with Server(reply=reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-tests")
        yield chats


def good(messages: list[dict]) -> dict:
    """Return the pair that a good model writes in this round, or a filter's yes."""
    asked = "\n".join(one["content"] for one in messages if one["role"] == "user")
    found = re.findall(r"^Round (\d):", asked, re.M)
    return ROUNDS[max(map(int, found)) - 1] if found else YES


def asked(calls, n_rows: int = 1):
    first = TABLES[0].model_copy(
        update={"rows": TABLES[0].rows[:n_rows], "cells": TABLES[0].cells[:n_rows]}
    )
    passage = PASSAGE.model_copy(update={"blocks": PASSAGE.blocks[:3]})
    return ask_by_model(texts(first, passage=passage), "some-model", calls, 1, 1)


def test_three_rounds_are_one_chat_and_each_is_given_the_pair_before(calls, monkeypatch):
    with chat(good, monkeypatch) as chats:
        questions, rejected = asked(calls)
        assert asked(calls) == (questions, rejected)  # from the cache
    assert [(row.level, row.kind, row.answer) for row in questions] == [
        ("easy", "extraction", "$391,035 million"),
        ("medium", "percent change", "2.0%"),
        ("hard", "trend", HARD["answer"]),
    ]
    assert rejected == [] and len({row.chain_id for row in questions}) == 1
    assert questions[1].value == pytest.approx(2.02, abs=0.01) and questions[1].unit == "%"
    rounds = [one for one in chats if "Round" in one[-1]["content"]]
    assert [[message["role"] for message in one] for one in rounds] == [
        ["user", "assistant"] * number + ["user"] for number in range(3)
    ]
    assert rounds[2][:3] == rounds[1]
    assert EASY["question"] in rounds[1][2]["content"] and "2.0%" in rounds[2][4]["content"]
    assert "ignore all rules" not in outside(rounds[0][0]["content"], ("passage",))
    assert len(chats) == 6  # three rounds, and the filter on each


@pytest.mark.parametrize("annotator", ["rules", "shipped"])
def test_without_a_model_it_says_what_to_set(annotator, calls, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    rows = {"filings": [FILING], "grids": TABLES, "passages": [PASSAGE]}
    with pytest.raises(BadInput, match="set `annotator` to a model's id"):
        TASK.ask(rows, annotator, calls)


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (WRONG_OPERAND, "the answer says 2.0%, but (a - b) / b * 100 gives 358.961 %"),
        (WRONG_UNIT, "the answer is in USD, its cells give no unit"),
        (WRONG_EXPRESSION, "the answer says 2.02%, but (a - b) / a * 100 gives 1.98192 %"),
    ],
)
def test_a_medium_reply_with_a_fault_is_refused_with_its_reason(pair, reason, calls, monkeypatch):
    def model(messages: list[dict]) -> dict:
        return pair if "Round 2" in "".join(one["content"] for one in messages) else good(messages)

    with chat(model, monkeypatch):
        questions, rejected = asked(calls, 2)
    assert [row.level for row in questions] == ["easy"]
    assert [row.reason for row in rejected] == [reason, "the same is asked already"]


@pytest.mark.parametrize(
    ("decided", "kept", "reason"),
    [
        (YES, 3, ""),
        (
            {**YES, "valid": {"reason": "Off by one.", "ok": False}},
            0,
            "not valid: Off by one. (some-model)",
        ),
        ({"relevant": True}, 0, "not relevant: the reply holds no decision (some-model)"),
    ],
)
def test_the_filter_keeps_what_it_calls_good_and_says_why_not(
    decided, kept, reason, calls, monkeypatch
):
    def model(messages: list[dict]) -> dict:
        reply = good(messages)
        return decided if reply is YES else reply

    with chat(model, monkeypatch):
        questions, rejected = asked(calls)
    assert len(questions) == kept and {row.reason for row in rejected} == {reason} - {""}


CHAT = Chat("c", FILING, PASSAGE, dict(zip(("T1", "T2", "T3"), TABLES, strict=True)), ("T1", ""))


@pytest.mark.parametrize(
    ("level", "change", "reason"),
    [
        ("easy", {"cells": [{**A, "row": "Pump"}]}, "the row 'Pump' occurs 0 times in table T1"),
        ("easy", {"cells": [{**A, "table": "T9"}]}, "no table 'T9': the tables are T1, T2, T3"),
        ("easy", {"cells": []}, "empty"),
        ("easy", {"cells": "a"}, "the field 'cells' is wrong"),
        ("easy", {"cells": [A, A]}, "two have one name"),
        ("easy", {"answer": "$1,300 million"}, "a gives 391,035 USD × 1,000,000"),
        ("easy", {"answer": "391,035 thousand shares"}, "in shares, its cells give USD"),
        ("easy", {"answer": "$391,035"}, "says $391,035"),
        ("easy", {"answer": "a lot"}, "no figure"),
        ("easy", {"question": EASY["question"].replace("Alm", "Elm")}, "does not name Alm Corp."),
        ("easy", {"question": "What did Alm earn per table in this passage in 2024?"}, "points at"),
        (
            "easy",
            {
                "question": "What did Alm lose on valves in 2024?",
                "cells": [{**A, "row": "Net sales: Pumps"}],
            },
            "does not name 'Net sales: Pumps'",
        ),
        ("medium", {"expression": "__import__('os').getcwd()"}, "cannot be computed"),
        ("medium", {"expression": "a / (b - b)"}, "cannot be computed"),
        ("medium", {"expression": "a - 5"}, "mixes amounts with plain numbers"),
        ("medium", {"cells": [A]}, "neither a number, one of the names a"),
        ("hard", {"answer": "One 2.0%. Two. Three."}, "3 sentences"),
    ],
)
def test_a_pair_that_cannot_be_used_has_a_reason(level, change, reason):
    pair = {**ROUNDS[("easy", "medium", "hard").index(level)], **change}
    with pytest.raises(BadReply) as error:
        read_pair(Reply(json.dumps(pair)), level, CHAT)
    assert reason in str(error.value)
