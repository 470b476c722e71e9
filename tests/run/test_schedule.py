"""What is said of the time that a study still takes."""

import json

import pytest

from lib.core.paths import REPOSITORY
from lib.run.config import load_study
from lib.run.schedule import PROFILE, STAGES, Schedule, failure, last_seconds
from lib.run.stages import EVIDENCE

NOTEBOOKS = {"annotate": "01_annotate", "infer": "04_infer", "all": ""}


def record(root, name, notebook, seconds):
    path = root / "data" / "mine" / "stages" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"notebook": f"notebooks/{notebook}.ipynb", "seconds": seconds}))


def test_the_time_left_is_from_the_last_run_and_from_the_pace_of_this_one(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    record(tmp_path, "01_annotate", "01_annotate", 60.0)
    record(tmp_path, "04_infer-base", "04_infer", 200.0)
    record(tmp_path, "04_infer-dapt", "04_infer", 280.0)
    now = [100.0]
    schedule = Schedule("mine", NOTEBOOKS, clock=lambda: now[0])
    schedule.plan({"annotate": 1, "infer": 2, "all": 1, "total": 4})
    assert schedule.begin("annotate", "01_annotate") == (
        "[1 of 3] 01_annotate: write question–answer pairs, about 9 min left")  # 60 + 2 * 240 s
    now[0] += 30.0  # half the time of the last run: 480 s are left, at a pace of 84 / 114
    schedule.end("annotate")
    assert schedule.begin("infer", "04_infer-base") == (
        "[2 of 3] 04_infer-base: answer the questions, about 6 min left")
    now[0] += 120.0  # half of this stage is done: 360 s are left, at a pace of 204 / 234
    assert schedule.begin("infer", "04_infer-dapt").endswith("about 5 min left")
    schedule.end("infer")
    schedule.end("infer")
    schedule.end("all")
    assert schedule.begin("infer", "x").endswith("about 5 s left")


def test_before_any_run_the_time_left_is_what_the_study_says(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    assert last_seconds("mine") == {}
    now = [0.0]
    schedule = Schedule("mine", NOTEBOOKS, 90, lambda: now[0])
    schedule.plan({"infer": 4})
    assert schedule.begin("infer", "x").endswith("about 90 min left")
    assert schedule.expected == 4 * STAGES["04_infer"][0]


def test_the_first_laboratory_is_told_its_minutes_before_and_after_the_base(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    once = ("00_lab", "01_annotate", "02_normalize", "06_analyze", *EVIDENCE)
    jobs = dict.fromkeys(once, 1) | {"03_train": 6, "04_infer": 7, "05_judge": 7,
                                     "00_retention": 3, "01_pairs": 2}
    now = [0.0]
    schedule = Schedule("lab", {name: name for name in jobs}, load_study("lab").minutes,
                        lambda: now[0])
    schedule.plan(jobs)
    assert schedule.total == 33 and 14 * 60 < schedule.expected < 16 * 60
    assert schedule.begin("00_lab", "00_lab").endswith("about 15 min left")
    now[0] = 2_600.0  # without bf16 units, beside other work
    schedule.end("00_lab")
    assert schedule.begin("01_annotate", "01_annotate").endswith("about 26 min left")


def test_every_notebook_is_in_the_schedule_and_nothing_else():
    notebooks = {path.stem for path in (REPOSITORY / "notebooks").glob("**/*.ipynb")}
    assert set(STAGES) == notebooks


STATUS = "SLURM-job '5' failed, SLURM status is: '{}'."


@pytest.mark.parametrize("told, written, expected", [
    (STATUS.format("OUT_OF_MEMORY"), "x FAILED: its Python process was killed",
     "it needed more than its memory limit of 800 MB\n"),
    (STATUS.format("FAILED"), "rule x:\nx FAILED: In [4], its line 2: KeyError: 1\n  so far: a\n\n",
     "In [4], its line 2: KeyError: 1\n  so far: a"),
    (STATUS.format("NODE_FAIL") + " Detailed failure reason unavailable",
     "srun: error: n1: task 0: Killed\n",
     STATUS.format("NODE_FAIL") + "\n  srun: error: n1: task 0: Killed\n"),
    ("SLURM sbatch failed. The error message was 'no partition'.\n    sbatch call:\n  sbatch", "",
     "SLURM sbatch failed. The error message was 'no partition'.\n  what to do: ")])
def test_a_submitted_stage_that_failed_says_why(told, written, expected, tmp_path, monkeypatch):
    monkeypatch.setenv(PROFILE, "profiles/slurm")
    log = tmp_path / "5.log"
    log.write_text(written)
    assert failure("x", "train", told, log, 60, 800).startswith(
        f"x FAILED: {expected}")
