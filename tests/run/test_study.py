"""The graph in real processes: what re-runs, what a kill or a full disk leaves, who may run."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from jupyter_client.manager import start_new_kernel

from lib.core.stages import PIPELINES, STAGES
from lib.core.store import REPOSITORY, BadInput
from lib.run import notebook
from lib.run.study import main
from tests.conftest import House, new_house, run_cells, until

ARMS = ("dapt", "dapt-n")
FAILED = "notebooks/00_lab.failed.ipynb"
AFTER_DAPT_N = {"03_train-dapt-n", "04_infer-dapt-n", "05_judge-dapt-n", "06_analyze"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> House:
    """A house whose study has been run to its end."""
    house = new_house(tmp_path_factory.mktemp("finished") / "a b ä's")
    stale = house.root / "data/tiny" / FAILED
    stale.parent.mkdir(parents=True)
    stale.touch()  # as an earlier run has left it
    ran = house.run("tiny", "--jobs", "2")
    assert ran.returncode == 0, ran.stdout
    return house


def table(house: House) -> str:
    return (house.root / "figures/tiny/tables/table2.csv").read_text()


def rerun(house: House) -> set[str]:
    """Run the study again; the stages whose records were written anew."""
    before = house.times()
    ran = house.run("tiny", "--jobs", "2")
    assert ran.returncode == 0, ran.stdout
    return {stage for stage, when in house.times().items() if before.get(stage) != when}


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def test_a_study_completes_every_stage_and_keeps_what_its_numbers_come_from(finished):
    once = {*"00_lab 01_annotate 02_normalize 06_analyze".split()}
    each = {f"{stage}-{arm}" for stage in ("04_infer", "05_judge") for arm in ARMS}
    stages = once | each | {"03_train-dapt", "03_train-dapt-n"}
    copies = {path.name for path in (finished.root / "data/tiny/notebooks").iterdir()}
    assert copies == {f"{stage}{end}" for stage in stages for end in (".ipynb", ".html")}
    run = json.loads((finished.root / "data/tiny/run.json").read_text())
    assert set(finished.times()) == set(run["stages"]) == stages
    train = run["stages"]["03_train-dapt-n"]
    assert train["given"] == {
        "study": "tiny",
        "arm": "dapt-n",
        "learning_rate": 2e-3,
        "epochs": 3,
        "base_model": "data/tiny/models/base",
    }
    assert (
        train["defaulted"] == {"note": None, "seed": 42, "report_to": []} and train["seconds"] > 0
    )
    assert (run["commit"], run["dirty"]) == (None, None)  # the copy is not a git checkout
    assert run["versions"]["torch"].startswith("2.")
    assert run["machine"]["cores"] == os.cpu_count()
    assert [*run["inputs"]] == ["prompts", "studies/tiny.yaml"]
    written = {name for stage in run["stages"].values() for name in stage["files"]}
    assert {f"data/tiny/{name}.jsonl" for name in ("documents", "queries", "normalized")} <= written
    assert run["stages"]["04_infer-dapt"]["files"]["data/tiny/answers/dapt.jsonl"]["rows"] == 4


def test_a_change_reruns_the_stages_that_it_touches_and_no_other(finished, tmp_path):
    house = House(tmp_path / 'c "d"')  # elsewhere, with new times
    shutil.copytree(finished.root, house.root, copy_function=shutil.copy)
    text = house.root / "lib/core/values.py"  # 06_analyze imports it
    append(text, "\n# a remark\n")
    append(house.root / "lib/infer/generate.py", "\nNEW = 1\n")  # nothing imports it
    study, own = house.root / "studies/tiny.yaml", house.root / "own"
    study.write_text(study.read_text().replace("epochs: 3", "epochs: 3, report_to: [trackio]"))
    append(study, "prompts: own\n")
    own.mkdir()
    shutil.copy(house.root / "prompts/judge.md", own)
    assert rerun(house) == set()
    append(text, "\nNEW = 1\n")
    assert rerun(house) == {"06_analyze"}
    study.write_text(study.read_text().replace("epochs: 3", "epochs: 4"))
    (own / "judge.md").write_text("Judge kindly.")
    assert rerun(house) == AFTER_DAPT_N | {"05_judge-dapt"}
    (own / "annotate.md").write_text("Ask kindly.")
    untrained = AFTER_DAPT_N - {"03_train-dapt-n"}
    assert rerun(house) == untrained | {"01_annotate", "04_infer-dapt", "05_judge-dapt"}
    data = house.root / "data/tiny"
    record = json.loads((data / "stages/03_train-dapt-n.json").read_text())
    assert record["given"]["report_to"] == ["trackio"]
    assert (data / "verdicts/scorer/dapt.jsonl").read_text().endswith("\nJudge kindly.")
    run = json.loads((data / "run.json").read_text())
    assert [*run["inputs"]] == ["prompts", "own", "studies/tiny.yaml"]


def test_a_file_changed_by_hand_is_named_and_kept_and_its_stage_runs_again(finished):
    uninterrupted, data = table(finished), finished.root / "data/tiny"
    by_hand = finished.run("06_analyze", "-y", "{}", module="notebook")  # its own study
    assert "by hand: `make study` runs this stage again" in by_hand.stdout
    assert table(finished) != uninterrupted
    answers = data / "answers/dapt.jsonl"
    fewer = "".join(answers.read_text().splitlines(keepends=True)[:-1])
    answers.write_text(fewer)
    (data / "models/base/config.json").touch()  # only touched
    before, ran = finished.times(), finished.run("tiny", "--jobs", "2")
    assert "finished study" not in ran.stdout, "that is for a kernel by hand"
    assert "answers/dapt.jsonl was changed (4 rows, then 3) after 04_infer-dapt ran" in ran.stdout
    again = {name for name, when in finished.times().items() if before.get(name) != when}
    assert again == {"04_infer-dapt", "05_judge-dapt", "06_analyze"}
    (kept,) = data.glob("changed/*/answers/dapt.jsonl")
    assert (kept.read_text(), table(finished)) == (fewer, uninterrupted)


def family(root: subprocess.Popen) -> dict[str, psutil.Process]:
    """Return the processes of a study that is training, by part; {} until the kernel is there."""
    words = "lib.run.study snakemake lib.run.notebook ipykernel_launcher".split()
    found = {}
    try:
        for process in [psutil.Process(root.pid), *psutil.Process(root.pid).children(True)]:
            program, _, module = " ".join(process.cmdline()).partition(" -m ")
            found |= {module.split()[0]: process} if module and "python" in program else {}
    except psutil.NoSuchProcess:
        return {}
    return {word: found[word] for word in words} if found.keys() >= {*words} else {}


@pytest.mark.parametrize(
    "parts",
    [
        ("lib.run.study", "ipykernel_launcher"),
        pytest.param(("snakemake", "lib.run.notebook"), marks=pytest.mark.slow),
    ],
)
def test_after_any_kill_nothing_keeps_writing_and_the_next_call_gives_the_same_numbers(
    finished, parts
):
    uninterrupted = table(finished)
    (finished.root / "data/tiny/models/dapt-n/training.json").unlink()
    for part in parts:
        started = finished.start("tiny", "--jobs", "2", PAUSE="60")
        processes = until(lambda started=started: family(started))
        if part == "lib.run.study":
            busy = finished.run("tiny")
            assert busy.returncode == 2
            assert "the study tiny is already being run by another process" in busy.stdout
        time.sleep(1)  # into the cell that sleeps
        processes[part].kill()
        assert started.wait(timeout=30) != 0
        alive = [
            one
            for one in psutil.wait_procs(processes.values(), timeout=5)[1]
            if one.status() != "zombie"
        ]  # as it stays in a container without init
        assert not alive, f"{alive} outlived the {part}"
        folder = finished.root / "data/tiny/notebooks"
        assert {path.name for path in folder.glob("03_train-dapt-n*")} <= {
            "03_train-dapt-n.failed.ipynb",
            "03_train-dapt-n.running.ipynb",
        }
    assert rerun(finished) == AFTER_DAPT_N
    assert table(finished) == uninterrupted


def kill_twice(process: int, sent: int) -> None:
    os.kill(process, sent)
    time.sleep(0.05)  # the first is still being handled
    os.kill(process, sent)


@pytest.mark.parametrize(
    ("tell", "sent", "after"),
    [  # seconds: in a cell; while a kernel starts
        (os.killpg, signal.SIGINT, 3.0),
        (kill_twice, signal.SIGTERM, 3.0),
        (os.killpg, signal.SIGINT, 0.9),
    ],
)
def test_ctrl_c_and_sigterm_end_every_process_and_print_one_line(finished, tell, sent, after):
    (finished.root / "data/tiny/models/dapt-n/training.json").unlink(missing_ok=True)
    with finished.start("tiny", PAUSE="60") as running:
        while not running.stdout.readline().startswith("03_train-dapt-n"):
            assert running.poll() is None
        time.sleep(after)
        tell(running.pid, sent)
        said = running.communicate(timeout=60)[0].split()
    assert running.returncode == 130
    assert " ".join(said) == "interrupted; the same command resumes from here"


def test_a_kernel_between_two_cells_ends_at_an_interrupt(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    first = f"--IPKernelApp.exec_lines={notebook._FIRST}"
    manager, client = start_new_kernel(kernel_name="python3", extra_arguments=[first])
    manager.interrupt_kernel()
    until(lambda: not manager.is_alive())
    client.stop_channels()


FULL = "File too large while writing"
WRITES = 'write_text(data_path(study, "queries.jsonl"), "x" * 10**6)'


@pytest.mark.parametrize(
    ("does", "limit", "said"),
    [  # the last three: records, the notebook, and only its page are too large for the disk
        ("import os\nos.kill(os.getpid(), 9)", 0, ["its Python process was killed"]),
        (WRITES, 100_000, [FULL, "queries.jsonl"]),
        ("1", 1_000, [FULL, "00_lab.running.ipynb"]),
        ("print('<' * 5_000)", 16_000, [FULL, "00_lab.html; the file was not kept"]),
    ],
)
def test_a_failure_is_said_in_a_few_lines_and_leaves_only_a_failed_copy(house, does, limit, said):
    house.write_notebook("00_lab", [does])
    ran = house.run("00_lab", "-y", '{"study": "tiny"}', module="notebook", limit=limit)
    assert ran.returncode == 1 and len(ran.stdout.splitlines()) < 8
    assert all(words in ran.stdout for words in [*said, "run the same command again"])
    root = house.root / "data/tiny"
    assert [path for path in root.rglob("*") if path.is_file()] == [root / FAILED]


def test_a_long_cell_says_every_half_minute_that_it_is_not_done(monkeypatch, capsys):
    monkeypatch.setattr(notebook, "_BETWEEN", 0.05)
    live = notebook._Live("04_infer")
    live.write("scores of dapt:  35%|███  | 7/20 [00:01<00:02, 3.1it/s]")
    time.sleep(0.5)
    live.ended.set()
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "04_infer  0.0 min, scores of dapt 35%, 00:02 left"
    assert second == "04_infer  0.0 min"


def test_slurm_jobs_of_a_killed_run_are_named_and_keep_the_study_from_running(
    study_file, tmp_path, monkeypatch, capsys
):
    study_file("kind: lab", "tiny")
    squeue = tmp_path / "squeue"
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "root/site").mkdir(parents=True)
    (tmp_path / "root/site/config.yaml").write_text("executor: slurm\n")
    for site, said in (
        ("site", "'squeue'"),
        ("nowhere", "give PROFILE=slurm, or a folder with a config.yaml"),
        ("site", "end them with scancel 7\n"),
    ):
        assert main(["tiny", "--profile", site]) == 2 and said in capsys.readouterr().err
        squeue.write_text(
            "#!/bin/sh\necho '7 study-tiny_0a'; echo '8 study-tinier_2c'; echo '9 x'\n"
        )
        squeue.chmod(0o755)
    assert not (tmp_path / "root/data/tiny/stages").exists()


def test_a_study_that_fails_gives_the_reason_once_and_has_the_pages_of_what_is_finished(house):
    house.write_notebook("01_annotate", ["1 / 0"])
    ran = house.run("tiny", "--jobs", "1")
    failed = "01_annotate FAILED: In [4]: ZeroDivisionError: division by zero"
    assert ran.returncode == 1 and ran.stdout.count(failed) == 1
    assert "The study tiny stopped" in ran.stdout and "resumes it" in ran.stdout
    assert "Error:" not in ran.stdout.partition("are kept")[2] and "Exception" not in ran.stdout
    assert "so far: data/tiny/notebooks/01_annotate.failed.ipynb" in ran.stdout
    copies = {path.stem for path in (house.root / "data/tiny/notebooks").glob("*.ipynb")}
    pages = {path.stem for path in (house.root / "data/tiny/notebooks").glob("*.html")}
    assert "00_lab" in pages and pages == copies - {"01_annotate.failed"}


@pytest.mark.parametrize(
    "stage",
    sorted(
        {*STAGES, *PIPELINES["exposures"].stages}
        - {*"00_lab 00_documents exposures_run 00_filings 00_structext 06_analyze".split()}
    ),
)
def test_a_notebook_run_alone_names_the_file_that_is_missing_and_who_makes_it(
    stage, tmp_path, monkeypatch
):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    with pytest.raises(BadInput, match=r" is missing: run [a-z]*/?(0\d_|exposures_run)"):
        run_cells(stage, study="nowhere", base_model="data/absent/models/base")


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["make", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_make_shows_its_menu_and_refuses_to_clean_what_is_not_a_study():
    menu = make("help").stdout
    assert all(f"make {word}" in menu for word in "study lab base test test-all clean help".split())
    for name in ("", "../lab", ".", "exhibit"):
        ran = make("clean", f"STUDY={name}")
        assert ran.returncode == 2 and "no study is called" in ran.stdout


def make_in(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run `make` on another folder than the repository."""
    makefile = ("-C", str(root), "-f", str(REPOSITORY / "Makefile"))
    return make(*makefile, *arguments, STUDY_ROOT="", MAKEFLAGS="", CONDA_PREFIX="")


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


