"""What a study costs beside its work: each stage alone, and all as forks of one process.

python -m benchmarks start_up
"""

import ast
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from lib.core.paths import REPOSITORY

STUDY = "smoke"
WAYS = {
    "each stage alone": [
        *("-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile"), "--cores", "all"),
        *("--nolock", "--quiet", "all", "--config", f"study={STUDY}"),
    ],
    "make study": ["-m", "lib.run.study", STUDY],
}
_PR_SET_CHILD_SUBREAPER = 36


def spent(command: list[str], root: Path) -> tuple[float, float]:
    """Run Python with `command`; return its seconds, and the processor seconds of all it started.

    Processes that outlive their parents become children of this one, so that they are counted.
    """
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, *command],
        cwd=REPOSITORY,
        env={**os.environ, "STUDY_ROOT": str(root)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    seconds = time.monotonic() - started
    while waited_for_one():
        pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def waited_for_one() -> bool:
    """Wait for one more child; return whether there was one."""
    try:
        os.wait()
    except ChildProcessError:
        return False
    return True


def beside_work(root: Path) -> dict[str, list[float]]:
    """Return, by notebook, each stage's seconds less those of its cells without an import."""
    found = defaultdict(list)
    for path in sorted((root / "data" / STUDY / "stages").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        copy = root / "data" / STUDY / "notebooks" / f"{path.stem}.ipynb"
        work = sum(
            cell["metadata"]["papermill"]["duration"] or 0.0
            for cell in json.loads(copy.read_text(encoding="utf-8"))["cells"]
            if cell["cell_type"] == "code" and not has_import("".join(cell["source"]))
        )
        found[Path(record["notebook"]).stem].append(record["seconds"] - work)
    return found


def has_import(code: str) -> bool:
    """Return whether the cell imports anything."""
    return any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in ast.parse(code).body)


def main() -> str:
    """Return the measurement as Markdown."""
    totals, stages = {}, {}
    for way, command in WAYS.items():
        with tempfile.TemporaryDirectory() as folder:
            totals[way] = spent(command, Path(folder))
            stages[way] = beside_work(Path(folder))
    head = " | ".join(WAYS)
    lines = [
        "## The start and end of a stage",
        "",
        f"`python -m benchmarks start_up`; {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f} at its end. `make study STUDY={STUDY}`, once each way: every "
        "stage in processes of its own, and all stages as forks of one process.",
        "",
        f"| | {head} |",
        "| --- | --- | --- |",
        f"| seconds | {' | '.join(f'{total[0]:.0f}' for total in totals.values())} |",
        f"| processor seconds | {' | '.join(f'{total[1]:.0f}' for total in totals.values())} |",
        "",
        "Seconds of a stage before its first cell of work and after its last, mean of its runs:",
        "",
        f"| notebook | runs | {head} |",
        "| --- | --- | --- | --- |",
    ]
    for notebook, cold in sorted(stages["each stage alone"].items()):
        means = [sum(each) / len(each) for each in (cold, stages["make study"][notebook])]
        lines.append(f"| `{notebook}` | {len(cold)} | {means[0]:.1f} | {means[1]:.1f} |")
    return "\n".join(lines) + "\n"
