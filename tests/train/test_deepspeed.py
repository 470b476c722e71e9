"""Training in two real processes: the curve of one process, any ZeRO stage, a killed rank, and errors that help."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from lib.core.files import read_records
from lib.core.paths import REPOSITORY
from lib.core.records import Query
from lib.lab.base_model import new_llama, train_tokenizer
from lib.train.curve import FILE, Acquired, Acquisition
from lib.train.deepspeed_config import deepspeed_config
from lib.train.launch import LAUNCHER, TrainingFailed, train_arm
from lib.train.packing import pack
from lib.train.recipe import Recipe
from tests.train.test_trainer import TEXTS, weights

# 5 blocks in updates of 4: the last update of an epoch has one block for two processes.
RECIPE = Recipe(epochs=6, global_batch_size=4, device_batch_size=1, learning_rate=3e-3, warmup_steps=2,
                weight_decay=0.1, seed=1, precision="fp32")
# Relative. Measured: 2e-7, the order in which float32 numbers are added; bf16 weights against bf16 arithmetic, 2e-4.
TOLERANCE, BF16_TOLERANCE = 1e-5, 5e-3


def run(root: Path, name: str, recipe: Recipe = RECIPE, **more):
    """Train the same small base, made in `root` where it is not there, into `root`/`name`."""
    if not (root / "base").exists():
        tokenizer = train_tokenizer(TEXTS, 320)
        new_llama(tokenizer, hidden_size=32, layers=2, heads=2, context=64, seed=1).save_pretrained(root / "base")
        tokenizer.save_pretrained(root / "base")
    tokenizer = train_tokenizer(TEXTS, 320)
    blocks, validation = (pack(texts, tokenizer, 24, "document") for texts in (TEXTS[:5], TEXTS[5:]))
    return train_arm(str(root / "base"), tokenizer, blocks, validation, recipe, root / name, {"arm": name}, **more)


def curve(history) -> list[float]:
    return [row[name] for row in history.epochs for name in ("loss", "validation_loss", "gradient_norm")]


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("deepspeed")


@pytest.fixture(scope="module")
def alone(root):
    return run(root, "alone")


def query(n: int, structure: str) -> Query:
    return Query(query_id=str(n), document_id="d", question="What is the default port of Ardwin Orbit?", answer="8443",
                 structure=structure, source_reference="", start=0, end=0, block_type="prose", entity_count=None)


def test_two_processes_have_the_loss_curve_of_one_and_share_the_queries(root, alone, capfd):
    queries = [query(0, "natural"), query(1, "tabular"), query(2, "tabular")]
    both = run(root, "both", processes=2, acquisition=Acquisition(queries, "both", 4, 4))
    assert curve(both) == pytest.approx(curve(alone), rel=TOLERANCE)
    assert (both.updates, both.tokens) == (alone.updates, alone.tokens)
    one, two = weights(root / "alone"), weights(root / "both")
    assert all(float((one[name] - two[name]).abs().max()) < 1e-4 for name in one)
    config = json.loads((root / "both" / "deepspeed.json").read_text())
    assert config["zero_optimization"]["stage"] == 1 and config["data_types"] == {"grad_accum_dtype": "fp32"}
    manifest = json.loads((root / "both" / "training.json").read_text())
    assert (manifest["processes"], manifest["zero_stage"], manifest["grad_accum_dtype"]) == (2, 1, "fp32")
    rows = read_records(root / "both" / FILE, Acquired, "03_train.ipynb")
    assert [(row.epoch, row.structure, row.n) for row in rows] == [
        (4, "natural", 1), (4, "tabular", 2), (6, "natural", 1), (6, "tabular", 2)]
    assert "updates:" in capfd.readouterr().err, "its log is shown while it trains"


@pytest.mark.parametrize("stage, precision, tolerance", [(2, "bf16", BF16_TOLERANCE), (3, "fp32", TOLERANCE)])
def test_the_other_stages_have_it_too_and_save_a_model_that_loads(root, alone, stage, precision, tolerance):
    history = run(root, "sharded", replace(RECIPE, precision=precision, stop_epoch=2), processes=2, zero_stage=stage)
    assert curve(history) == pytest.approx(curve(alone)[:6], rel=tolerance)
    assert weights(root / "sharded").keys() == weights(root / "alone").keys()


def test_a_killed_process_ends_the_run_and_the_same_command_goes_on(root, alone):
    """The rank that dies is the second; a rank whose partner is gone must not train on or hang."""
    code = f"from tests.test_deepspeed import run; from pathlib import Path; run(Path({str(root)!r}), 'k', processes=2)"
    child = subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 240
    while not list(root.glob(".k/checkpoint-*/complete")) and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(max(_ranks(root)), signal.SIGKILL)
    said, _ = child.communicate(timeout=240)
    assert child.returncode and "TrainingFailed" in said and "was killed by signal 9" in said, said[-2000:]
    assert not (root / "k").exists()
    history = run(root, "k", processes=2)
    assert history.resumed_at > 0
    assert curve(history) == pytest.approx(curve(alone), rel=TOLERANCE)


def _ranks(root: Path) -> list[int]:
    """Process ids of the ranks that train in `root`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:  # it ended
            continue
        if b"lib.train.worker" in words and b"--standalone" not in words and str(root / ".k").encode() in b" ".join(
                words):
            found.append(int(path.parent.name))
    return found


def test_an_error_in_a_process_is_shown_and_another_launcher_can_be_named(root, monkeypatch):
    """One process by torchrun's own command, where the job is for two."""
    monkeypatch.setenv(LAUNCHER, f"{sys.executable} -m torch.distributed.run --standalone --nproc-per-node 1")
    with pytest.raises(TrainingFailed, match="1 processes were started and the training is for 2"):
        run(root, "short", processes=2)


def test_a_batch_that_cannot_be_split_and_an_unknown_stage_are_errors():
    with pytest.raises(ValueError, match="global_batch_size 4 .* processes 3: change"):
        deepspeed_config(RECIPE, 3, 1)
    with pytest.raises(ValueError, match="zero_stage is 4"):
        deepspeed_config(RECIPE, 2, 4)
    with pytest.raises(ValueError, match="zero_stage 1 or 2"):
        train_arm("base", None, None, None, RECIPE, Path("x"), {}, processes=2, zero_stage=3,
                  acquisition=Acquisition([query(0, "natural")], "x", 1, 4))
    assert deepspeed_config(RECIPE, 2, 1)["gradient_accumulation_steps"] == 2
