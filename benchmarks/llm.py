"""Measure what lib/llm costs and loses, compared with a bare aiohttp client, in under a minute.

Server and client run in separate processes. The clients take turns in one process, after a call
each that imports what they need.
"""

import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from lib.core.store import REPOSITORY
from tests.llm_server import Call

N, LATENCY = 300, 0.2  # calls, seconds
KILLED_AT = 160
ROUNDS = 4
QUESTIONS = [f"question {number}" for number in range(N)]


SERVER = """
import json, sys
from dataclasses import asdict
from tests.llm_server import Server
with Server(latency=float(sys.argv[1])) as server:
    print(server.url, flush=True)
    for _ in sys.stdin:
        print(json.dumps([asdict(call) for call in server.log]), flush=True)
"""


@dataclass(frozen=True)
class Remote:
    """A server in a separate process."""

    running: subprocess.Popen
    url: str

    @property
    def log(self) -> list[Call]:
        """Its log so far."""
        self.running.stdin.write("log\n")
        self.running.stdin.flush()
        return [Call(**one) for one in json.loads(self.running.stdout.readline())]


@contextmanager
def serving() -> Iterator[Remote]:
    """Start the server in a separate process."""
    command = [sys.executable, "-c", SERVER, str(LATENCY)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=REPOSITORY, **pipes) as running:
        yield Remote(running, running.stdout.readline().strip())
        running.kill()


@dataclass
class Run:
    """The result of one client's run. `replies`: (text, reason) for each prompt."""

    replies: list[tuple[str, str]]
    seconds: float
    cpu_seconds: float

    @property
    def n_texts(self) -> int:
        """Count the replies without a reason."""
        return sum(not reason for _, reason in self.replies)


def started(server: Remote, runs: Sequence[tuple[str, list[str], dict]]) -> subprocess.Popen:
    """Start a process with `runs` of clients on prompts."""
    environment = {
        **os.environ,
        "OPENAI_API_KEY": "sk-of-the-benchmark",
        "OPENAI_BASE_URL": server.url,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.llm_client"],
        cwd=REPOSITORY,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    process.stdin.write(json.dumps(runs))
    process.stdin.close()
    process.stdin = None  # so that communicate() leaves it alone
    return process


def ran(server: Remote, runs: Sequence[tuple[str, list[str], dict]]) -> list[Run]:
    """Run them to their end."""
    process = started(server, runs)
    output, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"a client ended with status {process.returncode}")
    return [Run(**json.loads(line)) for line in output.splitlines() if line.startswith('{"rep')]


def new_cache(folder: str) -> str:
    """Return the path of a new file."""
    return f"{folder}/{time.monotonic_ns()}.sqlite"


def speeds(folder: str) -> list[list[str]]:
    """Return rows for k=20 and k=100: ours over bare, each over the ideal, CPU ms per call."""
    names = [(client, k) for k in (20, 100) for client in ("bare", "ours")]
    work = [
        (client, QUESTIONS[:1], {"concurrency": 1, "cache": new_cache(folder)})
        for client in ("bare", "ours")
    ]
    work += [
        (client, QUESTIONS, {"concurrency": k, "cache": new_cache(folder)})
        for _ in range(ROUNDS)
        for client, k in names
    ]
    with serving() as server:
        runs = ran(server, work)[2:]
    if any(run.n_texts != N for run in runs):
        raise RuntimeError("a row was lost where nothing failed")
    of = {name: runs[place :: len(names)] for place, name in enumerate(names)}
    rows = []
    for k in (20, 100):
        bare, ours = of["bare", k], of["ours", k]
        ideal = math.ceil(N / k) * LATENCY
        ratios = [mine.seconds / its.seconds for mine, its in zip(ours, bare, strict=True)]
        rows.append(
            [
                f"k={k}",
                spread(ratios),
                *(spread([run.seconds / ideal for run in some]) for some in (ours, bare)),
                *(spread([1000 * run.cpu_seconds / N for run in some]) for some in (ours, bare)),
                "2.5",
            ]
        )
    return rows


def killed(folder: str) -> str:
    """Count replies that the server gave twice, because a run was killed and repeated."""
    work = [("ours", QUESTIONS, {"concurrency": 20, "cache": new_cache(folder)})]
    with serving() as server:
        process = started(server, work)
        while sum(call.status == 200 for call in server.log) < KILLED_AT:
            time.sleep(0.02)
        process.kill()
        process.communicate()
        time.sleep(2 * LATENCY)  # calls in flight are answered, and paid for
        again, cached = ran(server, work * 2)
        paid = Counter(call.prompt for call in server.log if call.status == 200)
    return (
        f"{N - again.n_texts} of {N} rows lost, {paid.total() - len(paid)} replies paid for "
        f"twice (20, those in flight); all {N} once more from the cache: {cached.seconds:.2f} "
        "s"
    )


def spread(values: Sequence[float]) -> str:
    """Format median and range."""
    return f"{median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def main() -> str:
    """Return the section of README.md about lib/llm."""
    load, start = os.getloadavg()[0], time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        lines = [f"| {' | '.join(row)} |" for row in speeds(folder)]
        kill = killed(folder)
    return f"""## lib/llm: calls to a model

`python -m benchmarks llm` on {datetime.now(UTC):%Y-%m-%d}, {time.perf_counter() - start:.0f} s, \
load {load:.1f} before it, nice {os.nice(0)}: {os.cpu_count()} cores shared by server and clients, \
{platform.system()}, Python {platform.python_version()}. {N} calls with k at once, each answered \
after {1000 * LATENCY:.0f} ms; median (range) of {ROUNDS} rounds, in which both clients take \
turns. The bare client is an aiohttp session that checks and stores nothing. CPU time is that of \
the client's process, user and system.

| | wall time, ours over bare | ours over ideal | bare over ideal | \
ours, CPU ms per call | bare, CPU ms per call | at most |
| --- | --- | --- | --- | --- | --- | --- |
{chr(10).join(lines)}

Killed when {KILLED_AT} of {N} replies were sent, then run again: {kill}.
"""


if __name__ == "__main__":
    print(main())
