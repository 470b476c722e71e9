"""Measure what lib/llm costs and loses, compared with the bare client.

Server and client run in separate processes. The client's clock starts after its imports.
"""

import json
import math
import os
import platform
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from lib.core.paths import REPOSITORY
from tests.llm_server import RemoteServer, Server, digest_of
from tests.llm_server_faults import FINAL, HARMLESS, NO_ANSWER, PASSING

N, LATENCY, RATE, BURST = 500, 0.2, 1200, 20  # calls, seconds, requests per minute, burst of them
KILLED_AT = 270
MANY, MANY_LATENCY, MANY_AT_ONCE = 100_000, 0.05, 50  # calls, seconds, calls at once
ROUNDS = 3
LIMITED = ("--requests-per-minute", str(RATE), "--faults", "500", "502", "503",
           "--fault-share", "0.05", "--says", "x-ratelimit", "retry-after")
TARGET = ["**target, at most**", "1.10", "1.50", "1.5", "500", "1.10", "<2%", "20 (in flight)",
          "0 and 0"]
HEAD = ["client", "k=20", "k=100", "CPU ms per call", "limited: rows", "time over ideal",
        "answered 429", "killed: paid twice", "faults: lost and misread"]
NAMES = {"bare": "bare AsyncOpenAI", "aiohttp": "the same over aiohttp", "ours": "**ours**"}


@dataclass
class Run:
    """The result of one client's run. `replies`: (text, reason) for each prompt."""

    replies: list[tuple[str, str]]
    seconds: float
    cpu_seconds: float
    peak_mib: float
    statuses: Counter = field(default_factory=Counter)  # of the server's log

    @property
    def n_texts(self) -> int:
        """Count the replies without a reason."""
        return sum(not reason for _, reason in self.replies)


def started(client: str, server: RemoteServer, prompts: Sequence[str],
            **settings: object) -> subprocess.Popen:
    """Start a client on `prompts`."""
    environment = {**os.environ, "OPENAI_API_KEY": "sk-of-the-benchmark",
                   "OPENAI_BASE_URL": server.url}
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.llm_client"], cwd=REPOSITORY,
                               env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    work = {"client": client, "prompts": list(prompts), "settings": settings}
    process.stdin.write(json.dumps(work))
    process.stdin.close()
    process.stdin = None  # so that communicate() leaves it alone
    return process


def ran(client: str, server: RemoteServer, prompts: Sequence[str], **settings: object) -> Run:
    """Run a client to its end."""
    process = started(client, server, prompts, **settings)
    output, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"the client {client!r} ended with status {process.returncode}")
    statuses = Counter(call.status for call in server.log)
    return Run(**json.loads(output.splitlines()[-1]), statuses=statuses)


def questions(n: int = N) -> list[str]:
    """Return `n` different prompts."""
    return [f"question {number}" for number in range(n)]


def fast(client: str, concurrency: int, folder: Path) -> Run:
    """Make N calls without limits or faults."""
    with Server.process("--latency", str(LATENCY)) as server:
        run = ran(client, server, questions(), concurrency=concurrency, cache=new_cache(folder))
    if run.n_texts != N:
        raise RuntimeError(f"{client} lost {N - run.n_texts} rows where nothing failed")
    return run


def limited(client: str, folder: Path) -> Run:
    """Make N calls under the limit, some of which fail."""
    with Server.process("--latency", str(LATENCY), *LIMITED,
                        "--burst-seconds", str(BURST * 60 / RATE)) as server:
        return ran(client, server, questions(), concurrency=20,
                   cache=new_cache(folder), max_failed_share=1.0)


def over_ideal(run: Run) -> float:
    """Return the time over the least that the limit allows for all requests that passed it."""
    n_passed = run.statuses.total() - run.statuses[429]
    return run.seconds / ((n_passed - BURST) * 60 / RATE + LATENCY)


