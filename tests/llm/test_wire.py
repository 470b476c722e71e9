"""What may come over the wire: each kind of reply is read, repeated or refused as it deserves."""

import gzip
import json
import re
import time
from email.utils import formatdate

import pytest

from lib.core.store import Stopped
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
from tests.llm_server import Server
from tests.llm_server_faults import FAULTS, Answer, Asked, error

DAY = 86_400
ASKED = {"model": "m", "messages": [{"content": "x"}]}


def body(content: object = "yes", **more: object) -> dict:
    choice = {
        "index": 0,
        "finish_reason": more.pop("finish", "stop"),
        "message": {"content": content} | more.pop("message", {}),
    }
    return {"model": "m", "choices": [choice], **more}


def played(
    fields: object, encoding: str = "utf-8", content_type: str = "application/json", **more: object
) -> Answer:
    return Answer(
        json.dumps(fields, ensure_ascii=False).encode(encoding), content_type=content_type, **more
    )


def failing(code: object, **more: object) -> Answer:
    return played({"error": {"code": code, "message": "upstream", **more}})


def usage(n_in: int, n_out: int) -> Answer:
    return played(body(usage={"prompt_tokens": n_in, "completion_tokens": n_out}))


async def endless(writer, head, content):
    writer.write(head.replace(b"content-length: %d\r\n" % len(content), b"") + content[:-3])
    while True:
        writer.write(b" " * 65_536)
        await writer.drain()


def later(seconds: float, after: float, status: int = 429) -> Answer:
    """Return an error that names a date `seconds` after the server's, whose clock is ahead."""
    return error(
        status,
        "later",
        date=formatdate(time.time() + after, usegmt=True),
        retry_after=formatdate(time.time() + after + seconds, usegmt=True),
    )


YES, OTHER = played(body()), played(body(model="other.gguf"))
LONG_HEAD = played(body(), headers={"x-a": "a" * 20_000})
TWO = {
    "choices": [
        {"index": 1, "finish_reason": "stop", "message": {"content": "no"}},
        body()["choices"][0],
    ]
}
THOUGHT = {"message": {"reasoning_content": "Hm."}}
COUNTED = {"completion_tokens_details": {"reasoning_tokens": 9}, "completion_tokens": 9}
WRONG_LENGTH = FAULTS["drop-inside"](Asked(ASKED), body())
# What the server answers, one after another: the text or the reason, requests, and what is said.
ROWS = {
    "a count of tokens that SQLite cannot store": ([usage(5, 2**63)], "yes", 1, "1 .*estimated"),
    "a count of 5,000 digits": (
        [Answer(json.dumps(body(usage={"prompt_tokens": 7})).replace("7", "7" * 5000).encode())],
        "yes",
        1,
        "1 .*estimated",
    ),
    "a usage that is a list": ([played(body(usage=[1]))], "yes", 1, "1 .*estimated"),
    "a negative count": ([usage(-5, 5)], "yes", 1, "1 .*estimated"),
    "no model's count": ([usage(10**11, 5)], "yes", 1, "1 .*estimated"),
    "200 with a 429": ([failing(429), YES], "yes", 2, "failed 0"),
    "200 with a status in a text": ([failing("503"), YES], "yes", 2, "failed 0"),
    "200 with a word": ([failing("rate_limit_exceeded"), YES], "yes", 2, "failed 0"),
    "200 with a string": ([played({"error": "busy"}), YES], "yes", 2, "failed 0"),
    "200 with a 400": ([failing(400)], "status 400: upstream", 1, "failed 1"),
    "200 with a 402": ([failing(402)], "Stopped: .*no money left", 1, ""),
    "200 with an error after half": ([played(body("ye", finish="error")), YES], "yes", 2, ""),
    "200 with a type": ([failing(None, type="invalid_request_error")], "status 400", 1, ""),
    "200 with a 401": ([failing(401)], "Stopped: .*OPENAI_API_KEY", 1, ""),
    "a long text": ([played(body("word " * 8_000_000))], "unreadable", 2, "cut off"),
    "an endless body": ([played(body(), send=endless)], "unreadable", 2, "cut off"),
    "an endless error": ([error(500, "no"), Answer(b"no", 400, send=endless)], "status 400", 2, ""),
    "a gzip bomb": (
        [Answer(gzip.compress(b" " * 10**9, 1), headers={"content-encoding": "gzip"})],
        "unreadable",
        2,
        "cut off",
    ),
    "too many requests": ([error(429, "slow down"), YES], "yes", 2, "status 429; such calls"),
    "a byte order mark": ([played(body("Zürich"), "utf-8-sig")], "Zürich", 1, ""),
    "latin-1": (
        [played(body("Zürich"), "latin-1", "application/json; charset=ISO-8859-1")],
        "Zürich",
        1,
        "",
    ),
    "utf-16": (
        [played(body("Zürich"), "utf-16", "application/json; charset=utf-16")],
        "Zürich",
        1,
        "",
    ),
    "no charset": ([played(body("Zürich"), "utf-8", "text/plain; charset=none")], "Zürich", 1, ""),
    "a codec that is no charset": (
        [played(body("Zürich"), "utf-8", "text/plain; charset=hex")],
        "Zürich",
        1,
        "",
    ),
    "a codec that fails": (
        [played(body("Zürich"), "utf-8", "text/plain; charset=idna")],
        "Zürich",
        1,
        "",
    ),
    "a model that writes to the terminal": (
        [played(body(model="a\n\x1b[2J" + "x" * 5000))],
        "yes",
        1,
        r"answered by a2Jx{297} \(1",
    ),
    "another model": ([OTHER], "yes", 1, r"answered by other\.gguf"),
    "a date by another clock": ([later(2, 10 * DAY), YES], "yes", 2, "asks for a wait of 2 s"),
    "a date in the past": ([later(-5, 0), YES], "yes", 2, ""),
    "a far date": ([later(DAY, 0)], "Stopped: .*a wait of 24 hours", 1, ""),
    "STOP": ([played(body(finish="STOP"))], "yes", 1, ""),
    "MAX_TOKENS": ([played(body(finish="MAX_TOKENS"))], "cut at the length limit", 1, "1 cut"),
    "two choices": ([played(TWO)], "yes", 1, ""),
    "206": ([played(body("ye"), status=206)], "status 206", 2, "2 lost"),
    "thoughts alone": ([played(body("", **THOUGHT))], "an empty reply", 1, "1 empty"),
    "tagged thoughts alone": ([played(body("<think>Hm.</think>"))], "an empty reply", 1, "1 empty"),
    "closed thoughts alone": (
        [played(body("", message={"reasoning_details": [{}]}))],
        "an empty reply",
        1,
        "",
    ),
    "hidden thoughts alone": ([played(body("", usage=COUNTED))], "an empty reply", 1, "1 empty"),
    "empty": ([played(body(""))], "an empty reply", 2, "1 empty"),
    "a model not served": (
        [played({"detail": "Server is pinned to '/models/a'; requested 'm'."}, status=400)],
        "Stopped: .*does not have the model 'm'",
        1,
        "",
    ),
    "a field not known": (
        [played({"detail": "Unexpected fields in the request: {'foo'}"}, status=422)],
        "status 422: Unexpected",
        1,
        "failed 1",
    ),
}


