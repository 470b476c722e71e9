"""Studies and parameters are refused before anything runs, with messages that say what is legal."""

from pathlib import Path

import nbformat
import papermill
import pytest
import yaml
from snakemake.cli import args_to_api, parse_args

from lib.core.stages import PIPELINES
from lib.core.store import REPOSITORY, BadInput, BadStudy
from lib.llm import calls
from lib.run import config
from lib.run.config import load_study, studies
from lib.run.parameters import notebook_path, parameters_of
from lib.run.study import run_study

NAMED = "annotator: a-model\nnormalizer: a-model\n"


@pytest.mark.parametrize(
    ("lines", "message"),
    yaml.safe_load((REPOSITORY / "tests/data/wrong_studies.yaml").read_text("utf-8")),
)
def test_a_wrong_study_file_is_refused_naming_what_is_legal(study_file, lines, message):
    study_file(lines if lines.startswith(("kind", "source")) else f"kind: lab\n{lines}", "wrong")
    with pytest.raises(BadStudy) as error:
        load_study("wrong")
    assert "studies/wrong.yaml" in str(error.value) and message in str(error.value)


TOGETHER = "one_process_for_all_arms: true\n"


@pytest.mark.parametrize(
    ("lines", "stage", "run", "expected"),
    [  # keys of a study's file; what a notebook gets from them, for an arm, among other parameters
        (
            "kind: structext\nbase_model: o/m\narms: {gpt: {04_infer: {endpoint_model: gpt}}}",
            "04_infer",
            "gpt",
            {"endpoint_model": "gpt", "task": "structext", "base_model": "o/m"},
        ),
        (
            "kind: lab\nnotebooks: {00_lab: {seed: 5, n_public: 9}}",
            "exposures_run",
            "5",
            {"seed": 5, "n_public": 9, "base_model": "data/own/models/base"},
        ),
        (
            "kind: lab\nseeds: [42, 7]\narms: {dapt: , dapt-n: {03_train: {epochs: 3}}}",
            "03_train",
            "dapt-n@2",
            {"arm": "dapt-n@2", "seed": 7, "epochs": 3},
        ),
        (
            "kind: lab\narms: {base: , dapt-mixed: {03_train: {corpus: raw+rewritten}}}",
            "03_train",
            "dapt-mixed",
            {"corpus": "raw+rewritten"},
        ),
        ("kind: lab\naugmenter: m", "02_normalize", "", {"augmenter": ""}),
        (
            "kind: lab\naugmenter: m\narms: [dapt-a, dapt-q]",
            "02_normalize",
            "",
            {"augmenter": "m", "written": ["wordings", "questions"]},
        ),
        ("kind: lab", "pairs", "dapt", {"first_arm": "base", "arms": ["dapt"], "judge": "scorer"}),
        (f"kind: lab\n{TOGETHER}", "pairs", "", {"arms": ["dapt", "dapt-n"]}),
        (f"kind: lab\n{TOGETHER}", "05_judge", "", {"arms": ["base", "dapt", "dapt-n"]}),
        (
            f"kind: tablequest\nannotator: m\n{TOGETHER}arms: {{base: , floor: {{04_infer: "
            "{mode: solver}}}",
            "04_infer",
            "",
            {"mode": {"base": "model", "floor": "solver"}},
        ),
    ],
)
def test_keys_of_a_study_become_parameters_of_its_notebooks(
    study_file, lines, stage, run, expected
):
    study_file(lines)
    study = load_study("own")
    assert run in study.arms_of(stage)
    assert {name: study.given(stage, run)[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("lines", "runs", "trained", "seeds"),
    [  # keys of a laboratory's file; its runs, those that are trained, and their seeds
        (
            "seeds: [42, 7, 8]\narms: {dapt-n: , dapt: , base: }",
            "base dapt-n dapt-n@2 dapt-n@3 dapt dapt@2 dapt@3",
            "dapt-n dapt-n@2 dapt-n@3 dapt dapt@2 dapt@3",
            [42, 7, 8] * 2,
        ),
        (
            "seeds: [42, 7]\narms: {dapt: , dapt-n: {03_train: {seed: 5}}}",
            "dapt dapt@2 dapt-n",
            "dapt dapt@2 dapt-n",
            [42, 7, 5],
        ),
        (
            "arms: {dapt: , dapt-n: {04_infer: {mode: given}}}\nseeds: [1, 2]",
            "dapt dapt@2 dapt-n dapt-n@2",
            "dapt dapt@2",
            [1, 2],
        ),
        # no text is learned, so none is rewritten
        ("normalizer: ''\nnotebooks: {04_infer: {mode: given}}", "base dapt dapt-n", "", []),
    ],
)
def test_an_arm_is_trained_once_a_seed_unless_it_has_its_own_or_given_answers(
    study_file, lines, runs, trained, seeds
):
    study_file(f"kind: lab\n{lines}")
    study = load_study("own")
    assert study.runs == study.arms_of("05_judge") == runs.split()
    assert study.trained == study.arms_of("03_train") == trained.split()
    assert study.given("statistics")["arms"] == study.given("06_analyze")["arms"] == study.runs
    assert [study.given("03_train", run).get("seed", 42) for run in study.trained] == seeds
    measured = [arm for arm in study.arms if arm in ("base", *study.trained)]
    assert study.arms_of("retention") == measured


def test_a_base_model_may_be_another_laboratorys(study_file):
    study_file("kind: lab", "smoke")
    study_file("kind: structext\nbase_model: data/smoke/models/base")
    study = load_study("own")
    assert (study.made_by, study.others, study.labs) == ("smoke", {"smoke"}, ["smoke"])


def test_a_missing_base_stops_a_study_with_what_makes_it(study_file, tmp_path):
    study_file("kind: structext\nbase_model: data/base/Absent")
    with pytest.raises(BadInput, match=r"data/base/Absent is missing: run make base \(98 MB\), or"):
        run_study("own")
    assert not (tmp_path / "root").exists()


def test_a_laboratorys_curve_has_the_recipe_of_the_exposure_study():
    lab, run = (parameters_of(notebook_path(stage)) for stage in ("00_lab", "exposures_run"))
    for name in ("n_private", "n_public", "renderings", "vocabulary", "size", "base_recipe"):
        assert run[name] == lab[name], name


def test_a_laboratorys_base_on_own_documents_is_for_show(study_file, monkeypatch, documents_folder):
    monkeypatch.setenv(config.BASE_VARIABLE, "laboratory")
    study_file("kind: lab", "lab")
    study_file(f"kind: documents\n{NAMED}")
    study = load_study("own", str(documents_folder))
    assert (study.base_model, study.disclaimer) == ("data/lab/models/base", config.FOR_SHOW)


def test_a_stages_calls_have_the_settings_of_its_study(study_file):
    study_file("kind: lab\nllm: {max_cost_usd: 2.0, stages: {05_judge: {retry: [cut]}}}")
    own = calls.calls_for("own", "05_judge")
    assert (own.max_cost_usd, own.retry, own.concurrency) == (2.0, ["cut"], 32)
    assert calls.calls_for("own/1010", "01_annotate").retry == ()
    assert calls.calls_for("by hand", "01_annotate").max_cost_usd == 5


def test_a_study_whose_name_or_file_cannot_be_read_is_refused(study_file):
    with pytest.raises(BadStudy, match="no study is called 'tinny': write"):
        load_study("tinny")
    study_file("kind: lab\n", "a b")
    with pytest.raises(BadStudy, match="name: 'a b': String should match pattern"):
        load_study("a b")
    study_file("", "latin").write_bytes(b"kind: lab # caf\xe9\n")
    with pytest.raises(BadStudy, match="studies/latin.yaml: not YAML: 'utf-8' codec"):
        load_study("latin")


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("", ".epub files: make study STUDY=mine DOCUMENTS=path"),
        ("nowhere", "nowhere does not exist: name a folder"),
        ("studies", "or .epub file in studies"),
    ],
)
def test_a_study_of_ones_own_documents_wants_a_folder_with_some(
    study_file, tmp_path, monkeypatch, folder, message
):
    monkeypatch.chdir(tmp_path)
    study_file(f"kind: documents\nbase_model: org/model\n{NAMED}", "mine")
    with pytest.raises((BadStudy, BadInput), match=message):
        load_study("mine", folder)


