"""Files of records: complete or absent, named in errors, found through the table of artifacts."""

import pytest

from lib.core.records import Answer, Rejected
from lib.core.store import BadInput, load, made_by, read_records, save, tell, write_records

ROWS = [Rejected(document_id="d", rejected_text="q", reason="the call failed")]


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    return tmp_path


def test_what_could_steer_a_terminal_is_printed_escaped(capsys):
    tell("a\x1b[2J\r\u202eb\n\tc\xa0é😀\ud800", end="")
    assert capsys.readouterr().out == "a\\x1b[2J\\r\\u202eb\n\tc\xa0é😀\\ud800"


def test_a_model_id_stays_one_folder_and_several_arms_are_one_list(root, capsys):
    for arm in ("base", "dapt"):
        row = Answer(query_id="q", arm=arm, answer="7", n_tokens=1, truncated=False)
        save("tiny", "answers", [row], arm=arm)
    assert capsys.readouterr().out.splitlines() == [
        "data/tiny/answers/base.jsonl: 1 rows",
        "data/tiny/answers/dapt.jsonl: 1 rows",
    ]
    assert [row.arm for row in load("tiny", "answers", arm=["dapt", "base"])] == ["dapt", "base"]
    assert save("tiny", "verdicts", [], judge="org/name", arm="base") == (
        root / "data" / "tiny" / "verdicts" / "org--name" / "base.jsonl"
    )


def test_a_missing_file_is_named_with_the_notebooks_that_write_it():
    assert made_by("answers", arm="dapt") == ("04_infer.ipynb with arm dapt")
    with pytest.raises(BadInput, match=r"data/tiny/queries.jsonl is missing: run 01_annotate"):
        load("tiny", "queries")
    assert load("tiny", "scores", optional=True, arm="base") == []


def test_a_row_that_does_not_fit_is_named_with_its_file_and_line(tmp_path):
    path = write_records(tmp_path / "rows.jsonl", ROWS)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"document_id": "d"}\n')
    with pytest.raises(
        ValueError, match=r"rows.jsonl, line 2: rejected_text: .*remove the file and run x"
    ):
        read_records(path, Rejected, made_by="x.ipynb")
