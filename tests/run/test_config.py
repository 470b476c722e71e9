"""Studies and parameters are refused before anything runs, with messages that say what is legal."""

from pathlib import Path

import nbformat
import pytest
from snakemake.cli import args_to_api, parse_args

from lib.core.stages import PIPELINES
from lib.core.store import REPOSITORY, BadInput, BadStudy
from lib.llm import calls
from lib.run import config
from lib.run.config import check, load_study, notebook_path, parameters_of, studies
from lib.run.study import run_study
from tests.conftest import tiny_notebook

NAMED = "annotator: a-model\nnormalizer: a-model\n"


@pytest.fixture
def study_file(tmp_path, monkeypatch):
    """A function that writes studies/<name>.yaml of a repository with the real notebooks."""
    monkeypatch.setattr(config, "REPOSITORY", tmp_path)
    monkeypatch.setattr(calls, "REPOSITORY", tmp_path)
    monkeypatch.delenv("STUDY_DOCUMENTS", raising=False)
    (tmp_path / "notebooks").symlink_to(REPOSITORY / "notebooks")
    (tmp_path / "studies").mkdir()

    def write(text: str, name: str = "wrong") -> Path:
        path = tmp_path / "studies" / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


READS = "kind: structext\nbase_model: org/model\n"
CURVES = "kind: exposures\n"
WRONG = [  # lines of a study's file, by default of a laboratory's; part of the message
    (
        "sorce: lab",
        "'sorce' is unknown; choose among kind, expected_minutes, notebooks, folder, replies",
    ),
    ("kind: web", "kind: 'web' is unknown; choose among lab, documents"),
    ("kind: [lab]", "kind: ['lab'] is unknown; choose among lab, documents"),
    ("judge: [rules]", "judge: ['rules']: Input should be a valid string"),
    ("extras: [06_ledgers]", "extras: '06_ledgers' is unknown; choose among retention"),
    ("extras: ledger", "extras: 'ledger': Input should be a valid list"),
    ("judge: rules", "judge: rules is now called scorer: write judge: scorer"),
    ("other_judges: [scorer]", "other_judges: ['scorer'] names a judge twice, or the judge itself"),
    ("other_judges: [{}]", "other_judges, 0: {}: Input should be a valid string"),
    ("notebooks: {agreement: {judges: [rules]}}", "judges is set by the study's own keys"),
    ("seeds: 3", "seeds: 3: Input should be a valid list"),
    ("source: lab", "source is now called kind"),
    ("together: true", "together is now called one_process_for_all_arms"),
    ("notebooks: {03_train: {updates: 5}}", "updates is now called max_steps"),
    ("arms: {o: {04_infer: {reader: rules}}}", "reader is now called mode (and model_of)"),
    ("seeds: [a]", "seeds, 0: 'a': Input should be a valid integer"),
    ("arms: [base, dpt]", "arms: 'dpt' is neither base, nor trained (dapt-…)"),
    ("arms: dapt", "arms: 'dapt': Input should be a valid dictionary"),
    ("arms: [[dapt]]", "String should match pattern"),
    ("arms: {dapt: {01_annotate: {}}}", "'01_annotate' is unknown; choose among 03_train"),
    ("arms: {dapt: {03_train: {epochs: many}}}", "epochs: 'many' is not int"),
    ("notebooks: {04_inver: {}}", "'04_inver' is unknown; choose among 00_lab, 01_annotate"),
    ("notebooks: {00_documents: {}}", "'00_documents' is unknown"),
    ("notebooks: {03_train: 5}", "notebooks, 03_train: 5: Input should be a valid dictionary"),
    ("notebooks: {03_train: {arm: dapt}}", "03_train, parameter arm is set by the study's own"),
    ("notebooks: {03_train: {epoch: 3}}", "zero_stage. Did you mean epochs?"),
    ("notebooks: {03_train: {learning_rate: 5e-6}}", "'5e-6' is not float, but text: in YAML"),
    ("notebooks: {03_train: {epochs: 2.5}}", "epochs: 2.5 is not int"),
    ("notebooks: {03_train: {epochs: true}}", "epochs: True is not int"),
    (
        "one_process_for_all_arms: true\narms: {dapt: {04_infer: {batch_size: 2}}}",
        "set one_process_for_all_arms to false",
    ),
    ("arms: {o: {04_infer: {model_of: dapt}}}", "model_of needs one_process_for_all_arms: true"),
    ("base_model: data/lob/models/base", "no study with `kind: lab` is called 'lob'"),
    ("arms: {dapt: {03_train: {corpus: mixd}}}", "name what 'dapt' learns, not 'mixd'"),
    ("arms: {dapt-x: }", "name what 'dapt-x' learns, not ''"),
    ("llm: {max_cost: 2}", "llm, max_cost: Unexpected keyword argument; choose among max_cost_usd"),
    ("llm: {mode: slow}", "llm, mode: Input should be 'direct' or 'batch'"),
    ("llm: {stages: {5_judge: {}}}", "llm, stages: '5_judge' is unknown; choose among 00_lab"),
    ("notebooks: {", "wrong.yaml, line 2: not YAML: "),
    ("arms: [base, dpat]", "Did you mean dapt?"),
    (
        "notebooks:\n  01_annotate: {max_queries: 3}\n  03_train:\n    epochs: many",
        "wrong.yaml: notebook 03_train, parameter epochs: 'many' is not int",
    ),
    ("seed: 1", "Did you mean seeds?"),
    ("kind: documents\nbase_model: b", "annotator: '' names no model: set annotator, normalizer"),
    ("annotator: rules", "annotator: 'rules' names no model: set annotator, normalizer and judge"),
    ("normalizer: rules", "normalizer: 'rules' names no model"),
    ("augmenter: rules\narms: [dapt-a]", "augmenter: 'rules' names no model"),
    ("folder: studies", "makes its own documents: leave DOCUMENTS out"),
    (READS + "folder: studies", "makes its own documents: leave DOCUMENTS out"),
    (READS + "arms: {gpt: }", "nor an arm with a model of its own: gpt: {04_infer: {endpoint_mo"),
    (READS + "arms: {'a/b': {04_infer: {mode: solver}}}", "String should match pattern"),
    (READS + "arms: {dapt: }", "'dapt' cannot be trained here; name it tuned-…"),
    (READS + "extras: [ledger]", "extras: 'ledger' is unknown"),
    (CURVES + "arms: [raw, rwa]", "arm 'rwa' is unknown; choose among raw, normalized"),
    (CURVES + "arms: [normalized]", "add raw, with which all others are compared"),
    (CURVES + "seeds: []", "seeds: []: List should have at least 1 item"),
    (CURVES + "seeds: [1, 2]", "leave a gap of two, because a base also uses its seed + 1"),
    (CURVES + "notebooks: {exposures_run: {seed: 3}}", "seed is set by the study's own"),
    (CURVES + "notebooks: {exposures_run: {arms: [raw]}}", "arms is set by the study's own"),
    (CURVES + "notebooks: {exposures_runs: {}}", "is unknown; choose among exposures_run"),
    (CURVES + "judge: rules", "'judge' is unknown; choose among kind"),
    (CURVES + "folder: studies", "makes its own documents: leave DOCUMENTS out"),
]


