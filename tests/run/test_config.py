"""Studies and parameters are refused before anything runs, in words that say what is legal."""

import json
import os
import subprocess
import sys

import pytest

from lib.core.paths import REPOSITORY
from lib.run.config import load_study, studies
from lib.run.parameters import WrongParameter, checked
from tests.conftest import tiny_notebook


@pytest.mark.parametrize(("line", "message"), [
    ("sorce: lab", "'sorce' is unknown; choose among source, base_model, annotator"),
    ("source: web", "source: 'web' is none of lab, documents"),
    ("judge: [rules]", "judge: ['rules'] is not text"),
    ("variants: [06_ledgers]", "variants: '06_ledgers' is unknown; choose among 00_retention, 01_pairs"),
    ("variants: 03_ledger", "variants: '03_ledger' is not a list of names"),
    ("other_judges: [rules]", "other_judges: ['rules'] names a judge twice, or the judge itself"),
    ("other_judges: [{}]", "other_judges: [{}] is not a list of names"),
    ("notebooks: {04_agreement: {judges: [rules]}}", "judges: is set by the keys judge and other_judges"),
    ("seeds: 0", "seeds: 0 is no number of trainings"), ("seeds: [1, 2]", "seeds: [1, 2] is no number"),
    ("arms: [base, dpt]", "arms: 'dpt' is unknown; choose among base, dapt, dapt-n"),
    ("notebooks: {04_inver: {}}", "'04_inver' is unknown; choose among 00_lab, 01_annotate"),
    ("notebooks: {00_documents: {}}", "'00_documents' is unknown"),
    ("notebooks: {03_train: {arm: dapt}}", "03_train, arm: is set by the key arms; remove it here"),
    ("notebooks: {03_train: {epoch: 3}}", "03_train, parameter epoch: unknown; it has study, arm, base_model, "),
    ("notebooks: {03_train: {learning_rate: 5e-6}}",
     "learning_rate: '5e-6' is not float but text: in YAML write 5e-06 without quotes, and 5.0e-6 rather than 5e-6"),
    ("notebooks: {03_train: {epochs: 2.5}}", "epochs: 2.5 is not int"),
    ("notebooks: {03_train: {epochs: true}}", "epochs: True is not int"),
    ("notebooks: {03_train: 5}", "03_train: 5 is not a set of `parameter: value`"),
    ("arms: {dapt: {03_train: {epochs: many}}}", "epochs: 'many' is not int"),
    ("arms: {dapt: {01_annotate: {}}}", "'01_annotate' is unknown; choose among 03_train"),
    ("base_model: data/lob/models/base", "no study with `source: lab` is called 'lob'"),
    ("source: [lab]", "source: ['lab'] is none of lab, documents"),
    ("arms: dapt", "arms: 'dapt' is not a set of `key: value`; the keys are base, dapt, dapt-n"),
    ("arms: [[dapt]]", "arms: [['dapt']] is not a set"), ("arms: 5", "arms: 5 is not a set"),
    ("notebooks: {", "is not YAML")])
def test_a_wrong_study_file_is_refused_naming_what_is_legal(house, line, message):
    text = line if line.startswith("source") else f"source: lab\n{line}"
    (house.root / "studies" / "wrong.yaml").write_text(text)
    ran = house.run("wrong")
    assert ran.returncode == 2 and "studies/wrong.yaml" in ran.stdout, ran.stdout
    assert message in ran.stdout
    assert not (house.root / "data").exists()


def test_each_seed_is_an_arm_with_the_next_number_and_all_else_alike(house):
    path = house.root / "studies" / "tiny.yaml"
    path.write_text(f"{path.read_text()}seeds: 3\n")
    code = ("import json; from lib.run.config import load_study; study = load_study('tiny')\n"
            "print(json.dumps([study.runs, [study.given('03_train', run) for run in study.trained]]))")
    runs, given = json.loads(subprocess.run([sys.executable, "-c", code], cwd=house.root, env=house.environment(),
                                            capture_output=True, text=True, check=True).stdout)
    assert runs == ["base", "dapt", "dapt@2", "dapt@3", "dapt-n", "dapt-n@2", "dapt-n@3"]
    assert [row.get("seed", 42) for row in given] == [42, 43, 44] * 2
    assert [row.get("epochs") for row in given] == [None] * 3 + [3] * 3


def test_an_unknown_study_names_those_there_are(house):
    ran = house.run("tinny")
    assert ran.returncode == 2 and "no study is called 'tinny': choose tiny, or write" in ran.stdout


def test_a_study_whose_name_or_file_cannot_be_read_is_refused(house):
    (house.root / "studies" / "a b.yaml").write_text("source: lab\n")
    assert "has only letters, digits" in house.run("a b").stdout
    (house.root / "studies" / "latin.yaml").write_bytes(b"source: lab # caf\xe9\n")
    ran = house.run("latin")
    assert ran.returncode == 2 and "studies/latin.yaml is not YAML: 'utf-8' codec" in ran.stdout


