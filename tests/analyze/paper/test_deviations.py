"""Deviations from the paper: read from what a run recorded, never guessed where it recorded nothing."""

import json

import pytest

from lib.analyze.paper.deviations import DIFFERS, MISSING, OPEN, PAIRS, POINTS, RESULT, RETENTION, SAME, deviations
from lib.core.files import write_json, write_records
from lib.core.paths import REPOSITORY, data_path
from lib.core.records import Normalized, Segment
from lib.run.parameters import parameters_of

ARMS = ["base", "dapt", "dapt-n"]
RECIPE = {"warmup_steps": 20, "learning_rate": 5e-6, "global_batch_size": 64, "device_batch_size": 1, "seed": 42}


def record(study: str, stage: str, given: dict) -> None:
    """A stage's record as lib.run.notebook leaves it: what is not given has the notebook's default."""
    notebook = next(REPOSITORY.glob(f"notebooks/**/{stage.split('-')[0]}.ipynb"))
    defaults = {parameter.name: parameter.default for parameter in parameters_of(notebook).values()}
    write_json(data_path(study, "stages", f"{stage}.json"), {
        "stage": stage, "given": given, "defaulted": {name: value for name, value in defaults.items()
                                                      if name not in given}, "seconds": 1.0})


@pytest.fixture
def as_in_the_paper(tmp_path, monkeypatch):
    """A run with the paper's values, two arms, 151 and 57 updates."""
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    record("p", "00_documents", {})
    record("p", "01_annotate", {"annotator": "gpt-4.1-2025-04-14"})
    record("p", "02_normalize", {"normalizer": "gpt-4o-2024-08-06", "base_model": "meta-llama/Llama-3.1-8B"})
    paper = {"base_model": "meta-llama/Llama-3.1-8B", "block_size": 4096, "global_batch_size": 64,
             "device_batch_size": 1, "processes": 8, "learning_rate": 5e-6, "packing": "concat"}
    for arm, length, updates, rate in (("dapt", {"epochs": 11}, 151, 0.0),
                                       ("dapt-n", {"epochs": 20, "stop_epoch": 11}, 57, 2.8e-6)):
        record("p", f"03_train-{arm}", {**paper, **length})
        write_json(data_path("p", "models", arm, "training.json"), {
            "recipe": RECIPE, "tokens_trained": 3_600_000, "grad_accum_dtype": "fp32",
            "fingerprint": {"recipe.precision": "bf16", "zero_stage": 1, "processes": 8, "device": "cuda"},
            "history": {"updates": updates, "seconds": 900, "chosen_epoch": 11, "epochs": [{"learning_rate": rate}],
                        "resumed_at": 0}})
        write_json(data_path("p", "models", arm, "config.json"), {"dtype": "bfloat16"})
    for arm in ARMS:
        record("p", f"04_infer-{arm}", {"arm": arm})
        record("p", f"05_judge-{arm}", {"arm": arm, "judge": "rules"})
    write_records(data_path("p", "segments.jsonl"), [
        Segment(segment_id=f"s{n}", document_id="d", start=0, end=1, text="a", n_tokens=600) for n in range(4)])
    write_records(data_path("p", "normalized.jsonl"), [
        Normalized(segment_id=f"s{n}", document_id="d", rating=9, remark="", text="a", dropped="" if n else "unread")
        for n in range(4)])
    return deviations("p", ARMS).set_index("point")


def test_the_papers_own_values_are_the_same(as_in_the_paper):
    set_by_paper = [point.point for point in POINTS if point.paper != OPEN
                    and point.stage not in (RETENTION, PAIRS)]
    assert (as_in_the_paper.comparison[set_by_paper] == SAME).all(), as_in_the_paper.comparison[set_by_paper]
    for measured in ("arithmetic of the training", "type of the saved weights", "ZeRO stage (0: no DeepSpeed)",
                     "steps of accumulation an update"):
        assert as_in_the_paper.comparison[measured] == SAME
    assert (as_in_the_paper.comparison != DIFFERS).all()


