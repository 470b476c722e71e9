"""Batches over real HTTP: direct calls' replies at half the price; nothing is paid for twice."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from lib.core.store import REPOSITORY, Stopped
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
from tests.llm_server import Server
from tests.llm_server_batches import BatchRules
from tests.llm_server_faults import Answer, error

MODEL = "gpt-4o-mini"
IN_A_PROCESS = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
if sys.argv[2] == "before forget":
    import os
    from lib.llm.cache import Cache
    Cache.forget = lambda *_: os.kill(os.getpid(), 9)
import lib.llm.batch
lib.llm.batch.POLL_SECONDS = 0.05
calls = Calls(Path(sys.argv[1]), mode="batch", max_cost_usd=0.02)
replies = complete([Request.ask(f"question {n}") for n in range(12)], "gpt-4o-mini", calls)
print(calls, [reply.text for reply in replies].count(""))
"""


class Halting(Server):
    """Answers the `odd` requests, (method, path with N for a number), in an odd way.

    "before" and "after" halt it there for ever, "held" while this is in `odd`. Once: "dropped" does
    the work and does not reply, an Answer is the reply, a function is called before the reply.
    """

    def __init__(self, **settings):
        super().__init__(**settings)
        self.odd: dict[tuple[str, str], str | Answer | Callable[[], object]] = {}
        self.reached = threading.Event()
        self.halted: list[asyncio.Event] = []

    async def _answer(self, call, query, headers, body):
        place = (
            call.method,
            "/".join(
                "N" if part[-1:].isdigit() and part != "v1" else part
                for part in call.path.split("/")
            ),
        )
        how = self.odd.get(place)
        if how not in ("before", "after", "held"):
            self.odd.pop(place, None)
        if isinstance(how, Answer):
            return how
        if callable(how):
            how()
        if how == "before":
            await self._halt()
        while self.odd.get(place) == "held":
            self.reached.set()
            await asyncio.sleep(0.01)
        answer = await super()._answer(call, query, headers, body)
        if how == "after":
            await self._halt()
        if how == "dropped":
            raise ConnectionError
        return answer

    async def _halt(self):
        # kept: a halted connection that is collected as garbage closes another with its number
        self.halted.append(asyncio.Event())
        self.reached.set()
        await self.halted[-1].wait()


@pytest.fixture
def at(at):
    """Start a server and point the environment to it: `with at(server):`."""

    @contextmanager
    def started(server: Server) -> Iterator[Server]:
        with server:
            yield at(server)

    return started


def prompts(n: int = 12) -> list[Request]:
    return [Request.ask(f"question {number}") for number in range(n)]


def batched(path: Path, **settings) -> Calls:
    return Calls(path / "llm.sqlite", mode="batch", **settings)


def n_paid(server: Server) -> Counter:
    """Count how often each prompt was answered, in a batch or directly."""
    return Counter(call.prompt for call in server.log if call.prompt and call.status == 200)


def n_direct(server: Server) -> int:
    return sum((call.method, call.path) == ("POST", "/v1/chat/completions") for call in server.log)


def texts(requests: list[Request], calls: Calls) -> list[str]:
    return [reply.text for reply in complete(requests, MODEL, calls)]


def direct(path: Path) -> Calls:
    return Calls(path / "direct.sqlite")


def test_a_batch_gives_the_replies_of_direct_calls_at_half_the_price(tmp_path, at):
    with at(Server()) as server:
        whole = direct(tmp_path)
        wanted = texts(prompts(41), whole)
        calls = batched(tmp_path)
        assert texts(prompts(41) * 2, calls) == wanted * 2
        assert len(server.batches.batches) == 1
        assert set(n_paid(server).values()) == {2}  # once directly, once here
        half = whole.tally.usd * (1 + 40 / 2) / 41
        assert calls.tally.new == 41 and calls.tally.usd == pytest.approx(half, rel=0.01)
        again = batched(tmp_path)
        complete(prompts(41), MODEL, again)
        assert again.tally.cached == 41 and again.tally.usd == 0


