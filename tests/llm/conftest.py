"""No test waits for openai's back-off or for a batch."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lib.core.store import REPOSITORY
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from tests.llm_server import Server, digest_of

KEY = "sk-proj-Zx81QmfT0rN5vKbW"
PROGRAM = """
import json, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
import lib.llm.client, lib.llm.complete
from lib.core.store import Stopped
from lib.llm.cache import Cache
from lib.llm.calls import Calls
from lib.llm.request import Request
lib.llm.client.POLL_SECONDS = 0.05
path, prompts, model, settings, before = map(json.loads, sys.argv[1:])
exec(before)
calls = Calls(path, **settings)
try:
    replies = lib.llm.complete.complete([*map(Request.ask, prompts)], model, calls)
    print(calls, [reply.text for reply in replies].count(""))
except Stopped as stopped:
    print(stopped)
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Shorten the waits between tries and between looks at a batch."""
    for name in ("INITIAL", "MAX"):
        monkeypatch.setattr(f"openai._base_client.{name}_RETRY_DELAY", 0.05)
    monkeypatch.setattr("lib.llm.client.POLL_SECONDS", 0.05)


@pytest.fixture
def at(monkeypatch):
    """Point the environment to a server: at(server)."""

    def point(server: Server) -> Server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        return server

    return point


@pytest.fixture
def ask(tmp_path, at):
    """Return replies and settings, with one cache per test: ask(server, prompts)."""

    def run(
        server: Server, asked: Sequence[str | Request], model: str = "m", **settings
    ) -> tuple[list[Reply], Calls]:
        at(server)
        calls = Calls(tmp_path / "llm.sqlite", **settings)
        requests = [Request.ask(one) if isinstance(one, str) else one for one in asked]
        return complete(requests, model, calls), calls

    return run


def started(
    path: Path, prompts: Sequence[str], model: str = "m", before: str = "", **settings
) -> subprocess.Popen:
    """Start a process that sends prompts and prints its calls, or why it stopped."""
    given = map(json.dumps, (str(path / "llm.sqlite"), prompts, model, settings, before))
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *given],
        cwd=REPOSITORY,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait until `is_so()`, a minute at most."""
    deadline = time.monotonic() + 60
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.005)


def questions(n: int) -> list[str]:
    """Return prompts."""
    return [f"question {number}" for number in range(n)]


def n_paid(server: Server) -> Counter:
    """Count the replies to each prompt, in a batch or directly: how often it was paid for."""
    return Counter(call.prompt for call in list(server.log) if call.prompt and call.status == 200)


def said(replies: list[Reply]) -> list[tuple[str, str]]:
    """Return texts with their reasons."""
    return [(reply.text, reply.reason) for reply in replies]


def right(prompts: list[str]) -> list[tuple[str, str]]:
    """Return what the server says to these prompts and to no others."""
    return [(digest_of({"messages": [{"content": prompt}]}), "") for prompt in prompts]
