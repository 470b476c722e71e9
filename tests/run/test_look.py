"""`make look`: what a folder holds, what is asked of it, what a model would cost; no model runs."""

import subprocess
import sys

from lib.core.store import REPOSITORY
from lib.run.config import BASE_VARIABLE, FOR_SHOW, load_study
from lib.run.look import EXAMPLE, look_at, main, page, printed
from lib.run.study import main as study_main


def test_a_look_counts_tokens_questions_and_dollars_and_escapes_what_documents_say(tmp_path):
    (tmp_path / "pump.md").write_text(
        "# Orsa <script>alert(1)</script>\n\nThe supplier of the R-9 is <b>Lind</b> Metals.\n\n"
        "| Model | Price |\n| --- | --- |\n| R-9 | 40 EUR |\n| R-8 | 30 EUR |\n"
    )
    (tmp_path / "old.doc").write_bytes(b"x")
    look = look_at(tmp_path, "gpt-4.1")
    assert look.structures.tokens.min() == 0 < look.structures.tokens["table"]
    assert look.structures.questions.sum() == len(look.queries)
    text = printed(look)
    assert "1 of 2 files" in text and "left out: old.doc: save it as .docx" in text
    assert "No document has a list: it cannot be compared." in text
    assert float(look.costs.dollars["normalize"]) < float(look.costs.dollars["judge"])
    html = page(look)
    assert "<svg" in html and "<script>alert" not in html and "old.doc" in html
    assert "the price of mine/7b is unknown" in printed(look_at(tmp_path, "mine/7b"))


def test_a_look_at_the_example_imports_neither_torch_nor_a_client(tmp_path, monkeypatch, capsys):
    code = (
        "import sys; from lib.run.look import main; main([]); "
        "print({'torch', 'transformers', 'openai'} & set(sys.modules))"
    )
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert ran.stdout.endswith("set()\n") and "6 of 6 files" in ran.stdout
    assert all(f"{name}, asked by a model:" in ran.stdout for name in ("prose", "list", "table"))
    assert (tmp_path / "figures" / "look" / "look.html").stat().st_size > 5_000
    assert main([str(tmp_path / "none")]) == 2
    assert "does not exist: name a folder" in capsys.readouterr().err


def test_a_study_of_documents_without_a_base_stops_after_the_look(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    assert study_main(["documents", "--documents", str(REPOSITORY / "data" / "technical")]) == 2
    out, err = capsys.readouterr()
    assert "asked by the rules" in out and "names no base_model" in err
    monkeypatch.setenv(BASE_VARIABLE, "laboratory")
    study = load_study("documents", str(EXAMPLE))
    assert (study.base_model, study.caution) == ("data/lab/models/base", FOR_SHOW)
    assert study.given("06_analyze")["caution"] == FOR_SHOW


def test_a_wrong_base_and_a_folder_that_cannot_be_written_are_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(BASE_VARIABLE, "lab")
    assert study_main(["documents", "--documents", str(EXAMPLE)]) == 2
    assert "BASE=lab is unknown: give BASE=laboratory" in capsys.readouterr().err
    (tmp_path / "file").touch()
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path / "file"))
    assert main([]) == 2 and "set STUDY_ROOT to a folder" in capsys.readouterr().err
