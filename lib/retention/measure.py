"""Measure a model's general knowledge zero-shot with lm-evaluation-harness (section 5, Table 3).

A measurement is cached under a hash of the checkpoint's weights and everything else that determines
it, so nothing is computed twice.
"""

import gc
import importlib.metadata
import json
import logging
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import torch
from pydantic import NonNegativeInt, PositiveInt
from pydantic.dataclasses import dataclass
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.core.digest import module_digest
from lib.core.errors import BadStudy
from lib.core.files import write_text
from lib.core.paths import shown
from lib.infer.answers import answers_in_bf16, load
from lib.infer.decoding import Precision
from lib.retention.lab_tasks import laboratory_of, write_lab_tasks
from lib.retention.records import HUB_LABELS, Measurement
from lib.train.checkpoints import hashed, weights_hash

_LIBRARIES = ("lm_eval", "torch", "transformers")


@dataclass(frozen=True)
class Setting:
    """The tasks that a model is measured on, and the settings for running it."""

    tasks: Literal["lab", "hub", "none"] = "lab"
    limit: NonNegativeInt = 200  # the first items of each task of Table 3; 0: all
    batch_size: PositiveInt = 64
    precision: Precision = "auto"  # bf16 on a GPU


class RetentionTasks:
    """The tasks of a Setting: their names in lm-eval, their files, and a hash of their items."""

    def __init__(self, setting: Setting, base_model: str, lab: str, folder: Path) -> None:
        self.folder, self.names, self.content = None, [], ""
        if setting.tasks == "hub":
            self.names = list(HUB_LABELS)
        if setting.tasks == "lab":
            self.folder = folder
            self.names = write_lab_tasks(laboratory_of(base_model, lab), folder)
            self.content = hashed((folder / f"{name}.jsonl").read_bytes() for name in self.names)


def measure(source: str, setting: Setting, tasks: RetentionTasks, cache: Path) -> Measurement:
    """Measure the model `source` (a folder or hub id), or return it from `cache`.

    Raises BadInput if tasks cannot be fetched or a prompt does not have exactly one BOS.
    """
    fields = fingerprint_of(source, setting, tasks)
    path = cache / f"{hashed([json.dumps(fields, sort_keys=True).encode()])}.json"
    if path.exists():
        print(f"measured before: {shown(path)}")
        kept = json.loads(path.read_text(encoding="utf-8"))["measured"]
        return Measurement(fields, **kept)
    model, tokenizer = load(source, precision=setting.precision) if tasks.names else (None, None)
    summaries, items = [], []
    for name in tasks.names:
        summary, of_task = _evaluated(model, tokenizer, name, setting, tasks.folder)
        summaries.append(summary)
        items += of_task
    del model
    gc.collect()
    measured = {"tasks": summaries, "items": items}
    write_text(path, json.dumps({"fingerprint": fields, "measured": measured}) + "\n")
    return Measurement(fields, **measured)


def fingerprint_of(source: str, setting: Setting, tasks: RetentionTasks) -> dict[str, object]:
    """Return everything that determines a measurement, field by field.

    The checkpoint is the hash of its weights (for a hub id, the commit), because a retrained arm
    has other weights under the same name. Raises ValueError for a hub id without a commit.
    """
    is_bf16, checkpoint = answers_in_bf16(setting.precision), weights_hash(source)
    if checkpoint == str(None):
        raise BadStudy(f"the hub does not say which commit of {source} this is, so nothing can "
                         "be cached for it: download the model to a folder and set base_model to "
                         "that folder")
    return {"checkpoint": checkpoint, **asdict(setting), "precision": "bf16" if is_bf16 else "fp32",
            "device": "cuda" if torch.cuda.is_available() else "cpu", "names": tasks.names,
            "content": tasks.content, "code": module_digest(__name__)[:16],
            **{f"versions.{name}": importlib.metadata.version(name) for name in _LIBRARIES}}


def _evaluated(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str,
               setting: Setting, folder: Path | None) -> tuple[dict, list[dict]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from lib.retention.lm_eval import evaluated  # slow to import, so only when measuring

        logging.getLogger("lm_eval").setLevel(logging.ERROR)
        return evaluated(model, tokenizer, name, folder, limit=setting.limit,
                         batch_size=setting.batch_size)
