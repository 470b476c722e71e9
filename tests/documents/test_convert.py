"""The child process that converts files, and the Markdown that is written of their pieces."""

import http.server
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lib.core.store import BadInput
from lib.documents import convert, html
from lib.documents.convert import Piece, Worker, escape, write_markdown

SIGNS = [*"ab 1.)#*_`[](){}<>!&;|\\-+=~:\"'é。", "&amp;", "<b>", "](x)"]
TEXT = (
    st.lists(st.sampled_from(SIGNS), min_size=1, max_size=15)
    .map(lambda parts: " ".join("".join(parts).split()))
    .filter(bool)
)
READER = MarkdownIt("commonmark").enable("table")


def test_a_child_that_is_too_slow_is_replaced(monkeypatch):
    monkeypatch.setattr(convert, "MAX_SECONDS", 0.05)
    with Worker() as one:
        with pytest.raises(BadInput, match="crashed, or took more than 0 s"):
            one.convert(b"<p>" + b"<b>word</b> " * 300_000, html.read)
        monkeypatch.setattr(convert, "MAX_SECONDS", 60)
        assert one.convert(b"<p>Words.</p>", html.read).markdown == "Words.\n"


def test_nothing_that_a_page_names_is_fetched():
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"http://127.0.0.1:{server.server_port}"
    page = (
        f'<!DOCTYPE html SYSTEM "{place}/dtd"><head><base href="{place}/"><script src="s.js">'
        f'</script><link rel=stylesheet href="s.css"></head><p>Words.<img src="{place}/i.png">'
        f'<iframe src="{place}/f"></iframe><img src="file:///etc/hostname"></p>'
    )
    with Worker() as worker:
        assert worker.convert(page.encode(), html.read).markdown == "Words.\n"
    server.shutdown()
    server.server_close()
    assert asked == []


def test_a_converter_in_the_child_may_not_write_connect_or_start_a_program(tmp_path):
    code = (
        "import socket, subprocess, sys; from lib.documents.convert import confine\n"
        "import os; out = os.fdopen(os.dup(1), 'w'); confine()\n"
        "for act in (lambda: open(sys.argv[1], 'w'), lambda: subprocess.run(['true']),\n"
        "            lambda: socket.create_connection(('127.0.0.1', 9))):\n"
        "    try: act(); print('done', file=out)\n"
        "    except PermissionError as error: print('refused', file=out)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "x"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["refused"] * 3 and not (tmp_path / "x").exists()


def seen(markdown: str) -> list[tuple[str, int, str]]:
    """Return what a reader sees: the element around each text, the lists around it, the text."""
    found, depth, kind = [], 0, ""
    for token in READER.parse(markdown):
        depth += token.nesting * token.type.startswith(("bullet_list", "ordered_list"))
        kind = token.tag if token.type.endswith("_open") else kind
        if token.type == "inline":
            assert {one.type for one in token.children} <= {"text", "text_special"}
            found.append((kind, depth, "".join(one.content for one in token.children)))
    return found


@given(st.lists(st.tuples(TEXT, st.integers(0, 2), st.booleans()), min_size=1, max_size=6))
def test_items_headings_and_paragraphs_keep_their_text_and_depth(items):
    depths: list[int] = []
    for _, depth, _ in items:
        depths.append(min(depth, depths[-1] + 1 if depths else 0))
    pieces, expected = [], []
    for (text, _, ordered), depth in zip(items, depths, strict=True):
        pieces.append(Piece("item", escape(text), depth=depth, number=7 if ordered else None))
        expected.append(("p", depth + 1, text))
    for text, *_ in items:
        pieces += [Piece("prose", escape(text)), Piece("heading", escape(text))]
        expected += [("p", 0, text), ("h1", 0, text)]
    assert seen(write_markdown(pieces).markdown) == expected


@given(st.lists(st.lists(TEXT, min_size=2, max_size=2), min_size=2, max_size=4))
def test_cells_keep_their_text_row_and_column(rows):
    made = write_markdown([Piece("table", rows=[[escape(cell) for cell in row] for row in rows])])
    cells = [text for kind, _, text in seen(made.markdown) if kind in ("th", "td")]
    assert made.lacking or cells == [cell for row in rows for cell in row]  # #a! is an error
