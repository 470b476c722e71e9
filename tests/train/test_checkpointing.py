"""Gradient checkpointing computes layers twice, and changes neither the curve nor a resumed run."""

from dataclasses import replace

import pytest

from lib.train.trainer import train
from tests.train import test_deepspeed as several
from tests.train.test_trainer import RECIPE, TEXTS, TOKENIZER, blocks_of, new_model, weights

AGAIN = replace(RECIPE, gradient_checkpointing=True)


def run(output, recipe, callbacks=()):
    """Return the history, and how often the first layer's MLP was computed."""
    model, passes = new_model(), []
    model.model.layers[0].mlp.register_forward_pre_hook(lambda *_: passes.append(1))
    history = train(
        model, TOKENIZER, blocks_of(TEXTS[:5]), blocks_of(TEXTS[5:]), recipe, output, {}, callbacks
    )
    return history, len(passes)


def test_layers_are_computed_twice_and_every_loss_and_weight_stays(tmp_path):
    (plain, once), (again, twice) = (
        run(tmp_path / name, recipe) for name, recipe in (("plain", RECIPE), ("again", AGAIN))
    )
    n_trained = 12 * 5  # forward passes of one block; the others check the model and validate
    assert twice - once == n_trained
    assert several.curve(again) == pytest.approx(several.curve(plain), rel=1e-5)
    left, right = weights(tmp_path / "plain"), weights(tmp_path / "again")
    assert all(float((left[name] - right[name]).abs().max()) < 1e-6 for name in left)
