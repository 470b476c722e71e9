"""Deviations are read from what a run recorded, and never guessed where it recorded nothing."""

import json

import pytest

from lib.analyze.paper.deviations import (
    DIFFERS,
    MISSING,
    OPEN,
    PAIRS,
    POINTS,
    RESULT,
    SAME,
    deviations,
)
from lib.core.files import artifact_path, save, write_json
from lib.core.paths import REPOSITORY, data_path
from lib.core.records import Normalized, Segment
from lib.run.parameters import parameters_of

ARMS = ["base", "dapt", "dapt-n"]
RECIPE = {"warmup_steps": 20, "learning_rate": 5e-6, "global_batch_size": 64,
          "device_batch_size": 1, "seed": 42}
MADE_ON = {"recipe.precision": "bf16", "zero_stage": 1, "processes": 8, "device": "cuda"}
LLAMA = "meta-llama/Llama-3.1-8B"


def parameters(stage: str) -> dict:
    return parameters_of(next(REPOSITORY.glob(f"notebooks/**/{stage}.ipynb")))


def record(name: str, given: dict) -> None:
    """Write a stage's record as lib.run.notebook does, with the notebook's defaults."""
    defaulted = {one.name: one.default for one in parameters(name.split("-")[0]).values()
                 if one.name not in given}
    write_json(data_path("p", "stages", f"{name}.json"), {"given": given, "defaulted": defaulted})


def training_json(arm: str):
    return artifact_path("p", "model", arm=arm) / "training.json"


def found(*arms: str, seeds: int = 1):
    return deviations("p", list(arms or ARMS), seeds).set_index("point")


@pytest.fixture
def as_in_the_paper(tmp_path, monkeypatch):
    """Return a run with the paper's values: two arms, of 151 and 57 updates."""
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    record("00_documents", {})
    record("01_annotate", {"annotator": "gpt-4.1-2025-04-14"})
    record("02_normalize", {"normalizer": "gpt-4o-2024-08-06", "base_model": LLAMA})
    paper = {"base_model": LLAMA, "block_size": 4096, "global_batch_size": 64, "processes": 8,
             "device_batch_size": 1, "learning_rate": 5e-6, "packing": "concat"}
    for arm, length, updates, rate in (("dapt", {"epochs": 11}, 151, 0.0),
                                       ("dapt-n", {"epochs": 20, "stop_epoch": 11}, 57, 2.8e-6)):
        record(f"03_train-{arm}", {**paper, **length})
        write_json(training_json(arm), {
            "recipe": RECIPE, "tokens_trained": 3_600_000, "grad_accum_dtype": "fp32",
            "fingerprint": MADE_ON, "history": {
                "updates": updates, "seconds": 900, "chosen_epoch": 11, "resumed_at": 0,
                "epochs": [{"learning_rate": rate}]}})
        write_json(training_json(arm).with_name("config.json"), {"dtype": "bfloat16"})
    for arm in ARMS:
        record(f"00_retention-{arm}", {"arm": arm, "tasks": "hub"})
        record(f"04_infer-{arm}", {"arm": arm})
        record(f"05_judge-{arm}", {"arm": arm, "judge": "rules"})
    save("p", "segments", [Segment(segment_id=f"s{n}", document_id="d", start=0, end=1, text="a",
                                   n_tokens=600) for n in range(4)])
    save("p", "normalized", [Normalized(segment_id=f"s{n}", document_id="d", rating=9, remark="",
                                        text="a", dropped="" if n else "unread")
                             for n in range(4)])


@pytest.mark.usefixtures("as_in_the_paper")
def test_the_papers_own_values_are_the_same():
    comparison = found().comparison
    set_by_paper = [point.point for point in POINTS if point.paper != OPEN and point.stage != PAIRS]
    measured = ["arithmetic of the training", "type of the saved weights",
                "ZeRO stage (0: no DeepSpeed)", "gradient accumulation steps per update"]
    assert (comparison[set_by_paper + measured] == SAME).all(), comparison[set_by_paper]
    assert (comparison != DIFFERS).all()


