"""What decides the weights of a training, by name, so that a checkpoint of another one is never gone on with."""

import hashlib
import importlib.metadata
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from transformers import AutoConfig, PreTrainedModel

from lib.core.files import write_json
from lib.core.paths import shown
from lib.train.packing import Blocks
from lib.train.recipe import Recipe

COMPLETE = "complete"  # written last into a checkpoint: one without it was cut off while it was saved
_LIBRARIES = ("torch", "transformers", "accelerate")


class OtherCheckpoint(ValueError):
    """The work folder holds checkpoints of a training that is not the one asked for."""


def identity(recipe: Recipe, blocks: Blocks, validation: Blocks | None, base_weights: str, code: str,
             processes: int = 1, zero_stage: int = 0) -> dict[str, object]:
    """Everything that decides the weights, field by field; the same fields give the same weights.

    `code` is the lib.core.digest.module_digest of the module that trains.
    """
    decided = {**asdict(recipe), "precision": recipe.arithmetic()}
    libraries = [*_LIBRARIES, "deepspeed"] if zero_stage else _LIBRARIES
    return {**{f"recipe.{name}": value for name, value in decided.items()},
            "processes": processes, "zero_stage": zero_stage, "device": "cuda" if torch.cuda.is_available() else "cpu",
            "data.training": data_hash(blocks), "data.validation": data_hash(validation), "base_weights": base_weights,
            "code": code[:16],
            **{f"versions.{name}": importlib.metadata.version(name) for name in libraries}}


def weights_hash(base: PreTrainedModel | str) -> str:
    """Of a model in memory: its weights; of a folder: its files of weights; of a hub id: the commit."""
    if isinstance(base, PreTrainedModel):
        return _hash(part for name, weights in base.state_dict().items() for part in (
            name.encode(), weights.detach().cpu().float().contiguous().numpy().tobytes()))
    if not Path(base).is_dir():
        return str(AutoConfig.from_pretrained(base)._commit_hash)
    files = [path for path in sorted(Path(base).iterdir()) if path.suffix in (".safetensors", ".bin", ".json")]
    return _hash(part for path in files if path.name != "training.json" for part in _parts(path))


def data_hash(blocks: Blocks | None) -> str | None:
    """Of tokens, labels and positions."""
    if blocks is None:
        return None
    return _hash(np.asarray(part, dtype=np.int64).tobytes() for part in (
        blocks.input_ids, blocks.labels, blocks.position_ids))


def prepare(work: Path, fields: dict[str, object]) -> list[Path]:
    """Make `work` ready for the training `fields`; returns its complete checkpoints, which it goes on from.

    Without a complete checkpoint there is nothing to lose, and the folder is made afresh.
    Raises OtherCheckpoint, naming each field that differs with both values, where the checkpoints are of another
    training.
    """
    done = checkpoints(work)
    if not done:
        shutil.rmtree(work, ignore_errors=True)
        write_json(work / "identity.json", fields)
        return []
    path = work / "identity.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    wanted = json.loads(json.dumps(fields))
    differ = [f"  {name}: {_short(found.get(name))} there, {_short(wanted.get(name))} now"
              for name in dict.fromkeys([*wanted, *found]) if found.get(name) != wanted.get(name)]
    if differ:
        raise OtherCheckpoint("\n".join([
            f"{shown(work)} holds {len(done)} checkpoint(s) of another training, the last after update "
            f"{step(done[-1])}. What differs:", *differ,
            f"Undo the change to go on with it, or remove it to start anew: rm -r {shown(work)}"]))
    return done


def checkpoints(work: Path) -> list[Path]:
    """The complete checkpoints in `work`, oldest first; the others are removed."""
    found = sorted(work.glob("checkpoint-*"), key=step)
    for path in found:
        if not (path / COMPLETE).exists():
            shutil.rmtree(path)
    return [path for path in found if path.exists()]


def step(checkpoint: Path) -> int:
    """The update after which `checkpoint` was saved."""
    return int(checkpoint.name.split("-")[1])


def drop(checkpoint: Path) -> None:
    """Remove a checkpoint, its mark first, so that a half-removed one never counts as complete."""
    (checkpoint / COMPLETE).unlink(missing_ok=True)
    shutil.rmtree(checkpoint)


def _hash(parts) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:16]


def _parts(path: Path, size: int = 1 << 24):
    yield path.name.encode()
    with open(path, "rb") as file:
        while part := file.read(size):
            yield part


def _short(value: object) -> str:
    return "nothing" if value is None else str(value)
