"""Samples of StrucText-Eval per second: all 29 tasks in one process, by depth and width.

    python -m benchmarks structext
"""

import statistics
import time

from lib.structext.generate.samples import generate

# (depth, width): samples of each task
CELLS = {(1, 1): 60, (2, 1): 30, (3, 1): 12, (1, 3): 30, (2, 3): 4, (3, 3): 1}
# samples/s of the official generator
OFFICIAL = {(1, 1): 127_000, (2, 1): 49_000, (3, 1): 9_000, (3, 3): 390}
ROUNDS = 5


def samples_per_second(depth: int, width: int, per_task: int, mode: str) -> float:
    """Return the median of ROUNDS runs, one seed each; a run before them fills the caches."""
    rates = []
    for seed in range(ROUNDS + 1):
        started = time.perf_counter()
        count = sum(1 for _ in generate(mode, None, depth, width, per_task, seed))
        rates.append(count / (time.perf_counter() - started))
    return statistics.median(rates[1:])


def main() -> str:
    """Return a Markdown table, one row per depth and width."""
    lines = ["## StrucText-Eval samples", "",
             f"One process, all 29 tasks, median of {ROUNDS} runs; official: on similar hardware.",
             "",
             "| depth | width | corrected, samples/s | faithful, samples/s | official, samples/s |",
             "| ---: | ---: | ---: | ---: | ---: |"]
    for (depth, width), per_task in CELLS.items():
        rates = [f"{samples_per_second(depth, width, per_task, mode):,.0f}"
                 for mode in ("corrected", "faithful")]
        official = OFFICIAL.get((depth, width))
        shown = f"{official:,}" if official else "–"
        lines.append(f"| {depth} | {width} | {' | '.join(rates)} | {shown} |")
    return "\n".join(lines)
