"""A study as files of other tools: lm-evaluation-harness, inspect, datasets and the Hub."""

import json
from pathlib import Path

import jinja2
import pandas as pd

from lib.core.arms import BASE
from lib.core.prompts import casefold_words
from lib.core.records import Document, Query
from lib.core.store import REPOSITORY, BadInput, artifact_path, load, package_file, write_text
from lib.infer.prompts import STOPS, chat_prompt_for, prompt_for, prompt_of
from lib.train.corpus import read_corpus

_PAGES = {
    "README.md": package_file("export_template/dataset.md.j2"),
    "eval.yaml": package_file("export_template/eval.yaml.j2"),
    "lm_eval/generate.yaml": package_file("export_template/generate.yaml.j2"),
    "lm_eval/loglik.yaml": package_file("export_template/loglik.yaml.j2"),
    "lm_eval/questions.py": package_file("export_template/questions.py.j2"),
}
_CARD = package_file("export_template/model.md.j2")
_JINJA = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined)


def licenses_of(documents: list[Document], license: str) -> dict[str, str]:
    """The licence of each document: `license`, or by a CSV (file, licence) of the repository.

    Raises BadInput if a document has none.
    """
    named = dict.fromkeys([document.path for document in documents], license)
    if license.endswith(".csv"):
        table = pd.read_csv(REPOSITORY / license).reindex(columns=["file", "licence"])
        named = dict(table.dropna().values)
    found = {
        one.document_id: named.get(one.path) or named.get(Path(one.path).name, "")
        for one in documents
    }
    if missing := [name for name, own in found.items() if not own.strip()]:
        raise BadInput(
            f"no licence is named for {len(missing)} of {len(found)} documents, {missing[0]} "
            "first: set license to that of all documents, such as apache-2.0, or to a CSV in the "
            "repository with the columns file and licence"
        )
    return found


def training_rows(study: str, arm: str, queries: list[Query]) -> dict[str, list[dict]]:
    """The texts and the questions that a trained arm learned, without those of the test.

    A question on a text is what the model reads: its complete prompt, with the text.
    """
    trained = _read(artifact_path(study, "model", arm=arm) / "training.json")
    corpus = read_corpus(
        study,
        trained["texts"],
        load(study, "segments"),
        load(study, "normalized"),
        trained["held_out"],
        trained["is_titled"],
    )
    tested = {casefold_words(query.question) for query in queries}
    return {
        f"{arm}-texts": [{"text": text} for text in corpus.training],
        f"{arm}-questions": [
            {
                "messages": [
                    {"role": "user", "content": prompt_of(one, str)},
                    {"role": "assistant", "content": one.answer},
                ]
            }
            for one in corpus.pairs
            if casefold_words(one.question) not in tested
        ],
    }


def write_dataset(folder: Path, splits: dict[str, dict[str, list[dict]]], **facts: object) -> None:
    """Write a data set with its card, inspect's eval.yaml and lm-eval's tasks."""
    for split, configs in splits.items():
        for name, rows in configs.items():
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
            write_text(folder / split / f"{name}.jsonl", "".join(lines))
    facts |= {"prompt": prompt_for("{{question}}"), "chat": chat_prompt_for("{prompt}")}
    for name, template in _PAGES.items():
        _write(folder / name, template, **splits, **facts, stops=STOPS)


def write_model_card(study: str, arm: str, **facts: object) -> None:
    """Write README.md beside a trained arm's weights: training, scores, what it forgot."""
    folder = artifact_path(study, "model", arm=arm)
    facts["trained"] = _read(folder / "training.json")
    facts["kept"] = [
        _read(artifact_path(study, "retention", arm=one).with_suffix(".json"))
        for one in (BASE, arm)
    ]
    _write(folder / "README.md", _CARD, study=study, arm=arm, **facts)


def _read(path: Path) -> dict:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def _write(path: Path, template: Path, **facts: object) -> None:
    write_text(path, _JINJA.from_string(template.read_text("utf-8")).render(facts) + "\n")