@pytest.mark.usefixtures("as_in_the_paper")
def test_what_the_paper_leaves_open_is_named_with_the_runs_choice():
    rows = found()
    choices = {"packing": "concat", "pointwise judge": "rules", "tokenizer of these tokens": LLAMA,
               "type that gradients are summed in": "fp32"}
    assert (rows.comparison[list(choices)] == OPEN).all()
    assert rows["this run"][list(choices)].to_dict() == choices


@pytest.mark.usefixtures("as_in_the_paper")
def test_results_are_measured_by_arm():
    rows = found()
    for point, result in {
            "updates": "dapt: 151; dapt-n: 57",
            "warm-up, share of the updates": "dapt: 13%; dapt-n: 35%",  # 20/151 and 20/57
            "learning rate of the last update, share of the peak": "dapt: 0.0%; dapt-n: 56.0%",
            "device-hours": "2.00 on cuda",  # 900 s on 8 processes
            "tokens of the documents": "2,400 in 1 documents of 00_documents",
            "segments with a readable rewrite": "3/4 = 75.0%"}.items():
        assert (rows["this run"][point], rows.comparison[point]) == (result, RESULT)


@pytest.mark.usefixtures("as_in_the_paper")
def test_without_deepspeed_gradients_are_summed_in_the_type_of_the_weights():
    for arm in ("dapt", "dapt-n"):
        training = json.loads(training_json(arm).read_text())
        del training["grad_accum_dtype"]
        write_json(training_json(arm), training)
        write_json(training_json(arm).with_name("config.json"), {"dtype": "float32"})
    rows = found()
    assert rows["this run"]["type that gradients are summed in"] == "float32"
    assert rows.comparison["type of the saved weights"] == DIFFERS


@pytest.mark.usefixtures("as_in_the_paper")
def test_a_setting_of_one_arm_alone_is_shown_and_differs():
    record("03_train-dapt", {"epochs": 30, "learning_rate": 5e-6})
    rows = found()
    epochs = rows.loc["epochs of the schedule"]
    assert (epochs["this run"], epochs.comparison) == ("dapt: 30; dapt-n: 20", DIFFERS)
    assert rows.comparison["peak learning rate"] == SAME
    assert rows.comparison["tokens per sequence"] == DIFFERS


@pytest.mark.usefixtures("as_in_the_paper")
def test_a_missing_record_names_the_notebook_that_writes_it():
    for name in ("03_train-dapt-n", "02_normalize"):
        data_path("p", "stages", f"{name}.json").unlink()
    training_json("dapt-n").unlink()
    rows = found()
    assert rows.comparison["weight decay"] == MISSING
    for point, text in {
            "weight decay": "dapt: 0.1; dapt-n: not recorded: run 03_train.ipynb",
            "updates": "not recorded: run 03_train.ipynb for dapt-n",
            "normalizer": "not recorded: run 02_normalize.ipynb",
            "queries": "not recorded: run 01_annotate.ipynb"}.items():
        assert rows["this run"][point] == text


def test_a_study_without_any_record_has_a_row_for_every_point(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    rows = found("base")
    assert (rows.comparison == MISSING).all() and len(rows) == len(found()) > len(POINTS)


@pytest.mark.usefixtures("as_in_the_paper")
def test_an_arm_trained_again_is_held_to_the_arm_that_it_repeats():
    for arm in ("dapt", "dapt-n"):
        stage = json.loads(data_path("p", "stages", f"03_train-{arm}.json").read_text())
        write_json(data_path("p", "stages", f"03_train-{arm}@2.json"), stage)
    epochs = found("dapt", "dapt-n", seeds=2).loc["epochs of the schedule"]
    assert epochs["this run"] == "dapt: 11; dapt@2: 11; dapt-n: 20; dapt-n@2: 20"
    assert epochs.comparison == SAME


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.point)
def test_every_point_is_a_parameter_of_its_notebook(point):
    assert point.parameter in parameters(point.stage)


@pytest.mark.usefixtures("as_in_the_paper")
def test_the_documents_come_from_their_own_stage():
    data_path("p", "stages", "00_documents.json").unlink()
    # 00_retention has records, but makes no documents
    assert found()["this run"]["tokens of the documents"] == "2,400 in 1 documents"
