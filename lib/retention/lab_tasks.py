"""Three tasks of the kinds of Table 3 for a laboratory's base: what it knew before DAPT, as lm-eval task files.

The paper asks MMLU, HellaSwag and LAMBADA (section 5, Table 3). A small Llama that has read nothing but public records
is at chance in them, so that no loss could be seen; it is asked about the public records instead, in the same forms.
"""

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import yaml

from lib.annotate.queries import annotate
from lib.core.files import read_records, write_text
from lib.core.paths import model_source, output_root, required
from lib.core.records import Document, Fact, Query
from lib.core.text import listed
from lib.infer.prompts import prompt_for
from lib.lab.products import ATTRIBUTES

CHOICE, CONTINUATION, LAST_WORD = "lab_choice", "lab_continuation", "lab_last_word"
N_CHOICES = 4  # as in MMLU and HellaSwag
MIN_LAST_WORDS = 10  # an attribute whose values end in fewer different words (MB, hours) gives its last word away
_SEED = 29

_MULTIPLE_CHOICE = {"output_type": "multiple_choice", "doc_to_text": "{{before}}", "doc_to_choice": "{{choices}}",
                    "doc_to_target": "{{gold}}"}
_FORMS = {
    CHOICE: {**_MULTIPLE_CHOICE, "target_delimiter": " "},
    CONTINUATION: {**_MULTIPLE_CHOICE, "target_delimiter": ""},
    LAST_WORD: {"output_type": "loglikelihood", "doc_to_text": "{{before}}", "doc_to_target": "{{' ' + word}}"},
}


def laboratory_of(base_model: str, lab: str = "") -> Path:
    """The folder with the public records that `base_model` has read: data/<lab>, or what holds models/base.

    Raises MissingInput where the base or data/<lab>/documents_public.jsonl is missing, and ValueError where no `lab` is
    named and `base_model` does not lie in a laboratory.
    """
    if lab:
        return required(output_root() / "data" / lab / "documents_public.jsonl", "00_lab.ipynb").parent
    folder = Path(model_source(base_model)).parent.parent
    if not (folder / "documents_public.jsonl").exists():
        raise ValueError(f"tasks is 'lab', which asks about the public records that a laboratory's base has read, and "
                         f"there are none beside {base_model}: set tasks of 00_retention to 'hub' (MMLU, HellaSwag, "
                         "LAMBADA) or 'none', or name the laboratory with lab")
    return folder


