"""General knowledge of a model, zero-shot by lm-evaluation-harness (section 5, Table 3)."""

import importlib.metadata
import logging
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import NonNegativeInt, PositiveInt
from pydantic.dataclasses import dataclass

from lib.core.digest import module_digest
from lib.retention.records import HUB, LAB, Retention, RetentionItem
from lib.retention.tasks import QUESTIONS, write_general_tasks, write_lab_task
from lib.train.corpus import digest

_LIBRARIES = ("lm_eval", "torch", "transformers")


@dataclass(frozen=True)
class Setting:
    """The tasks that a model is measured on, and the settings for running it."""

    tasks: Literal["lab", "general", "hub", "none"] = "lab"
    limit: NonNegativeInt = 200  # the first items of each task of Table 3; 0: all
    batch_size: PositiveInt = 64


class Tasks(NamedTuple):
    """Names in lm-eval, the folder of own task files, and a hash of their items."""

    names: list[str]
    folder: Path | None = None
    content: str = ""


def tasks_of(setting: Setting, base_model: str, folder: Path) -> Tasks:
    """The tasks of a setting; its own are written into `folder`, as `write_lab_task` says."""
    match setting.tasks:
        case "hub":
            return Tasks(list(HUB))
        case "general":
            return Tasks(write_general_tasks(folder), folder, digest([QUESTIONS.read_bytes()]))
        case "lab":
            return Tasks([LAB], folder, digest([write_lab_task(base_model, folder).read_bytes()]))
    return Tasks([])


def measure(arm: str, source: str, setting: Setting, tasks: Tasks) -> Retention:
    """Measure the model of `arm` at `source` (a folder or hub id).

    Raises BadInput if a prompt does not have exactly one BOS.
    """
    summaries, items = [], []
    if tasks.names:
        with warnings.catch_warnings(action="ignore"):
            from lib.infer.generate import load as load_model
            from lib.retention.lm_eval import evaluated  # slow to import, so only when measuring

        logging.getLogger("lm_eval").setLevel(logging.ERROR)
        model, tokenizer = load_model(source)
        how = {"limit": setting.limit, "batch_size": setting.batch_size}
        for name in tasks.names:
            summary, of_task = evaluated(model, tokenizer, name, tasks.folder, **how)
            summaries.append(summary)
            items += [RetentionItem(arm=arm, **row) for row in of_task]
    return Retention(arm, fingerprint_of(source, setting, tasks), summaries, items)


def fingerprint_of(source: str, setting: Setting, tasks: Tasks) -> dict[str, object]:
    """Everything that determines a measurement; arms differ in their checkpoint alone.

    The checkpoint is the hash of its weights, for a hub id the commit.
    """
    import torch

    from lib.train.trainer import weights_hash

    on_gpu = torch.cuda.is_available()
    return {
        "checkpoint": weights_hash(source),
        **asdict(setting),
        "precision": "bf16" if on_gpu else "fp32",
        "device": "cuda" if on_gpu else "cpu",
        "names": tasks.names,
        "content": tasks.content,
        "code": module_digest(__name__)[:16],
        **{f"versions.{name}": importlib.metadata.version(name) for name in _LIBRARIES},
    }
