"""`make look`: what a folder holds and what a model would cost; no model runs."""

import subprocess
import sys

import pytest

from lib.core.store import REPOSITORY
from lib.run.config import BASE_VARIABLE, load_study
from lib.run.look import EXAMPLE, look_at, main
from lib.run.study import main as study_main


def test_a_look_shows_tokens_passages_left_out_files_and_dollars(tmp_path):
    (tmp_path / "pump.md").write_text(
        "# Orsa\n\nThe supplier of the R-9 is Lind.\n\n| Model | Price |\n| - | - |\n"
        + "| R-9 | 40 EUR |\n" * 200
    )
    (tmp_path / "old.doc").write_bytes(b"x")
    text = look_at(tmp_path)
    assert "1 of 2 files" in text and "left out: old.doc: save it as .docx" in text
    assert "No document has a list: it cannot be compared." in text
    assert "prose, in pump.md:\n  The supplier of the R-9 is Lind.\n" in text
    assert text.count("| R-9 |") == 3, "five lines of the table"
    dollars = [
        float(line.split()[-1]) for line in text.splitlines() if line[:5] in ("norma", "judge")
    ]
    assert 0 < dollars[0] < dollars[1]
    assert "the price of mine/7b is unknown" in look_at(tmp_path, "mine/7b")


def test_a_look_at_the_example_imports_neither_torch_nor_a_client():
    code = (
        "import sys; from lib.run.look import main; main([]); "
        "print({'torch', 'transformers', 'openai'} & set(sys.modules))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert ran.stdout.endswith("set()\n") and "6 of 6 files" in ran.stdout
    assert "A model's question, on the record apisix-acl.md" in ran.stdout


def test_a_folder_that_does_not_exist_is_said(tmp_path, capsys):
    assert main([str(tmp_path / "none")]) == 2
    assert "does not exist: name a folder" in capsys.readouterr().err


def test_a_study_of_documents_without_a_base_stops_after_the_look(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    assert study_main(["documents", "--documents", str(REPOSITORY / "data" / "technical")]) == 2
    out, err = capsys.readouterr()
    assert "6 of 6 files" in out and "names no base_model" in err
    assert "set annotator, normalizer and judge" in err
    monkeypatch.setenv(BASE_VARIABLE, "laboratory")
    with pytest.raises(ValueError, match="annotator: '' names no model: set annotator, normal"):
        load_study("documents", str(EXAMPLE))


def test_a_wrong_base_is_said(monkeypatch, capsys):
    monkeypatch.setenv(BASE_VARIABLE, "lab")
    assert study_main(["documents", "--documents", str(EXAMPLE)]) == 2
    assert "BASE=lab is unknown: give BASE=laboratory" in capsys.readouterr().err
