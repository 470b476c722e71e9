"""Three rounds in one chat with a played model over HTTP, each pair checked, and the filter."""

import json
import re

import pytest

from lib.core.store import BadInput, BadReply
from lib.tablequest.answers import TASK
from lib.tablequest.questions import Chat, ask_by_model, read_pair
from lib.tablequest.records import LEVELS, by_id
from tests.conftest import rows
from tests.played_model import chatted, outside
from tests.tablequest.alm import DATA, FILING, PASSAGE, TABLES, TEXTS, cases

PAIRS = rows(DATA / "tablequest" / "pairs.jsonl")
YES = {name: {"reason": "Fine.", "ok": True} for name in ("relevant", "reasonable", "valid")}
CHECKED = {"checks": [{"number": number, **YES} for number in (1, 2, 3)]}


def reply_to(messages: list[dict]) -> str:
    """Return the pair that a good model writes in this round, or a filter's yes."""
    asked = " ".join(one["content"] for one in messages if one["role"] == "user")
    found = re.findall(r"Round (\d):", asked)
    return json.dumps({"pairs": [PAIRS[int(found[-1]) - 1]]} if found else CHECKED)


def asked(calls):
    rows, cells = TABLES[0].rows[:1], TABLES[0].cells[:1]
    first = TABLES[0].model_copy(update={"rows": rows, "cells": cells})
    blocks = [one for one in PASSAGE.blocks if one.grid_id in ("", first.grid_id)]
    passage = PASSAGE.model_copy(update={"blocks": blocks})
    texts = TEXTS._replace(grids=by_id([first]), passages=by_id([passage]))
    return ask_by_model(texts, "some-model", calls, 1, 1)


def test_three_rounds_are_one_chat_and_each_is_given_the_pair_before(calls, monkeypatch):
    with chatted(reply_to, monkeypatch) as chats:
        questions, rejected = asked(calls)
        assert asked(calls) == (questions, rejected)  # from the cache
    assert [row.answer for row in questions] == [pair["answer"] for pair in PAIRS]
    chain = questions[0].chain_id
    assert [row.question_id for row in questions] == [f"{chain}-{level}" for level in LEVELS]
    assert rejected == []
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
    def wrong(messages: list[dict]) -> str:
        reply = reply_to(messages)
        return reply.replace('"2.0%"', '"3%"') if last in messages[-1]["content"] else reply

    with chatted(wrong, monkeypatch) as chats:
        questions, rejected = asked(calls)
    fault = "the answer says 3%, but (a - b) / b * 100 gives 2.02199 %"
    assert [row.level for row in questions] == levels
    assert [row.reason for row in rejected] == [fault] * (1 if last else 2)
    assert f"1. {fault}" in chats[2][-1]["content"]


@pytest.mark.parametrize(
    ("decided", "reason"),
    [
        ('{"reason": "Off.", "ok": false}', "Off."),
        ("true", "the reply holds no decision"),
    ],
)
def test_the_filter_keeps_what_it_calls_good_and_says_why_not(decided, reason, calls, monkeypatch):
    def refuse(messages: list[dict]) -> str:
        return reply_to(messages).replace(json.dumps(YES["valid"]), decided)

    with chatted(refuse, monkeypatch):
        questions, rejected = asked(calls)
    assert not questions
    assert {row.reason for row in rejected} == {f"not relevant: {reason} (some-model)"}


CHAT = Chat("c", FILING, PASSAGE, dict(zip(("T1", "T2", "T3"), TABLES, strict=True)), {})


@cases("faults")
def test_a_pair_that_cannot_be_used_has_a_reason(case):
    pair = PAIRS[LEVELS.index(case["level"])] | case["change"]
    with pytest.raises(BadReply) as error:
        read_pair(pair, case["level"], CHAT, "1")
    assert case["reason"] in str(error.value)