def test_every_kind_of_odd_line_reads_as_the_direct_call_does(tmp_path, at):
    kinds = [
        "500 once",
        "400",
        "html once",
        "broken once",
        "empty once",
        "no-choices once",
        "null-content",
        "length",
        "content-filter",
        "refusal",
        "no-usage",
        "half-character",
        "parts",
        "error-200 once",
        "429-bare once",
    ]
    requests = prompts(20) + [Request.ask(f"fault:{kind}") for kind in kinds]
    with at(Server()):
        wanted = complete(requests, MODEL, direct(tmp_path))
    with at(Server()) as server:
        calls = batched(tmp_path)
        replies = complete(requests, MODEL, calls)
        assert replies == wanted
        assert all(n == 1 for prompt, n in n_paid(server).items() if "fault" not in prompt)
        assert calls.tally.failed == 1


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/files"),
        ("POST", "/v1/batches"),
        ("GET", "/v1/batches/N"),
        ("GET", "/v1/files/N/content"),
    ],
)
def test_a_run_killed_at_any_stage_pays_nothing_twice(tmp_path, at, method, path, when):
    with at(Halting()) as server:
        server.odd[method, path] = when
        with started(tmp_path) as child:
            assert server.reached.wait(60), child.stderr.read()
            child.kill()
        server.odd.clear()
        # What the killed run has reserved counts once: a limit for one batch is enough.
        replies = texts(prompts(), batched(tmp_path, max_cost_usd=0.02))
        assert replies == texts(prompts(), direct(tmp_path))
        assert set(n_paid(server).values()) == {2} and len(server.batches.batches) == 1


def test_a_run_killed_before_it_forgets_a_collected_batch_pays_nothing_twice(tmp_path, at):
    with at(Server()) as server:
        with started(tmp_path, "before forget") as child:
            assert child.wait(60) == -signal.SIGKILL
        calls = batched(tmp_path)
        complete(prompts(), MODEL, calls)
        assert str(calls).startswith("cached 12 / new 0") and set(n_paid(server).values()) == {1}


def test_an_interrupted_run_leaves_its_batch_to_the_next(tmp_path, at):
    with at(Halting()) as server:
        server.odd["GET", "/v1/batches/N"] = "held"
        with started(tmp_path) as child:
            assert server.reached.wait(60)
            child.send_signal(signal.SIGINT)
            time.sleep(0.2)
            server.odd.clear()
            assert child.wait(60)
        complete(prompts(), MODEL, batched(tmp_path))
        assert set(n_paid(server).values()) == {1} and len(server.batches.batches) == 1


@pytest.mark.parametrize(
    ("place", "is_killed"), [(("POST", "/v1/files"), False), (("GET", "/v1/batches/N"), True)]
)
def test_two_processes_send_one_batch_and_the_second_takes_over_if_the_first_is_killed(
    tmp_path, at, place, is_killed
):
    with at(Halting()) as server:
        server.odd[place] = "before" if is_killed else "held"
        with started(tmp_path) as one:
            assert server.reached.wait(60)
            with started(tmp_path) as two:
                time.sleep(3)  # it waits for its turn
                server.odd.clear()
                if is_killed:
                    one.kill()
                    one.wait()  # a dead process that nobody waits for looks alive
                lines = [
                    child.communicate(timeout=60)[0].splitlines()[-1]
                    for child in ([two] if is_killed else [one, two])
                ]
        assert all(line.endswith(" 0") for line in lines)
        assert is_killed or "cached 12 / new 0" in lines[1]
        assert set(n_paid(server).values()) == {1} and len(server.batches.batches) == 1


