"""A real server, `transformers serve`: a small model annotates, answers and judges over HTTP."""

import socket
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest

from lib.core.files import write_records
from lib.core.paths import REPOSITORY
from lib.documents.folder import read_folder
from tests.conftest import run_cells

KEY, MODEL = "sk-key-of-the-served-test", REPOSITORY / "data/base/SmolLM2-135M-Instruct"
STARTS = ("## OpenMetrics Text Format", "# containerd Mounts")  # of two short records
pytestmark = [pytest.mark.slow, pytest.mark.skipif(
    not all(map(find_spec, ("fastapi", "uvicorn"))) or not (MODEL / "NOTE.md").exists(),
    reason="needs the packages fastapi and uvicorn, and the model of make base")]


@pytest.fixture
def log(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    for name, value in (("OPENAI_API_KEY", KEY), ("STUDY_ROOT", str(tmp_path)),
                        ("OPENAI_BASE_URL", f"http://localhost:{port}/v1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("lib.llm.calls.MAX_COST_USD", None)
    path, until = tmp_path / "server.log", time.monotonic() + 120
    command = f"{sys.prefix}/bin/transformers serve {MODEL} --device cpu --port {port}".split()
    with open(path, "w") as file, subprocess.Popen(command, stdout=file, stderr=file) as server:
        while "Uvicorn running" not in path.read_text():
            assert server.poll() is None and time.monotonic() < until, path.read_text()
            time.sleep(0.5)
        yield path
        server.terminate()


def test_a_served_model_annotates_answers_and_judges_and_is_asked_once(tmp_path, log):
    folder, seen = REPOSITORY / "data" / "technical", []
    write_records(tmp_path / "data" / "s" / "documents.jsonl", [
        one.model_copy(update={"text": one.text[one.text.index(start):][:1200]})
        for one in read_folder(folder).documents for start in STARTS if start in one.text])
    for _ in range(2):  # the second run reads the cache
        try:
            run_cells("01_annotate", study="s", max_queries=1, annotator=str(MODEL))
        except AssertionError as error:  # no pair can be used: the rules ask instead
            assert "yields no question: ['the reply" in str(error), error
            run_cells("01_annotate", study="s", max_queries=1)
        inferred = run_cells("04_infer", study="s", endpoint_model=str(MODEL))
        judged = run_cells("05_judge", study="s", judge=str(MODEL))
        answers, failed = inferred["answers"]["base"], inferred["failed"]["base"]
        seen.append((answers, judged["verdicts"], log.read_text().count("POST /v1/chat")))
    assert seen[0] == seen[1] and seen[0][-1] >= 4
    assert {row.query_id for row in answers} | {row.item for row in failed if row.reason} == {
        query.query_id for query in inferred["queries"]}
    assert {row.verdict for row in judged["verdicts"]} <= {"correct", "incorrect", "unscored"}
    assert not [path for path in tmp_path.rglob("*.*") if KEY.encode() in path.read_bytes()]
