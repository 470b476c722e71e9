"""Three rounds in one chat with a played model over real HTTP, each pair checked."""

import json
import re
from collections.abc import Callable
from contextlib import contextmanager

import pytest

from lib.core.errors import BadReply
from lib.llm.calls import Calls
from lib.llm.request import Reply
from lib.tasks.tablequest.places.places import places
from lib.tasks.tablequest.questions.by_model import questions_by_model, synthesis_by_model
from lib.tasks.tablequest.questions.by_rules import questions_by_rules
from lib.tasks.tablequest.questions.check import verified
from lib.tasks.tablequest.questions.filter_by_model import kept, screened_by_model
from lib.tasks.tablequest.questions.model_replies import Ground, read_pair
from lib.tasks.tablequest.records import by_id
from tests.llm_server import Server
from tests.tablequest_example import FILING, GRIDS, MARGINS, PASSAGES, SALES

WHO = "Orsa Pumps, Inc., fiscal 2024:"
A = {"name": "a", "table": "T1", "row": "Pumps", "column": "2024"}
B = {"name": "b", "table": "T1", "row": "Pumps", "column": "2023"}
EASY = {"steps": ["Look at Pumps."], "cells": [A], "expression": "a", "kind": "extraction",
        "question": f"{WHO} how high were net sales of pumps, in millions of US dollars?",
        "answer": "$1,200 million"}
MEDIUM = {"steps": ["Divide."], "cells": [A, B], "expression": "(a - b) / b * 100",
          "question": f"{WHO} by what percentage did net sales of pumps change from 2023?",
          "kind": "percent change", "answer": "20.0%"}
HARD = {"steps": ["(a - b) / b * 100 = 20.0%"], "cells": [A, B], "expression": "", "kind": "trend",
        "question": f"{WHO} what do net sales of pumps say about demand?",
        "answer": "Net sales of pumps rose by 20.0% to $1,200 million. Demand came back."}
ROUNDS = [EASY, MEDIUM, HARD]
ONE_ROW = [SALES.model_copy(update={"rows": SALES.rows[:1], "cells": SALES.cells[:1]})]
CELLS = {place.ref: place for place in places(FILING, GRIDS)}
GROUND = Ground("c", FILING.filing_id, PASSAGES[0].passage_id, {"T1": SALES, "T2": MARGINS}, CELLS)


@pytest.fixture
def calls(tmp_path) -> Calls:
    return Calls(tmp_path / "llm.sqlite")


