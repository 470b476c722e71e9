"""Studies and parameters are refused before anything runs, with messages that say what is legal."""

from types import ModuleType

import pytest
import yaml
from IPython.core.interactiveshell import InteractiveShell
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook
from snakemake.cli import args_to_api, parse_args

from lib.core.stages import PIPELINES
from lib.core.store import PROMPTS, REPOSITORY, BadInput, BadStudy
from lib.llm import calls
from lib.run import config
from lib.run.config import load_study, studies
from lib.run.parameters import notebook_path, parameters_of
from lib.run.study import main, run_study
from tests.conftest import rows

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
    judged = "{retry: [cut], json_schema: true}"
    study_file(f"kind: lab\nllm: {{max_cost_usd: 2.0, stages: {{05_judge: {judged}}}}}")
    own = calls.calls_for("own", "05_judge")
    assert (own.max_cost_usd, own.retry, own.concurrency) == (2.0, ["cut"], 32)
    assert calls.calls_for("own/1010", "01_annotate").retry == ()
    assert calls.calls_for("by hand", "01_annotate").max_cost_usd == 5
    stages = "01_annotate", "05_judge"
    assert [*map(load_study("own").reruns, stages)] == [[], ["cut", "json_schema"]]


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
        ("nowhere", "nowhere is no folder: name one"),
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


def test_a_refused_study_ends_with_status_2_and_writes_nothing(study_file, tmp_path, capsys):
    study_file("sorce: lab")
    study_file("kind: lab", "tiny")
    for arguments in (["own"], ["tiny", "--jobs=0"], ["tiny", "--jobs=many"]):
        assert main(arguments) == 2
    *_, last = said = capsys.readouterr().err.splitlines()
    assert len(said) == 3 and last.startswith("make study: 'many' is not a number of cores")
    assert not (tmp_path / "root").exists()


def test_a_notebook_that_is_missing_or_has_no_parameters_is_named(tmp_path):
    path = tmp_path / "00_lab.ipynb"
    path.write_text(notebook_path("00_lab").read_text("utf-8").replace("int = ", "int = = ", 1))
    with pytest.raises(BadStudy, match="00_lab.ipynb: exactly one cell must be tagged"):
        parameters_of(path)
    with pytest.raises(BadStudy, match="05_judges.ipynb is missing: restore it"):
        notebook_path("05_judges")


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
    (rejected,) = rows(house.root / "data/mine/documents_rejected.jsonl")
    assert (rejected["rejected_text"], rejected["reason"]) == ("bad.md", "empty")
    assert "report:       figures/mine/report.html" in ran.stdout


def test_all_notebooks_together_have_few_parameters():
    notebooks = (REPOSITORY / "notebooks").rglob("*.ipynb")
    paths = [path for path in notebooks if ".ipynb_checkpoints" not in path.parts]
    assert sum(len(parameters_of(path)) for path in paths) <= 175


@pytest.mark.parametrize("name", studies())
def test_every_committed_study_fits_its_notebooks(name, documents_folder):
    text = (REPOSITORY / "studies" / f"{name}.yaml").read_text("utf-8")
    assert load_study(name, str(documents_folder) * ("kind: documents" in text)).stages


@pytest.mark.parametrize(
    "name", ["documents", "exposures-smoke", "structext", "structext-official", "tablequest"]
)
def test_the_graph_of_each_kind_of_study_has_every_stage_and_every_judge(
    name, study_file, tmp_path, documents_folder, monkeypatch, capsys
):
    text = (REPOSITORY / "studies" / f"{name}.yaml").read_text("utf-8")
    study_file(text + "\nother_judges: [org/m]\n" * (name != "exposures-smoke"))
    folder = str(documents_folder) if name == "documents" else ""
    study = load_study("own", folder)
    monkeypatch.chdir(tmp_path)  # the graph changes both
    monkeypatch.setenv("STUDY_PARENT", "")
    fixed = f"--snakefile={REPOSITORY / 'Snakefile'} --dry-run --cores 2 --quiet rules --config"
    own = [f"documents={folder}"] * bool(folder)
    _, arguments = parse_args([*fixed.split(), "study=own", *own])
    assert args_to_api(arguments, None)
    printed = map(str.split, "".join(capsys.readouterr()).splitlines())
    counts = {words[0]: int(words[1]) for words in printed if words[1:] and words[1].isdigit()}
    if study.kind == "exposures":
        assert counts["exposures_run"] == len(study.runs) == 2
    else:
        assert counts.get("train", 0) == len(study.trained)
        n = 1 if study.one_process_for_all_arms else len(study.runs)
        assert counts["infer"] == counts["judge"] == n
        assert counts["judge_org--m"] == counts["agreement"] == 1
        assert len(PIPELINES[study.kind].stages) <= len(counts)


@pytest.mark.parametrize(
    ("given", "expected"),
    [  # none in JupyterLab; what papermill is given holds, and the rest is the notebook's own
        ({}, ("dapt", 40, 1e-4)),
        ({"study": "lab", "epochs": 3}, ("dapt", 3, 5e-4)),
    ],
)
def test_a_notebook_needs_the_name_of_its_study_alone(given, expected, monkeypatch):
    found = opened("03_train", given, monkeypatch)
    assert tuple(found[name] for name in ("arm", "epochs", "learning_rate")) == expected


def test_papermill_refuses_a_parameter_that_the_notebook_lacks(monkeypatch):
    with pytest.raises(BadStudy, match="colum: unknown; choose among"):
        opened("statistics", {"colum": "single"}, monkeypatch)


def opened(stage: str, given: dict[str, object], monkeypatch) -> dict[str, object]:
    """Run a notebook's cells before its imports in IPython; return the names."""
    for name in ("STUDY_LOOK", PROMPTS):  # the notebook changes both
        monkeypatch.setenv(name, "")
    notebook = load_notebook_node(str(notebook_path(stage)))
    shell = InteractiveShell(user_module=ModuleType("notebook"))
    for cell in (parameterize_notebook(notebook, given) if given else notebook).cells:
        if cell.get("id") == "imports":
            return shell.user_ns
        if cell.cell_type == "code":
            shell.run_cell(cell.source, store_history=True).raise_error()
