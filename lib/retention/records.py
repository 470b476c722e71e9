"""Read and write measurements of an arm's general knowledge (paper, section 5, Table 3)."""

import json
from dataclasses import dataclass, field

from lib.core.files import artifact_path, existing, load, write_json, write_records
from lib.core.records import Record

HUB_LABELS = {"mmlu": "MMLU", "hellaswag": "HellaSwag", "lambada_openai": "LAMBADA"}
LAB_LABELS = {"lab_choice": "Choice", "lab_continuation": "Continuation",
              "lab_last_word": "Last word"}


class RetentionItem(Record):
    """One item of one task, as one arm answered it."""

    task: str  # a column of Table 3, by lm-eval's name
    item: str  # subtask and number, the same for every arm
    arm: str
    repeat: int  # 0, or 1 if repeated with another batch size
    is_correct: bool
    loglik: float  # log-likelihood of the correct answer, natural logarithm


@dataclass(frozen=True)
class Measurement:
    """The fields that determine a measurement, its summaries by task, and its rows by item."""

    fingerprint: dict[str, object]
    tasks: list[dict]
    items: list[dict]


@dataclass(frozen=True)
class Retention:
    """An arm's measurement, as stored; `again` is the fingerprint of a repeat, if any."""

    arm: str
    fingerprint: dict[str, object]
    tasks: list[dict]
    items: list[RetentionItem]
    again: dict[str, object] = field(default_factory=dict)


def label_of(task: str) -> str:
    """Return a task's name for tables and figures."""
    return {**HUB_LABELS, **LAB_LABELS}.get(task, task)


def write_retention(study: str, arm: str, measured: Measurement,
                    again: Measurement | None = None) -> Retention:
    """Write retention/<arm>.json and .jsonl; `again` is a repeat at another batch size."""
    rows = [RetentionItem(arm=arm, repeat=repeat, **row)
            for repeat, part in enumerate([measured, again]) if part for row in part.items]
    path = write_records(artifact_path(study, "retention", arm=arm), rows)
    write_json(path.with_suffix(".json"), {
        "arm": arm, "fingerprint": measured.fingerprint,
        "again": again.fingerprint if again else {}, "tasks": measured.tasks})
    return read_retention(study, [arm])[0]


def read_retention(study: str, arms: list[str]) -> list[Retention]:
    """Return what `write_retention` wrote. Raises BadInput naming an arm not yet measured."""
    paths = [existing(study, "retention", arm=arm).with_suffix(".json") for arm in arms]
    return [Retention(**json.loads(path.read_text(encoding="utf-8")),
                      items=load(study, "retention", RetentionItem, arm=arm))
            for arm, path in zip(arms, paths, strict=True)]