@contextmanager
def chat(reply_to: Callable[[list[dict]], str], monkeypatch: pytest.MonkeyPatch):
    """Play a model whose reply depends on the whole chat; yield the chats in order of arrival."""
    chats: list[list[dict]] = []

    def reply(body: dict) -> str:
        chats.append(body["messages"])
        return reply_to(body["messages"])

    with Server(reply=reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-tests")
        yield chats


def good(messages: list[dict]) -> str:
    """Return the pair that a good model writes in this round."""
    asked = "\n".join(one["content"] for one in messages if one["role"] == "user")
    return json.dumps(ROUNDS[max(map(int, re.findall(r"^Round (\d):", asked, re.M))) - 1])


def asked(calls, per_level: int = 1, grids=GRIDS, keep=None, passages=PASSAGES[:1]):
    return questions_by_model([FILING], grids, passages, "some-model", calls, per_level, keep=keep)


def test_three_rounds_are_one_chat_and_each_is_given_the_pair_before(calls, monkeypatch):
    with chat(good, monkeypatch) as chats:
        questions, rejected = asked(calls)
        assert asked(calls) == (questions, rejected)  # from the cache
    assert [(row.level, row.kind, row.answer) for row in questions] == [
        ("easy", "extraction", "$1,200 million"), ("medium", "percent change", "20.0%"),
        ("hard", "trend", HARD["answer"])]
    assert rejected == [] and len({row.chain_id for row in questions}) == 1
    assert [verified(row, by_id(GRIDS)) for row in questions] == [""] * 3
    assert questions[1].value == pytest.approx(20)
    assert (questions[1].unit, questions[0].scale) == ("%", 1e6)
    assert [[message["role"] for message in one] for one in chats] == [
        ["user", "assistant"] * number + ["user"] for number in range(3)]
    assert chats[2][:3] == chats[1] and chats[1][1]["content"] == json.dumps(EASY)
    assert EASY["question"] in chats[1][2]["content"] and "20.0%" in chats[2][4]["content"]
    assert calls.tally.new == 3


def test_a_pair_that_fails_is_sent_back_once_and_the_chat_continues_without_it(calls, monkeypatch):
    def model(messages: list[dict]) -> str:
        if "Round 2" in messages[-1]["content"]:
            return json.dumps({**MEDIUM, "answer": "25.0%"})
        return json.dumps(MEDIUM) if "cannot be used" in messages[-1]["content"] else good(messages)

    with chat(model, monkeypatch) as chats:
        questions, rejected = asked(calls)
    assert [row.answer for row in questions] == ["$1,200 million", "20.0%", HARD["answer"]]
    assert rejected == []
    assert "25.0%, but (a - b) / b * 100 gives 20" in chats[2][-1]["content"]
    assert [message["content"] for message in chats[3] if message["role"] == "assistant"] == [
        json.dumps(EASY), json.dumps(MEDIUM)]


@pytest.mark.parametrize(("level", "change", "reason"), [
    ("easy", {"cells": [{**A, "row": "Pump"}]}, "the row 'Pump' occurs 0 times in table T1"),
    ("easy", {"cells": [{**A, "column": "Change"}]}, "the column 'Change' occurs 2 times"),
    ("easy", {"cells": [{**A, "table": "T9"}]}, "no table 'T9': the tables are T1, T2"),
    ("easy", {"cells": []}, "empty"), ("easy", {"cells": "a"}, "the field 'cells' is wrong"),
    ("easy", {"cells": [A, A]}, "two cells"), ("easy", {"question": ""}, "empty"),
    ("easy", {"answer": "$1,300 million"}, "a gives 1,200, in USD × 1,000,000"),
    ("easy", {"answer": "$1,200"}, "says $1,200"), ("easy", {"answer": "a lot"}, "no figure"),
    ("medium", {"expression": "__import__('os').getcwd()"}, "cannot be computed"),
    ("medium", {"expression": "a / (b - b)"}, "divides by zero"),
    ("medium", {"answer": "0.2"}, "says 0.2"),
    ("medium", {"kind": "total"}, "'total' is none of difference, percent change"),
    ("hard", {"kind": ""}, "'' is none of trend, contrast")])
def test_a_pair_that_cannot_be_used_has_a_reason(level, change, reason):
    pair = {**ROUNDS[("easy", "medium", "hard").index(level)], **change}
    with pytest.raises(BadReply) as error:
        read_pair(Reply(json.dumps(pair)), level, GROUND)
    assert reason in str(error.value)


def decided(**decisions) -> str:
    return json.dumps({name: {"reason": f"{name} because.", "ok": decisions.get(name, True)}
                       for name in ("relevant", "reasonable", "valid")})


@pytest.mark.parametrize(("reply", "fault"), [
    (decided(), ""), (decided(valid=False), "not valid: valid because."),
    (decided(relevant="no"), "not relevant: relevant because."),
    (decided(reasonable="perhaps"), "not reasonable: no decision: reasonable because."),
    ("Fine with me!", "not relevant: no decision"),
    ('{"relevant": true, "valid": {"ok": true}}', "not relevant: no decision")])
def test_the_filter_keeps_a_reason_for_each_question(reply, fault, calls, monkeypatch):
    questions, _ = questions_by_rules([FILING], GRIDS, PASSAGES, 1)
    with chat(lambda messages: reply, monkeypatch):
        screenings = screened_by_model(questions, [FILING], PASSAGES, by_id(GRIDS), "some-model",
                                       calls)
    assert all(row.fault.startswith(fault) and bool(row.fault) == bool(fault) for row in screenings)
    passed, rejected = kept(questions, screenings)
    assert len(passed) == (0 if fault else 3)
    assert all(row.reason.endswith("(some-model)") for row in rejected)


def test_a_model_writes_and_filters(calls, monkeypatch):
    def model(messages: list[dict]) -> str:
        if not messages[0]["content"].startswith("You check a question"):
            return good(messages)
        return decided(valid="should be hard" not in messages[0]["content"])

    with chat(model, monkeypatch):
        found = synthesis_by_model([FILING], ONE_ROW, PASSAGES[:1], "some-model", calls, 1)
    assert [row.level for row in found.questions] == ["easy", "medium"]
    assert len(found.screenings) == 6
    assert [row.reason for row in found.rejected] == ["not valid: valid because. (some-model)"]