def test_clean_keeps_labels_and_what_is_committed_and_waits_for_a_running_study(tmp_path):
    kept = {"studies/a.yaml", "data/a/facts.csv", "data/a/labels/a.csv"}
    write(tmp_path, *kept, "data/a/answers/base.jsonl", "data/a/.x", "figures/a/a.png")
    ran = make_in(tmp_path, "clean", "STUDY=a")
    assert ran.returncode == 2 and "only git knows" in ran.stdout
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "data/a/facts.csv"], check=True)
    with open(tmp_path / "data/a/.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ran = make_in(tmp_path, "clean", "STUDY=a")
        assert ran.returncode == 2 and "the study a is being run" in ran.stdout
    assert (tmp_path / "data/a/answers/base.jsonl").exists()
    assert make_in(tmp_path, "clean", "STUDY=a").returncode == 0
    left = (path for path in tmp_path.rglob("*") if path.is_file() and ".git" not in path.parts)
    assert {path.relative_to(tmp_path).as_posix() for path in left} == kept


def test_make_runs_under_a_path_with_blanks_and_quotes(tmp_path):
    root = tmp_path / """a 'b' "c" ä"""
    write(root, "requirements.lock", "requirements-torch.lock", "pyproject.toml", ".venv/ready")
    python = root / ".venv/bin/python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\necho "$PWD|$PYTHONPATH|$*"\n')
    python.chmod(0o755)
    for name in "study look plan verify bench lab".split():
        ran = make_in(root, name, "ARGS=--allow-root --port=9")
        assert f"{root}|{root}|-m " in ran.stdout, ran.stderr
    assert "README.md --allow-root --port=9\n" in ran.stdout


def test_a_copy_shares_what_writers_replace_and_has_its_own_cache_and_labels(tmp_path):
    names = "queries.jsonl llm.sqlite labels/answers.csv .lock stages/00_lab.json".split()
    write(tmp_path, "studies/a.yaml", "figures/a/b.png", *(f"data/a/{name}" for name in names))
    assert make_in(tmp_path, "copy", "STUDY=a", "AS=b").returncode == 0
    left, right = tmp_path / "data/a", tmp_path / "data/b"
    is_shared = {name: (right / name).samefile(left / name) for name in names[:3]}
    assert [*is_shared.values()] == [True, False, False]
    assert not (right / ".lock").exists() and not (right / "stages").exists()
    assert (tmp_path / "figures/b/b.png").exists() and (tmp_path / "studies/b.yaml").exists()
    assert make_in(tmp_path, "copy", "STUDY=a", "AS=b").returncode == 2
    assert make_in(tmp_path, "copy", "STUDY=a").returncode == 2  # make itself sets AS to as
