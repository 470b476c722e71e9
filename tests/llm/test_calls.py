"""Requests and replies over real HTTP, the cache and its export, processes, and the cost limit."""

import json
import shutil
import signal
import time
from contextlib import closing

import pytest

from lib.core.store import REPOSITORY, BadInput, BadStudy, Stopped, read_lines
from lib.llm.cache import Cache, import_from, main
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import TABLE, Request, endpoint
from lib.llm.wire import read_wire
from tests.llm.conftest import n_paid, questions, right, said, started, wait_for
from tests.llm_server import Server

PRICED = "gpt-4o-mini"


def test_replies_come_in_order_and_only_what_changed_is_paid_for(ask):
    one = Request.ask("one")
    others = (
        Request.ask("one", max_tokens=9),
        Request.ask("one", temperature=1.0),
        Request.ask("one", attempt=1),
        one.then("reply to one", "again"),
    )
    with Server() as server:
        replies, calls = ask(server, questions(30))
        assert said(replies) == right(questions(30))
        assert str(calls).startswith("cached 0 / new 30 / failed 0")
        again, calls = ask(server, questions(40))
        assert again[:30] == replies and len(server.log) == 40
        assert str(calls).startswith("cached 30 / new 10 / failed 0")
        for n, request in enumerate((one, *others), 41):
            for _ in range(2):
                ask(server, [request])
                assert len(server.log) == n
        ask(server, [one], "another model")
        assert len(server.log) == 46
    with Server(reply=lambda body: "of another endpoint") as server:
        assert said(ask(server, ["one"])[0]) == [("of another endpoint", "")]


def test_the_shape_of_a_reply_is_sent_and_part_of_its_key_only_if_json_schema_is_set(ask):
    one = Request.ask("one", shape="pairs")
    with Server() as server:
        for is_on, n in ((False, 1), (True, 2), (True, 2), (False, 2)):
            ask(server, [one], json_schema=is_on)
            assert len(server.log) == n
        sent = [json.dumps(call.response_format) for call in server.log]
        assert sent == ["null", json.dumps(TABLE["shapes"]["pairs"])], "in the order to write in"


