"""Training for real at a tiny size: it learns, resumes to the same weights, and reuses no other run's work."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from lib.corpus import make_corpus
from lib.laboratory_base import new_llama, train_tokenizer
from lib.packing import pack
from lib.records import Normalized, Segment
from lib.training import Recipe, train

TEXTS = [f"The default port of Ardwin {name} is {port}." for name, port in
         (("Orbit", 8443), ("Comet", 1701), ("Atlas", 5060), ("Lotus", 9092), ("Drift", 6379), ("Ingot", 2049))]
RECIPE = Recipe(epochs=12, global_batch_size=2, device_batch_size=1, learning_rate=3e-3, warmup_steps=2,
                weight_decay=0.1, seed=1)


def run(output: Path, recipe: Recipe = RECIPE):
    """Train a small model from the same start into `output`."""
    tokenizer = train_tokenizer(TEXTS, 320)
    model = new_llama(tokenizer, hidden_size=32, layers=2, heads=2, context=64, seed=1)
    blocks, validation = (pack(texts, tokenizer, 24, "document") for texts in (TEXTS[:5], TEXTS[5:]))
    return train(model, tokenizer, blocks, validation, recipe, output, {"arm": "dapt"})


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


def test_a_killed_run_goes_on_and_ends_with_the_same_weights(unbroken, tmp_path):
    output = tmp_path / "dapt"
    code = f"from tests.test_training import run; from pathlib import Path; run(Path({str(output)!r}))"
    child = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parent.parent,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob(".dapt-*/checkpoint-*/complete")) and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert not output.exists() and list(tmp_path.glob(".dapt-*/checkpoint-*")), "it was killed too early or too late"
    for half_written in tmp_path.glob(".dapt-*/checkpoint-*"):
        last = max(int(path.name.split("-")[1]) for path in half_written.parent.glob("checkpoint-*"))
    (half_written.parent / f"checkpoint-{last + 3}").mkdir()  # as if it had been killed while it saved the next
    history = run(output)
    assert same(weights(output), weights(unbroken[0]))
    assert len(history.epochs) == 12


def test_another_recipe_starts_afresh(unbroken, tmp_path):
    output = tmp_path / "dapt"
    run(output, Recipe(**{**RECIPE.__dict__, "epochs": 2}))
    assert not same(weights(output), weights(unbroken[0]))
    assert json.loads((output / "training.json").read_text())["recipe"]["epochs"] == 2


def test_a_loss_that_is_not_a_number_stops_the_run(tmp_path):
    with pytest.raises(FloatingPointError, match="lower learning_rate"):
        run(tmp_path / "dapt", Recipe(**{**RECIPE.__dict__, "learning_rate": 1e20, "warmup_steps": 0}))
    assert not (tmp_path / "dapt").exists()


def test_a_recipe_that_does_not_fit_says_what_to_change():
    with pytest.raises(ValueError, match="no multiple"):
        Recipe(1, 8, 3, 1e-3, 0, 0.0, 1)
    with pytest.raises(ValueError, match="fp16"):
        Recipe(1, 8, 8, 1e-3, 0, 0.0, 1, "fp16")
    with pytest.raises(ValueError, match="epochs is 0"):
        Recipe(0, 8, 8, 1e-3, 0, 0.0, 1)


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