def test_what_the_paper_leaves_open_is_named_with_the_runs_choice(as_in_the_paper):
    said = as_in_the_paper["this run"]
    open_points = as_in_the_paper[as_in_the_paper.comparison == OPEN]
    assert said["packing"] == "concat" and said["pointwise judge"] == "rules"
    assert said["type that gradients are summed in"] == "fp32"
    assert {"packing", "pointwise judge", "tokenizer of these tokens",
            "type that gradients are summed in"} <= set(open_points.index)


def test_results_are_measured_by_arm(as_in_the_paper):
    said = as_in_the_paper["this run"]
    assert said["updates"] == "dapt: 151; dapt-n: 57"
    assert said["warm-up, share of the updates"] == "dapt: 13%; dapt-n: 35%"  # 20/151 and 20/57
    assert said["learning rate of the last update, share of the peak"] == "dapt: 0.0%; dapt-n: 56.0%"
    assert said["device-hours"] == "2.00 on cuda"  # 900 s on 8 processes
    assert said["tokens of the documents"] == "2,400 in 1 documents of 00_documents"
    assert said["segments whose rewriting could be read"] == "3/4 = 75.0%"
    assert as_in_the_paper.comparison["updates"] == RESULT


def test_without_deepspeed_gradients_are_summed_in_the_type_of_the_weights(as_in_the_paper):
    for arm in ("dapt", "dapt-n"):
        path = data_path("p", "models", arm, "training.json")
        training = json.loads(path.read_text())
        del training["grad_accum_dtype"]
        write_json(path, training)
        write_json(path.with_name("config.json"), {"dtype": "float32"})
    rows = deviations("p", ARMS).set_index("point")
    assert rows["this run"]["type that gradients are summed in"] == "float32"
    assert rows.comparison["type of the saved weights"] == DIFFERS


def test_a_setting_of_one_arm_alone_is_shown_and_differs(as_in_the_paper):
    record("p", "03_train-dapt", {"epochs": 30, "learning_rate": 5e-6})
    rows = deviations("p", ARMS).set_index("point")
    assert rows.loc["epochs of the schedule"][["this run", "comparison"]].tolist() == ["dapt: 30; dapt-n: 20", DIFFERS]
    assert rows.comparison["peak learning rate"] == SAME and rows.comparison["tokens a sequence"] == DIFFERS


def test_a_missing_record_says_which_notebook_writes_it(as_in_the_paper):
    data_path("p", "stages", "03_train-dapt-n.json").unlink()
    data_path("p", "models", "dapt-n", "training.json").unlink()
    data_path("p", "stages", "02_normalize.json").unlink()
    data_path("p", "queries.jsonl").unlink(missing_ok=True)
    rows = deviations("p", ARMS).set_index("point")
    assert rows.loc["weight decay"][["this run", "comparison"]].tolist() == [
        "dapt: 0.1; dapt-n: not recorded: run 03_train.ipynb", MISSING]
    assert rows["this run"]["updates"] == "not recorded: run 03_train.ipynb for dapt-n"
    assert rows["this run"]["normalizer"] == "not recorded: run 02_normalize.ipynb"
    assert rows["this run"]["queries"] == "not recorded: run 01_annotate.ipynb"


def test_a_study_without_any_record_has_a_row_for_every_point(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    rows = deviations("none", ["base"])
    assert (rows.comparison == MISSING).all() and len(rows) == len(deviations("none", ARMS)) > len(POINTS)


def test_an_arm_trained_again_is_held_to_the_arm_it_repeats(as_in_the_paper):
    stage = json.loads(data_path("p", "stages", "03_train-dapt-n.json").read_text())
    write_json(data_path("p", "stages", "03_train-dapt-n@2.json"), stage)
    write_json(data_path("p", "stages", "03_train-dapt@2.json"), json.loads(
        data_path("p", "stages", "03_train-dapt.json").read_text()))
    rows = deviations("p", ["dapt", "dapt-n"], seeds=2).set_index("point")
    assert rows["this run"]["epochs of the schedule"] == "dapt: 11; dapt@2: 11; dapt-n: 20; dapt-n@2: 20"
    assert rows.comparison["epochs of the schedule"] == SAME


def test_every_point_names_a_parameter_that_its_notebook_has():
    for point in POINTS:
        notebook = next(REPOSITORY.glob(f"notebooks/**/{point.stage}.ipynb"))
        assert point.parameter in parameters_of(notebook), point
