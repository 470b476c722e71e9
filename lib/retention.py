"""General knowledge of a model, zero-shot by lm-evaluation-harness (section 5, Table 3).

The paper uses MMLU, HellaSwag and LAMBADA. A small Llama that has read only public records scores
at chance on them; the laboratory's task has MMLU's form on these records.
"""

import hashlib
import importlib.metadata
import json
import logging
import math
import os
import random
import warnings
from collections import defaultdict
from dataclasses import asdict
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import yaml
from pydantic import NonNegativeInt, PositiveInt
from pydantic.dataclasses import dataclass

from lib.core.digest import module_digest
from lib.core.records import Document, Fact, Retention, RetentionItem, listed
from lib.core.store import (
    REPOSITORY,
    BadInput,
    artifact_path,
    made_by,
    model_source,
    read_records,
    write_json,
    write_records,
    write_text,
)
from lib.infer.prompts import beginning
from lib.lab.facts import question
from lib.train.corpus import digest

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

LAB = "lab_choice"
HUB = ("mmlu", "hellaswag", "lambada_openai")
N_CHOICES = 4  # as in MMLU
QUESTIONS = REPOSITORY / "data" / "general" / "questions.jsonl"
_SEED = 29
_METRIC, _ERROR = "acc,none", "acc_stderr,none"  # the paper's HellaSwag, 60.06, is not acc_norm
_RESAMPLES = 100  # lm-eval's bootstrap, only for LAMBADA's perplexity; accuracies have a formula


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
    """The tasks of a setting; the files of own ones are written into `folder`.

    Raises BadInput if the base is missing, and ValueError if no laboratory made it or there are too
    few records.
    """
    paths = sorted(QUESTIONS.parent.glob("*.yaml"))
    forms = {path.stem: yaml.safe_load(path.read_bytes()) for path in paths}
    match setting.tasks:
        case "hub":
            return Tasks(list(HUB))
        case "none":
            return Tasks([])
        case "general":
            items = QUESTIONS
        case "lab":
            rows = lab_items(_laboratory_of(base_model))
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
            items = write_text(folder / f"{LAB}.jsonl", "".join(lines))
            forms = {LAB: forms["general_choice"] | {"task": LAB}}
    # absolute paths: `datasets` resolves a relative one in the kernel's working folder
    files = {"data_files": {"test": str(items)}, "cache_dir": str(folder / ".cache")}
    for name, form in forms.items():
        write_text(folder / f"{name}.yaml", yaml.safe_dump({**form, "dataset_kwargs": files}))
    return Tasks(list(forms), folder, digest([items.read_bytes()]))


def _laboratory_of(base_model: str) -> Path:
    laboratory = Path(model_source(base_model)).parent.parent
    if (laboratory / "documents_public.jsonl").exists():
        return laboratory
    raise ValueError(
        "tasks is 'lab', which asks about the public records that a laboratory's base has read, "
        f"but there are none next to {base_model}: in the notebook retention, set tasks to 'hub' "
        "(MMLU, HellaSwag, LAMBADA), 'general' or 'none'"
    )


def lab_items(laboratory: Path) -> list[dict[str, object]]:
    """The laboratory's items: question, `choices`, and the index `gold` of the right one.

    Only the first record of each product is used. Items alternate between products, so the first n
    are about n products. The same records give the same items. Raises ValueError if there are none.
    """
    maker = made_by("documents_public")
    documents = read_records(laboratory / "documents_public.jsonl", Document, maker)
    facts = read_records(laboratory / "facts.jsonl", Fact, maker)
    first = {document.title: document.document_id for document in reversed(documents)}
    facts = [
        one for one in facts if one.in_pretraining and first.get(one.entity) == one.document_id
    ]
    values, by_product = defaultdict(list), defaultdict(list)
    for fact in facts:
        values[fact.attribute].append(fact.value)
    for fact in random.Random(_SEED).sample(facts, len(facts)):
        if item := _item(fact, values[fact.attribute]):
            by_product[fact.entity].append(item)
    if not by_product:
        raise ValueError(
            f"the public records of {laboratory.name} give no item: "
            f"raise n_public of 00_lab to {N_CHOICES} products or more"
        )
    return [item for held in zip_longest(*by_product.values()) for item in held if item]


def _item(fact: Fact, values: list[list[str]]) -> dict[str, object] | None:
    rng, right = random.Random(f"{_SEED} {fact.fact_id}"), listed(fact.value)
    others = sorted({listed(value) for value in values if sorted(value) != sorted(fact.value)})
    if len(others) < N_CHOICES - 1:
        return None
    choices = [right, *rng.sample(others, N_CHOICES - 1)]
    rng.shuffle(choices)
    gold = choices.index(right)
    return {"product": fact.entity, "question": question(fact), "choices": choices, "gold": gold}


def measure(arm: str, source: str, setting: Setting, tasks: Tasks) -> Retention:
    """Measure the model of `arm` at `source` (a folder or hub id).

    Raises BadInput if a prompt does not have exactly one BOS.
    """
    summaries, items = [], []
    if tasks.names:
        from lib.infer.generate import load  # slow to import

        logging.getLogger("lm_eval").setLevel(logging.ERROR)
        loaded = load(source)
        for name in tasks.names:
            summary, rows = evaluated(*loaded, name, tasks.folder, setting)
            summaries.append(summary)
            items += [RetentionItem(task=name, arm=arm, **row) for row in rows]
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
        **{
            f"versions.{name}": importlib.metadata.version(name)
            for name in ("lm_eval", "torch", "transformers")
        },
    }


