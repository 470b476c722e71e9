"""Requests and replies over real HTTP, the cache and its export, the plan and the cost limit."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from lib.core.store import REPOSITORY, BadStudy, Stopped
from lib.llm.__main__ import main
from lib.llm.cache import Cache
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request, endpoint
from tests.llm_server import Server

KEY = "sk-a-key-of-this-test"
ASK_FIFTY = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
replies = complete([Request.ask(f"question {n}") for n in range(int(sys.argv[2]))], "m",
                   Calls(Path(sys.argv[1]), concurrency=5))
print("done", sum(not reply.reason for reply in replies))
"""


def prompts(n: int) -> list[Request]:
    return [Request.ask(f"question {number}") for number in range(n)]


def texts(replies: list[Reply]) -> list[str]:
    return [reply.text for reply in replies]


def echo(body: dict) -> str:
    return "reply to " + body["messages"][-1]["content"]


def test_replies_come_in_order_and_are_never_paid_twice(tmp_path, at):
    with Server(reply=echo) as server:
        at(server)
        calls = Calls(tmp_path / "llm.sqlite")
        replies = complete(prompts(30), "m", calls)
        assert texts(replies) == [f"reply to question {number}" for number in range(30)]
        assert str(calls).startswith("cached 0 / new 30 / failed 0")
        again = Calls(tmp_path / "llm.sqlite")
        assert texts(complete(prompts(40), "m", again))[:30] == texts(replies)
        assert str(again).startswith("cached 30 / new 10 / failed 0") and len(server.log) == 40


def test_only_what_changed_is_requested_again(tmp_path, at):
    with Server(reply=echo) as server:
        at(server)
        calls = Calls(tmp_path / "llm.sqlite")
        one = Request.ask("one")
        complete([one], "other", calls)
        for request in (
            one,
            one,
            Request.ask("two"),
            Request.ask("one", max_tokens=9),
            Request.ask("one", temperature=1.0),
            Request.ask("one", attempt=1),
            one.then("reply to one", "again"),
        ):
            complete([request], "m", calls)
        assert len(server.log) == 7 and calls.tally.cached == 1


def test_another_endpoint_is_sent_the_requests_again(tmp_path, at):
    for answer in ("first", "second"):
        with Server(reply=lambda body, answer=answer: answer) as server:
            at(server)
            replies = complete([Request.ask("x")], "m", Calls(tmp_path / "llm.sqlite"))
            assert texts(replies) == [answer]


