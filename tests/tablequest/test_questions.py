"""Three rounds in one chat with a played model over HTTP, each pair checked, and the filter."""

import json
import re
from collections.abc import Callable
from contextlib import contextmanager

import pytest

from lib.core.store import BadInput, BadReply
from lib.llm.calls import Calls
from lib.tablequest.answers import TASK
from lib.tablequest.questions import Chat, ask_by_model, read_pair
from lib.tablequest.records import LEVELS
from tests.conftest import rows
from tests.llm_server import Server
from tests.played_model import outside
from tests.tablequest.alm import DATA, FILING, PASSAGE, TABLES, TEXTS, cases

PAIRS = rows(DATA / "tablequest" / "pairs.jsonl")
YES = {name: {"reason": "Fine.", "ok": True} for name in ("relevant", "reasonable", "valid")}
CHECKED = {"checks": [{"number": number, **YES} for number in (1, 2, 3)]}


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
    return {"pairs": [PAIRS[int(max(found)) - 1]]} if found else CHECKED


def asked(calls):
    first = TABLES[0]
    cut = {"rows": first.rows[:1], "cells": first.cells[:1]}
    blocks = [one for one in PASSAGE.blocks if one.grid_id in ("", first.grid_id)]
    passage = PASSAGE.model_copy(update={"blocks": blocks})
    texts = TEXTS._replace(
        grids={first.grid_id: first.model_copy(update=cut)}, passages={"alm-p01": passage}
    )
    return ask_by_model(texts, "some-model", calls, 1, 1)


def test_three_rounds_are_one_chat_and_each_is_given_the_pair_before(calls, monkeypatch):
    with chat(good, monkeypatch) as chats:
        questions, rejected = asked(calls)
        assert asked(calls) == (questions, rejected)  # from the cache
    assert [row.level for row in questions] == [*LEVELS]
    assert [row.answer for row in questions] == [pair["answer"] for pair in PAIRS]
    assert rejected == [] and len({row.chain_id for row in questions}) == 1
    assert questions[1].value == pytest.approx(2.02, abs=0.01) and questions[1].unit == "%"
    rounds = [one for one in chats if "Round" in one[-1]["content"]]
    assert [[message["role"] for message in one] for one in rounds] == [
        ["user", "assistant"] * number + ["user"] for number in range(3)
    ]
    assert rounds[2][:3] == rounds[1]
    assert PAIRS[0]["question"] in rounds[1][2]["content"] and "2.0%" in rounds[2][4]["content"]
    assert "ignore all rules" not in outside(rounds[0][0]["content"], ("passage",))
    assert len(chats) == 4  # three rounds, and the filter on all


def test_shipped_replies_are_about_the_filings_of_the_repository(calls, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    texts = {"filings": [FILING], "grids": TABLES, "passages": [PASSAGE]}
    with pytest.raises(BadInput, match="set `annotator` to a model's id"):
        TASK.ask(texts, "shipped", calls)


@pytest.mark.parametrize(("last", "levels"), [("Round 2", [*LEVELS]), ("", ["easy"])])
def test_a_pair_that_fails_a_check_is_asked_for_once_more(last, levels, calls, monkeypatch):
    def model(messages: list[dict]) -> dict:
        reply = good(messages)
        if "Round 2" in str(messages) and "Round 3" not in str(messages):
            is_wrong = last in messages[-1]["content"]
            reply = {"pairs": [reply["pairs"][0] | ({"answer": "3%"} if is_wrong else {})]}
        return reply

    with chat(model, monkeypatch) as chats:
        questions, rejected = asked(calls)
    fault = "the answer says 3%, but (a - b) / b * 100 gives 2.02199 %"
    assert [row.level for row in questions] == levels
    assert [row.reason for row in rejected] == [fault] * (1 if last else 2)
    assert f"1. {fault}" in chats[2][-1]["content"]


@pytest.mark.parametrize(
    ("decided", "kept", "reason"),
    [
        ({}, 3, ""),
        ({"valid": {"reason": "Off.", "ok": False}}, 0, "not valid: Off. (some-model)"),
        ({"relevant": True}, 0, "not relevant: the reply holds no decision (some-model)"),
    ],
)
def test_the_filter_keeps_what_it_calls_good_and_says_why_not(
    decided, kept, reason, calls, monkeypatch
):
    def model(messages: list[dict]) -> dict:
        reply = good(messages)
        checks = [one | decided for one in reply.get("checks", [])]
        return {"checks": checks} if checks else reply

    with chat(model, monkeypatch):
        questions, rejected = asked(calls)
    assert len(questions) == kept and {row.reason for row in rejected} == {reason} - {""}


CHAT = Chat("c", FILING, PASSAGE, dict(zip(("T1", "T2", "T3"), TABLES, strict=True)), {})


@cases("faults")
def test_a_pair_that_cannot_be_used_has_a_reason(case):
    pair = PAIRS[LEVELS.index(case["level"])] | case["change"]
    with pytest.raises(BadReply) as error:
        read_pair(pair, case["level"], CHAT, "1")
    assert case["reason"] in str(error.value)
