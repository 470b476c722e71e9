"""`python -m lib.run.intervene` on a folder: what it writes, and what it refuses."""

import pytest

from lib.normalize.interventions import INTERVENTIONS
from lib.run.intervene import main

TABLE = "# Pump\n\nThe pump runs.\n\n| Part | Value |\n| --- | --- |\n| port | 8443 |\n"


@pytest.fixture
def folder(tmp_path):
    files = {"a.md": TABLE, "sub/b.md": "# Fan\n\nThe fan turns.\n", "empty.md": "", "c.bin": "x",
             "d.html": "<h1>Valve</h1><p>The valve opens.</p>"}
    for name, text in files.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(text)
    return tmp_path / "in"


def test_each_document_is_written_under_its_own_path_and_counted(folder, capsys):
    target = folder.parent / "out"
    assert main(["verbalize", str(folder), str(target)]) == 0
    printed = capsys.readouterr().out
    assert "3 documents, 1 of them changed by verbalize" in printed
    assert "left out: empty.md" in printed
    written = sorted(str(path.relative_to(target)) for path in target.rglob("*.*"))
    assert written == ["a.md", "d.html.md", "sub/b.md"]
    assert (target / "d.html.md").read_text() == "# Valve\n\nThe valve opens.\n"
    assert "|" not in (target / "a.md").read_text() and "8443" in (target / "a.md").read_text()
    assert (target / "sub" / "b.md").read_text() == "# Fan\n\nThe fan turns.\n"


def test_line_ends_and_a_byte_order_mark_are_the_readers_and_no_change(folder, capsys):
    (folder / "sub" / "b.md").write_bytes(b"\xef\xbb\xbf# Fan\r\n\r\nThe fan turns.\r\n")
    assert main(["verbalize", str(folder), str(folder.parent / "out")]) == 0
    assert (folder.parent / "out" / "sub" / "b.md").read_bytes() == b"# Fan\n\nThe fan turns.\n"
    assert "3 documents, 1 of them changed" in capsys.readouterr().out


@pytest.mark.parametrize("name", INTERVENTIONS)
def test_every_intervention_can_be_named(name, folder):
    assert main([name, str(folder), str(folder.parent / name)]) == 0


def test_nothing_is_overwritten_or_read_again(folder, capsys):
    target = folder.parent / "out"
    target.mkdir()
    (target / "mine.md").write_text("mine")
    for place, message in ((target, "already contains files"), (folder / "out", "is inside")):
        assert main(["verbalize", str(folder), str(place)]) == 2
        assert message in capsys.readouterr().err
    assert main(["verbalize", str(folder.parent / "none"), str(folder.parent / "new")]) == 2
    assert not (folder.parent / "new").exists()
