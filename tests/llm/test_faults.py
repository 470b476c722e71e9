"""Every fault of tests/llm_server.py: nothing is lost or misread, and no secret is written."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from lib.core.store import REPOSITORY, Stopped
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from tests.llm_server import Server, digest_of
from tests.llm_server_faults import (
    FAULTS,
    HARMLESS,
    PARAMETERS,
    PASSING,
    STOPPING,
    WINDOW,
)

KEY = "sk-proj-Zx81QmfT0rN5vKbW"
STOPS = {
    "401": "OPENAI_API_KEY",
    "403": "choose another model or key",
    "404": "does not have the model 'm'",
    "429-quota": "add credit",
}


@pytest.fixture
def ask(monkeypatch, tmp_path):
    """Return replies and settings, with one cache per test: ask(server, prompts)."""

    def run(server: Server, prompts: list[str], **settings) -> tuple[list[Reply], Calls]:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        calls = Calls(tmp_path / "llm.sqlite", **settings)
        return complete([Request.ask(prompt) for prompt in prompts], "m", calls), calls

    return run


def intact(prompt: str) -> Reply:
    """Return the reply that the server gives to this prompt and to no other."""
    return Reply(digest_of({"messages": [{"content": prompt}]}))


def mixed(faults: Sequence[str], how: str = "", n: int = 2) -> list[str]:
    """Return prompts that request a fault, each `n` times, alternating with harmless ones."""
    return [
        prompt
        for number in range(n)
        for fault in faults
        for prompt in (f"{number} fault:{fault}{how}", f"{number} next to {fault}")
    ]


def questions(n: int) -> list[str]:
    return [f"question {number}" for number in range(n)]


def test_unusual_replies_are_read_at_the_first_call(ask):
    prompts = mixed(HARMLESS)
    with Server() as server:
        replies, calls = ask(server, prompts)
        assert replies == [intact(prompt) for prompt in prompts]
        assert len(server.log) == len(prompts) == calls.tally.new


def test_transient_faults_are_retried_and_every_row_has_its_own_text(ask, monkeypatch):
    prompts = mixed(PASSING, " once")
    with Server() as server:
        monkeypatch.setattr("lib.llm.direct.TIMEOUT_SECONDS", 1.5)
        replies, calls = ask(server, prompts)
        assert replies == [intact(prompt) for prompt in prompts]
        assert (calls.tally.new, calls.tally.failed) == (len(prompts), 0)
        asked = Counter(call.prompt for call in server.log)
        assert all(asked[prompt] >= 2 for prompt in prompts if "fault:" in prompt)
        n_paid = Counter(
            call.prompt for call in server.log if call.status == 200 and not call.fault
        )
        assert n_paid == Counter(prompts)  # no reply that could be read was asked for again


@pytest.mark.parametrize("fault", PARAMETERS)
def test_a_parameter_that_the_endpoint_refuses_is_left_out_of_all_later_calls(ask, fault, capfd):
    with Server(faults=lambda number, body: fault) as server:
        prompts = questions(30)
        replies, calls = ask(server, prompts, concurrency=3)
        assert replies == [intact(prompt) for prompt in prompts] and calls.tally.failed == 0
        assert sum(call.status == 400 for call in server.log) <= 3
        assert f"the endpoint refuses {fault.removeprefix('400-')}" in capfd.readouterr().out


@pytest.mark.parametrize(("fault", "says"), STOPS.items())
def test_what_would_fail_every_call_stops_the_run_at_the_first_replies(ask, fault, says):
    with Server(latency=0.05, faults=lambda number, body: fault) as server:
        with pytest.raises(Stopped, match=says) as stopped:
            ask(server, questions(100), concurrency=4)
        assert len(server.log) <= 4 and KEY[-4:] not in str(stopped.value)


def test_calls_pass_through_a_proxy_and_what_it_stops_is_not_counted_as_paid(ask, monkeypatch):
    monkeypatch.setattr("lib.llm.wire.MOST_TRIES", 2)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Server() as gone:
        pass
    with Server() as server:
        for scheme, proxy in (("http", server), ("https", server), ("http", gone)):
            monkeypatch.setenv(f"{scheme}_proxy", proxy.url.removesuffix("/v1"))
            far = SimpleNamespace(url=f"{scheme}://models.invalid/v1")
            replies, calls = ask(far, [f"{scheme} {proxy is gone}"], max_failed_share=1.0)
            assert calls.tally.lost == 0
            if (scheme, proxy) == ("http", server):
                assert replies == [intact("http False")]
            else:  # this server opens no tunnels
                assert "no connection to the endpoint or proxy (" in replies[0].reason


@pytest.mark.parametrize(("fault", "seconds"), [("429", 1.0), ("429-ms", 0.15)])
def test_no_call_comes_back_before_the_time_that_the_endpoint_names(ask, fault, seconds):
    with Server(faults=lambda number, body: fault if number == 1 else None) as server:
        ask(server, questions(10), concurrency=1)
        first, second, *_ = server.log
        assert first.status == 429 and second.time - first.time >= seconds


RUN = """
import json, logging, os, shutil, sqlite3, sys, traceback
from pathlib import Path
logging.basicConfig(level=logging.DEBUG)
from lib.core.store import Stopped
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
from lib.llm.__main__ import main
from lib.llm.request import endpoint
import lib.llm.batch, lib.llm.direct, lib.llm.wire
lib.llm.wire.MOST_TRIES = lib.llm.wire.MOST_THROTTLED = 2
lib.llm.batch.POLL_SECONDS, lib.llm.direct.TIMEOUT_SECONDS = 0.1, 1

