"""Replies that were paid for by the code at commit c4a94bda are read without a key."""

import json
import shutil

from lib.core.store import REPOSITORY, read_lines
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
from lib.llm.wire import read_stored


def test_replies_paid_for_at_the_tag_are_read_without_a_key(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    path = tmp_path / "llm.sqlite"
    shutil.copy(REPOSITORY / "tests" / "data" / "cache-everything-2026-11.sqlite", path)
    asked = [
        Request.ask("Name the port of the spindle."),
        Request(
            (("system", "Answer briefly."), ("user", "Which bolt holds the cover?")),
            max_tokens=64,
            temperature=0.7,
            attempt=1,
            stop=("\n\n",),
        ),
        Request.ask("Grade the answer.", max_tokens=16).then("maybe", "Reply with one word."),
    ]
    calls = Calls(path, "05_judge")
    replies = complete(asked, "gpt-4o-2024-08-06", calls)
    assert [reply.text for reply in replies] == [
        "reply 3f0eb6547063df51",
        "reply a8f3a0b9ea3b0953",
        "reply e22b5257166f38cc",
    ]
    assert str(calls).startswith("cached 3 / new 0") and not any(reply.reason for reply in replies)


def test_every_shipped_reply_is_whole_and_found_under_its_request():
    n = 0
    data = REPOSITORY / "data"
    for path in (*data.glob("*/replies.jsonl"), *data.glob("*/verdicts.jsonl.gz")):
        for row in map(json.loads, read_lines(path)):
            fields = json.loads(row["request"])
            fields["messages"] = tuple(map(tuple, fields["messages"]))
            fields["stop"] = tuple(fields.get("stop", ()))
            request = Request(**fields)
            assert request.body == row["request"] and not read_stored(row["raw"], request).reason
            n += 1
    assert n > 300
