"""Real documents without a model: the floor annotates, rewrites and judges six of them."""

import re

from lib.core.records import Answer
from lib.core.store import REPOSITORY, load, save
from lib.documents.folder import read_folder
from lib.lab.base_model import train_tokenizer
from tests.conftest import run_cells


def test_six_real_documents_are_annotated_rewritten_and_judged(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    documents = [
        document
        for name in ("technical", "records/documents/b")
        for document in read_folder(REPOSITORY / "data" / name).documents
        if re.match("px4|prometheus-comp", document.document_id)
    ]
    save("real", "documents", documents)
    train_tokenizer([document.text for document in documents], 600).save_pretrained(
        tmp_path / "base"
    )
    run_cells("01_annotate", study="real")
    queries = load("real", "queries")
    assert len(documents) == 6 and all(one.rule for one in queries)
    assert {one.structure for one in queries} == {"natural", "tabular"}  # of lists it is not sure
    printed = capsys.readouterr().out
    assert "asked, kept and refused by rule" in printed and "WARNING: under 20 questions" in printed
    run_cells("02_normalize", study="real", base_model=str(tmp_path / "base"))
    assert "0 words that carry facts are in no rewrite" in capsys.readouterr().out
    save(
        "real",
        "answers",
        [
            Answer(
                query_id=one.query_id, arm="base", n_tokens=1, truncated=False, answer=one.answer
            )
            for one in queries
        ],
        arm="base",
    )
    run_cells("05_judge", study="real", arms=["base"])
    verdicts = load("real", "verdicts", judge="rules", arm="base")
    assert verdicts and "incorrect" not in {row.verdict for row in verdicts}
