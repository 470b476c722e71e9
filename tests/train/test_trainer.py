"""Training at a tiny size: it learns, resumes to the same weights, and reuses no other run."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
)

from lib.core.store import REPOSITORY, BadInput
from lib.infer.generate import continuations
from lib.infer.loglik import Sequence, token_scores
from lib.lab.bases import new_llama, train_tokenizer
from lib.train.config import TrainConfig, proposed_epoch, training_length
from lib.train.corpus import pack
from lib.train.trainer import (
    LOG,
    MOST_TOKENS,
    PRODUCTS,
    ROWS,
    ScoreAfter,
    fastest_attention,
    train,
)

PORTS = {"Orbit": 8443, "Comet": 1701, "Atlas": 5060, "Lotus": 9092, "Drift": 6379, "Ingot": 2049}
TEXTS = [f"The default port of Ardwin {name} is {port}." for name, port in PORTS.items()]
TOKENIZER = train_tokenizer(TEXTS, 320)
RECIPE = TrainConfig(
    epochs=12,
    global_batch_size=2,
    device_batch_size=1,
    learning_rate=3e-3,
    warmup_steps=2,
    weight_decay=0.1,
    seed=1,
)


def blocks_of(texts: list[str]):
    return pack(texts, TOKENIZER, 24, "document")


def new_model(tokenizer=TOKENIZER, context: int = 64):
    return new_llama(tokenizer, hidden_size=32, layers=2, heads=2, context=context, seed=1)


def run(output: Path, recipe: TrainConfig = RECIPE, model=None, callbacks=()):
    """Train a small model from the same start into `output`."""
    return train(
        model or new_model(),
        TOKENIZER,
        blocks_of(TEXTS[:5]),
        blocks_of(TEXTS[5:]),
        recipe,
        output,
        {"arm": "dapt"},
        callbacks,
    )


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return AutoModelForCausalLM.from_pretrained(folder).state_dict()


def same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[key], right[key]) for key in left)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    output = tmp_path_factory.mktemp("training") / "dapt"
    return output, run(output)


def test_the_loss_falls_and_an_ordinary_hugging_face_folder_is_left_and_nothing_else(unbroken):
    output, history = unbroken
    assert [row["epoch"] for row in history.epochs] == list(range(1, 13))
    columns = {"epoch", "loss", "validation_loss", "gradient_norm", "learning_rate"}
    assert all(row.keys() == columns for row in history.epochs)
    assert history.epochs[-1]["loss"] < 0.7 * history.epochs[0]["loss"]
    assert history.updates == 12 * 3  # 5 blocks in updates of 2
    tokenizer = AutoTokenizer.from_pretrained(output)
    assert tokenizer("a")["input_ids"][0] == tokenizer.bos_token_id
    manifest = json.loads((output / "training.json").read_text())
    assert manifest["arm"] == "dapt" and manifest["history"]["updates"] == history.updates
    assert [path.name for path in output.parent.iterdir()] == ["dapt"]


def interrupt(*_) -> None:
    """Stop a training as Ctrl-C does."""
    raise KeyboardInterrupt


def test_a_killed_run_resumes_to_the_same_weights_but_not_with_another_recipe(unbroken, tmp_path):
    output = tmp_path / "dapt"
    code = (
        "from pathlib import Path; from tests.train.test_trainer import run; "
        f"run(Path({str(output)!r}))"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY) as child:
        while not list(tmp_path.glob(".dapt/checkpoint-*/complete")) and child.poll() is None:
            time.sleep(0.002)
        child.kill()
    found = list(tmp_path.glob(".dapt/checkpoint-*"))
    assert not output.exists() and found, "it was killed too early or too late"
    last = max(int(path.name.split("-")[1]) for path in found)
    (tmp_path / ".dapt" / f"checkpoint-{last + 3}").mkdir()  # as if killed while saving the next
    message = r"recipe.learning_rate: 0.003 there, 0.01 now\n.*rm -r .*\.dapt"
    with pytest.raises(BadInput, match=message):
        run(output, replace(RECIPE, learning_rate=0.01))
    history = run(output)
    assert same(weights(output), weights(unbroken[0]))
    assert len(history.epochs) == 12 and history.resumed_at > 0


def test_a_rate_that_decays_in_the_last_fifth_is_the_same_after_an_interrupt_and_is_logged(
    tmp_path,
):
    recipe = replace(RECIPE, lr_scheduler_type="warmup_stable_decay")
    history = run(tmp_path / "whole", recipe)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "parts", recipe, callbacks=[ScoreAfter({10: 4}, interrupt)])
    logged = replace(recipe, logging_dir=str(tmp_path / "logs"), logging_steps=2)
    resumed = run(tmp_path / "parts", logged)  # what is logged is no part of the fingerprint
    assert resumed.resumed_at == 9
    rows = list(map(json.loads, (tmp_path / "logs" / LOG).read_text().splitlines()))
    steps = [row["step"] for row in rows if "grad_norm" in row]
    assert steps == sorted({3, 6, 9, *range(10, 37, 2), *range(12, 37, 3)})  # and of each epoch
    for one, other in zip(resumed.epochs, history.epochs, strict=True):
        assert one == pytest.approx(other, rel=1e-4)
    assert same(weights(tmp_path / "parts"), weights(tmp_path / "whole"))
    rates = [row["learning_rate"] for row in history.epochs]
    assert rates[8] == pytest.approx(3e-3) and 3e-4 < rates[-1] < 0.3 * 3e-3


def test_a_tracker_shows_the_gradient_norm_of_every_logged_update(tmp_path):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    place = str(tmp_path / "logs")
    logged = {"logging_dir": place, "logging_steps": 1, "report_to": ["tensorboard"]}
    run(tmp_path / "dapt", replace(RECIPE, epochs=2, **logged))
    shown = events.EventAccumulator(place).Reload()
    assert [one.step for one in shown.Scalars("train/grad_norm")] == [*range(1, 7)]


def test_an_earlier_stop_shortens_training_but_not_its_schedule():
    length = training_length(replace(RECIPE, epochs=10, stop_after_epoch=4), blocks_of(TEXTS[:5]))
    assert (length.schedule_updates, length.updates, length.epochs) == (30, 12, 4)
    both = training_length(replace(RECIPE, max_steps=10, stop_after_epoch=2), blocks_of(TEXTS[:5]))
    assert (both.schedule_updates, both.updates) == (10, 6)
    for wrong in (
        {"precision": "fp8"},
        {"epochs": 0},
        {"stop_after_epoch": 99},
        {"processes": 3},  # into which a batch cannot be split
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            replace(RECIPE, **wrong)


def test_an_epoch_is_taken_from_a_finished_run_with_the_weights_of_a_run_stopped_there(tmp_path):
    kept, stopped = replace(RECIPE, keep_checkpoints=True), replace(RECIPE, stop_after_epoch=4)
    every = run(tmp_path / "dapt", kept)
    assert len([*tmp_path.glob(".dapt/checkpoint-*")]) == 12
    taken = run(tmp_path / "dapt", replace(stopped, keep_checkpoints=True))
    assert (taken.resumed_at, taken.updates) == (12, 12), "nothing is trained"
    alone = run(tmp_path / "alone", stopped)
    assert same(weights(tmp_path / "dapt"), weights(tmp_path / "alone"))
    assert taken.epochs == alone.epochs == every.epochs[:4]
    again = run(tmp_path / "dapt", kept)
    assert again.resumed_at == 36 and again.epochs == every.epochs


def test_of_epochs_with_about_the_lowest_validation_loss_the_calmest_is_proposed():
    epochs = {"epoch": [1, 2, 3, 4], "validation_loss": [3.0, 2.01, 2.0, 2.1]}
    table = pd.DataFrame(epochs | {"gradient_norm": [0.1, 0.5, 0.9, 0.2]})
    assert proposed_epoch(table) == 2


def test_arms_of_unequal_texts_make_equal_updates_and_scoring_between_epochs_changes_no_weight(
    unbroken, tmp_path
):
    lengths = [
        training_length(replace(RECIPE, max_steps=10), blocks_of(texts))
        for texts in (TEXTS, TEXTS[:2])
    ]
    assert [(one.updates, one.schedule_updates) for one in lengths] == [(10, 10)] * 2
    assert [one.epochs for one in lengths] == pytest.approx([10 / 3, 10])
    # the fourth epoch is cut short; none begins after it
    assert lengths[0].points([0, 1, 3, 4, 5, 9]) == {3: 1, 9: 3, 10: 4}
    scored = {}

    def score(model, epoch: int) -> None:
        scored[epoch] = token_scores(model, [Sequence([5, 6, 7], [2])], 1)

    run(tmp_path / "dapt", callbacks=[ScoreAfter({3: 1, 36: 12}, score)])
    assert list(scored) == [1, 12]
    assert same(weights(tmp_path / "dapt"), weights(unbroken[0]))


def test_a_loss_that_is_not_a_number_stops_the_run(tmp_path):
    with pytest.raises(FloatingPointError, match="lower learning_rate"):
        run(tmp_path / "dapt", replace(RECIPE, learning_rate=1e20, warmup_steps=0))
    assert not (tmp_path / "dapt").exists()


SIZE = 2 * ROWS + 7  # tokens per block: the last product has fewer rows than the others


def small_llama(key_heads: int = 4, **more: object) -> PreTrainedModel:
    torch.manual_seed(3)
    config = new_model().config.to_dict() | {"num_attention_heads": 4, "initializer_range": 0.2}
    config |= {"num_key_value_heads": key_heads, "use_cache": False, "head_dim": 8}
    return LlamaForCausalLM(LlamaConfig(**config, **more))  # wide, so that attention matters


def packed(packing: str) -> dict[str, torch.Tensor]:
    blocks = pack(TEXTS * 2, TOKENIZER, SIZE, packing)
    return {
        name: torch.tensor(getattr(blocks, name)[:2])
        for name in ("input_ids", "labels", "position_ids")
    }


def padded() -> dict[str, torch.Tensor]:
    """Return two sequences without positions, the first of them padded on the left."""
    batch = packed("concat")
    del batch["position_ids"]
    batch["attention_mask"] = torch.ones_like(batch["input_ids"])
    batch["attention_mask"][0, :90] = 0
    batch["labels"][0, :91] = -100
    return batch


def loss_and_gradients(model: PreTrainedModel, batch: dict[str, torch.Tensor]):
    model.zero_grad()
    loss = model(**batch).loss
    loss.backward()
    return [loss.detach(), *(weights.grad.clone() for weights in model.parameters())]


@pytest.mark.parametrize("key_heads", [4, 2, 1])
@pytest.mark.parametrize(
    "batch", [packed("document"), packed("concat"), padded()], ids=["document", "concat", "padded"]
)
def test_loss_and_gradients_are_those_of_sdpa(batch, key_heads):
    model = small_llama(key_heads)
    expected = loss_and_gradients(model, batch)
    with fastest_attention(model, SIZE):
        assert model.config._attn_implementation == PRODUCTS
        found = loss_and_gradients(model, batch)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_answers_while_it_trains_are_those_of_sdpa():
    model = small_llama().eval()
    model.generation_config.use_cache = True
    prompts = [[3 + n * place % 290 for place in range(ROWS + 9 * n)] for n in range(1, 9)]
    expected = continuations(model, TOKENIZER, prompts, [8] * 8)
    with fastest_attention(model, SIZE):
        assert continuations(model, TOKENIZER, prompts, [8] * 8) == expected
    assert len({*map(str, expected)}) == 8


def test_it_replaces_only_sdpa_in_small_blocks_and_leaves_no_trace(tmp_path):
    model, eager = small_llama(), small_llama(attn_implementation="eager")
    with fastest_attention(model, MOST_TOKENS + 1), fastest_attention(eager, SIZE):
        assert model.config._attn_implementation == "sdpa"
        assert eager.config._attn_implementation == "eager"
    with pytest.raises(KeyError), fastest_attention(model, SIZE):
        model.save_pretrained(tmp_path)
        raise KeyError
    assert model.config._attn_implementation == "sdpa"
    assert PRODUCTS not in (tmp_path / "config.json").read_text()
