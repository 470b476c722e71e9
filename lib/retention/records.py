"""An arm's measured general knowledge, in rows and summaries by task (section 5, Table 3)."""

import json
from typing import NamedTuple

from lib.core.records import Record
from lib.core.store import artifact_path, load, require_artifact, write_json, write_records

LAB = "lab_choice"
HUB = ("mmlu", "hellaswag", "lambada_openai")
LABELS = {
    "mmlu": "MMLU",
    "hellaswag": "HellaSwag",
    "lambada_openai": "LAMBADA",
    "general_choice": "General choice",
    "general_recall": "General recall",
    LAB: "Choice",
    "lab_continuation": "Continuation",  # of studies before 2026-12, as is the last word
    "lab_last_word": "Last word",
}


class RetentionItem(Record):
    """One item of one task, as one arm answered it."""

    task: str  # a column of Table 3, by lm-eval's name
    item: str  # subtask and number, the same for every arm
    arm: str
    is_correct: bool
    loglik: float  # log-likelihood of the correct answer, natural logarithm


class Retention(NamedTuple):
    """An arm's measurement: what determines it, its summaries by task, and its items."""

    arm: str
    fingerprint: dict[str, object]
    tasks: list[dict]
    items: list[RetentionItem]


def label_of(task: str) -> str:
    """A task's name for tables and figures."""
    return LABELS.get(task, task)


def write_retention(study: str, measured: Retention) -> None:
    """Write retention/<arm>.json and .jsonl."""
    path = write_records(artifact_path(study, "retention", arm=measured.arm), measured.items)
    summary = measured._asdict()
    del summary["items"]
    write_json(path.with_suffix(".json"), summary)


def read_retention(study: str, arms: list[str]) -> list[Retention]:
    """What `write_retention` wrote. Raises BadInput naming an arm not yet measured."""
    paths = [require_artifact(study, "retention", arm=arm).with_suffix(".json") for arm in arms]
    return [
        Retention(
            **json.loads(path.read_text(encoding="utf-8")),
            items=load(study, "retention", RetentionItem, arm=arm),
        )
        for arm, path in zip(arms, paths, strict=True)
    ]