def share_of_429(run: Run) -> str:
    """Return the share of 429s among all requests, as text."""
    return f"{run.statuses[429] / run.statuses.total():.1%} of {run.statuses.total():,}"


def paid_twice(client: str, folder: Path) -> int:
    """Count replies that the server gave twice, because a run was killed and repeated."""
    cache = new_cache(folder)
    with Server.process("--latency", str(LATENCY)) as server:
        process = started(client, server, questions(), concurrency=20, cache=cache)
        while sum(call.status == 200 for call in server.log) < KILLED_AT:
            time.sleep(0.02)
        process.kill()
        process.communicate()
        time.sleep(2 * LATENCY)  # calls in flight are answered, and paid for
        again = ran(client, server, questions(), concurrency=20, cache=cache)
        if again.n_texts != N:
            raise RuntimeError(f"{client} lost rows after a kill")
        paid = Counter(call.prompt for call in server.log if call.status == 200)
        return sum(n - 1 for n in paid.values())


def corpus() -> list[str]:
    """Return prompts that request each fault three times, each next to one without a fault."""
    return [f"{number} {text}" for number in range(3)
            for fault in (*HARMLESS, *PASSING, *NO_ANSWER, *FINAL)
            for text in (f"fault:{fault}{' once' if fault in PASSING else ''}", f"next to {fault}")]


def misfortunes(client: str, folder: Path) -> tuple[int, int]:
    """Count rows lost (without the text that the server would give) and misread (a wrong text)."""
    prompts = corpus()
    with Server.process() as server:
        replies = ran(client, server, prompts, concurrency=20, cache=new_cache(folder),
                      timeout_seconds=2.0, max_failed_share=1.0).replies
    lost = misread = 0
    for prompt, (text, reason) in zip(prompts, replies, strict=True):
        fault = next(iter(re.findall(r"fault:([\w-]+)", prompt)), "")
        has_text = fault not in (*NO_ANSWER, *FINAL)
        is_right = text == digest_of({"messages": [{"content": prompt}]}) and has_text
        lost += has_text and bool(reason)
        misread += not reason and not is_right
    return lost, misread


def cached_seconds(folder: Path) -> list[float]:
    """Time five runs over N rows that are all in the cache."""
    cache = new_cache(folder)
    with Server.process() as server:
        ran("ours", server, questions(), cache=cache)
        return [ran("ours", server, questions(), cache=cache).seconds for _ in range(5)]


def many(folder: Path) -> str:
    """Return what MANY calls cost that are killed in the middle and started again."""
    cache, ideal = new_cache(folder), MANY / MANY_AT_ONCE * MANY_LATENCY
    settings = {"concurrency": MANY_AT_ONCE, "cache": cache}
    with Server.process("--latency", str(MANY_LATENCY)) as server:
        start = time.perf_counter()
        process = started("ours", server, questions(MANY), **settings)
        while n_stored(cache) < MANY / 2:
            time.sleep(0.5)
        process.kill()
        process.communicate()
        first = time.perf_counter() - start
        n_first = n_stored(cache)
        run = ran("ours", server, questions(MANY), **settings)
        n_twice = sum(n - 1 for n in Counter(
            call.prompt for call in server.log if call.status == 200).values())
        whole = ran("ours", server, questions(MANY), **settings)  # from the cache
    if run.n_texts != MANY:
        raise RuntimeError(f"{MANY - run.n_texts} of {MANY} rows were lost")
    size = os.path.getsize(cache) / 2**20
    return (f"**{MANY:,} calls** answered after {1000 * MANY_LATENCY:.0f} ms, {MANY_AT_ONCE} at "
            f"once (ideal {ideal:.0f} s), killed after {n_first:,} replies and started again: "
            f"{first:.0f} s, imports included, and {run.seconds:.0f} s, together "
            f"{(first + run.seconds) / ideal:.2f} × the ideal; {n_twice} replies were paid for "
            f"twice. Peak memory {run.peak_mib:.0f} MiB with prompts and replies, cache "
            f"{size:.0f} MiB; all from the cache: {whole.seconds:.0f} s.")


