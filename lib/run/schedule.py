"""Say which stage begins, how long a study still takes, and why a submitted stage failed."""

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean

from lib.core.paths import data_path, shown

# Seconds of a stage that has no record yet, and what it does. Those of the main chain add up to the
# laboratory's 15 minutes on two cores with bf16 units, so they are half of its seconds for stages
# that run two at a time; `minutes` and the stages that have ended scale them for another study.
STAGES = {
    "00_documents": (5, "read the documents"),
    "00_lab": (520, "write the laboratory's records and train its base"),
    "01_annotate": (3, "write question–answer pairs"),
    "02_normalize": (3, "rewrite the text as prose"),
    "02_augment": (3, "write further texts about the records"),
    "03_train": (40, "train"),
    "04_infer": (6, "answer the questions"),
    "05_judge": (2, "judge the answers"),
    "06_analyze": (3, "count right answers by structure"),
    "00_retention": (8, "measure what the model has forgotten"),
    "01_pairs": (2, "compare two arms' answers pairwise"),
    "02_statistics": (6, "compute intervals and tests"),
    "03_ledger": (7, "follow each fact through the stages"),
    "04_agreement": (4, "compare the judge with people"),
    "05_paper": (5, "compare with the paper"),
    "00_samples": (40, "generate structured texts and questions"),
    "00_infer": (300, "answer questions about a text in the prompt"),
    "01_judge": (30, "judge the answers"),
    "01_analyze": (40, "compare languages, tasks and sizes"),
    "00_filings": (30, "read the reports and their tables"),
    "01_questions": (30, "write questions about tables"),
    "02_analyze": (30, "compare levels and serializations"),
    "00_facts": (20, "write each fact in every structure"),
    "01_pretrain": (300, "pretrain a base"),
    "02_run": (120, "train and ask one arm"),
    "03_analyze": (30, "compare structures and arms"),
    "04_augment": (30, "compare the added texts"),
    "00_replicates": (30, "compare the laboratories"),
    "00_reader": (2400, "train a reader"),
    "01_read": (600, "read cells, and learn them"),
    "02_forms": (20, "compare serializations")}
PROFILE = "STUDY_PROFILE"  # folder of the Snakemake profile that submits the stages
OTHERWISE = 30  # seconds of any other stage
# What Slurm writes if it measures memory itself, and if the kernel limits it.
_OUT_OF_MEMORY = re.compile(r"^slurmstepd.*(?:exceeded memory limit|oom[_-]kill)", re.I | re.M)
_TRUSTED = 0.1  # share of the expected seconds after which this run's own pace counts half


class Schedule:
    """Count the stages of a run; `notebooks` maps the graph's rules to their notebooks.

    `minutes` is what the study takes on two cores, 0 if nobody has said.
    """

    def __init__(self, study: str, notebooks: dict[str, str], minutes: float = 0,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self.minutes = last_seconds(study), minutes
        self.notebooks, self.clock, self.started = notebooks, clock, clock()
        self.running: list[tuple[str, float]] = []  # rule, when it began
        self.total = self.begun = 0
        self.expected = self.ended = 0.0  # seconds of all stages, and of those that have ended
        self.pace = 1.0  # seconds of this run per expected second; stages may run side by side

    def plan(self, jobs: dict[str, int]) -> None:
        """Take the number of jobs of each rule of the graph; only rules with a notebook count."""
        stages = {rule: n for rule, n in jobs.items() if self.notebooks.get(rule)}
        self.total, self.started = sum(stages.values()), self.clock()
        self.expected = sum(n * self._seconds(rule) for rule, n in stages.items())
        if self.minutes and self.expected and not self.seconds:
            self.pace = 60 * self.minutes / self.expected

    def begin(self, rule: str, name: str) -> str:
        """Return a line such as "[3 of 22] 03_train-dapt: train, about 2 min left"."""
        self.begun += 1
        line = f"[{self.begun} of {self.total}] {name}{self._doing(rule)}{self._time_left()}"
        self.running.append((rule, self.clock()))
        return line

    def end(self, rule: str) -> None:
        """Count a stage that has ended."""
        if self.notebooks.get(rule):
            self.ended += self._seconds(rule)
            self.running.remove(next(one for one in self.running if one[0] == rule))

    def _seconds(self, rule: str) -> float:
        notebook = self.notebooks[rule]
        return self.seconds.get(notebook) or STAGES.get(notebook, (OTHERWISE, ""))[0]

    def _doing(self, rule: str) -> str:
        doing = STAGES.get(self.notebooks[rule], (0, ""))[1]
        return f": {doing}" if doing else ""

    def _time_left(self) -> str:
        """Extrapolate from what is done, which includes a part of each stage that is running."""
        now = self.clock()
        done = self.ended + sum(min(now - since, 0.9 * self._seconds(rule))
                                for rule, since in self.running)
        prior = _TRUSTED * self.expected
        pace = (now - self.started + prior * self.pace) / (done + prior) if self.expected else 1.0
        seconds = max(0.0, self.expected - done) * pace
        return (f", about {seconds / 60:.0f} min left" if seconds >= 90 else
                f", about {max(5, 5 * round(seconds / 5))} s left")


def failure(name: str, rule: str, told: str, log: Path | None, minutes: int, memory: int) -> str:
    """Return why a submitted stage failed and what to do.

    `told` is what the executor says, `log` the job's output, and `minutes` and `memory` (MB) the
    limits that it was submitted with, 0 if none.
    """
    text = log.read_text(encoding="utf-8", errors="replace") if log and log.exists() else ""
    said = re.search(rf"^{re.escape(name)} FAILED: .*?(?=\n\n|\Z)", text, re.M | re.S)
    state = (re.findall(r"status is: '(\w+)", told) or [""])[0]
    settings = Path(os.environ.get(PROFILE, ""), "config.yaml")
    more = f"raise {{}} of the rule {rule} in {settings} and run the same command again"
    if state == "TIMEOUT":
        why, do = f"Slurm ended it at its time limit of {minutes} min", more.format("runtime")
    elif state == "OUT_OF_MEMORY" or _OUT_OF_MEMORY.search(text):
        why, do = f"it needed more than its memory limit of {memory} MB", more.format("mem_mb")
    elif said:
        return said[0]
    elif state == "CANCELLED":
        why = (f"its Slurm job was cancelled (scancel), not by its limits of {minutes} min and "
               f"{memory} MB")
        do = "run the same command again"
    else:
        errors = re.findall(r"^(?:srun|slurmstepd)\S*: error: .*", text, re.M)[-3:]
        told = re.split(r"Detailed failure|For further error|\n +sbatch call", told)[0].strip()
        why = "\n  ".join([told or "its job failed", *errors])
        do = "remove the cause and run the same command again"
    where = f"\n  the job's output: {shown(log)}" if text else ""
    return f"{name} FAILED: {why}{where}\n  what to do: {do}; finished stages are kept"


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
