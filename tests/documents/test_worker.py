"""The child process: one for many files, within its limits, replaced after a failure."""

import http.server
import os
import subprocess
import sys
import threading

import pytest

from lib.core.errors import BadInput
from lib.documents import docx, html
from lib.documents.convert import Worker
from lib.documents.folder import READERS
from tests.documents.files import docx as made
from tests.documents.files import paragraph


@pytest.fixture(scope="module")
def worker():
    with Worker() as one:
        yield one


def put(folder, name: str, content: bytes):
    (folder / name).write_bytes(content)
    return folder / name


def test_one_child_converts_many_files_and_refusals_do_not_stop_it(worker, tmp_path):
    good = put(tmp_path, "a.docx", made(paragraph("Words.")))
    assert worker.convert(good, docx.read).markdown == "Words.\n"
    for name, content, reason in (
        ("b.pdf", made(paragraph("a")), "damaged or cut off"),
        ("c.docx", b"<p>words</p>", "not a DOCX file"),
        ("x.docx", b"\xd0\xcf\x11\xe0" + b"\0" * 99, "an encrypted or older Office file"),
        ("f.html", b"  ", "empty"),
        ("g.html", b"<p></p>", "no text in it"),
    ):
        with pytest.raises(BadInput, match=reason):
            worker.convert(put(tmp_path, name, content), READERS[os.path.splitext(name)[1]])
    assert worker.convert(good, docx.read).markdown == "Words.\n"


def test_a_child_that_is_too_slow_is_replaced(tmp_path):
    page = put(tmp_path, "a.html", b"<p>Words.</p>")
    slow = put(tmp_path, "slow.html", b"<p>" + b"<b>word</b> " * 300_000)
    with Worker(0.05) as one:
        with pytest.raises(BadInput, match="crashed, or took more than 0 s"):
            one.convert(slow, html.read)
        one.max_seconds = 60
        assert one.convert(page, html.read).markdown == "Words.\n"


def test_nothing_that_a_page_names_is_fetched(worker, tmp_path):
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
    for name in ("a.html", "a.xhtml"):
        made = worker.convert(put(tmp_path, name, page.encode()), html.read)
        assert made.markdown == "Words.\n"
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
