"""How fast StrucText-Eval's samples are made: all 29 tasks in one process, by depth and width of the tree.

    python -m benchmarks structext
"""

import statistics
import time

from lib.structext.generate.samples import generate

CELLS = {(1, 1): 60, (2, 1): 30, (3, 1): 12, (1, 3): 30, (2, 3): 4, (3, 3): 1}  # (depth, width): samples of each task
OFFICIAL = {(1, 1): 127_000, (2, 1): 49_000, (3, 1): 9_000, (3, 3): 390}  # samples/s of the official generator
ROUNDS = 5


def samples_per_second(depth: int, width: int, per_task: int, mode: str) -> float:
    """The median of ROUNDS runs, each with a seed of its own; the first run of all warms the tree and its letters."""
    rates = []
    for seed in range(ROUNDS + 1):
        started = time.perf_counter()
        count = sum(1 for _ in generate(mode, None, depth, width, per_task, seed))
        rates.append(count / (time.perf_counter() - started))
    return statistics.median(rates[1:])


def main() -> str:
    """A Markdown table, a row for each depth and width."""
    lines = ["## StrucText-Eval samples", "",
             f"One process, all 29 tasks, median of {ROUNDS} runs; official: on a machine of this kind.", "",
             "| depth | width | corrected, samples/s | faithful, samples/s | official, samples/s |",
             "| ---: | ---: | ---: | ---: | ---: |"]
    for (depth, width), per_task in CELLS.items():
        rates = [f"{samples_per_second(depth, width, per_task, mode):,.0f}" for mode in ("corrected", "faithful")]
        official = OFFICIAL.get((depth, width))
        lines.append(f"| {depth} | {width} | {' | '.join(rates)} | {f'{official:,}' if official else '–'} |")
    return "\n".join(lines)
