"""The graph by real processes: what re-runs, what a kill or a full disk leaves, who may run at the same time."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import psutil
import pytest
from lib.code_inputs import code_inputs

from lib.core.paths import REPOSITORY, MissingInput
from tests.conftest import House, new_house

ARMS = ("base", "dapt", "dapt-n")


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> House:
    """A house whose study has been run to its end."""
    house = new_house(tmp_path_factory.mktemp("finished") / "house")
    ran = house.run("tiny", "--jobs", "2")
    assert ran.returncode == 0, ran.stdout
    return house


def table(house: House) -> str:
    return (house.root / "figures" / "tiny" / "table2.csv").read_text()


def rerun(house: House, *arguments: str) -> set[str]:
    """Run the study again; the stages whose records were written anew."""
    before = house.times()
    ran = house.run("tiny", "--jobs", "2", *arguments)
    assert ran.returncode == 0, ran.stdout
    return {stage for stage, when in house.times().items() if before.get(stage) != when}


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def test_a_study_leaves_every_stage_whole_and_a_second_call_does_nothing(finished):
    expected = {"00_lab", "01_annotate", "02_normalize", "03_train-dapt", "03_train-dapt-n", "06_analyze",
                *(f"{stage}-{arm}" for stage in ("04_infer", "05_judge") for arm in ARMS)}
    assert set(finished.times()) == expected
    copies = {path.name for path in (finished.root / "data" / "tiny" / "notebooks").iterdir()}
    assert copies == {f"{stage}{end}" for stage in expected for end in (".ipynb", ".html")}
    assert rerun(finished) == set()


def test_run_json_holds_what_the_numbers_come_from(finished):
    run = json.loads((finished.root / "data" / "tiny" / "run.json").read_text())
    train = run["stages"]["03_train-dapt-n"]
    assert train["given"] == {"study": "tiny", "arm": "dapt-n", "base_model": "data/tiny/models/base",
                              "learning_rate": 2e-3, "epochs": 3}
    assert train["defaulted"] == {"note": None, "seed": 42} and train["seconds"] > 0
    assert run["stages"]["03_train-dapt"]["defaulted"] == {"epochs": 2, "note": None, "seed": 42}
    assert (run["commit"], run["dirty"]) == (None, None)  # the house is no git checkout
    assert run["versions"]["torch"].startswith("2.") and run["machine"]["cores"] == os.cpu_count()
    assert set(run["inputs"]) == {f"data/tiny/{name}.jsonl" for name in ("documents", "queries", "normalized")} | {
        "studies/tiny.yaml"}


def test_a_change_reruns_the_stages_that_it_touches_and_no_other(finished):
    study = finished.root / "studies" / "tiny.yaml"
    study.write_text(study.read_text().replace("epochs: 3", "epochs: 4"))
    assert rerun(finished) == {"03_train-dapt-n", "04_infer-dapt-n", "05_judge-dapt-n", "06_analyze"}
    append(finished.root / "lib" / "wording.py", "\n# a remark\n")  # 06_analyze imports it
    assert rerun(finished) == {"06_analyze"}
    append(finished.root / "lib" / "inference.py", "\n# a remark\n")  # nothing here imports it
    assert rerun(finished) == set()
    os.utime(finished.root / "notebooks" / "01_annotate.ipynb")  # only touched
    assert rerun(finished) == set()


def test_figures_makes_only_the_figures_again(finished):
    assert rerun(finished, "--figures") == {"06_analyze"}
    assert rerun(finished) == set()


def until(condition, seconds: float = 60.0):
    """What `condition()` returns as soon as it is true of something; fails after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not so within {seconds} s")