def write_lab_tasks(laboratory: Path, folder: Path) -> list[str]:
    """Write each task's file and items into `folder`, unchanged ones not again; returns the names of the tasks.

    Items go round the products, so that as many items as there are products ask of each product once. Raises
    ValueError where the records suffice for no item of a task.
    """
    for name, rows in lab_items(laboratory).items():
        if not rows:
            raise ValueError(f"the public records of {laboratory.name} give no item for {name}: raise n_public of "
                             f"00_lab to {N_CHOICES} products or more")
        items = folder / f"{name}.jsonl"
        _write(items, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        # absolute, because `datasets` looks for a relative path in the folder where a kernel happens to run
        _write(folder / f"{name}.yaml", yaml.safe_dump({
            "task": name, "dataset_path": "json", "test_split": "test", **_FORMS[name],
            "dataset_kwargs": {"data_files": {"test": str(items)}, "cache_dir": str(folder / ".cache")},
            "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
            "metadata": {"version": 1.0}}, sort_keys=False))
    return list(_FORMS)


def lab_items(laboratory: Path) -> dict[str, list[dict[str, object]]]:
    """The items of each task, in the order in which they are asked; the same records give the same items.

    An item has `product`, `before` (what the model has read), and `choices` and `gold`, the right one's place, or
    `word`. The records are each product's first ones.
    """
    documents: dict[str, Document] = {}
    for document in read_records(laboratory / "documents_public.jsonl", Document, "00_lab.ipynb"):
        documents.setdefault(document.title, document)
    texts = {document.document_id: document for document in documents.values()}
    facts = [fact for fact in read_records(laboratory / "facts.jsonl", Fact, "00_lab.ipynb")
             if fact.public and fact.document_id in texts]
    queries, _ = annotate(list(texts.values()), max_queries=len(ATTRIBUTES))
    values = defaultdict(list)
    for fact in facts:
        values[fact.attribute].append(fact.value)
    made = {CHOICE: _choices(queries, facts, values), CONTINUATION: _continuations(texts, facts, values),
            LAST_WORD: _last_words(texts, facts, values)}
    return {name: _round_the_products(list(items)) for name, items in made.items()}


def _choices(queries: list[Query], facts: list[Fact], values: dict[str, list[list[str]]]) -> Iterator[dict]:
    """A question and four answers, as in MMLU; scored are the answers themselves, for the base knows no letters."""
    places = defaultdict(list)
    for fact in facts:
        places[fact.document_id].append(fact)
    for query in queries:
        asked = [fact for fact in places[query.document_id] if query.start < fact.end and fact.start < query.end]
        if len(asked) == 1:
            yield from _with_choices(asked[0], prompt_for(query.question), listed, values)


def _continuations(texts: dict[str, Document], facts: list[Fact], values: dict[str, list[list[str]]]) -> Iterator[dict]:
    """A record up to a sentence, bullet or table row, and four of these that differ in a value, as in HellaSwag."""
    for fact in facts:
        text = texts[fact.document_id].text
        read, stated = _read(text, fact.start), text[fact.start:fact.end]
        before = read.rstrip()
        gap = read[len(before):]
        forms = [form for form in (listed, ", ".join, "\n- ".join) if stated.count(form(fact.value)) == 1]
        if forms:
            yield from _with_choices(fact, before, lambda value, fact=fact, form=forms[0], gap=gap, stated=stated: (
                gap + stated.replace(form(fact.value), form(value))), values)


def _with_choices(fact: Fact, before: str, said, values: dict[str, list[list[str]]]) -> Iterator[dict]:
    """One item where the attribute has values enough: the fact's own and others', in an order drawn by chance."""
    rng = random.Random(f"{_SEED} {fact.fact_id}")
    right = said(fact.value)
    others = sorted({said(value) for value in values[fact.attribute] if sorted(value) != sorted(fact.value)})
    if len(others) >= N_CHOICES - 1:
        choices = [right, *rng.sample(others, N_CHOICES - 1)]
        rng.shuffle(choices)
        yield {"product": fact.entity, "before": before, "choices": choices, "gold": choices.index(right)}


def _last_words(texts: dict[str, Document], facts: list[Fact], values: dict[str, list[list[str]]]) -> Iterator[dict]:
    """A record up to the last word of a sentence, which that word completes, as in LAMBADA."""
    last = {attribute: {value[-1].split()[-1] for value in drawn} for attribute, drawn in values.items()}
    for fact in facts:
        text = texts[fact.document_id].text
        end = text.rfind(fact.value[-1], fact.start, fact.end) + len(fact.value[-1])
        if fact.structure == "natural" and len(last[fact.attribute]) >= min(MIN_LAST_WORDS, len(texts)):
            before, word = _read(text, end).rsplit(" ", 1)
            yield {"product": fact.entity, "before": before, "word": word}


def _read(text: str, end: int) -> str:
    """What an item shows of a record: its heading, and the section that holds `end`, up to there."""
    section = text.rfind("\n## ", 0, end)
    return text[:text.index("\n") + 1] + text[section:end] if section > 0 else text[:end]


def _round_the_products(items: list[dict]) -> list[dict]:
    """Items drawn by chance, one of each product before a second one of any."""
    rng = random.Random(_SEED)
    by_product = defaultdict(list)
    for item in rng.sample(items, len(items)):
        by_product[item["product"]].append(item)
    rounds = max(map(len, by_product.values()), default=0)
    return [held[number] for number in range(rounds) for held in by_product.values() if number < len(held)]


def _write(path: Path, text: str) -> None:
    """Write what has changed only: `datasets` takes a newer file for another one, and converts it again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)