@pytest.mark.parametrize(("lines", "message"), WRONG)
def test_a_wrong_study_file_is_refused_naming_what_is_legal(study_file, lines, message):
    study_file(lines if lines.startswith(("kind", "source")) else f"kind: lab\n{lines}")
    with pytest.raises(BadStudy) as error:
        load_study("wrong")
    assert "studies/wrong.yaml" in str(error.value) and message in str(error.value)


def test_an_arm_of_a_reading_study_has_a_model_of_its_own(study_file):
    study_file(f"{READS}arms: {{gpt: {{04_infer: {{endpoint_model: gpt}}}}, base: }}")
    study = load_study("wrong")
    given = study.given("04_infer", "gpt")
    assert list(study.arms) == ["base", "gpt"]
    assert (given["endpoint_model"], given["task"]) == ("gpt", "structext")


def test_a_base_model_may_be_another_laboratorys(study_file):
    study_file("kind: lab", "smoke")
    study_file("kind: structext\nbase_model: data/smoke/models/base", "right")
    study = load_study("right")
    assert (study.made_by, study.others, study.labs) == ("smoke", {"smoke"}, ["smoke"])


def test_a_missing_base_stops_a_study_with_what_makes_it(study_file, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path / "root"))
    study_file("kind: structext\nbase_model: data/base/Absent")
    with pytest.raises(BadInput, match=r"data/base/Absent is missing: run make base \(98 MB\), or"):
        run_study("wrong", "", "1")
    assert not (tmp_path / "root").exists()


