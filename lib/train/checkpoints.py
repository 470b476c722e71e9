"""Fingerprint a training run, so that checkpoints from a different run are rejected."""

import hashlib
import importlib.metadata
import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lib.core.errors import BadInput
from lib.core.store import shown, write_json
from lib.train.packing import PackedBlocks
from lib.train.recipe import Recipe

if TYPE_CHECKING:  # slow to import: the ledger needs only `data_hash`
    from transformers import PreTrainedModel

COMPLETE = "complete"  # written last into a checkpoint; missing if saving was interrupted
FINGERPRINT = "fingerprint.json"
_LIBRARIES = ("torch", "transformers", "accelerate")


def fingerprint(
    recipe: Recipe,
    blocks: PackedBlocks,
    validation: PackedBlocks | None,
    base_weights: str,
    code: str,
    processes: int = 1,
    zero_stage: int = 0,
) -> dict[str, object]:
    """Return everything that determines the weights: the same fields give the same weights.

    `code` is the `lib.core.digest.module_digest` of the module that trains.
    """
    import torch

    settings = {**asdict(recipe), "precision": recipe.arithmetic()}
    libraries = [*_LIBRARIES, "deepspeed"] if zero_stage else _LIBRARIES
    return {
        **{f"recipe.{name}": value for name, value in settings.items()},
        "processes": processes,
        "zero_stage": zero_stage,
        "device": "cuda" if torch.cuda.is_available() else "cpu",
        "data.training": data_hash(blocks),
        "data.validation": data_hash(validation),
        "base_weights": base_weights,
        "code": code[:16],
        **{f"versions.{name}": importlib.metadata.version(name) for name in libraries},
    }


def weights_hash(base: "PreTrainedModel | str") -> str:
    """Hash a model in memory or a folder's weight files; for a hub id, return the commit."""
    if not isinstance(base, str | Path):
        return hashed(
            part
            for name, weights in base.state_dict().items()
            for part in (
                name.encode(),
                weights.detach().cpu().float().contiguous().numpy().tobytes(),
            )
        )
    if not Path(base).is_dir():
        from transformers import AutoConfig

        return str(AutoConfig.from_pretrained(base)._commit_hash)
    files = [
        path
        for path in sorted(Path(base).iterdir())
        if path.suffix in (".safetensors", ".bin", ".json") and path.name != "training.json"
    ]
    return hashed(part for path in files for part in (path.name.encode(), path.read_bytes()))


def data_hash(blocks: PackedBlocks | None) -> str | None:
    """Hash the tokens, labels and positions of `blocks`."""
    if blocks is None:
        return None
    return hashed(
        np.asarray(part, dtype=np.int64).tobytes()
        for part in (blocks.input_ids, blocks.labels, blocks.position_ids)
    )


def hashed(parts: Iterable[bytes]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of all parts together."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:16]


def prepare(work: Path, fields: dict[str, object]) -> list[Path]:
    """Prepare `work` for a run with the fingerprint `fields`; return its complete checkpoints.

    A folder without a complete checkpoint is emptied. Raises BadInput, naming each field
    that differs with both values, if the checkpoints are from a different run.
    """
    done, path = checkpoints(work), work / FINGERPRINT
    if not done:
        shutil.rmtree(work, ignore_errors=True)
        write_json(path, fields)
        return []
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    wanted = json.loads(json.dumps(fields))
    differences = [
        f"  {name}: {found.get(name)} there, {wanted.get(name)} now"
        for name in dict.fromkeys([*wanted, *found])
        if found.get(name) != wanted.get(name)
    ]
    if differences:
        raise BadInput(
            "\n".join(
                [
                    f"{shown(work)} has {len(done)} checkpoint(s) from a different training "
                    f"run, the last "
                    f"after update {step(done[-1])}. Differences:",
                    *differences,
                    f"Undo the change to resume, or remove the folder to start over: rm -r "
                    f"{shown(work)}",
                ]
            )
        )
    return done


def checkpoints(work: Path) -> list[Path]:
    """Return the complete checkpoints in `work`, oldest first; remove the others."""
    found = sorted(work.glob("checkpoint-*"), key=step)
    for path in found:
        if not (path / COMPLETE).exists():
            shutil.rmtree(path)
    return [path for path in found if path.exists()]


def step(checkpoint: Path) -> int:
    """Return the update after which `checkpoint` was saved."""
    return int(checkpoint.name.split("-")[1])
