"""What a stage costs before its first cell of work and after its last: the stage without the work.

python -m benchmarks start_up [STAGE ...]
"""

import ast
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib.core.paths import REPOSITORY
from lib.run.config import Study, load_study
from lib.run.parameters import notebook_path
from lib.run.stages import STAGES

STUDY = "smoke"  # whose stages are measured, and counted in the sum
HEAVY = ("torch", "transformers", "lm_eval", "deepspeed", "seaborn", "scipy.stats", "statsmodels")
# The first cell of work prints the time, and the processor seconds of kernel and runner so far.
PROBE = f"""import json, os, sys, time, psutil
runner = psutil.Process(int(os.environ["JPY_PARENT_PID"])).cpu_times()
print(json.dumps([time.time(), sum(os.times()[:4]) + sum(runner[:4]),
                  [name for name in {HEAVY!r} if name in sys.modules]]))"""


def runs_of(study: Study) -> dict[str, int]:
    """Return how often each notebook runs in `study`."""
    times = {
        "": 1,
        "trained": len(study.trained),
        "run": len(study.runs),
        "arm": len(study.arms),
        "pair": len(study.arms) - 1,
    }
    return {stage: times[STAGES[stage].per] for stage in study.stages}


def without_work(notebook: Path) -> dict:
    """Return `notebook` with its parameters, its imports in one cell, and PROBE as its work."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    declared = next(cell for cell in code if "parameters" in cell["metadata"].get("tags", []))
    lines = [
        ast.unparse(node)
        for cell in code
        for node in ast.parse("".join(cell["source"])).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    others = (cell for cell in code if cell is not declared)
    imports, work = next(others), next(others)
    imports["source"], work["source"] = "\n".join(lines), PROBE
    return content | {"cells": [declared, imports, work]}


def measured(stage: str, folder: Path) -> dict:
    """Run a stage without its work; return seconds and processor seconds before and after it."""
    given, copy = folder / f"{stage}.given.ipynb", folder / f"{stage}.ipynb"
    given.write_text(json.dumps(without_work(notebook_path(stage))), encoding="utf-8")
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    subprocess.run(
        [sys.executable, "-m", "benchmarks.start_up", str(given), str(copy)],
        cwd=REPOSITORY,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    ended, after = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    cells = json.loads(copy.read_text(encoding="utf-8"))["cells"]
    when, processor, heavy = json.loads("".join(cells[-1]["outputs"][0]["text"]))
    return {
        "before": (when - started, processor),
        "after": (ended - when, total - processor),
        "heavy": heavy,
    }


def pages(folder: Path) -> tuple[float, float]:
    """Return the processor seconds of the first HTML copy, and the mean of the others."""
    from lib.run.pages import write_page

    copies = [path for path in sorted(folder.glob("*.ipynb")) if ".given" not in path.name]
    clocks = [time.process_time()]
    for copy in copies:
        write_page(copy, copy.with_suffix(".html"))
        clocks.append(time.process_time())
    return clocks[1] - clocks[0], (clocks[-1] - clocks[1]) / max(1, len(copies) - 1)


def main(stages: tuple[str, ...] = ()) -> str:
    """Return the measurement of `stages`, or of all stages of STUDY, as Markdown."""
    runs = runs_of(load_study(STUDY))
    chosen = {stage: n for stage, n in runs.items() if not stages or stage in stages}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = {stage: measured(stage, folder) for stage in chosen}
        first, each = pages(folder)
    lines = [
        "## The start and end of a stage",
        "",
        f"`python -m benchmarks start_up`; {os.cpu_count()} cores. Seconds (processor seconds) of "
        "runner and kernel up to the first cell of work, and from there to the end without work; "
        f"`runs` counts the stages of `make study STUDY={STUDY}`.",
        "",
        "| notebook | runs | before | after | imports, among others |",
        "| --- | --- | --- | --- | --- |",
    ]
    for stage, row in rows.items():
        cells = [f"{row[side][0]:.1f} ({row[side][1]:.1f})" for side in ("before", "after")]
        lines.append(
            f"| `{stage}` | {chosen[stage]} | {' | '.join(cells)} | {', '.join(row['heavy'])} |"
        )
    total = sum(
        n * sum(rows[stage][side][1] for side in ("before", "after")) for stage, n in chosen.items()
    )
    lines += [
        "",
        f"{sum(chosen.values())} stages start and end in {total:.0f} processor seconds. Their HTML "
        f"copies take {first:.1f} for the first and {each:.2f} for each further one.",
    ]
    return "\n".join(lines) + "\n"


def run(given: Path, copy: Path) -> None:
    """Execute `given` as the runner of a stage does, but for the stage's record."""
    from lib.run import notebook, provenance

    sys.modules.update(dict.fromkeys(notebook.NOT_NEEDED))
    provenance.code_state()
    notebook.execute(given, copy, copy.stem, {})


if __name__ == "__main__":
    run(*map(Path, sys.argv[1:]))