def test_a_refused_study_ends_with_status_2_and_writes_nothing(house):
    (house.root / "studies" / "wrong.yaml").write_text("sorce: lab\n")
    for arguments in (["wrong"], ["tiny", "--jobs=0"], ["tiny", "--jobs=many"]):
        ran = house.run(*arguments)
        assert ran.returncode == 2 and "make study: " in ran.stdout
    assert "'many' is not a number of cores" in ran.stdout
    assert not (house.root / "data").exists()


def test_a_notebook_that_is_missing_or_has_no_parameters_is_named(house):
    path = house.root / "notebooks" / "00_lab.ipynb"
    path.write_text(path.read_text().replace("seed: int = 1", "seed: int = = 1"))
    ran = house.run("tiny")
    assert ran.returncode == 2
    assert "00_lab.ipynb: exactly one cell must be tagged" in ran.stdout
    (house.root / "notebooks" / "05_judge.ipynb").unlink()
    house.write_notebook("00_lab")
    ran = house.run("tiny")
    assert ran.returncode == 2 and "05_judge.ipynb is missing: restore it" in ran.stdout


def test_a_folder_of_any_name_is_read_and_its_bad_file_named_at_the_end(house):
    name = "a #1, b: c; größe 文 😀 {x} 'y' \"z\" $HOME [1] ~"  # YAML and shells read these
    folder = house.root / "own" / name
    folder.mkdir(parents=True)
    (folder / "good.md").write_text("The gate listens on 7001.\n")
    (folder / "bad.md").write_bytes(b"")
    (house.root / "studies" / "mine.yaml").write_text(
        "kind: documents\nbase_model: org/model\narms: [base]\nextras: []\n"
        "annotator: facts\nnormalizer: facts\n"  # no model, whose price and key would be asked for
    )
    ran = house.run("mine", "--documents", str(folder), "--jobs", "2")
    assert ran.returncode == 0, ran.stdout
    assert f"left out of own/{name}: 1," in ran.stdout
    rejected = (house.root / "data" / "mine" / "documents_rejected.jsonl").read_text()
    assert "bad.md" in rejected and "empty" in rejected
    assert "report:       figures/mine/report.html" in ran.stdout