@pytest.fixture
def ask(monkeypatch, tmp_path, capsys):
    """Return text or reason of n calls, requests sent, and what is said: ask(answers, n)."""
    monkeypatch.setattr("lib.llm.direct.WORTH_SAYING", 1.0)
    left: list[Answer] = []

    def run(answers: list[Answer], n: int = 1, **settings) -> tuple[str, list, str]:
        left[:], n_before = answers, len(server.log)
        calls = Calls(
            tmp_path / "llm.sqlite", **{"max_failed_share": 1.0, "concurrency": 4} | settings
        )
        try:
            replies = complete([Request.ask(f"x {m}") for m in range(n)], "m", calls)
            outcome = replies[-1].reason or replies[-1].text
        except Stopped as stopped:
            outcome = f"Stopped: {stopped}"
        return outcome, server.log[n_before:], f"{capsys.readouterr().out}{calls}"

    with Server(reply=lambda _: left.pop(0) if len(left) > 1 else left[0]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-tests")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield run


@pytest.mark.parametrize(("answers", "outcome", "n", "says"), ROWS.values(), ids=ROWS)
def test_each_reply_is_read_repeated_or_refused(ask, answers, outcome, n, says):
    start = time.monotonic()
    got, log, said = ask(answers)
    assert re.search(outcome, got) and re.search(says, said), (got, said)
    assert len(log) == n and time.monotonic() - start < 20
    if "2 s" in says:
        assert log[1].time - log[0].time >= 1


HOPELESS = {"dropped": FAULTS["drop"], "late": FAULTS["never"], "500": FAULTS["500"]}


@pytest.mark.parametrize("fault", HOPELESS)
def test_an_endpoint_that_never_replies_is_given_up_after_twenty_requests(ask, fault):
    outcome, log, said = ask(
        [HOPELESS[fault](Asked(ASKED), body())], 60, concurrency=20, timeout_seconds=1.0
    )
    assert re.match("Stopped: .*the first 20 requests", outcome), outcome
    assert 20 <= len(log) <= 24 and said.count("repeated") == 1


@pytest.mark.parametrize(
    ("answers", "n"),
    [
        ([error(400, "no", retry_after="1e9"), YES], 2),  # one call asks for a wait of years
        ([YES, LONG_HEAD], 3),
        ([YES, WRONG_LENGTH], 3),
        ([FAULTS["never"](Asked(ASKED), body())], 4),
    ],
)
def test_faults_that_do_not_pass_are_tried_twice_or_once(ask, answers, n):
    _, log, _ = ask(answers, 2, concurrency=1, timeout_seconds=0.3)
    assert len(log) == n