def family(root: subprocess.Popen) -> dict[str, psutil.Process]:
    """The processes of a study that is training, by their part; empty until the notebook's kernel is there."""
    parts = {"lib.run.study": "study", "snakemake": "snakemake", "lib.run.notebook": "runner",
             "ipykernel_launcher": "kernel"}
    try:
        processes = [psutil.Process(root.pid), *psutil.Process(root.pid).children(recursive=True)]
        found = {part: process for process in processes for word, part in parts.items()
                 if word in process.cmdline() and "python" in process.cmdline()[0]}
    except psutil.NoSuchProcess:
        return {}
    return found if len(found) == len(parts) else {}


def test_after_any_kill_nothing_writes_on_and_a_further_call_ends_with_the_same_numbers(finished):
    uninterrupted = table(finished)
    (finished.root / "data" / "tiny" / "models" / "dapt-n" / "training.json").unlink()
    for part in ("study", "snakemake", "runner", "kernel"):
        started = finished.start("tiny", "--jobs", "2", PAUSE="60")
        processes = until(lambda started=started: family(started))
        if part == "study":
            busy = finished.run("tiny")
            assert busy.returncode == 2 and "the study tiny is being run by another call" in busy.stdout
        time.sleep(1)  # into the cell that sleeps
        processes[part].kill()
        assert started.wait(timeout=30) != 0
        gone, alive = psutil.wait_procs(processes.values(), timeout=5)
        assert not alive, f"{alive} outlived the {part}"
        executed = {path.name for path in (finished.root / "data" / "tiny" / "notebooks").glob("03_train-dapt-n*")}
        assert executed <= {"03_train-dapt-n.failed.ipynb"}
    assert rerun(finished) == {"03_train-dapt-n", "04_infer-dapt-n", "05_judge-dapt-n", "06_analyze"}
    assert table(finished) == uninterrupted


