"""Gradient checkpointing computes layers twice, and changes neither the curve nor a resumed run."""

from dataclasses import replace

import pytest
from transformers import TrainerCallback

from lib.train.trainer import train
from tests.train import test_deepspeed as several
from tests.train.test_trainer import RECIPE, TEXTS, TOKENIZER, blocks_of, new_model, same, weights

AGAIN = replace(RECIPE, gradient_checkpointing=True)


class Stops(TrainerCallback):
    """End the run when its sixth epoch begins, as if it was killed."""

    def on_epoch_begin(self, args, state, control, **more):
        if round(state.epoch) == 5:
            raise KeyboardInterrupt


def run(output, recipe, callbacks=()):
    """Return the history, and how often the first layer's MLP was computed."""
    model, passes = new_model(), []
    model.model.layers[0].mlp.register_forward_pre_hook(lambda *_: passes.append(1))
    history = train(model, TOKENIZER, blocks_of(TEXTS[:5]), blocks_of(TEXTS[5:]), recipe, output,
                    {}, callbacks)
    return history, len(passes)


def test_layers_are_computed_twice_and_every_loss_and_weight_stays(tmp_path):
    (plain, once), (again, twice) = (run(tmp_path / name, recipe) for name, recipe in
                                     (("plain", RECIPE), ("again", AGAIN)))
    n_trained = 12 * 5  # forward passes of one block; the others check the model and validate
    assert twice - once == n_trained
    assert several.curve(again) == pytest.approx(several.curve(plain), rel=1e-5)
    left, right = weights(tmp_path / "plain"), weights(tmp_path / "again")
    assert all(float((left[name] - right[name]).abs().max()) < 1e-6 for name in left)


def test_a_run_that_was_stopped_resumes_to_the_same_weights(tmp_path):
    run(tmp_path / "whole", AGAIN)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped", AGAIN, [Stops()])
    history, _ = run(tmp_path / "stopped", AGAIN)
    assert history.resumed_at == 5 * 3
    assert same(weights(tmp_path / "stopped"), weights(tmp_path / "whole"))


@pytest.mark.slow
def test_several_processes_do_it_too(tmp_path):
    recipe = replace(several.RECIPE, stop_epoch=2)
    alone = several.run(tmp_path, "alone", recipe)
    both = several.run(tmp_path, "both", replace(recipe, gradient_checkpointing=True), processes=2)
    assert several.curve(both) == pytest.approx(several.curve(alone), rel=several.TOLERANCE)