def test_all_notebooks_together_have_few_parameters():
    notebooks = (REPOSITORY / "notebooks").rglob("*.ipynb")
    paths = [path for path in notebooks if ".ipynb_checkpoints" not in path.parts]
    assert sum(len(parameters_of(path)) for path in paths) <= 175


def loaded(name: str, folder: Path):
    text = (REPOSITORY / "studies" / f"{name}.yaml").read_text()
    return load_study(name, str(folder) if "kind: documents" in text else "")


@pytest.mark.parametrize("name", studies())
def test_every_committed_study_fits_its_notebooks(name, documents_folder):
    assert loaded(name, documents_folder).stages


@pytest.mark.parametrize(
    "name", ["documents", "exposures-smoke", "structext", "structext-official", "tablequest"]
)
def test_the_graph_of_each_kind_of_study_has_every_stage(
    name, tmp_path, documents_folder, monkeypatch, capsys
):
    study = loaded(name, documents_folder)
    own = [f"documents={documents_folder}"] if name == "documents" else []
    counts = counts_of(name, own, tmp_path, monkeypatch, capsys)
    if study.kind == "exposures":
        assert int(counts["exposures_run"]) == len(study.runs) == 2
    else:
        assert int(counts.get("train", 0)) == len(study.trained)
        n = 1 if study.one_process_for_all_arms else len(study.runs)
        assert int(counts["infer"]) == int(counts["judge"]) == n
        assert len(PIPELINES[study.kind].stages) <= len(counts)


@pytest.mark.parametrize("kind", ["lab", "structext", "tablequest"])
def test_other_judges_judge_and_are_compared_in_every_system(
    kind, study_file, tmp_path, monkeypatch, capsys
):
    study_file(
        f"kind: {kind}\nother_judges: [org/m]\nextras: [agreement]\narms: {{base: }}"
        + "\nbase_model: o/m\nannotator: m" * (kind != "lab")
    )
    counts = counts_of("own", [], tmp_path, monkeypatch, capsys)
    assert (counts["judge"], counts["judge_org--m"], counts["agreement"]) == ("1", "1", "1")


def counts_of(name: str, own: list[str], tmp_path, monkeypatch, capsys) -> dict[str, str]:
    """Return how often each rule of a study's graph would run."""
    monkeypatch.chdir(tmp_path)  # the graph changes all three
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("STUDY_PARENT", "")
    _, arguments = parse_args(
        [
            f"--snakefile={REPOSITORY / 'Snakefile'}",
            *"--dry-run --cores 2 --quiet rules --config".split(),
            f"study={name}",
            *own,
        ]
    )
    assert args_to_api(arguments, None)
    return dict(
        line.split()
        for line in "".join(capsys.readouterr()).splitlines()
        if len(line.split()) == 2 and line[-1].isdigit()
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [  # none in JupyterLab; what papermill is given holds, and the rest is the notebook's own
        ({}, ("dapt", 40, 1e-4)),
        ({"study": "lab", "epochs": 3}, ("dapt", 3, 5e-4)),
    ],
)
def test_a_notebook_needs_the_name_of_its_study_alone(tmp_path, given, expected):
    notebook = nbformat.read(notebook_path("03_train"), 4)
    notebook.cells = notebook.cells[:3]
    notebook.cells.append(nbformat.v4.new_code_cell("print((arm, epochs, learning_rate))"))
    nbformat.write(notebook, tmp_path / "x.ipynb")
    ran = papermill.execute_notebook(tmp_path / "x.ipynb", None, given, kernel_name="python3")
    assert ran.cells[-1].outputs[0].text == f"{expected}\n"


def test_papermill_refuses_a_parameter_that_the_notebook_lacks(tmp_path):
    with pytest.raises(papermill.PapermillExecutionError, match="colum: unknown; choose among"):
        papermill.execute_notebook(notebook_path("statistics"), None, {"colum": "single"})