def test_a_laboratorys_curve_is_of_its_own_base_by_the_recipe_of_the_exposure_study(study_file):
    study_file("kind: lab\nnotebooks: {00_lab: {seed: 5, n_public: 9}}")
    study = load_study("wrong")
    given = study.given("exposures_run", *study.arms_of("exposures_run"))
    assert (given["seed"], given["n_public"], given["base_model"]) == (5, 9, study.base_model)
    lab, run = (
        {name: one.default for name, one in parameters_of(notebook_path(stage)).items()}
        for stage in ("00_lab", "exposures_run")
    )
    for name in ("n_private", "n_public", "renderings", "vocabulary", "size", "base_recipe"):
        assert run[name] == lab[name], name


def test_each_seed_is_an_arm_with_the_next_number_and_all_else_alike(study_file):
    study_file(
        "kind: lab\nseeds: [42, 7, 8]\narms: {base: , dapt: , dapt-n: {03_train: {epochs: 3}}}"
    )
    study = load_study("wrong")
    assert study.runs == ["base", "dapt", "dapt@2", "dapt@3", "dapt-n", "dapt-n@2", "dapt-n@3"]
    given = [study.given("03_train", run) for run in study.trained]
    assert [row["seed"] for row in given] == [42, 7, 8] * 2
    assert [row.get("epochs") for row in given] == [None] * 3 + [3] * 3
    assert study.given("statistics")["arms"] == study.given("06_analyze")["arms"] == study.runs


def test_an_arm_is_an_entry_of_the_study_file_with_its_texts(study_file):
    study_file("kind: lab\narms: {base: , dapt-mixed: {03_train: {corpus: mixed, epochs: 2}}}")
    study = load_study("wrong")
    assert study.trained == ["dapt-mixed"] and study.given("02_normalize")["augmenter"] == ""
    assert study.given("03_train", "dapt-mixed")["corpus"] == "mixed"
    assert study.given("06_analyze")["arms"] == ["base", "dapt-mixed"]
    study_file("kind: lab\narms: {dapt-more: {03_train: {corpus: augmented}}}")
    assert load_study("wrong").given("02_normalize")["augmenter"] == "facts"


def test_arms_together_are_one_stage_of_the_notebooks_that_answer_judge_and_compare(study_file):
    study_file("kind: lab\nseeds: [1, 2]\none_process_for_all_arms: true")
    study = load_study("wrong")
    assert {
        stage: study.given(stage)["arms"]
        for stage in study.stages
        if study.arms_of(stage) == [""] and stage in ("04_infer", "05_judge", "retention", "pairs")
    } == {
        "04_infer": study.runs,
        "05_judge": study.runs,
        "retention": list(study.arms),
        "pairs": ["dapt", "dapt-n"],
    }
    assert study.arms_of("03_train") == study.trained == ["dapt", "dapt@2", "dapt-n", "dapt-n@2"]


def test_arms_together_may_have_readers_and_examples_of_their_own(study_file):
    study_file(
        "kind: tablequest\nannotator: a-model\none_process_for_all_arms: true\n"
        "arms: {base: , few: {04_infer: {n_shots: 2}}, "
        "floor: {04_infer: {mode: solver}}}"
    )
    given = load_study("wrong").given("04_infer")
    assert given["mode"] == {"base": "model", "few": "model", "floor": "solver"}
    assert given["n_shots"] == {"base": 0, "few": 2, "floor": 0}


def test_a_laboratorys_base_on_own_documents_is_for_show(study_file, monkeypatch, documents_folder):
    monkeypatch.setenv(config.BASE_VARIABLE, "laboratory")
    study_file("kind: lab", "lab")
    study_file(f"kind: documents\n{NAMED}")
    study = load_study("wrong", str(documents_folder))
    assert (study.base_model, study.disclaimer) == ("data/lab/models/base", config.FOR_SHOW)
    assert study.given("06_analyze")["disclaimer"] == config.FOR_SHOW


def test_only_a_study_with_dapt_a_is_augmented(study_file):
    study_file("kind: lab\naugmenter: some-model", name="plain")
    study_file("kind: lab\naugmenter: some-model\narms: [dapt-a, dapt]", name="more")
    plain, more = load_study("plain"), load_study("more")
    assert not plain.is_augmented and list(plain.arms) == ["base", "dapt", "dapt-n"]
    assert (list(more.arms), more.trained) == (["dapt", "dapt-a"], ["dapt", "dapt-a"])
    assert more.given("02_normalize")["augmenter"] == "some-model"