def test_exported_cache_answers_a_reader_without_a_key_the_same(ask, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    with Server() as server:
        replies, _ = ask(server, questions(5))
    for name in ("author", "reader"):
        (tmp_path / "data" / name).mkdir(parents=True)
    shutil.copy(tmp_path / "llm.sqlite", tmp_path / "data/author")
    main(["author", str(tmp_path / "replies.jsonl")])
    monkeypatch.delenv("OPENAI_API_KEY")
    calls = Calls(tmp_path / "data/reader/llm.sqlite")
    with closing(Cache(calls.cache)) as cache:
        import_from(cache, tmp_path / "replies.jsonl")
    requests = [*map(Request.ask, questions(5))]
    assert complete(requests, "m", calls) == replies
    assert "cached 5 / new 0 / failed 0" in str(calls) and "answered by: 5 m;" in str(calls)
    main(["reader", str(tmp_path / "again.jsonl")])
    assert (tmp_path / "again.jsonl").read_text() == (tmp_path / "replies.jsonl").read_text()
    with pytest.raises(SystemExit):  # a message, no traceback
        main(["no-such-study", "x"])
    with pytest.raises(Stopped, match="1 of 6 replies .* no key is set"):
        complete([*requests, Request.ask("new")], "m", calls)


def test_import_of_a_bad_line_names_it_and_imports_nothing(tmp_path):
    good = (REPOSITORY / "data/records/replies.jsonl").read_text().splitlines()[0]
    with closing(Cache(tmp_path / "llm.sqlite")) as cache:
        for bad in ("{}", "[]", good[:-3]):
            (tmp_path / "x.jsonl").write_text("\n".join([good, bad]) + "\n")
            with pytest.raises(BadInput, match="line 2"):
                import_from(cache, tmp_path / "x.jsonl")
        assert not cache.exported()


def test_after_kill_9_only_what_was_in_flight_is_requested_again(tmp_path, at):
    with Server(latency=0.05) as server:
        at(server)
        with started(tmp_path, questions(50), concurrency=5) as killed:
            wait_for(lambda: len(server.log) >= 23)
            killed.kill()
        both = [started(tmp_path, questions(50), concurrency=5) for _ in range(2)]
        assert all(one.communicate(timeout=120)[0].endswith(" 0\n") for one in both)
        assert 50 <= len(server.log) <= 55 and len(n_paid(server)) == 50
        assert sum(n_paid(server).values()) <= 55, "two processes share the work"


@pytest.mark.parametrize("is_silent", [False, True])
def test_an_interrupt_stops_new_calls_and_keeps_replies_that_were_in_flight(
    tmp_path, at, is_silent
):
    patience = "lib.llm.complete._LONGEST_END = 1"
    with Server(latency=0.5, faults=lambda number, body: "never" * is_silent) as server:
        at(server)
        with started(tmp_path, questions(50), before=patience, concurrency=5) as running:
            wait_for(lambda: len(server.log) >= 5)
            running.send_signal(signal.SIGINT)
            began = time.monotonic()
            assert "KeyboardInterrupt" in running.communicate(timeout=60)[1]
        assert 5 <= len(server.log) <= 10 and time.monotonic() - began < 10
    with closing(Cache(tmp_path / "llm.sqlite")) as cache:
        assert len(cache.exported()) == (0 if is_silent else len(server.log))


def test_money_stops_a_stage_before_its_limit_over_all_runs_and_arms(tmp_path, at, ask, capsys):
    limit = {"stage": "05_judge", "max_cost_usd": 0.02, "concurrency": 8}
    with Server(reply=lambda body: "word " * 100, latency=0.01) as server:
        at(server)
        arms = [[f"{arm} {n}" for n in range(400)] for arm in ("base", "dapt")]
        both = [started(tmp_path, arm, PRICED, **limit) for arm in arms]
        assert all("max_cost_usd" in arm.communicate(timeout=120)[0] for arm in both)
        with closing(Cache(tmp_path / "llm.sqlite")) as cache:
            assert 0.017 < cache.spent("05_judge") <= 0.02
            assert len(cache.exported()) == len(server.log)
        n = len(server.log)
        with pytest.raises(Stopped, match="max_cost_usd.* All replies are kept"):
            ask(server, ["x"], PRICED, **limit)
        assert len(server.log) == n
        ask(server, ["x"], PRICED, **limit | {"stage": "01_annotate"})
        ask(server, ["x", "y"], "my-own-model")
    plans = capsys.readouterr().out
    assert "1 calls, 0 cached, 1 to send (direct); at most $0.002" in plans
    assert "my-own-model: 2 calls, 0 cached, 2 to send (direct); at most price unknown" in plans


def test_key_and_address_come_from_environment_or_file_and_are_not_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr("lib.llm.request.REPOSITORY", tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert not endpoint().key
    (tmp_path / ".env").write_text(
        "OPENAI_API_KEY=sk-in-file\nOPENAI_BASE_URL=http://host:8000/v1/"
    )
    assert (endpoint().key, endpoint().url) == ("sk-in-file", "http://host:8000/v1")
    assert endpoint().scrubbed("Host:8000, host; ghosts") == "[endpoint], [endpoint]; ghosts"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-in-environment\n")
    assert endpoint().key == "sk-in-environment" and "sk-" not in repr(endpoint())
    for name, value in (
        ("OPENAI_API_KEY", "sk-two words"),
        ("OPENAI_BASE_URL", "http://user:pass@localhost:8000/v1"),
        ("OPENAI_BASE_URL", "localhost:8000-x"),
    ):
        with monkeypatch.context() as wrong:
            wrong.setenv(name, value)
            with pytest.raises(BadStudy, match=name) as raised:
                endpoint()
            assert value not in str(raised.value)


def test_a_proxy_is_used_and_a_failing_one_is_named_without_its_address(ask, monkeypatch):
    for name in ("no_proxy", "NO_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Server() as server:
        address = server.url.removesuffix("/v1")
        server.url = "https://nowhere.test/v1"
        for proxy in (address, "socks5://user:secret@localhost:1"):
            monkeypatch.setenv("HTTPS_PROXY", proxy)
            with pytest.raises(Stopped, match="m: the endpoint is not there[^@]*PROXY[^@]*$"):
                ask(server, ["two"])
        assert {call.method for call in server.log} == {"CONNECT"}


SPOILT = {
    "not a database": lambda path: path.write_text("not a database" * 500),
    "malformed": lambda path: path.write_bytes(path.read_bytes()[:4096] + b"x" * 40_960),
    "unable to open": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("says", SPOILT)
def test_a_cache_that_cannot_be_read_is_named_with_what_to_do(ask, tmp_path, says):
    path = tmp_path / "llm.sqlite"
    with Server() as server:
        ask(server, questions(30))
        SPOILT[says](path)
        with pytest.raises(Stopped, match=f"llm.sqlite: .*{says}.*restore a copy"):
            ask(server, questions(60))
        assert len(server.log) == 30


def test_replies_that_find_no_room_on_the_disk_wait_in_memory(ask, tmp_path, monkeypatch):
    monkeypatch.setattr("lib.llm.client._ROOM_SECONDS", 3)
    put, refused = Cache.put, []

    def full(self, rows, *cost):
        refused.extend(rows)
        if len(refused) <= n_full:
            raise Stopped("database or disk is full")
        return put(self, rows, *cost)

    monkeypatch.setattr(Cache, "put", full)
    with Server(latency=0.05) as server:
        for n_full, n_lost in ((8, 0), (10**9, 8)):  # 8: none is left that might be sent
            refused.clear()
            with pytest.raises(Stopped, match="database or disk is full") as stopped:
                ask(server, [f"{n_full} {n}" for n in range(60)], concurrency=8)
            assert (f"{n_lost} replies of calls in flight" in str(stopped.value)) == bool(n_lost)
        with closing(Cache(tmp_path / "llm.sqlite")) as cache:
            assert len(cache.exported()) == len(server.log) - n_lost == 8


def test_replies_paid_for_by_the_code_at_commit_c4a94bda_are_read_without_a_key(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    path = shutil.copy(REPOSITORY / "tests/data/cache-everything-2026-11.sqlite", tmp_path)
    brief = (("system", "Answer briefly."), ("user", "Which bolt holds the cover?"))
    asked = [
        Request.ask("Name the port of the spindle."),
        Request(brief, max_tokens=64, temperature=0.7, attempt=1, stop=("\n\n",)),
        Request.ask("Grade the answer.", max_tokens=16).then("maybe", "Reply with one word."),
    ]
    calls = Calls(path, "05_judge")
    assert [(one.text[-4:], one.reason) for one in complete(asked, "gpt-4o-2024-08-06", calls)] == [
        ("df51", ""),
        ("0953", ""),
        ("38cc", ""),
    ]
    assert str(calls).startswith("cached 3 / new 0")


def test_every_shipped_reply_is_whole_and_found_under_its_request():
    n = 0
    data = REPOSITORY / "data"
    for path in (*data.glob("*/replies.jsonl"), *data.glob("*/verdicts.jsonl.gz")):
        for row in map(json.loads, read_lines(path)):
            fields = json.loads(row["request"])
            fields["messages"] = tuple(map(tuple, fields["messages"]))
            fields["stop"] = tuple(fields.get("stop", ()))
            request = Request(**fields)
            assert request.body == row["request"]
            assert not read_wire(200, row["raw"], request.max_tokens).reason
            n += 1
    assert n > 300