def ask(prompts, **settings):
    calls = Calls(cache, max_failed_share=1.0, **settings)
    try:
        print(complete([Request.ask(prompt) for prompt in prompts], "m", calls), calls)
    except Stopped:
        traceback.print_exc()

cache = Path(os.environ["STUDY_ROOT"]) / "data" / "s" / "llm.sqlite"
ask(["first"])
reader = sqlite3.connect(cache)  # a second reader keeps the -wal next to the file
reader.execute("select count(*) from replies").fetchone()
ask(json.load(sys.stdin))
for fault in ("401", "403", "404", "429-quota"):
    ask([f"fault:{fault}"])
ask([*(f"batch {n}" for n in range(3)),
     *(f"fault:{fault} in a batch" for fault in ("500-echo", "html-echo", "401"))], mode="batch")
shutil.copy(f"{cache}-wal", f"{cache}-wal.copy")
main(["export", "s", os.environ["STUDY_ROOT"] + "/replies.jsonl"])
print(endpoint())
os.environ["OPENAI_BASE_URL"] = os.environ["NOBODY"]
ask(["to nobody"])
print("ended")
"""


def test_neither_key_nor_address_is_in_anything_that_a_run_writes(tmp_path):
    prompts = mixed(sorted(FAULTS.keys() - {*STOPPING, *WINDOW}), n=1)
    with Server() as nobody:
        pass
    with Server() as server:
        environment = {
            **os.environ,
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": server.url,
            "NOBODY": nobody.url,
            "OPENAI_LOG": "debug",
            "STUDY_ROOT": str(tmp_path),
        }
        ran = subprocess.run(
            [sys.executable, "-X", "dev", "-c", RUN],
            cwd=REPOSITORY,
            text=True,
            capture_output=True,
            input=json.dumps(prompts),
            timeout=300,
            check=False,
            env=environment,
        )
        assert KEY not in str(server.log) and len(server.log) > len(prompts)
    assert "ended" in ran.stdout and "no connection" in ran.stdout, ran.stderr
    assert "refuses the key" in ran.stderr, ran.stderr
    written = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"llm.sqlite", "llm.sqlite-wal.copy", "replies.jsonl"} <= written.keys()
    written |= {"stdout": ran.stdout.encode(), "stderr": ran.stderr.encode()}
    hosts = [url.split("/")[2] for url in (server.url, nobody.url)]
    addresses = [*hosts, *(host.replace(":", "', ") for host in hosts)]
    for secret in (KEY, KEY[:12], KEY[-4:], *addresses):
        assert [
            (name, content[max(0, at - 300) : at + 300])
            for name, content in written.items()
            if (at := content.find(secret.encode())) >= 0
        ] == []