def run_notebook(house: House, name: str, limit: int | None = None) -> subprocess.CompletedProcess:
    """Run one notebook alone, no file larger than `limit` bytes: what a full disk does to a write."""
    def limited():
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return subprocess.run([sys.executable, "-m", "lib.run.notebook", name, "--given", '{"study": "tiny"}'],
                          cwd=house.root, env=house.environment(), preexec_fn=limited, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def left(house: House) -> set[str]:
    root = house.root / "data" / "tiny"
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_a_full_disk_while_records_are_written_is_said_and_leaves_nothing_of_them(house):
    house.write_notebook("01_annotate", ['write_text(data_path(study, "queries.jsonl"), "x" * 1_000_000)'])
    ran = run_notebook(house, "01_annotate", limit=100_000)
    assert ran.returncode == 1
    assert "File too large while writing" in ran.stdout and "run the same command again" in ran.stdout
    assert left(house) == {"notebooks/01_annotate.failed.ipynb"}


def test_a_full_disk_while_the_page_is_written_leaves_no_whole_looking_copy(house):
    ran = run_notebook(house, "00_lab", limit=50_000)  # the notebook fits, its HTML does not
    assert ran.returncode == 1 and "00_lab.html; nothing was kept of it" in ran.stdout
    assert {name for name in left(house) if "notebooks/" in name or "stages/" in name} == {
        "notebooks/00_lab.failed.ipynb"}


def test_a_full_disk_while_the_notebook_is_saved_says_what_could_not_be_written(house):
    ran = run_notebook(house, "00_lab", limit=1_000)
    assert ran.returncode == 1 and "File too large while writing" in ran.stdout and "Free some space" in ran.stdout
    assert "00_lab.failed.ipynb" in ran.stdout and left(house) == {"notebooks/00_lab.failed.ipynb"}


def test_figures_before_there_are_verdicts_say_what_to_run(house):
    ran = house.run("tiny", "--figures")
    assert ran.returncode == 2 and "verdicts/rules/base.jsonl is missing: run make study STUDY=tiny" in ran.stdout


def test_a_notebook_takes_its_own_study_where_none_is_given(house):
    ran = subprocess.run([sys.executable, "-m", "lib.run.notebook", "00_lab", "--given", '{"seed": 2}'], cwd=house.root,
                         env=house.environment(), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "stages/00_lab.json" in left(house)


def test_an_error_in_a_cell_is_told_in_few_words_and_marks_the_copy_as_failed(house):
    house.write_notebook("00_lab", ["x = 0\n1 / x"])
    ran = run_notebook(house, "00_lab")
    assert ran.returncode == 1 and len(ran.stdout.splitlines()) < 8
    assert "00_lab FAILED: In [4], its line 2: ZeroDivisionError: division by zero" in ran.stdout
    assert left(house) == {"notebooks/00_lab.failed.ipynb"}
    house.write_notebook("00_lab")
    assert run_notebook(house, "00_lab").returncode == 0
    assert "notebooks/00_lab.failed.ipynb" not in left(house)


def test_a_killed_kernel_is_named(house):
    house.write_notebook("00_lab", ["import os\nos.kill(os.getpid(), 9)"])
    ran = run_notebook(house, "00_lab")
    assert ran.returncode == 1 and "its Python process was killed" in ran.stdout


def test_a_parameter_that_the_notebook_has_not_is_refused(house):
    ran = subprocess.run([sys.executable, "-m", "lib.run.notebook", "00_lab", "--given", '{"study": "a", "sed": 1}'],
                         cwd=house.root, env=house.environment(), capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and "parameter sed: unknown; it has study, seed" in ran.stderr
    assert not (house.root / "data").exists()


def test_what_decides_a_notebook_is_found_through_imports_and_prompts():
    infer = {str(path.relative_to(REPOSITORY)) for path in code_inputs(REPOSITORY / "notebooks" / "04_infer.ipynb")}
    assert {"notebooks/04_infer.ipynb", "lib/__init__.py", "lib/infer/answers.py", "lib/llm/__init__.py", "lib/core/paths.py",
            "lib/core/records.py", "prompts/answer.md"} <= infer
    assert not {"lib/run/study.py", "lib/documents/folder.py", "lib/analyze/tables.py", "prompts/annotate.md"} & infer


@pytest.mark.parametrize("notebook", [
    "01_annotate", "02_normalize", "03_train", "04_infer", "00_retention", "05_judge", "01_pairs", "06_analyze",
    "03_ledger", "04_agreement", "05_paper", "02_statistics", "06_advice", "01_pretrain", "02_run",
    "03_analyze"])
def test_a_notebook_run_alone_names_the_file_that_is_missing_and_who_makes_it(notebook, tmp_path, monkeypatch):
    """Its cells run one after the other in this process: a kernel for each takes ten times as long."""
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    cells = [cell for cell in nbformat.read(REPOSITORY / "notebooks" / f"{notebook}.ipynb", 4).cells
             if cell.cell_type == "code"]
    names: dict[str, object] = {}
    with pytest.raises(MissingInput, match=r" is missing: run 0\d_"):
        for cell in cells:
            exec(compile(cell.source, cell.id, "exec"), names)
            names |= {"study": "nowhere", "base_model": "data/absent/models/base"}


def test_make_names_the_menu_and_refuses_to_clean_what_is_no_study():
    menu = subprocess.run(["make", "help"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert all(f"make {word}" in menu for word in ("study", "figures", "lab", "test", "clean", "help"))
    for name in ("", "../lab", ".", "exhibit"):
        ran = subprocess.run(["make", "clean", f"STUDY={name}"], cwd=REPOSITORY, capture_output=True, text=True,
                             check=False)
        assert ran.returncode == 2 and "no study is called" in ran.stdout and "rm -rf" not in ran.stdout


def test_clean_keeps_what_a_person_has_labelled(tmp_path):
    for name in ("data/smoke/human/sheet.csv", "data/smoke/answers/base.jsonl", "data/smoke/.x", "figures/smoke/a.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    subprocess.run(["make", "clean", "STUDY=smoke"], cwd=REPOSITORY, check=True, capture_output=True,
                   env={**os.environ, "STUDY_ROOT": str(tmp_path)})
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()] == [
        "data/smoke/human/sheet.csv"]
