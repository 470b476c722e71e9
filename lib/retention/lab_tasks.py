"""Write tasks like those of Table 3 as lm-eval task files: for a laboratory's base, or general.

The paper uses MMLU, HellaSwag and LAMBADA (section 5, Table 3). A small Llama that has read only
public records scores at chance on them, so they could not show a loss; these tasks have the same
forms but ask about the public records.
"""

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path

import yaml

from lib.annotate.queries import annotate
from lib.core.records import Document, Fact
from lib.core.store import (
    REPOSITORY,
    made_by,
    model_source,
    read_records,
    require_artifact,
    write_text,
)
from lib.core.structures import prose
from lib.core.text import listed
from lib.infer.prompts import prompt_for
from lib.lab.documents import facts_asked
from lib.lab.engines import ask_facts
from lib.lab.products import ATTRIBUTES

CHOICE, CONTINUATION, LAST_WORD = "lab_choice", "lab_continuation", "lab_last_word"
N_CHOICES = 4  # as in MMLU and HellaSwag
MIN_LAST_WORDS = 10  # fewer distinct last words (MB, hours) would give the answer away
QUESTIONS = REPOSITORY / "data" / "general" / "questions.jsonl"
_SEED = 29

# names of columns: lm-eval compiles a template again for each use
_MULTIPLE_CHOICE = {
    "output_type": "multiple_choice",
    "doc_to_text": "before",
    "doc_to_choice": "choices",
    "doc_to_target": "gold",
}
_FORMS = {
    CHOICE: {**_MULTIPLE_CHOICE, "target_delimiter": " "},
    CONTINUATION: {**_MULTIPLE_CHOICE, "target_delimiter": ""},
    LAST_WORD: {
        "output_type": "loglikelihood",
        "doc_to_text": "before",
        "doc_to_target": "{{' ' + word}}",
    },
}

Values = dict[str, list[list[str]]]  # every value of an attribute, by its label


def laboratory_of(base_model: str, lab: str = "") -> Path:
    """Return the folder of the public records that `base_model` has read: its own, or data/<lab>.

    Raises BadInput if the base or documents_public.jsonl is missing, and ValueError if no `lab`
    is named and `base_model` is not in a laboratory.
    """
    if lab:
        return require_artifact(lab, "documents_public").parent
    folder = Path(model_source(base_model)).parent.parent
    if not (folder / "documents_public.jsonl").exists():
        raise ValueError(
            "tasks is 'lab', which asks about the public records that a laboratory's "
            f"base has read, but there are none next to {base_model}: in the notebook "
            "retention, set tasks to 'hub' (MMLU, HellaSwag, LAMBADA) or 'none', or "
            "name the laboratory with lab"
        )
    return folder


def write_lab_tasks(laboratory: Path, folder: Path) -> list[str]:
    """Write each task's file and items into `folder`; return the names of the tasks.

    Items alternate between products, so the first n items are about n products. Raises ValueError
    if the records give no item for a task.
    """
    for name, rows in lab_items(laboratory).items():
        if not rows:
            raise ValueError(
                f"the public records of {laboratory.name} give no item for {name}: "
                f"raise n_public of 00_lab to {N_CHOICES} products or more"
            )
        items = folder / f"{name}.jsonl"
        write_text(items, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        _write_task(
            folder,
            items,
            {
                "task": name,
                "dataset_path": "json",
                "test_split": "test",
                **_FORMS[name],
                "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
                "metadata": {"version": 1.0},
            },
        )
    return list(_FORMS)


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


def lab_items(laboratory: Path) -> dict[str, list[dict[str, object]]]:
    """Return each task's items in order; the same records give the same items.

    An item has `product`, `before` (what the model reads), and `choices` with the index `gold` of
    the correct one, or `word`. Only the first record of each product is used.
    """
    documents: dict[str, Document] = {}
    for document in _public(laboratory, "documents_public", Document):
        documents.setdefault(document.title, document)
    texts = {document.document_id: document.text for document in documents.values()}
    facts = [
        fact
        for fact in _public(laboratory, "facts", Fact)
        if fact.public and fact.document_id in texts
    ]
    values = defaultdict(list)
    for fact in facts:
        values[fact.attribute].append(fact.value)
    made = {
        CHOICE: _choices(list(documents.values()), facts, values),
        CONTINUATION: _continuations(texts, facts, values),
        LAST_WORD: _last_words(texts, facts, values),
    }
    return {name: _alternating(list(items)) for name, items in made.items()}


def _public(laboratory: Path, name: str, kind: type) -> list:
    return read_records(laboratory / f"{name}.jsonl", kind, made_by("documents_public"))


def _choices(documents: list[Document], facts: list[Fact], values: Values) -> Iterator[dict]:
    queries, _ = annotate(documents, ask_facts(facts), len(ATTRIBUTES))
    for query in queries:
        asked = facts_asked(query, facts)
        if len(asked) == 1:
            yield from _with_choices(asked[0], prompt_for(query.question), listed, values)


def _continuations(texts: dict[str, str], facts: list[Fact], values: Values) -> Iterator[dict]:
    for fact in facts:
        text = texts[fact.document_id]
        read, stated = _read(text, fact.start), text[fact.start : fact.end]
        before = read.rstrip()
        gap = read[len(before) :]
        for form in (listed, ", ".join, "\n- ".join):
            if stated.count(form(fact.value)) == 1:
                first, last = stated.split(form(fact.value))
                yield from _with_choices(
                    fact,
                    before,
                    lambda value, ends=(gap + first, last), form=form: form(value).join(ends),
                    values,
                )
                break


def _with_choices(
    fact: Fact, before: str, write: Callable[[list[str]], str], values: Values
) -> Iterator[dict]:
    rng = random.Random(f"{_SEED} {fact.fact_id}")
    right = write(fact.value)
    others = sorted(
        {write(value) for value in values[fact.attribute] if sorted(value) != sorted(fact.value)}
    )
    if len(others) >= N_CHOICES - 1:
        choices = [right, *rng.sample(others, N_CHOICES - 1)]
        rng.shuffle(choices)
        yield {
            "product": fact.entity,
            "before": before,
            "choices": choices,
            "gold": choices.index(right),
        }


def _last_words(texts: dict[str, str], facts: list[Fact], values: Values) -> Iterator[dict]:
    last = {
        attribute: {value[-1].split()[-1] for value in drawn} for attribute, drawn in values.items()
    }
    for fact in facts:
        text = texts[fact.document_id]
        end = text.rfind(fact.value[-1], fact.start, fact.end) + len(fact.value[-1])
        enough = len(last[fact.attribute]) >= min(MIN_LAST_WORDS, len(texts))
        if fact.structure == prose() and enough:
            before, word = _read(text, end).rsplit(" ", 1)
            yield {"product": fact.entity, "before": before, "word": word}


def _read(text: str, end: int) -> str:
    section = text.rfind("\n## ", 0, end)
    return text[: text.index("\n") + 1] + text[section:end] if section > 0 else text[:end]


def _alternating(items: list[dict]) -> list[dict]:
    by_product = defaultdict(list)
    for item in random.Random(_SEED).sample(items, len(items)):
        by_product[item["product"]].append(item)
    rounds = zip_longest(*by_product.values())
    return [item for held in rounds for item in held if item is not None]