def write_retention(study: str, measured: Retention) -> None:
    """Write retention/<arm>.json and .jsonl."""
    path = write_records(artifact_path(study, "retention", arm=measured.arm), measured.items)
    summary = measured._asdict()
    del summary["items"]
    write_json(path.with_suffix(".json"), summary)


def evaluated(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    name: str,
    folder: Path | None,
    setting: Setting,
) -> tuple[dict, list[dict]]:
    """Run lm-eval's task or group `name` zero-shot; with `folder`, one from its task files.

    Returns a summary (accuracies are fractions of 1) and a row per item (natural loglik of the
    correct answer). If the hub does not give it: no items, and `missing`, what to do.
    """
    import lm_eval

    loaded = _loaded(name, folder)
    if isinstance(loaded, str):
        unknown = dict.fromkeys(("accuracy", "stderr", "chance"))
        return {"task": name, "n": 0, **unknown, "n_cut": 0, "asked": "", "missing": loaded}, []
    wrapped, tasks, limit = one_bos(model, tokenizer, setting.batch_size), loaded["tasks"], None
    for task in tasks.values():
        task.set_config(key="num_fewshot", value=0)
    if setting.limit:  # at least two of each subtask: one alone has no standard error
        limit = max(2, math.ceil(setting.limit / len(tasks)))
    os.environ["DISABLE_MULTIPROC"] = "1"  # processes forked beside torch's threads may hang
    results = lm_eval.evaluate(
        wrapped, loaded, bootstrap_iters=_RESAMPLES, log_samples=True, limit=limit
    )
    items, chances, hashed = _items_of(results["samples"])
    total = results["results"][name]
    return {
        "task": name,
        "n": len(items),
        "accuracy": float(total[_METRIC]),
        "stderr": float(total[_ERROR]),
        "chance": sum(chances) / len(chances) if min(chances) < 1 else None,
        "n_cut": wrapped.n_cut,
        "asked": hashed,
    }, items


def _items_of(samples: dict[str, list[dict]]) -> tuple[list[dict], list[float], str]:
    items, chances, hashed = [], [], hashlib.sha256()
    for subtask, own in sorted(samples.items()):
        for sample in sorted(own, key=lambda sample: sample["doc_id"]):
            logs = [float(loglik) for loglik, _ in sample["filtered_resps"]]
            right = int(sample["target"]) if len(logs) > 1 else 0
            chances.append(1 / len(logs))
            hashed.update(sample["doc_hash"].encode())  # the hub's data may change
            items.append(
                {
                    "item": f"{subtask}/{sample['doc_id']}",
                    "is_correct": bool(sample["acc"]),
                    "loglik": round(logs[right], 6),
                }
            )
    return items, chances, hashed.hexdigest()[:16]


def one_bos(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", batch_size: int):
    """A model for lm-eval that refuses prompts without exactly one BOS, if the tokenizer has one.

    `n_cut` counts the prompts truncated at their start, after BOS, to the model's context window.
    """
    with warnings.catch_warnings(action="ignore"):
        from lm_eval.models.huggingface import HFLM  # slow to import

    begin = beginning(tokenizer)

    class OneBos(HFLM):
        n_cut = 0

        def tok_encode(self, string, add_special_tokens=None, **_):
            return tokenizer.encode(
                string,
                add_special_tokens=add_special_tokens is not False,
                split_special_tokens=True,  # a control token spelled out (<s>) is text
            )

        def _loglikelihood_tokens(self, requests, disable_tqdm=False, **kwargs):
            checked = []
            for texts, context, continuation in requests:
                over = len(context) + len(continuation) - self.max_length - 1
                if over > 0:
                    self.n_cut += 1
                    context = context[: len(begin)] + context[len(begin) + over :]
                is_one = not begin or (context + continuation).count(begin[0]) == 1
                if context[: len(begin)] != begin or not is_one:
                    raise BadInput(
                        f"a prompt of {tokenizer.name_or_path!r} does not have "
                        f"exactly one BOS at its start: {texts[0][:80]!r}"
                    )
                checked.append((texts, context, continuation))
            return super()._loglikelihood_tokens(checked, disable_tqdm=disable_tqdm, **kwargs)

    return OneBos(
        pretrained=model, tokenizer=tokenizer, batch_size=batch_size, softmax_dtype="float32"
    )


@cache  # it reads thousands of files
def _task_manager(**how):
    from lm_eval.tasks import TaskManager

    return TaskManager(**how)


def _loaded(name: str, folder: Path | None) -> dict | str:
    import datasets

    if not folder:
        return _from_hub(name)
    datasets.disable_progress_bars()  # it reads a small local file
    return _task_manager(include_path=folder, include_defaults=False).load([name])


@cache  # each try waits for half a minute
def _from_hub(name: str) -> dict | str:
    import datasets

    try:
        return _task_manager().load([name])
    except (OSError, datasets.exceptions.DatasetsError) as error:
        return (
            f"its items could not be fetched from the hub ({type(error).__name__}: "
            f"{' '.join(str(error).split())[:200]}). Run extra/retention.ipynb once on a "
            "networked computer, copy its ~/.cache/huggingface here and delete this study's "
            "folder retention; or say notebooks: {retention: {tasks: none}} in its file"
        )
