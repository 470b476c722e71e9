"""Training in several real processes: the curve of one, and a kill."""

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from lib.core.store import Stopped
from lib.train.distributed import JOB, deepspeed_config
from lib.train.trainer import train
from tests.train.test_trainer import RECIPE as ALONE
from tests.train.test_trainer import TEXTS, TOKENIZER, blocks_of, new_model, weights

# 5 blocks in updates of 4: the last update of an epoch has one block for two processes.
RECIPE = replace(ALONE, epochs=6, global_batch_size=4, precision="fp32")
# Relative. Measured: 2e-7, by the order in which float32 numbers are added; 2e-4 for bf16 weights
# compared with bf16 arithmetic.
TOLERANCE, BF16_TOLERANCE = 1e-5, 5e-3


def run(root: Path, name: str, recipe=RECIPE, **more):
    """Train the same small base, made in `root` if it is not there, into `root`/`name`."""
    if not (root / "base").exists():
        new_model().save_pretrained(root / "base")
        TOKENIZER.save_pretrained(root / "base")
    return train(
        str(root / "base"),
        TOKENIZER,
        blocks_of(TEXTS[:5]),
        blocks_of(TEXTS[5:]),
        replace(recipe, **more),
        root / name,
        {"arm": name},
    )


def curve(history) -> list[float]:
    return [
        row[name] for row in history.epochs for name in ("loss", "validation_loss", "gradient_norm")
    ]


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("deepspeed")


@pytest.fixture(scope="module")
def alone(root):
    return run(root, "alone")


@pytest.mark.slow
@pytest.mark.parametrize("sums", ["fp32", "bf16"])
def test_bf16_weights_have_the_curve_of_one_process_and_save_a_model_that_loads(
    root, alone, capfd, sums
):
    recipe = replace(RECIPE, precision="bf16", stop_after_epoch=2, grad_accum_dtype=sums)
    history = run(root, "sharded", recipe, processes=2)
    assert curve(history) == pytest.approx(curve(alone)[:6], rel=BF16_TOLERANCE)
    assert weights(root / "sharded").keys() == weights(root / "alone").keys()
    config, manifest = (
        json.loads((root / "sharded" / f"{name}.json").read_text())
        for name in ("deepspeed", "training")
    )
    assert config["zero_optimization"]["stage"] == 2
    assert config["data_types"] == {"grad_accum_dtype": sums}
    assert manifest["fingerprint"]["recipe.processes"] == 2
    assert "updates:" in capfd.readouterr().err, "its log is shown while it trains"


@pytest.mark.slow
def test_an_adapter_has_the_curve_of_one_process(root):
    recipe = replace(RECIPE, stop_after_epoch=2, lora_rank=8)
    one, two = (run(root, f"lora-{n}", recipe, processes=n) for n in (1, 2))
    assert curve(two) == pytest.approx(curve(one), rel=TOLERANCE)
    left, right = weights(root / "lora-1"), weights(root / "lora-2")
    assert all(float((left[name] - right[name]).abs().max()) < 1e-4 for name in left)


def interrupted(root: Path, name: str) -> str:
    """Train in two processes until a checkpoint, kill one; return why the run stopped."""
    with ThreadPoolExecutor(1) as pool:
        training = pool.submit(run, root, name, processes=2)
        while not list(root.glob(f".{name}/checkpoint-*/complete")) and not training.done():
            time.sleep(0.002)
        work = root / f".{name}"
        assert work.stat().st_mode & 0o077 == 0 and json.loads((work / JOB).read_bytes())
        started = processes(str(work)).items()
        workers = [one for one, words in started if b"--nproc-per-node" not in words]
        os.kill(max(workers), signal.SIGKILL)
        reason = training.exception()
    assert isinstance(reason, Stopped), reason
    assert not (root / name).exists() and not processes(str(root / f".{name}"))
    return str(reason)


def processes(work: str) -> dict[int, bytes]:
    """Return the processes of a training run in `work`, with their command lines."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it ended
            found[int(path.parent.name)] = path.read_bytes()
    mine = (b"lib.train.distributed", work.encode())
    return {one: words for one, words in found.items() if all(name in words for name in mine)}


def test_a_killed_process_ends_the_other_and_the_same_command_resumes_with_the_curve_of_one(
    root, alone
):
    assert "Signal 9 (SIGKILL)" in interrupted(root, "killed")
    history = run(root, "killed", processes=2)
    assert 0 < history.resumed_at < history.updates
    assert curve(history) == pytest.approx(curve(alone), rel=TOLERANCE)
    assert (history.updates, history.tokens) == (alone.updates, alone.tokens)
    one, two = weights(root / "alone"), weights(root / "killed")
    assert all(float((one[name] - two[name]).abs().max()) < 1e-4 for name in one)


def test_a_batch_that_cannot_be_split_is_an_error():
    with pytest.raises(ValueError, match="global_batch_size 4 .* processes 3: change"):
        replace(RECIPE, processes=3)
    assert deepspeed_config(replace(RECIPE, processes=2))["gradient_accumulation_steps"] == 2
