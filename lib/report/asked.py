"""List the questions, answers and verdicts of a study for its report."""

import json
from collections.abc import Iterator
from pathlib import Path

from lib.report.sources import MOST_ROWS, Source, Table

MOST_CHARACTERS = 400  # of a text in a cell
_HEADER = ["document", "structure", "question", "reference answer", "arm", "answer", "verdict"]


def asked(source: Source, judge: str) -> Table | None:
    """Return one row per query and arm (first seeds), None if the study has no queries."""
    queries = {row["query_id"]: row for row in _rows(source.data / "queries.jsonl")}
    folder = source.data / "verdicts" / judge.replace("/", "--")
    found: dict[str, list[list[str]]] = {query_id: [] for query_id in queries}
    for path in sorted(folder.glob("*.jsonl")):
        if "@" in path.stem:  # a further seed
            continue
        answers = {row["query_id"]: row["answer"]
                   for row in _rows(source.data / "answers" / path.name)}
        for verdict in _rows(path):
            query = queries[verdict["query_id"]]
            texts = (query["document_id"], query["structure"], query["question"], query["answer"],
                     path.stem, answers.get(verdict["query_id"], ""), verdict["verdict"])
            found[verdict["query_id"]].append([_short(text) for text in texts])
    rows = [row for own in found.values() for row in own]
    return Table(_HEADER, rows[:MOST_ROWS], max(0, len(rows) - MOST_ROWS)) if rows else None


def rejected(source: Source) -> Table | None:
    """Return the files of the user's folder that were left out, None if there are none."""
    rows = [[_short(row["item"]), _short(row["reason"])]
            for row in _rows(source.data / "documents_rejected.jsonl", "item")]
    return Table(["left out", "reason"], rows[:MOST_ROWS], max(0, len(rows) - MOST_ROWS)) if (
        rows) else None


def _rows(path: Path, key: str = "query_id") -> Iterator[dict]:
    """Yield the records of a file of JSON lines that have `key`; nothing if there is no file."""
    if path.exists():
        with open(path, encoding="utf-8") as file:
            rows = (json.loads(line) for line in file if line.strip())
            yield from (row for row in rows if isinstance(row, dict) and key in row)


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} …"
