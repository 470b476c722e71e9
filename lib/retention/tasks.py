"""Tasks in the form of lm-evaluation-harness: on a laboratory's public records, or general.

The paper uses MMLU, HellaSwag and LAMBADA (section 5, Table 3). A small Llama that has read only
public records scores at chance on them; the laboratory's task has MMLU's form on these records.
"""

import json
import random
from collections import defaultdict
from itertools import zip_longest
from pathlib import Path

import yaml

from lib.core.records import Document, Fact, listed
from lib.core.store import REPOSITORY, made_by, model_source, read_records, write_text
from lib.infer.prompts import prompt_for
from lib.lab.facts import question
from lib.retention.records import LAB

N_CHOICES = 4  # as in MMLU
QUESTIONS = REPOSITORY / "data" / "general" / "questions.jsonl"
_SEED = 29
_TASK = {
    "task": LAB,
    "dataset_path": "json",
    "test_split": "test",
    "output_type": "multiple_choice",
    "target_delimiter": " ",
    "doc_to_text": "before",
    "doc_to_choice": "choices",
    "doc_to_target": "gold",
    "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    "metadata": {"version": 1.0},
}


def write_lab_task(base_model: str, folder: Path) -> Path:
    """Write the task of the records that `base_model` has read into `folder`; return its items.

    Items alternate between products, so the first n items are about n products. Raises BadInput if
    the base is missing, and ValueError if no laboratory made it or there are too few records.
    """
    laboratory = Path(model_source(base_model)).parent.parent
    if not (laboratory / "documents_public.jsonl").exists():
        raise ValueError(
            "tasks is 'lab', which asks about the public records that a laboratory's "
            f"base has read, but there are none next to {base_model}: in the notebook "
            "retention, set tasks to 'hub' (MMLU, HellaSwag, LAMBADA), 'general' or 'none'"
        )
    rows = lab_items(laboratory)
    if not rows:
        raise ValueError(
            f"the public records of {laboratory.name} give no item: "
            f"raise n_public of 00_lab to {N_CHOICES} products or more"
        )
    items = folder / f"{LAB}.jsonl"
    write_text(items, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    _write_task(folder, items, _TASK)
    return items


def write_general_tasks(folder: Path) -> list[str]:
    """Write the task files of data/general into `folder`; return the names of the tasks."""
    tasks = [yaml.safe_load(path.read_bytes()) for path in sorted(QUESTIONS.parent.glob("*.yaml"))]
    for task in tasks:
        _write_task(folder, QUESTIONS, task)
    return [task["task"] for task in tasks]


def _write_task(folder: Path, items: Path, task: dict[str, object]) -> None:
    # absolute paths: `datasets` resolves a relative one in the kernel's working folder
    files = {"data_files": {"test": str(items)}, "cache_dir": str(folder / ".cache")}
    write_text(folder / f"{task['task']}.yaml", yaml.safe_dump({**task, "dataset_kwargs": files}))


def lab_items(laboratory: Path) -> list[dict[str, object]]:
    """The task's items: `before` (what the model reads), `choices`, and the index `gold`.

    Only the first record of each product is used. The same records give the same items.
    """
    documents, facts = (
        read_records(laboratory / f"{name}.jsonl", kind, made_by("documents_public"))
        for name, kind in (("documents_public", Document), ("facts", Fact))
    )
    first = {document.title: document.document_id for document in reversed(documents)}
    facts = [
        one for one in facts if one.in_pretraining and first.get(one.entity) == one.document_id
    ]
    values = defaultdict(list)
    for fact in facts:
        values[fact.attribute].append(fact.value)
    by_product = defaultdict(list)
    for fact in random.Random(_SEED).sample(facts, len(facts)):
        if item := _item(fact, values[fact.attribute]):
            by_product[fact.entity].append(item)
    rounds = zip_longest(*by_product.values())
    return [item for held in rounds for item in held if item is not None]


def _item(fact: Fact, values: list[list[str]]) -> dict[str, object] | None:
    rng = random.Random(f"{_SEED} {fact.fact_id}")
    right = listed(fact.value)
    others = sorted({listed(value) for value in values if sorted(value) != sorted(fact.value)})
    if len(others) < N_CHOICES - 1:
        return None
    choices = [right, *rng.sample(others, N_CHOICES - 1)]
    rng.shuffle(choices)
    return {
        "product": fact.entity,
        "before": prompt_for(question(fact)),
        "choices": choices,
        "gold": choices.index(right),
    }
