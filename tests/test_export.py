"""Exports: licences are named, training files have no question of the test."""

import pytest

from lib.core.records import Augmented, Document
from lib.core.store import REPOSITORY, BadInput, artifact_path, save, write_json, write_text
from lib.export import licenses_of, training_rows
from lib.infer.prompts import prompt_for
from tests.rows import query, rewritten, segments_of

SOURCES = "data/records/SOURCES.csv"


def documents(*paths: str) -> list[Document]:
    return [Document(document_id=path, title="", path=path, text="") for path in paths]


def test_a_document_without_a_named_licence_is_refused():
    names = ("six/" + path.name for path in (REPOSITORY / "data/records").glob("documents/six/*"))
    assert {*licenses_of(documents(*names), SOURCES).values()} == {
        "Apache-2.0",
        "BSD-3-Clause",
        "MIT",
    }
    assert licenses_of(documents("a.md"), "cc0-1.0") == {"a.md": "cc0-1.0"}
    for license in ("", SOURCES):
        with pytest.raises(BadInput, match="named for 1 of 1 documents, a.md first: set license"):
            licenses_of(documents("a.md"), license)


def test_training_files_have_what_an_arm_learned_but_no_question_of_the_test(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    segments = segments_of("d", "One. ", "Two. ", "Three. ")
    asked = [(0, "Asked?", "a\nb"), (0, "**TESTED**  it?", "c"), (2, "Held out?", "d")]
    own = write_text(
        tmp_path / "own.jsonl",
        '{"question": "Own?", "answer": "e", "text": "Own 7."}\n'
        '{"question": "Tested it", "answer": "e"}\n',
    )
    save("s", "segments", segments)
    save("s", "normalized", [rewritten(one, one.text) for one in segments])
    how = {"document_id": "d", "strategy": "questions", "number": 1, "dropped": ""}
    pairs = [
        Augmented(segment_id=segments[place].segment_id, text=text, answer=answer, **how)
        for place, text, answer in asked
    ]
    save("s", "augmented", pairs)
    learned = {"texts": f"raw+questions+{own}", "held_out": [segments[2].segment_id]}
    path = artifact_path("s", "model", arm="dapt-q") / "training.json"
    write_json(path, learned | {"is_titled": False})
    rows = training_rows("s", "dapt-q", [query(question="Tested it?")])
    assert rows["dapt-q-texts"] == [{"text": "One. Two."}]
    turns = sum((row["messages"] for row in rows["dapt-q-questions"]), [])
    said = ["Asked?", "a\nb", prompt_for("Own?", "Own 7."), "e"]  # what the model reads
    roles = ["user", "assistant"] * 2
    assert turns == [
        {"role": role, "content": text} for role, text in zip(roles, said, strict=True)
    ]
