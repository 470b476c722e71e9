"""Measure a model's general knowledge zero-shot with lm-evaluation-harness (section 5, Table 3)."""

import importlib.metadata
import logging
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import torch
from pydantic import NonNegativeInt, PositiveInt
from pydantic.dataclasses import dataclass

from lib.core.digest import module_digest
from lib.infer.answers import answers_in_bf16, load
from lib.infer.decoding import Precision
from lib.retention.lab_tasks import (
    QUESTIONS,
    laboratory_of,
    write_general_tasks,
    write_lab_tasks,
)
from lib.retention.records import HUB_LABELS, Retention, RetentionItem
from lib.train.checkpoints import hashed, weights_hash

_LIBRARIES = ("lm_eval", "torch", "transformers")


@dataclass(frozen=True)
class Setting:
    """The tasks that a model is measured on, and the settings for running it."""

    tasks: Literal["lab", "general", "hub", "none"] = "lab"
    limit: NonNegativeInt = 200  # the first items of each task of Table 3; 0: all
    batch_size: PositiveInt = 64
    precision: Precision = "auto"  # bf16 on a GPU


class RetentionTasks:
    """The tasks of a Setting: their names in lm-eval, their files, and a hash of their items."""

    def __init__(self, setting: Setting, base_model: str, lab: str, folder: Path) -> None:
        self.folder, self.names, self.content = None, [], ""
        if setting.tasks == "hub":
            self.names = list(HUB_LABELS)
        if setting.tasks == "general":
            self.folder, self.names = folder, write_general_tasks(folder)
            self.content = hashed([QUESTIONS.read_bytes()])
        if setting.tasks == "lab":
            self.folder = folder
            self.names = write_lab_tasks(laboratory_of(base_model, lab), folder)
            self.content = hashed((folder / f"{name}.jsonl").read_bytes() for name in self.names)


def measure(arm: str, source: str, setting: Setting, tasks: RetentionTasks) -> Retention:
    """Measure the model of `arm` at `source` (a folder or hub id).

    Raises BadInput if a prompt does not have exactly one BOS.
    """
    summaries, items = [], []
    if tasks.names:
        with warnings.catch_warnings(action="ignore"):
            from lib.retention.lm_eval import evaluated  # slow to import, so only when measuring

        logging.getLogger("lm_eval").setLevel(logging.ERROR)
        model, tokenizer = load(source, precision=setting.precision)
        for name in tasks.names:
            summary, of_task = evaluated(
                model,
                tokenizer,
                name,
                tasks.folder,
                limit=setting.limit,
                batch_size=setting.batch_size,
            )
            summaries.append(summary)
            items += [RetentionItem(arm=arm, **row) for row in of_task]
    return Retention(arm, fingerprint_of(source, setting, tasks), summaries, items)


def fingerprint_of(source: str, setting: Setting, tasks: RetentionTasks) -> dict[str, object]:
    """Return everything that determines a measurement; arms differ in their checkpoint alone.

    The checkpoint is the hash of its weights, for a hub id the commit.
    """
    is_bf16 = answers_in_bf16(setting.precision)
    return {
        "checkpoint": weights_hash(source),
        **asdict(setting),
        "precision": "bf16" if is_bf16 else "fp32",
        "device": "cuda" if torch.cuda.is_available() else "cpu",
        "names": tasks.names,
        "content": tasks.content,
        "code": module_digest(__name__)[:16],
        **{f"versions.{name}": importlib.metadata.version(name) for name in _LIBRARIES},
    }
