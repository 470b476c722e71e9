"""Test both reading studies with a laboratory reader that `transformers serve` serves on loopback.

    READER=data/reader/models/reader-1 TRANSFORMERS_COMMAND=<env>/bin/transformers \\
        python -m pytest benchmarks/served_reader.py

benchmarks/llm_endpoints.py says how the server is installed. The same arm is answered here and over
the endpoint; both must leave out the same prompts and give the same answers. A server does not say
whether it stopped at the closing tag or the model ended without it, so the tag is not compared.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from transformers import AutoConfig

from benchmarks.llm_endpoints import started
from lib.core.paths import REPOSITORY
from lib.run.config import load_study
from tests.conftest import rows, run_cells

FILES = ("answers", "left_out", "cut", "unanswered")


@pytest.fixture(scope="module")
def reader() -> Path:
    """The folder of the reader that is named."""
    if not os.environ.get("READER"):
        pytest.skip("READER is not set: see this module's docstring")
    return (REPOSITORY / os.environ["READER"]).resolve()


@pytest.fixture(scope="module")
def address(reader, tmp_path_factory) -> Iterator[str]:
    """Serve the reader's folder unchanged."""
    log = tmp_path_factory.mktemp("served") / "log"
    with started("TRANSFORMERS_COMMAND", "serve", str(reader), "--device", "cpu", "--host",
                 "127.0.0.1", "--port", "PORT", ready="/health", log=log) as address:
        yield f"{address}/v1"


@pytest.mark.parametrize("name", ["structext-smoke", "tablequest-smoke"])
def test_a_served_reader_answers_as_it_does_locally(name, reader, address, monkeypatch, tmp_path):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("OPENAI_API_KEY", "any-key")
    study = load_study(name)
    for stage in study.stages[:study.stages.index("03_train")]:
        if stage != "02_normalize":
            given = study.given(stage)
            run_cells(stage, **{name: str(reader) if name == "base_model" else value
                                for name, value in given.items()})
    own = {"study": name, "task": study.source, "max_read_tokens": 64, "prompt_style": "plain"}
    run_cells("00_infer", **own, arm="here", base_model=str(reader))
    window = AutoConfig.from_pretrained(reader).max_position_embeddings
    run_cells("00_infer", **own, arm="served", endpoint_model=str(reader), window=window)
    found = {}
    for arm in ("here", "served"):
        folder = tmp_path / "data" / name
        found[arm] = {file: [{**row, "arm": ""} for row in rows(folder / file / f"{arm}.jsonl")]
                      for file in FILES if (folder / file / f"{arm}.jsonl").exists()}
    given = {arm: [row["answer"].removesuffix("</answer>") for row in files.pop("answers")]
             for arm, files in found.items()}
    differing = [(a, b) for a, b in zip(*given.values(), strict=True) if a != b]
    print(*(f"{here!r}\n{served!r}" for here, served in differing), sep="\n\n")
    print(f"{name}: {len(given['here']) - len(differing)} of {len(given['here'])} answers are "
          f"equal; {len(found['here'].get('left_out', []))} prompts were left out")
    assert found["here"] == found["served"] and given["here"] and not differing