def test_the_graph_gives_a_notebook_what_it_declares_and_files_set_the_rest(study_file):
    study_file("kind: lab\nllm: {max_cost_usd: 2.0, stages: {05_judge: {retry: [cut]}}}")
    study = load_study("wrong")
    assert study.given("pairs", "dapt") == {
        "study": "wrong",
        "first_arm": "base",
        "arms": ["dapt"],
        "judge": "scorer",
    }
    own = calls.calls_for("wrong", "05_judge")
    assert (own.max_cost_usd, own.retry, own.concurrency) == (2.0, ["cut"], 32)
    assert calls.calls_for("wrong/1010", "01_annotate").retry == ()
    assert calls.calls_for("by hand", "01_annotate").max_cost_usd == 5
    for stage in study.stages:
        for arm in study.arms_of(stage):
            assert set(study.given(stage, arm)) <= set(parameters_of(notebook_path(stage)))


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
    with pytest.raises((BadStudy, BadInput)) as error:
        load_study("mine", folder)
    assert message in str(error.value)


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
    assert f"1 entries of {folder} were left out" in ran.stdout
    assert "  bad.md: empty" in ran.stdout
    assert "report:       figures/mine/report.html" in ran.stdout


@pytest.mark.parametrize(
    ("annotation", "value", "fits"),
    [
        ("int | None", None, True),
        ("int | None", 3, True),
        ("int | None", "3", False),
        ("float", 1, True),
        ("float", float("nan"), False),
        ("list[str]", ["a"], True),
        ("list[str]", ["a", 1], False),
        ("str", 1, False),
        ("bool", 1, False),
        ("list[int] | None", [1], True),
    ],
)
def test_a_value_fits_its_annotation_or_is_refused(tmp_path, annotation, value, fits):
    path = tmp_path / "x.ipynb"
    nbformat.write(tiny_notebook(f"x: {annotation} = {[]!r}", []), path)
    if fits:
        check(path, {"x": value})
    else:
        with pytest.raises(BadStudy, match="notebook x, parameter x: .* is not "):
            check(path, {"x": value})


def test_all_notebooks_together_have_few_parameters():
    notebooks = (REPOSITORY / "notebooks").rglob("*.ipynb")
    paths = [path for path in notebooks if ".ipynb_checkpoints" not in path.parts]
    assert sum(len(parameters_of(path)) for path in paths) <= 150


def loaded(name: str, folder: Path):
    text = (REPOSITORY / "studies" / f"{name}.yaml").read_text()
    return load_study(name, str(folder) if "kind: documents" in text else "")


@pytest.mark.parametrize("name", studies())
def test_every_committed_study_fits_its_notebooks(name, documents_folder):
    study = loaded(name, documents_folder)
    assert all(notebook_path(stage).exists() for stage in study.stages)


@pytest.mark.parametrize(
    "name", ["documents", "exposures-smoke", "structext", "structext-official", "tablequest"]
)
def test_the_graph_of_each_kind_of_study_has_every_stage(
    name, tmp_path, documents_folder, monkeypatch, capsys
):
    study = loaded(name, documents_folder)
    own = [f"documents={documents_folder}"] if name == "documents" else []
    monkeypatch.chdir(tmp_path)  # the graph changes all three
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("STUDY_PARENT", "")
    _, arguments = parse_args(
        [
            "--snakefile",
            str(REPOSITORY / "Snakefile"),
            "--dry-run",
            "--cores",
            "2",
            "--quiet",
            "rules",
            "--config",
            f"study={name}",
            *own,
        ]
    )
    assert args_to_api(arguments, None)
    counts = dict(
        line.split()
        for line in "".join(capsys.readouterr()).splitlines()
        if len(line.split()) == 2 and line[-1].isdigit()
    )
    if study.kind == "exposures":
        assert int(counts["exposures_run"]) == len(study.runs) == 2
    else:
        assert int(counts.get("train", 0)) == len(study.trained)
        n = 1 if study.one_process_for_all_arms else len(study.runs)
        assert int(counts["infer"]) == int(counts["judge"]) == n
        assert len(PIPELINES[study.kind].stages) <= len(counts)
