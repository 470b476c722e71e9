"""LoRA: the base is frozen, an interrupt changes nothing, merged it is an ordinary model."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from lib.infer.loglik import Sequence, token_scores
from lib.train.trainer import ADAPTER, ScoreAfter
from tests.train.test_trainer import (
    RECIPE,
    TEXTS,
    TOKENIZER,
    interrupt,
    new_model,
    run,
    same,
    weights,
)

LORA = replace(RECIPE, lora_rank=8, learning_rate=3e-2, precision="fp32")
PROBE = [Sequence(TOKENIZER(text)["input_ids"], [4, 5, 6]) for text in TEXTS]


def scores(model) -> list[float]:
    return [loglik for row in token_scores(model, PROBE, 2) for loglik, _ in row]


def run_lora(output: Path, recipe=LORA, **more):
    """Train the small base of the other tests, saved beside `output`, with an adapter."""
    base = output.parent / "base"
    new_model().save_pretrained(base)
    return run(output, recipe, AutoModelForCausalLM.from_pretrained(base), **more)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    output, after = tmp_path_factory.mktemp("lora") / "dapt", []
    history = run_lora(
        output, callbacks=[ScoreAfter({36: 12}, lambda model, _: after.append(scores(model)))]
    )
    return output, history, after[0]


def test_it_learns_in_its_linear_layers_alone(trained):
    output, history, _ = trained
    assert history.epochs[-1]["loss"] < 0.95 * history.epochs[0]["loss"]
    before, after = (weights(output.with_name(name)) for name in ("base", "dapt"))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {name for name in before if "_proj." in name}
    assert before.keys() == after.keys()


def test_the_merged_folder_answers_as_the_adapter_that_is_kept_beside_it(trained):
    output, _, unmerged = trained
    base = AutoModelForCausalLM.from_pretrained(output.with_name("base"))
    untrained = scores(base)
    adapted = PeftModel.from_pretrained(base, output / ADAPTER)
    merged = AutoModelForCausalLM.from_pretrained(output)
    for one in (scores(adapted), unmerged):
        assert scores(merged) == pytest.approx(one, abs=1e-4)
    assert scores(merged) != pytest.approx(untrained, abs=0.1)
    assert not [*output.rglob("training_args.bin")]


def test_frozen_layers_and_the_embedding_are_unchanged_and_nothing_else_is(tmp_path):
    output, before = tmp_path / "dapt", new_model().state_dict()
    run(output, replace(RECIPE, frozen_layers=1))
    after = weights(output)
    kept = {name for name in before if torch.equal(before[name], after[name])}
    first = {name for name in before if "layers.0." in name}
    assert kept == first | {"model.embed_tokens.weight", "lm_head.weight"}  # they are tied
    with pytest.raises(ValueError, match="frozen_layers is 3: 2 layers"):
        run(output, replace(RECIPE, frozen_layers=3))
    with pytest.raises(ValueError, match="leave out frozen_layers"):
        replace(LORA, frozen_layers=1)


def test_layers_computed_again_change_no_loss(trained, tmp_path):
    passes, model = [], new_model()
    model.model.layers[0].mlp.register_forward_pre_hook(lambda *_: passes.append(1))
    history = run(tmp_path / "dapt", replace(LORA, gradient_checkpointing=True), model)
    losses = [[row["loss"] for row in one.epochs] for one in (history, trained[1])]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    # 60 blocks are trained, with two passes each, and 12 are validated with one
    assert len(passes) == 2 * 12 * 5 + 12


def test_an_interrupted_run_resumes_to_the_same_weights(trained, tmp_path):
    output = tmp_path / "dapt"
    with pytest.raises(KeyboardInterrupt):
        run_lora(output, callbacks=[ScoreAfter({10: 4}, interrupt)])
    assert run_lora(output).resumed_at == 9
    assert same(weights(output), weights(trained[0]))
