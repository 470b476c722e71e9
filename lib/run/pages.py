"""Write the HTML copies of executed notebooks: a study's in one thread, so that no stage waits."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Event, Thread

from lib.core.files import write_text
from lib.core.paths import data_path, shown

VARIABLE = "STUDY_WRITES_PAGES"  # set for the stages of a study, which writes their pages itself
SECONDS_BETWEEN_LOOKS = 1.0


@contextmanager
def writing_pages(studies: list[str]) -> Iterator[list[str]]:
    """Write the pages of `studies` while their stages run, and the last ones at the end.

    Yield a list that has, at the end, a sentence for each page that could not be written.
    """
    faults: list[str] = []
    is_over = Event()

    def watch() -> None:
        while not is_over.wait(SECONDS_BETWEEN_LOOKS):
            if not faults:  # else every look would fail again
                faults.extend(write_due(studies))

    thread = Thread(target=watch, daemon=True)  # an interrupt does not wait for it
    os.environ[VARIABLE] = "1"
    thread.start()
    try:
        yield faults
    finally:
        del os.environ[VARIABLE]
        is_over.set()
    thread.join()
    faults[:] = write_due(studies)


def write_due(studies: list[str]) -> list[str]:
    """Write the pages that are missing or older than their notebooks; explain those that fail.

    So the next run writes what a kill left out.
    """
    faults = []
    copies = [copy for study in studies for depth in ("", "*/")  # each replicate has its own
              for copy in sorted(data_path(study).glob(f"{depth}notebooks/*.ipynb"))]
    for copy in copies:
        page = copy.with_suffix(".html")
        is_finished = Path(copy.stem).suffix not in (".running", ".failed")
        try:
            if is_finished and (not page.exists() or page.stat().st_mtime < copy.stat().st_mtime):
                write_page(copy, page)
        except Exception as error:  # of many kinds in nbconvert; the other pages are written
            if copy.exists():  # else its stage began again
                faults.append(f"{shown(page)} was not written ({type(error).__name__}: {error}); "
                              f"the executed notebook is {shown(copy)}")
        if not copy.exists():
            page.unlink(missing_ok=True)
    return faults


def write_page(copy: Path, page: Path) -> None:
    """Write the HTML of the executed notebook `copy` to `page`."""
    sys.modules.setdefault("rfc3987_syntax", None)  # see lib.run.notebook.NOT_NEEDED
    import nbformat  # slow to import, and a finished study writes no page

    notebook = nbformat.read(copy, nbformat.NO_CONVERT)
    write_text(page, _exporter().from_notebook_node(notebook, {"metadata": {"name": page.stem}})[0])


@cache
def _exporter():
    from nbconvert import HTMLExporter

    return HTMLExporter(mathjax_url="", require_js_url="")  # readable without a network
