"""General knowledge of one model, measured with lm-evaluation-harness (paper, section 5, Table 3), zero-shot.

Nothing is computed twice: a measurement is kept under a hash of the checkpoint's weights and of everything else that
decides it.
"""

import gc
import hashlib
import importlib.metadata
import json
import logging
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.analyze.retention import HUB_LABELS, Measurement
from lib.core.digest import module_digest
from lib.core.files import write_text
from lib.core.paths import shown
from lib.infer.answers import PRECISIONS, answers_in_bf16, load
from lib.retention.lab_tasks import laboratory_of, write_lab_tasks
from lib.train.checkpoints import weights_hash

SETS = ("lab", "hub", "none")
_LIBRARIES = ("lm_eval", "torch", "transformers")


@dataclass(frozen=True)
class Setting:
    """What is asked and how, beside the model."""

    tasks: str = "lab"  # lab, hub or none
    limit: int = 200  # items a task of Table 3, the first ones; 0: all
    batch_size: int = 64
    precision: str = "auto"  # fp32, bf16, or auto: bf16 on a GPU

    def __post_init__(self) -> None:
        if self.limit < 0 or self.limit == 1:
            raise ValueError(f"limit is {self.limit}: give 0 for all items, or at least 2")
        if self.batch_size < 1:
            raise ValueError(f"batch_size is {self.batch_size}: give at least 1")
        for name, legal in (("tasks", SETS), ("precision", PRECISIONS)):
            if getattr(self, name) not in legal:
                raise ValueError(f"{name} {getattr(self, name)!r} is not one of {', '.join(legal)}")


class Asked:
    """The tasks of a Setting: their names in lm-eval, where their files lie, and a hash of what they ask."""

    def __init__(self, setting: Setting, base_model: str, lab: str, folder: Path) -> None:
        self.folder, self.names, self.content = None, [], ""
        if setting.tasks == "hub":
            self.names = list(HUB_LABELS)
        if setting.tasks == "lab":
            self.folder, self.names = folder, write_lab_tasks(laboratory_of(base_model, lab), folder)
            self.content = _hash((folder / f"{name}.jsonl").read_bytes() for name in self.names)


def measure(source: str, setting: Setting, asked: Asked, cache: Path) -> Measurement:
    """The items and accuracies of the model `source` (a folder or hub id), from `cache` where it has been measured.

    Raises RuntimeError where tasks cannot be fetched, MemoryError where a batch is too large, and ValueError where a
    prompt has not exactly one BOS.
    """
    identity = identity_of(source, setting, asked)
    path = cache / f"{_hash([json.dumps(identity, sort_keys=True).encode()])}.json"
    if path.exists():
        print(f"measured before: {shown(path)}")
        return Measurement(identity, **json.loads(path.read_text(encoding="utf-8"))["measured"])
    model, tokenizer = load(source, precision=setting.precision) if asked.names else (None, None)
    tasks, items = [], []
    for name in asked.names:
        task, of_task = _evaluated(model, tokenizer, name, setting, asked.folder)
        tasks.append(task)
        items += of_task
    del model
    gc.collect()
    write_text(path, json.dumps({"identity": identity, "measured": {"tasks": tasks, "items": items}}) + "\n")
    return Measurement(identity, tasks, items)


def identity_of(source: str, setting: Setting, asked: Asked) -> dict[str, object]:
    """Everything that decides a measurement, field by field.

    The checkpoint is the hash of its weights (of a hub id, the commit): an arm trained again with other data, recipe or
    seed has other ones under the same name. Raises ValueError where a hub id has no commit.
    """
    is_bf16, checkpoint = answers_in_bf16(setting.precision), weights_hash(source)
    if checkpoint == str(None):
        raise ValueError(f"the hub does not say which commit of {source} this is, so that nothing could be kept under "
                         "it: download the model into a folder and name that as base_model")
    return {"checkpoint": checkpoint, **asdict(setting), "precision": "bf16" if is_bf16 else "fp32",
            "device": "cuda" if torch.cuda.is_available() else "cpu", "names": asked.names, "content": asked.content,
            "code": module_digest(__name__)[:16],
            **{f"versions.{name}": importlib.metadata.version(name) for name in _LIBRARIES}}


def _evaluated(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str, setting: Setting,
               folder: Path | None) -> tuple[dict, list[dict]]:
    """One column of Table 3: its summary, and its items."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from lib.retention.lm_eval import evaluated  # seconds, so only where something is measured

        logging.getLogger("lm_eval").setLevel(logging.ERROR)
        try:
            return evaluated(model, tokenizer, name, folder, limit=setting.limit, batch_size=setting.batch_size)
        except torch.OutOfMemoryError as error:
            raise MemoryError(f"{name} does not fit the GPU's memory in batches of {setting.batch_size}: lower "
                              "batch_size of 00_retention") from error


def _hash(parts) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:16]