def n_stored(cache: str) -> int:
    """Count the replies in a cache that another process writes."""
    if not os.path.exists(cache):
        return 0
    with closing(sqlite3.connect(cache, timeout=60)) as database:
        tables = "select count(*) from sqlite_master where name = 'replies'"
        return (database.execute(tables).fetchone()[0]
                and database.execute("select count(*) from replies").fetchone()[0])


def new_cache(folder: Path) -> str:
    """Return the path of a new file."""
    return f"{folder}/{time.monotonic_ns()}.sqlite"


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Format median and range."""
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def speeds(folder: Path, rounds: int = ROUNDS) -> dict[str, list[str]]:
    """Return by client the ratios at k=20 and k=100, and CPU time; clients take turns."""
    runs = {(client, k): [] for client in NAMES for k in (20, 100)}
    for _ in range(rounds):
        for (client, k), done in runs.items():
            done.append(fast(client, k, folder))
    cells = {}
    for client in NAMES:
        ratios = {k: [run.seconds / (math.ceil(N / k) * LATENCY) for run in runs[client, k]]
                  for k in (20, 100)}
        cpu = [1000 * run.cpu_seconds / N for run in runs[client, 20]]
        cells[client] = [spread(ratios[20]), spread(ratios[100]), spread(cpu)]
    return cells


def losses(client: str, folder: Path) -> list[str]:
    """Return five cells: under the limit, after a kill and with faults."""
    runs = [limited(client, folder) for _ in range(3 if client == "ours" else 1)]
    lost, misread = misfortunes(client, folder)
    worst = max(runs, key=lambda run: run.statuses[429])
    return [str(min(run.n_texts for run in runs)), spread([over_ideal(run) for run in runs]),
            share_of_429(worst), str(paid_twice(client, folder)), f"{lost} and {misread}"]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Format rows as a Markdown table."""
    lines = (rows[0], ["---"] * len(rows[0]), *rows[1:])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def section(folder: Path) -> str:
    """Return the section of README.md about lib/llm."""
    load = os.getloadavg()[0]
    measured = [[NAMES[client], *cells, *losses(client, folder)]
                for client, cells in speeds(folder).items()]
    return f"""## lib/llm: calls to a model

`python -m benchmarks llm` on {datetime.now(UTC):%Y-%m-%d}, load {load:.1f} before it: \
{os.cpu_count()} cores shared by server and client, {platform.system()}, \
Python {platform.python_version()}. Median (range) of {ROUNDS} rounds of all clients \
in turn, and of three of ours under the limit. Compare within this run: a loaded machine slows all.

{table([HEAD, *measured, TARGET])}
- **k=20, k=100**: {N} calls with k at once, each answered after {1000 * LATENCY:.0f} ms; wall \
time over ceil({N}/k) · {1000 * LATENCY:.0f} ms.
- **CPU ms per call**: of the client's process at k=20, user and system.
- **limited**: {N} calls, {RATE:,} requests per minute (a bucket of {BURST}), 5% of the calls \
answered 500, 502 or 503; replies state the limit in `x-ratelimit-*`, a 429 in `retry-after` \
(whole seconds). All run 20 at once. Ideal: (requests that passed \
the limit, repeated ones too, less {BURST}) / rate + latency.
- **killed**: SIGKILL when {KILLED_AT} of {N} replies were sent, then the run again; replies that \
were sent twice.
- **faults**: {len(corpus())} rows, half of them next to a fault. Lost: no text where repeating \
the request would give one. Misread: a text that is truncated, refused, missing or another row's, \
and not marked as such.
- {many(folder)}
- **All cached**: {N} rows in {spread(cached_seconds(folder))} s.
"""


def main() -> str:
    """Return the measurement as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        return section(Path(folder))


if __name__ == "__main__":
    print(main())
