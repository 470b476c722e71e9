"""Training for real at a tiny size: it learns, resumes to the same weights, and reuses no other run's work."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BertConfig, BertLMHeadModel, GPT2Config, GPT2LMHeadModel

from lib.core.records import Normalized, Segment
from lib.lab.base_model import new_llama, train_tokenizer
from lib.train.checkpoints import COMPLETE, OtherCheckpoint, prepare
from lib.train.checks import check_base, is_causal
from lib.train.corpus import make_corpus
from lib.train.packing import pack
from lib.train.recipe import extent, matched
from lib.train.trainer import Recipe, train

TEXTS = [f"The default port of Ardwin {name} is {port}." for name, port in
         (("Orbit", 8443), ("Comet", 1701), ("Atlas", 5060), ("Lotus", 9092), ("Drift", 6379), ("Ingot", 2049))]
RECIPE = Recipe(epochs=12, global_batch_size=2, device_batch_size=1, learning_rate=3e-3, warmup_steps=2,
                weight_decay=0.1, seed=1)


def blocks_of(texts: list[str], tokenizer):
    return pack(texts, tokenizer, 24, "document")


def run(output: Path, recipe: Recipe = RECIPE, model=None):
    """Train a small model from the same start into `output`."""
    tokenizer = train_tokenizer(TEXTS, 320)
    model = model or new_llama(tokenizer, hidden_size=32, layers=2, heads=2, context=64, seed=1)
    return train(model, tokenizer, blocks_of(TEXTS[:5], tokenizer), blocks_of(TEXTS[5:], tokenizer), recipe, output,
                 {"arm": "dapt"})


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return AutoModelForCausalLM.from_pretrained(folder).state_dict()


def same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    output = tmp_path_factory.mktemp("training") / "dapt"
    return output, run(output)


def test_the_loss_falls_and_every_epoch_has_its_row(unbroken):
    _, history = unbroken
    assert [row["epoch"] for row in history.epochs] == list(range(1, 13))
    columns = {"epoch", "loss", "validation_loss", "gradient_norm", "learning_rate"}
    assert all(row.keys() == columns for row in history.epochs)
    assert history.epochs[-1]["loss"] < 0.7 * history.epochs[0]["loss"]
    assert history.updates == 12 * 3  # 5 blocks in updates of 2


def test_it_leaves_an_ordinary_hugging_face_folder_and_nothing_else(unbroken):
    output, history = unbroken
    tokenizer = AutoTokenizer.from_pretrained(output)
    assert tokenizer("a")["input_ids"][0] == tokenizer.bos_token_id
    manifest = json.loads((output / "training.json").read_text())
    assert manifest["arm"] == "dapt" and manifest["history"]["updates"] == history.updates
    assert [path.name for path in output.parent.iterdir()] == ["dapt"]


def test_a_killed_run_goes_on_to_the_same_weights_and_only_with_the_same_recipe(unbroken, tmp_path):
    output = tmp_path / "dapt"
    code = f"from tests.test_training import run; from pathlib import Path; run(Path({str(output)!r}))"
    child = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parent.parent,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob(".dapt/checkpoint-*/complete")) and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert not output.exists() and list(tmp_path.glob(".dapt/checkpoint-*")), "it was killed too early or too late"
    last = max(int(path.name.split("-")[1]) for path in tmp_path.glob(".dapt/checkpoint-*"))
    (tmp_path / ".dapt" / f"checkpoint-{last + 3}").mkdir()  # as if it had been killed while it saved the next
    with pytest.raises(OtherCheckpoint, match=r"recipe.learning_rate: 0.003 there, 0.01 now\n.*rm -r .*\.dapt"):
        run(output, replace(RECIPE, learning_rate=0.01))
    history = run(output)
    assert same(weights(output), weights(unbroken[0]))
    assert len(history.epochs) == 12 and history.resumed_at > 0


@pytest.mark.parametrize("found, message", [
    ({"code": "a", "versions.torch": "2"}, "code: a there, b now"), ({"code": "b"}, "versions.torch: nothing there, 2"),
    (None, "code: nothing there, b now")])
def test_a_checkpoint_of_other_code_or_libraries_is_named_and_kept(tmp_path, found, message):
    checkpoint = tmp_path / ".dapt" / "checkpoint-3"
    checkpoint.mkdir(parents=True)
    (checkpoint / COMPLETE).touch()
    if found:
        (tmp_path / ".dapt" / "identity.json").write_text(json.dumps(found))
    with pytest.raises(OtherCheckpoint, match=message):
        prepare(tmp_path / ".dapt", {"code": "b", "versions.torch": "2"})
    assert checkpoint.exists()


def test_a_training_without_a_checkpoint_gives_way_to_any_other(tmp_path):
    prepare(tmp_path / ".dapt", {"recipe.epochs": 1})
    assert prepare(tmp_path / ".dapt", {"recipe.epochs": 2}) == []


def test_a_schedule_that_stops_early_is_its_own_first_epochs(unbroken, tmp_path):
    history = run(tmp_path / "dapt", replace(RECIPE, stop_epoch=3))
    assert history.epochs == unbroken[1].epochs[:3]
    assert history.updates == 3 * 3 and history.tokens == 3 * unbroken[1].tokens // 12


def test_the_epoch_of_the_lowest_validation_loss_is_kept_on_request(tmp_path):
    recipe = replace(RECIPE, epochs=8, learning_rate=0.06, choose="validation_loss")
    history = run(tmp_path / "dapt", recipe)
    losses = [row["validation_loss"] for row in history.epochs]
    assert history.chosen_epoch == losses.index(min(losses)) + 1 < 8, "the last epoch is the best: no test"
    run(tmp_path / "best", replace(recipe, choose="last", stop_epoch=history.chosen_epoch))
    assert same(weights(tmp_path / "dapt"), weights(tmp_path / "best"))


def test_two_arms_can_have_the_same_compute():
    tokenizer = train_tokenizer(TEXTS, 320)
    own, dapt = blocks_of(TEXTS[:2], tokenizer), blocks_of(TEXTS[:5], tokenizer)
    recipe = Recipe(10, 2, 1, 1e-3, 0, 0.0, 1, stop_epoch=4)
    assert (extent(recipe, dapt).schedule_updates, extent(recipe, dapt).updates) == (30, 12)
    assert (extent(recipe, own).schedule_updates, extent(recipe, own).updates) == (10, 4)
    same_updates = extent(matched(recipe, own, dapt, "updates"), own)
    assert (same_updates.schedule_updates, same_updates.updates, same_updates.epochs) == (30, 12, 12)
    same_tokens = extent(matched(recipe, own, dapt, "tokens"), own)
    assert abs(same_tokens.tokens - extent(recipe, dapt).tokens) <= own.n_targets / 2
    assert matched(recipe, own, dapt, "epochs") is recipe
    with pytest.raises(ValueError, match="flops"):
        matched(recipe, own, dapt, "flops")


def test_a_last_epoch_that_is_not_whole_has_its_row(tmp_path):
    history = run(tmp_path / "dapt", replace(RECIPE, schedule_updates=5, stop_updates=5))
    assert history.updates == 5 and [row["epoch"] for row in history.epochs] == [1, 2]


def test_a_full_disk_is_told_and_the_same_command_goes_on(unbroken, tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))  # bytes; the weights alone take more
    try:
        with pytest.raises(OSError, match=r"checkpoint-3 could not be saved .* Free some space"):
            run(tmp_path / "dapt")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    run(tmp_path / "dapt")
    assert same(weights(tmp_path / "dapt"), weights(unbroken[0]))


def test_a_base_model_that_is_not_causal_is_refused(tmp_path):
    bert = BertLMHeadModel(BertConfig(vocab_size=320, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                                      intermediate_size=32))
    with pytest.raises(ValueError, match="not causal"):
        run(tmp_path / "dapt", model=bert)
    bert.config.is_decoder = True
    assert is_causal(GPT2LMHeadModel(GPT2Config(vocab_size=320, n_embd=32, n_layer=1, n_head=2)))


def test_a_base_model_that_does_not_fit_the_blocks_says_what_to_change():
    tokenizer = train_tokenizer(TEXTS, 320)
    blocks = blocks_of(TEXTS, tokenizer)
    size = {"hidden_size": 32, "layers": 1, "heads": 2, "seed": 1}
    with pytest.raises(ValueError, match="block_size is 24, .* 16 tokens"):
        check_base(new_llama(tokenizer, context=16, **size), blocks, 1)
    model = new_llama(tokenizer, context=64, **size)
    model.resize_token_embeddings(100)
    with pytest.raises(ValueError, match="do not belong together"):
        check_base(model, blocks, 1)
    model = new_llama(tokenizer, context=64, **size)
    model.config._attn_implementation = "flash_attention_2"  # it cannot be loaded here; the check reads its name
    with pytest.raises(ValueError, match="device_batch_size is 1, and it is 2"):
        check_base(model, pack(TEXTS, tokenizer, 64, "document"), 2)


def test_a_loss_that_is_not_a_number_stops_the_run(tmp_path):
    with pytest.raises(FloatingPointError, match="lower learning_rate"):
        run(tmp_path / "dapt", replace(RECIPE, learning_rate=1e20, warmup_steps=0))
    assert not (tmp_path / "dapt").exists()


def test_a_recipe_that_does_not_fit_says_what_to_change():
    with pytest.raises(ValueError, match="no multiple"):
        Recipe(1, 8, 3, 1e-3, 0, 0.0, 1)
    with pytest.raises(ValueError, match="fp16"):
        Recipe(1, 8, 8, 1e-3, 0, 0.0, 1, "fp16")
    with pytest.raises(ValueError, match="epochs is 0"):
        Recipe(0, 8, 8, 1e-3, 0, 0.0, 1)
    with pytest.raises(ValueError, match="stop_epoch is 3"):
        Recipe(2, 8, 8, 1e-3, 0, 0.0, 1, stop_epoch=3)
    with pytest.raises(ValueError, match="best"):
        Recipe(2, 8, 8, 1e-3, 0, 0.0, 1, choose="best")
    with pytest.raises(ValueError, match="processes 3"):
        Recipe(2, 8, 4, 1e-3, 0, 0.0, 1).accumulation(3)


def segments_of(texts: dict[str, list[str]]) -> tuple[list[Segment], list[Normalized]]:
    segments, rewritten = [], []
    for document_id, pieces in texts.items():
        start = 0
        for number, text in enumerate(pieces):
            key = {"segment_id": f"{document_id}/{number}", "document_id": document_id}
            segments.append(Segment(**key, start=start, end=start + len(text), text=text, n_tokens=1))
            rewritten.append(Normalized(**key, rating=5, remark="", text=text.upper() if number != 1 else "",
                                        dropped="" if number != 1 else "blank"))
            start += len(text)
    return segments, rewritten


def test_both_arms_hold_out_the_same_segments_and_lose_no_other():
    segments, rewritten = segments_of({name: [f"{name}{n} " for n in range(5)] for name in "abcd"})
    raw = make_corpus(segments, rewritten, "dapt", 0.2, 42)
    prose = make_corpus(segments, rewritten, "dapt-n", 0.2, 42)
    assert raw.held_out == prose.held_out and len(raw.held_out) == 4
    held = set(raw.held_out)
    words = " ".join(raw.training).split()
    assert sorted(words) == sorted(s.text.strip() for s in segments if s.segment_id not in held)
    assert sorted(" ".join(prose.training).split()) == sorted(
        r.text.strip() for r in rewritten if r.segment_id not in held and r.text)
    assert prose.dropped == [s.segment_id for s in segments if s.segment_id.endswith("/1") and s.segment_id not in held]


def test_raw_text_is_trained_on_exactly_as_it_stood():
    segments, rewritten = segments_of({"a": ["# A\n\n| x |\n", "| --- |\n| 1 |\n"]})
    assert make_corpus(segments, rewritten, "dapt", 0.0, 42).training == ["# A\n\n| x |\n| --- |\n| 1 |"]


def test_a_segment_without_a_rewrite_is_an_error():
    segments, rewritten = segments_of({"a": ["one", "two"]})
    with pytest.raises(ValueError, match="a/1.*02_normalize"):
        make_corpus(segments, rewritten[:1], "dapt-n", 0.1, 42)