@contextmanager
def started(path: Path, kill: str = "never") -> Iterator[subprocess.Popen]:
    """Start a process that sends the twelve prompts in a batch; kill it at the end."""
    command = [sys.executable, "-c", IN_A_PROCESS, str(path / "llm.sqlite"), kill]
    with subprocess.Popen(
        command,
        cwd=REPOSITORY,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def test_a_direct_run_does_not_pay_for_what_a_batch_still_works_on(tmp_path, at):
    with at(Halting(batch=BatchRules(polls=3))) as server:
        server.odd["POST", "/v1/batches"] = "after"
        with started(tmp_path) as child:
            assert server.reached.wait(60)
            child.kill()
        server.odd.clear()
        with pytest.raises(Stopped, match='replies .* batch_1: set mode to "batch"'):
            complete(prompts(), MODEL, Calls(tmp_path / "llm.sqlite"))
        with pytest.raises(Stopped):
            complete(prompts(), MODEL, Calls(tmp_path / "llm.sqlite"))
        # the third look finds it done
        complete(prompts(), MODEL, Calls(tmp_path / "llm.sqlite"))
        assert set(n_paid(server).values()) == {1} and n_direct(server) == 1


@pytest.mark.parametrize("ends", ["failed", "expired"])
def test_what_a_batch_leaves_unanswered_is_sent_directly(tmp_path, at, capfd, ends):
    with at(Server(batch=BatchRules(ends=ends))) as server:
        calls = batched(tmp_path)
        assert texts(prompts(), calls) == texts(prompts(), direct(tmp_path))
        assert set(n_paid(server).values()) == {2}
        assert (calls.tally.new, calls.tally.failed) == (12, 0)
        assert ends in capfd.readouterr().out


def spoiled(server: Server, change) -> None:
    """Change each line of what a batch brings: line -> line or None."""
    route = server.batches.route

    def other(method, path, *more):
        answer = route(method, path, *more)
        if answer and path.endswith("/content"):
            lines = [change(line) for line in answer.body.splitlines()]
            answer.body = b"\n".join(line for line in lines if line is not None)
        return answer

    server.batches.route = other


FORMS = {
    "no request id": (b', "request_id": "req"', b""),
    "a status that is a text": (b'"status_code": 200', b'"status_code": "200"'),
    "an id that is a number": (b'"request_id": "req"', b'"request_id": 7'),
    "an error beside the reply": (b'"error": null', b'"error": {}'),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_line_of_another_form_is_read(tmp_path, at, form):
    with at(Server()) as server:
        spoiled(server, lambda line: line.replace(*FORMS[form]))
        calls = batched(tmp_path)
        complete(prompts(), MODEL, calls)
        assert set(n_paid(server).values()) == {1} and calls.tally.usd_estimated == 0


def test_a_batch_whose_lines_are_missing_is_kept_until_they_are_there_or_given_up(tmp_path, at):
    is_whole = []

    def half(line: bytes) -> bytes | None:
        return line if is_whole or b"question 1" not in line and hash(line) % 2 else None

    with at(Server()) as server:
        spoiled(server, half)
        for _ in range(2):
            with pytest.raises(Stopped, match='neither a reply nor an error: .* mode to "direct"'):
                complete(prompts(), MODEL, batched(tmp_path))
        is_whole.append(1)
        complete(prompts(), MODEL, batched(tmp_path))
        assert set(n_paid(server).values()) == {1} and len(server.batches.batches) == 1


def test_a_batch_that_the_endpoint_forgot_is_given_up_only_in_mode_direct(tmp_path, at):
    with at(Halting(batch=BatchRules(polls=10**6))) as server:
        server.odd["GET", "/v1/batches/N"] = server.batches.batches.clear
        with pytest.raises(Stopped, match="unknown"):
            complete(prompts(), MODEL, batched(tmp_path))
        calls = Calls(tmp_path / "llm.sqlite")
        complete(prompts(), MODEL, calls)
        assert "11 lost in transit" in str(calls) and set(n_paid(server).values()) == {1}


def test_after_a_cancelled_batch_nothing_is_sent_at_the_full_price_unasked(tmp_path, at):
    with at(Server(batch=BatchRules(ends="cancelled"))) as server:
        with pytest.raises(Stopped, match='again to send them in a batch, or set mode to "direct"'):
            complete(prompts(), MODEL, batched(tmp_path))
        assert n_direct(server) == 1
        complete(prompts(), MODEL, Calls(tmp_path / "llm.sqlite"))
        assert set(n_paid(server).values()) == {1}


def test_a_full_queue_at_the_provider_makes_batches_smaller(tmp_path, at):
    one = 4096 + 13  # tokens that the server counts for a prompt of this test and its reply
    with at(Server(batch=BatchRules(queue_tokens=4 * one))) as server:
        calls = batched(tmp_path)
        assert texts(prompts(23), calls) == texts(prompts(23), direct(tmp_path))
        sizes = [
            batch["request_counts"]["total"]
            for batch in server.batches.batches.values()
            if batch["status"] == "completed"
        ]
        assert sum(sizes) == 22 and max(sizes) <= 4 and set(n_paid(server).values()) == {2}


def test_the_limit_of_money_holds_before_anything_is_sent(tmp_path, at):
    worst = 4096 * 0.6e-6 / 2  # dollars of a reply of full length in a batch
    with at(Server()) as server:
        calls = batched(tmp_path, max_cost_usd=5.5 * worst)
        complete(prompts(23), MODEL, calls)
        sizes = [batch["request_counts"]["total"] for batch in server.batches.batches.values()]
        assert sum(sizes) == 22 and max(sizes) <= 5 and calls.tally.usd < 5.5 * worst
        steps = [(call.method, call.path.rpartition("/")[2]) for call in server.log]
        steps = [step for step in steps if step in (("POST", "batches"), ("GET", "content"))]
        # never two batches whose worst cases together exceed the limit
        assert steps == [("POST", "batches"), ("GET", "content")] * len(sizes)


def test_an_endpoint_without_batches_stops_the_run_after_one_call(tmp_path, at):
    with at(Halting()) as server:
        server.odd["POST", "/v1/files"] = error(404, "Not Found")
        with pytest.raises(Stopped, match='no Batch API: set mode to "direct"'):
            complete(prompts(), MODEL, batched(tmp_path))
        assert len(n_paid(server)) == 1


TROUBLE = [
    ("POST", "/v1/files", error(500, "overloaded")),
    ("GET", "/v1/batches/N", error(429, "slow down", retry_after="0.1")),
    ("GET", "/v1/files/N/content", error(502, "bad gateway")),
]


@pytest.mark.parametrize(("method", "path", "answer"), TROUBLE)
def test_transient_errors_are_retried(tmp_path, at, method, path, answer):
    with at(Halting()) as server:
        server.odd[method, path] = answer
        complete(prompts(), MODEL, batched(tmp_path))
        assert not server.odd and set(n_paid(server).values()) == {1}
        assert len(server.batches.batches) == 1


UNSURE = [
    ("POST", "/v1/batches", error(503, "overloaded")),
    ("POST", "/v1/batches", "dropped"),
    ("GET", "/v1/batches/N", Answer(b"<html>sign in</html>", content_type="text/html")),
]


@pytest.mark.parametrize(("method", "path", "answer"), UNSURE)
def test_a_run_that_cannot_know_its_batch_stops_and_the_next_pays_nothing_twice(
    tmp_path, at, method, path, answer
):
    with at(Halting()) as server:
        server.odd[method, path] = answer
        with pytest.raises(Stopped, match="the same command requests only the rest"):
            complete(prompts(), MODEL, batched(tmp_path))
        complete(prompts(), MODEL, batched(tmp_path, max_cost_usd=0.02))
        assert not server.odd and set(n_paid(server).values()) == {1}
        assert len(server.batches.batches) == 1


def test_replies_that_a_run_does_not_need_are_kept_for_the_run_that_does(tmp_path, at):
    with at(Halting()) as server:
        server.odd["GET", "/v1/batches/N"] = "before"
        with started(tmp_path) as child:
            assert server.reached.wait(60)
            child.kill()
        server.odd.clear()
        complete(prompts(6), MODEL, batched(tmp_path))
        complete(prompts(), MODEL, batched(tmp_path))
        assert set(n_paid(server).values()) == {1} and len(server.batches.batches) == 1
        with closing(sqlite3.connect(tmp_path / "llm.sqlite")) as database:
            assert database.execute("select count(*) from batches").fetchone() == (0,)
