"""Say which stage of how many begins, and about how long a study still takes."""

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import mean

from lib.core.paths import data_path

# Seconds of a stage without a record in the study: those of the study `smoke` on two busy cores.
# Only their ratios matter once a stage has ended, as what is left is scaled by the time so far.
MEASURED = {"00_lab": 147, "01_annotate": 20, "02_normalize": 25, "02_augment": 28, "03_train": 41,
            "04_infer": 31, "05_judge": 16, "01_pairs": 23}
OTHERWISE = 30  # any other stage


class Schedule:
    """Count the stages of a run; `notebooks` maps the graph's rules to their notebooks."""

    def __init__(self, study: str, notebooks: dict[str, str],
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = {**MEASURED, **last_seconds(study)}
        self.notebooks, self.clock, self.started = notebooks, clock, clock()
        self.waiting: Counter[str] = Counter()
        self.total = self.begun = 0
        self.ended = self.left = 0.0  # expected seconds

    def plan(self, jobs: dict[str, int]) -> None:
        """Take the number of jobs of each rule of the graph; only rules with a notebook count."""
        stages = {rule: n for rule, n in jobs.items() if self.notebooks.get(rule)}
        self.total, self.started = sum(stages.values()), self.clock()
        self.left = sum(n * self._expected(rule) for rule, n in stages.items())

    def begin(self, rule: str, name: str) -> str:
        """Return the line for a stage that begins: "[3 of 22] 04_infer-dapt, about 2 min left"."""
        self.begun += 1
        return f"[{self.begun} of {self.total}] {name}{self._time_left()}"

    def end(self, rule: str) -> None:
        """Count a stage that has ended."""
        expected = self._expected(rule) if self.notebooks.get(rule) else 0.0
        self.ended, self.left = self.ended + expected, max(0.0, self.left - expected)

    def _expected(self, rule: str) -> float:
        return self.seconds.get(self.notebooks[rule], OTHERWISE)

    def _time_left(self) -> str:
        pace = (self.clock() - self.started) / self.ended if self.ended else 1.0
        seconds = self.left * pace
        return (f", about {seconds / 60:.0f} min left" if seconds >= 90 else
                f", about {max(5, 5 * round(seconds / 5))} s left")


def last_seconds(study: str) -> dict[str, float]:
    """Return the mean seconds of each notebook in the study's last run, {} without records."""
    records = [json.loads(path.read_text(encoding="utf-8"))
               for path in data_path(study, "stages", "*").parent.glob("*.json")]
    run = data_path(study, "run.json")
    if run.exists():  # the record of a stage that begins again is removed, this one is not
        records += json.loads(run.read_text(encoding="utf-8"))["stages"].values()
    found: dict[str, list[float]] = {}
    for record in records:
        found.setdefault(Path(record["notebook"]).stem, []).append(record["seconds"])
    return {notebook: mean(seconds) for notebook, seconds in found.items()}
