"""A folder of documents: what is read, what is left out and why, what is not a folder at all."""

import os
from pathlib import Path

import pytest

from lib.annotate.llm_annotator import read_reply
from lib.core.records import Rejected
from lib.core.store import BadInput
from lib.documents.folder import (
    MAX_DOCUMENT_BYTES,
    MAX_FILE_BYTES,
    list_files,
    read_folder,
    write_converted,
)
from lib.documents.markdown import parse, plain
from lib.llm.request import Reply

TEXT = "# Orval gate\n\nThe Orval gate listens on 7001.\n"


def put(folder: Path, **files: bytes | str) -> Path:
    """Write <name>.md files; `__` in a name is a slash."""
    for name, content in files.items():
        path = folder / (name.replace("__", "/") + ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def reasons(rows: list[Rejected]) -> dict[str, str]:
    return {row.rejected_text: row.reason for row in rows}


def ids(folder: Path) -> list[str]:
    return [document.document_id for document in read_folder(folder).documents]


def test_a_text_that_is_too_long_is_listed_and_the_others_are_read(tmp_path):
    put(tmp_path, good=TEXT, zbad=b"x" * (MAX_DOCUMENT_BYTES + 1))
    reading = read_folder(tmp_path)
    assert [document.document_id for document in reading.documents] == ["good.md"]
    assert reasons(reading.rejected) == {"zbad.md": "5.0 MB, over the limit of 5: split it"}


def test_pipes_and_loops_do_not_hang_and_links_out_of_the_folder_are_refused(tmp_path):
    put(tmp_path, secret="password")
    (tmp_path := tmp_path / "in").mkdir()
    put(tmp_path, a__good=TEXT)
    (tmp_path / "secret.md").symlink_to(tmp_path.parent / "secret.md")
    (tmp_path / "out").symlink_to(tmp_path.parent, target_is_directory=True)
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    reading = read_folder(tmp_path)
    assert ids(tmp_path) == ["a/good.md"]
    missing = "missing, or not an ordinary file"
    assert reasons(reading.rejected) == dict.fromkeys(("gone.md", "pipe.md"), missing) | {
        "a/up": "link to a folder",
        "out": "a link that leaves the folder: put the file itself there",
        "secret.md": "a link that leaves the folder: put the file itself there",
    }


def test_a_name_that_is_not_utf8_can_be_written_down(tmp_path):
    put(tmp_path, good=TEXT)
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("other words")
    assert ids(tmp_path) == ["caf\\xe9.md", "good.md"] and "".join(ids(tmp_path)).encode()


def test_a_folder_without_anything_usable_names_what_was_found(tmp_path):
    with pytest.raises(BadInput, match="nowhere is no folder: name one that"):
        read_folder(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="empty"):
        read_folder(tmp_path)
    (tmp_path / "scan.png").write_bytes(b"\x89PNG")
    with pytest.raises(BadInput, match=r"1 found \(scan.png: not .md, .txt, .html, "):
        list_files(tmp_path)
    put(tmp_path, a=b"")
    with pytest.raises(BadInput, match=r"2 found \(a.md: empty; scan.png: not .md, "):
        read_folder(tmp_path)
    with pytest.raises(BadInput, match="scan.png is no folder"):
        read_folder(tmp_path / "scan.png")


def test_other_formats_are_converted_in_the_order_of_their_paths_and_old_files_go(tmp_path):
    put(tmp_path, b=TEXT, twin="# Valve\n\nIt opens at 3 bar.\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "page.HTML").write_text("<h1>Valve</h1><p>It opens at 3 bar.</p>")
    (tmp_path / "link.html").symlink_to(tmp_path / "a" / "page.HTML")
    (tmp_path / "gone.docx").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.pdf")
    (tmp_path / "bad.docx").write_bytes(b"%PDF-1.4")
    (tmp_path / "b.PDF").write_bytes(b"")
    for name, size in (("big.pdf", MAX_FILE_BYTES + 1), ("log.txt", 6_000_000_000)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    reading = read_folder(tmp_path)
    assert [(one.document_id, one.title) for one in reading.documents] == [
        ("a/page.HTML", "Valve"),
        ("b.md", "Orval gate"),
    ]
    assert reading.documents[0].text == "# Valve\n\nIt opens at 3 bar.\n"
    assert reasons(reading.rejected) == {
        "b.PDF": "b.md beside it is read",
        "bad.docx": "not a DOCX file, cut off, encrypted or older (File is not a zip file)",
        "big.pdf": "50.0 MB, over the limit of 50: split it",
        "gone.docx": "missing, or not an ordinary file",
        "link.html": "same content as a/page.HTML",
        "log.txt": "6000.0 MB, over the limit of 5: split it",
        "pipe.pdf": "missing, or not an ordinary file",
        "twin.md": "same content as a/page.HTML",
    }
    assert reading.tokens["a/page.HTML"] == {"heading": 2, "prose": 5}
    target = put(tmp_path / "out", **{"old.pdf": "words"})
    write_converted(target, reading)
    assert [path.relative_to(target).as_posix() for path in target.rglob("*.*")] == [
        "a/page.HTML.md"
    ]


REPLY = (
    '[{"question": "What is the mass of the pump?", "answer": "12 kg", '
    '"source_reference": "The mass is 12 kg", "source_reference_type": "natural"}]'
)


def test_marked_blocks_of_markdown_are_doubted_and_not_asked_about(tmp_path):
    struck = "The mass is ~~10~~ 12 kg."
    (tmp_path / "HP-220_pump.md").write_text(
        f"The mass is 12 kg here.\n\n{struck}\n\n- 12<sup>1</sup> s\n"
    )
    [document] = read_folder(tmp_path).documents
    assert document.title == "HP-220 pump"
    assert document.doubt == "1 × struck or missing words and 1 × mark at a number"
    texts = [document.text[start:end] for start, end in document.doubted]
    assert texts == [struck, "- 12<sup>1</sup> s"]
    assert plain("12<sup>1</sup> m<sup>2</sup>") == "12^1 m^2"
    for reference, refused in (("The mass is 12 kg here.", 0), (struck, 1)):
        reply = Reply(text=REPLY.replace("The mass is 12 kg", reference))
        blocks = parse(document.text)
        candidates, rejected = read_reply(reply, document, blocks, 0, len(document.text))
        assert (len(candidates), len(rejected)) == (1 - refused, refused), rejected
    assert rejected[0].reason == f"its block is in doubt: {document.doubt}"