def test_exported_cache_answers_a_reader_without_a_key_the_same(tmp_path, at, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    with Server(reply=echo) as server:
        at(server)
        replies = complete(prompts(5), "m", Calls(tmp_path / "data" / "author" / "llm.sqlite"))
        address = server.url
    main(["export", "author", str(tmp_path / "replies.jsonl")])
    written = (tmp_path / "replies.jsonl").read_text()
    assert KEY not in written and address not in written and address.split("/")[2] not in written
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    (tmp_path / "data" / "reader").mkdir()
    main(["import", "reader", str(tmp_path / "replies.jsonl")])
    calls = Calls(tmp_path / "data" / "reader" / "llm.sqlite")
    assert texts(complete(prompts(5), "m", calls)) == texts(replies)
    assert str(calls) == "cached 5 / new 0 / failed 0; answered by m (5)"
    main(["export", "reader", str(tmp_path / "again.jsonl")])
    assert (tmp_path / "again.jsonl").read_text() == written
    with pytest.raises(Stopped, match="1 of 6 replies .* no key is set"):
        complete(prompts(6), "m", calls)


def test_import_of_a_bad_line_names_it_and_imports_nothing(tmp_path, at, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    with Server(reply=echo) as server:
        at(server)
        complete(prompts(2), "m", Calls(tmp_path / "data" / "s" / "llm.sqlite"))
    main(["export", "s", str(tmp_path / "x.jsonl")])
    good = (tmp_path / "x.jsonl").read_text().splitlines()
    for bad in (
        "{",
        "{}",
        "[]",
        good[0].replace("question", "other", 1)[:-3],
        json.dumps(json.loads(good[0]) | {"raw": "<html>"}),
    ):
        (tmp_path / "x.jsonl").write_text("\n".join([good[0], bad]) + "\n")
        with pytest.raises(SystemExit, match="2"):
            main(["import", "lab", str(tmp_path / "x.jsonl")])
        assert "line 2" in capsys.readouterr().err
    for misspelt in ("labb", "lab/1011"):
        with pytest.raises(SystemExit, match="2"):
            main(["import", misspelt, str(tmp_path / "x.jsonl")])
        assert f"{misspelt!r} is no study" in capsys.readouterr().err
    assert {path.name for path in (tmp_path / "data").iterdir()} == {"s", "lab"}


def n_paid(server: Server) -> Counter:
    """Count the replies to each prompt, which is how often it was paid for."""
    return Counter(entry.prompt for entry in list(server.log) if entry.status == 200)


def fifty(path: Path, n: int = 50) -> list[str]:
    """Return a command that sends n prompts, whose replies are cached in `path`."""
    return [sys.executable, "-c", ASK_FIFTY, str(path / "llm.sqlite"), str(n)]


def test_after_kill_9_only_what_was_in_flight_is_requested_again(tmp_path, at):
    with Server(reply=echo, latency=0.05) as server:
        at(server)
        killed = subprocess.Popen(
            fifty(tmp_path), cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 60
        while len(server.log) < 23 and time.monotonic() < deadline:
            time.sleep(0.005)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        time.sleep(0.2)
        ended = subprocess.run(
            fifty(tmp_path), cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=True
        )
        assert "done 50" in ended.stdout
        assert 50 <= len(server.log) <= 55 and len(n_paid(server)) == 50


def test_two_processes_with_one_cache_share_the_work_and_pay_nothing_twice(tmp_path, at):
    with Server(reply=echo, latency=0.05) as server:
        at(server)
        both = [
            subprocess.Popen(
                fifty(tmp_path, 40),
                cwd=REPOSITORY,
                stdout=subprocess.PIPE,
                text=True,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(2)
        ]
        assert all("done 40" in process.communicate(timeout=120)[0] for process in both)
        assert list(n_paid(server).values()) == [1] * 40


def test_the_plan_has_calls_cached_share_tokens_and_dollars(tmp_path, at, capsys):
    with Server(reply=echo) as server:
        at(server)
        complete(prompts(3), "gpt-4o-mini", Calls(tmp_path / "llm.sqlite"))
        capsys.readouterr()
        calls = Calls(tmp_path / "llm.sqlite", max_cost_usd=5)
        complete(prompts(4), "gpt-4o-mini", calls)
        plan = capsys.readouterr().out
        for part in ("4 calls, 3 cached (75%), 1 to send", "$", "prices of 20"):
            assert part in plan
        assert calls.tally.usd and calls.tally.usd < 0.001
        complete([Request.ask("x")], "my-own-model", Calls(tmp_path / "llm.sqlite"))
        plan = capsys.readouterr().out
        assert "price unknown" in plan and "$0" not in plan


def test_money_stops_the_stage_before_the_limit_and_what_was_paid_is_kept(tmp_path, at):
    with Server(reply=lambda body: "word " * 100, latency=0.01) as server:
        at(server)
        requests = [Request.ask(f"question {number}", max_tokens=1000) for number in range(400)]
        calls = Calls(tmp_path / "llm.sqlite", max_cost_usd=0.005, concurrency=8)
        with pytest.raises(Stopped, match="max_cost_usd.*replies are kept"):
            complete(requests, "gpt-4o-mini", calls)
        spent = calls.tally.usd
        assert 0.003 < spent <= 0.005 and len(server.log) == calls.tally.new
        more = Calls(tmp_path / "llm.sqlite", max_cost_usd=0.005, concurrency=8)
        with pytest.raises(Stopped):
            complete(requests, "gpt-4o-mini", more)
        assert more.tally.cached == calls.tally.new and len(server.log) == calls.tally.new
        asked = len(server.log)
        with pytest.raises(Stopped, match="no price"):
            complete(
                [Request.ask("x")], "my-own-model", Calls(tmp_path / "llm.sqlite", max_cost_usd=1)
            )
        assert len(server.log) == asked


def test_key_and_address_come_from_environment_or_file_and_are_not_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr("lib.llm.request.REPOSITORY", tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert endpoint() is None
    (tmp_path / ".env").write_text(
        "OPENAI_API_KEY=sk-in-file\nOPENAI_BASE_URL=http://localhost:8000/v1/\n"
    )
    assert (endpoint().key, endpoint().url) == ("sk-in-file", "http://localhost:8000/v1")
    assert "OPENAI_API_KEY" not in os.environ
    monkeypatch.setenv("OPENAI_API_KEY", "sk-in-environment\n")
    assert endpoint().key == "sk-in-environment"
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


def damage(path: Path) -> None:
    with closing(Cache(path)) as cache:
        cache.database.execute("pragma journal_mode = delete")
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + b"x" * (len(raw) - 4096))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (
            lambda path: path.write_text("not a database" * 500),
            "file is not a database; free .* restore a copy",
        ),
        (damage, "malformed; free .* restore a copy"),
        (lambda path: (path.unlink(), path.mkdir()), "unable to open .* move it away"),
    ],
)
def test_a_cache_that_cannot_be_read_is_named_with_what_to_do(tmp_path, at, spoil, says):
    path = tmp_path / "llm.sqlite"
    with Server() as server:
        at(server)
        complete(prompts(30), "m", Calls(path))
        spoil(path)
        with pytest.raises(Stopped, match=f"llm.sqlite: .*{says}"):
            complete(prompts(60), "m", Calls(path))
        assert len(server.log) == 30


def test_a_cache_that_is_removed_while_in_use_stops_the_run(tmp_path, at):
    path = tmp_path / "llm.sqlite"

    def spoil(body: dict) -> str:
        if body["messages"][0]["content"] == "question 20":
            path.rename(tmp_path / "moved")
        return echo(body)

    with Server(reply=spoil, latency=0.01) as server:
        at(server)
        with pytest.raises(Stopped, match="llm.sqlite was removed while in use: put it back"):
            complete(prompts(60), "m", Calls(path, concurrency=4))
        assert len(server.log) < 30


def test_replies_that_find_no_room_on_the_disk_wait_in_memory(tmp_path, at, monkeypatch, capsys):
    monkeypatch.setattr("lib.llm.direct._ROOM_SECONDS", 3)
    path, put, refused = tmp_path / "llm.sqlite", Cache.put, []

    def full(self, entries):
        refused.extend(entries)
        if len(refused) <= n_full:
            raise Stopped("database or disk is full")
        return put(self, entries)

    with Server(reply=echo, latency=0.05) as server:
        at(server)
        for n_full, n_lost in ((9, 0), (10**9, 8)):
            refused.clear()
            requests = [Request.ask(f"{n_full} {n}") for n in range(60)]
            monkeypatch.setattr(Cache, "put", full)
            with pytest.raises(Stopped, match="database or disk is full") as stopped:
                complete(requests, "m", Calls(path, concurrency=8))
            assert (f"{n_lost} replies of calls in flight" in str(stopped.value)) == bool(n_lost)
            assert "wait in memory" in capsys.readouterr().out
        with closing(Cache(path)) as cache:
            assert len(cache.entries()) == len(server.log) - n_lost == 8


READ = """
import sys
from lib.core.store import Stopped
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
for n in (20, 21):
    calls = Calls(sys.argv[1])
    try:
        complete([Request.ask(f"question {number}") for number in range(n)], "m", calls)
        print(calls)
    except Stopped as stopped:
        print(stopped)
"""


@pytest.mark.parametrize("log", ["merged", "open"])
def test_a_study_whose_replies_are_all_there_is_read_from_a_read_only_checkout(tmp_path, at, log):
    path, mounted = tmp_path / "llm.sqlite", ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*mounted, "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounting a folder read-only needs user namespaces")
    command = f"mount --bind {tmp_path} {tmp_path} && mount -o remount,bind,ro {tmp_path} && exec "
    with Server(reply=echo) as server:
        at(server)
        complete(prompts(20), "m", Calls(path))
        with closing(Cache(path)) as cache:
            if log == "open":
                cache.spend("another stage", "", 0, 0)
            ran = subprocess.run(
                [*mounted, command + f"{sys.executable} -c '{READ}' {path}"],
                cwd=REPOSITORY,
                capture_output=True,
                text=True,
                check=False,
            )
    first, *_, last = ran.stdout.splitlines()
    assert first.startswith("cached 20 / new 0 / failed 0"), ran.stderr
    assert "Read-only file system" in last and "STUDY_ROOT" in last
    assert len(server.log) == 20


ARM = """
import sys
from lib.core.store import Stopped
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
requests = [Request.ask(f"{sys.argv[2]} {n}", max_tokens=1000) for n in range(400)]
try:
    complete(requests, "gpt-4o-mini", Calls(sys.argv[1], "05_judge", 0.01, concurrency=8))
except Stopped as stopped:
    print(stopped)
"""


def test_arms_that_run_at_the_same_time_share_the_limit_of_their_stage(tmp_path, at):
    path = tmp_path / "llm.sqlite"
    with Server(reply=lambda body: "word " * 100, latency=0.02) as server:
        at(server)
        arms = [
            subprocess.Popen(
                [sys.executable, "-c", ARM, path, arm],
                cwd=REPOSITORY,
                stdout=subprocess.PIPE,
                text=True,
                stderr=subprocess.DEVNULL,
            )
            for arm in ("base", "dapt")
        ]
        assert all("max_cost_usd" in arm.communicate(timeout=120)[0] for arm in arms)
        with closing(Cache(path)) as cache:
            spent = cache.spent("05_judge")
            assert 0.007 < spent <= 0.01 and len(list(cache.entries())) == len(server.log)
            cache.reserve("05_judge", "a killed run", 0.01 - spent, 1.0)  # it may be charged
        with pytest.raises(Stopped, match="max_cost_usd"):
            complete(prompts(1), "gpt-4o-mini", Calls(path, "05_judge", max_cost_usd=0.01))
        complete(prompts(1), "gpt-4o-mini", Calls(path, "01_annotate", max_cost_usd=0.01))


OPEN = """
import sys, time
from pathlib import Path
from lib.llm.cache import Cache
print("ready", flush=True)
start = float(input())
for n in range(100):
    while time.time() < start + n / 200:
        pass
    Cache(Path(sys.argv[1]) / str(n)).close()
"""


def test_stages_that_start_at_once_open_a_new_cache_together(tmp_path):
    stages = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, tmp_path],
            cwd=REPOSITORY,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    assert [stage.stdout.readline() for stage in stages] == ["ready\n"] * 3
    start = str(time.time() + 0.1)
    for stage in stages:
        stage.stdin.write(f"{start}\n")
        stage.stdin.flush()
    assert [stage.wait(timeout=120) for stage in stages] == [0, 0, 0]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stops_new_calls_and_keeps_replies_that_were_in_flight(tmp_path, at, sent):
    with Server(reply=echo, latency=0.5) as server:
        at(server)
        running = subprocess.Popen(
            fifty(tmp_path), cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        interrupt(running, server, sent)
        assert b"KeyboardInterrupt" in running.communicate(timeout=60)[1]
        asked = len(server.log)
    assert 5 <= asked <= 10 and len(list(Cache(tmp_path / "llm.sqlite").entries())) == asked


def interrupt(running: subprocess.Popen, server: Server, sent: int) -> None:
    """Send a signal once five calls are in flight."""
    deadline = time.monotonic() + 60
    while len(server.log) < 5 and time.monotonic() < deadline:
        time.sleep(0.005)
    running.send_signal(sent)


def test_an_interrupt_does_not_wait_for_a_server_that_is_silent(tmp_path, at):
    command = fifty(tmp_path)
    command[2] = "import lib.llm.complete; lib.llm.complete._LONGEST_END = 1" + command[2]
    with Server(faults=lambda number, body: "never") as server:
        at(server)
        running = subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE)
        interrupt(running, server, signal.SIGTERM)
        started = time.monotonic()
        assert b"KeyboardInterrupt" in running.communicate(timeout=60)[1]
        assert time.monotonic() - started < 10 and len(server.log) == 5


def test_a_server_that_is_not_there_stops_the_run_and_says_so(tmp_path, monkeypatch):
    with Server() as server:
        url = server.url
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(Stopped, match="no connection .*: start the server") as raised:
        complete(prompts(30), "m", Calls(tmp_path / "llm.sqlite"))
    assert url.split("/")[2] not in str(raised.value)
