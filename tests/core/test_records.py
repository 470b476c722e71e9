"""Files of records: none is left of an earlier run, and a row that does not fit is named with its line."""

import pytest

from lib.core.records import Rejected, read_records, write_if_any

ROWS = [Rejected(document_id="d", item="q", reason="the call failed")]


def test_what_an_earlier_run_left_is_gone_where_nothing_is_left_out(tmp_path):
    path = tmp_path / "unanswered" / "base.jsonl"
    path.parent.mkdir()
    write_if_any(path, [])  # nothing there, nothing to do
    assert not path.exists()
    write_if_any(path, ROWS)
    assert read_records(path, Rejected, made_by="04_infer.ipynb") == ROWS
    write_if_any(path, [])
    assert not path.exists()


def test_a_row_that_does_not_fit_is_named_with_its_file_and_line(tmp_path):
    path = tmp_path / "rows.jsonl"
    write_if_any(path, ROWS)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"document_id": "d"}\n')
    with pytest.raises(ValueError, match=r"rows.jsonl, line 2: item: .*remove the file and run 04_infer.ipynb again"):
        read_records(path, Rejected, made_by="04_infer.ipynb")