@pytest.mark.parametrize("jobs", ["0", "-3", "many", "1.5"])
def test_what_is_no_number_of_cores_is_refused(house, jobs):
    ran = house.run("tiny", f"--jobs={jobs}")
    assert ran.returncode == 2 and f"'{jobs}' is no number of cores" in ran.stdout


def test_a_parameters_cell_that_is_no_python_is_named(house):
    path = house.root / "notebooks" / "00_lab.ipynb"
    path.write_text(path.read_text().replace("seed: int = 1", "seed: int = = 1"))
    ran = house.run("tiny")
    assert ran.returncode == 2 and "notebooks/00_lab.ipynb, parameters cell, line 2: invalid syntax" in ran.stdout


def test_a_missing_notebook_is_named(house):
    (house.root / "notebooks" / "05_judge.ipynb").unlink()
    ran = house.run("tiny")
    assert ran.returncode == 2 and "notebooks/05_judge.ipynb is missing: restore it" in ran.stdout


@pytest.mark.parametrize(("folder", "message"), [
    ([], "reads a folder of .md and .txt files: make study STUDY=mine DOCUMENTS=path"),
    (["--documents", "nowhere"], "nowhere does not exist: name a folder"),
    (["--documents", "prompts"], "no .md or .txt file in prompts: it is empty")])
def test_a_study_of_ones_own_documents_wants_a_folder_with_some(house, folder, message):
    (house.root / "studies" / "mine.yaml").write_text("source: documents\nbase_model: data/tiny/models/base\n")
    ran = house.run("mine", *folder)
    assert ran.returncode == 2 and message in ran.stdout


def test_a_folder_of_any_name_is_read_and_its_bad_file_named_at_the_end(house):
    folder = house.root / "own" / "a #1, b: c; größe 文 😀 {x} 'y' \"z\" $HOME [1] ~"  # YAML and shells read these
    folder.mkdir(parents=True)
    (folder / "good.md").write_text("The gate listens on 7001.\n")
    (folder / "bad.md").write_bytes(b"")
    (house.root / "studies" / "mine.yaml").write_text(
        "source: documents\nbase_model: org/model\narms: [base]\nvariants: []\n")
    ran = house.run("mine", "--documents", str(folder), "--jobs", "2")
    assert ran.returncode == 0, ran.stdout
    assert f"1 entries of {folder} were left out" in ran.stdout and "  bad.md: empty" in ran.stdout


def test_the_laboratory_refuses_a_folder(house):
    assert "makes its own documents: leave DOCUMENTS out" in house.run("tiny", "--documents", "prompts").stdout


@pytest.mark.parametrize(("annotation", "value", "fits"), [
    ("int | None", None, True), ("int | None", 3, True), ("int | None", "3", False), ("float", 1, True),
    ("float", float("nan"), False), ("list[str]", ["a"], True), ("list[str]", ["a", 1], False), ("str", 1, False),
    ("bool", 1, False), ("list[int] | None", [1], True)])
def test_a_value_fits_its_annotation_or_is_refused(tmp_path, annotation, value, fits):
    import nbformat
    path = tmp_path / "x.ipynb"
    nbformat.write(tiny_notebook(f"x: {annotation} = {[]!r}", []), path)
    if fits:
        assert checked(path, {"x": value}) == {"x": value}
    else:
        with pytest.raises(WrongParameter, match="notebook x, parameter x: .* is not "):
            checked(path, {"x": value})


@pytest.mark.parametrize("name", studies())
def test_every_committed_study_fits_its_notebooks(name, tmp_path):
    (tmp_path / "a.md").write_text("words")
    is_own = "source: documents" in (REPOSITORY / "studies" / f"{name}.yaml").read_text()
    study = load_study(name, str(tmp_path) if is_own else "")
    plan = subprocess.run(
        [sys.executable, "-m", "snakemake", "--snakefile", REPOSITORY / "Snakefile", "--dry-run", "--cores", "2",
         "--quiet", "rules", "--config", f"study={name}", *([f"documents={tmp_path}"] if is_own else [])],
        env={**os.environ, "STUDY_ROOT": str(tmp_path / "root")}, capture_output=True, text=True, check=False)
    assert plan.returncode == 0, plan.stdout + plan.stderr
    counts = dict(line.split() for line in plan.stdout.splitlines() if len(line.split()) == 2 and line[-1].isdigit())
    if study.source == "controlled":
        assert (int(counts["pretrain"]), int(counts["controlled_run"])) == (study.seeds, len(study.runs))
    else:
        assert (int(counts["train"]), int(counts["judge"])) == (len(study.trained), len(study.runs))
