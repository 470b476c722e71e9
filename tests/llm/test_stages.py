"""Stages 01 and 02 with a model as engine: the notebooks, over real HTTP."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lib.core.records import Document, Normalized, Query, Rejected
from lib.core.store import REPOSITORY, read_records, write_records
from lib.documents.folder import read_folder
from lib.lab.bases import train_tokenizer
from tests.llm_server import Server, at_random

MODEL = "gpt-4o-mini"
PASSING = ("429-ms", "500", "html", "broken", "drop-inside")  # faults
WRITTEN: dict[str, int] = {}  # prompt -> pairs in the reply to it
SHIPPED = {  # prompt -> reply
    json.loads(row["request"])["messages"][0][1]: json.loads(row["raw"])["choices"][0]["message"][
        "content"
    ]
    for row in map(json.loads, (REPOSITORY / "data/records/replies.jsonl").open(encoding="utf-8"))
    if "<record>" in row["request"]
}


def play(body: dict) -> str:
    """Play the model of both stages: the shipped pairs, segments as they are."""
    prompt = body["messages"][-1]["content"]
    if shipped := SHIPPED.get(prompt):
        WRITTEN[prompt] = shipped.count('"question"')
        return f"Here are the pairs:\n```json\n{shipped}\n```"
    part = re.search(r"<part>\n(.*)\n</part>", prompt, re.S)[1]
    return f"Rating: 7\nRemark: plain\nConversion to High-Quality Data:<<<<{{{{ {part} }}}}>>>>"


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """Return three of the real documents that the repository carries."""
    return [
        one
        for one in read_folder(REPOSITORY / "data/records/documents").documents
        if "/px4-" in one.document_id
    ][:3]


@pytest.fixture(scope="module")
def root(tmp_path_factory, documents) -> Path:
    """Return a folder with documents and a tokenizer, where no notebook has run."""
    root = tmp_path_factory.mktemp("stages")
    write_records(root / "data" / "s" / "documents.jsonl", documents)
    train_tokenizer([document.text for document in documents], 600).save_pretrained(root / "base")
    return root


def run(root: Path, server: Server, stage: str, **given: object) -> str:
    """Run a notebook as the graph does; return what its cells printed."""
    endpoint = {"OPENAI_API_KEY": "a-key-for-tests", "OPENAI_BASE_URL": server.url}
    given = json.dumps({"study": "s", **given})
    ran = subprocess.run(
        [sys.executable, "-m", "lib.run.notebook", stage, "-y", given],
        cwd=REPOSITORY,
        env=os.environ | endpoint | {"STUDY_ROOT": str(root)},
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    (root / f"{stage}.log").write_text(ran.stdout + ran.stderr)
    cells = json.loads((root / "data" / "s" / "notebooks" / f"{stage}.ipynb").read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return "".join("".join(output.get("text", [])) for output in outputs)


def test_two_stages_run_over_a_faulty_endpoint_and_lose_nothing(root, documents):
    with Server(reply=play, faults=at_random(PASSING, 0.2)) as server:
        printed = run(root, server, "01_annotate", annotator=MODEL)
        queries = read_records(root / "data" / "s" / "queries.jsonl", Query, "01")
        n_calls = int(re.search(r"cached 0 / new (\d+) / failed 0", printed)[1])
        log = (root / "01_annotate.log").read_text()
        assert f"{MODEL}: {len(documents)} calls, 0 cached" in log, "the plan is on the console"
        rejected = read_records(root / "data" / "s" / "queries_rejected.jsonl", Rejected, "01")
        n_refused = sum(bool(row.structure) for row in rejected)  # the others are no pairs
        assert len(queries) + n_refused == sum(WRITTEN.values()), "no pair is lost"
        assert len(queries) >= len(documents), [row.reason for row in rejected]
        texts = {document.document_id: document.text for document in documents}
        for query in queries:
            source = texts[query.document_id][query.start : query.end]
            assert source == query.source_reference

        printed = run(root, server, "02_normalize", normalizer=MODEL, base_model="base")
        rewritten = read_records(root / "data" / "s" / "normalized.jsonl", Normalized, "02")
        assert "failed 0" in printed and "99.4%" in printed
        assert sum(not row.dropped for row in rewritten) >= 0.95 * len(rewritten) > 0

        paid = sum(call.status == 200 for call in server.log)
        printed = run(root, server, "01_annotate", annotator=MODEL)
        assert f"cached {n_calls} / new 0 / failed 0" in printed
        assert sum(call.status == 200 for call in server.log) == paid
        assert read_records(root / "data" / "s" / "queries.jsonl", Query, "01") == queries
