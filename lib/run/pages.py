"""Write the HTML copies of executed notebooks: a study's in one thread, so that no stage waits."""

import os
from functools import cache
from pathlib import Path
from threading import Event, Thread

from lib.core.files import write_text
from lib.core.paths import data_path, shown

VARIABLE = "STUDY_WRITES_PAGES"  # set for the stages of a study, which writes their pages itself
SECONDS_BETWEEN_LOOKS = 1.0


class Pages:
    """Write the pages of some studies while their stages run, and the last ones at the end.

    A page is due if its notebook is newer, so the next run writes what a kill left out.
    """

    def __init__(self, studies: list[str]) -> None:
        self.folders = [data_path(study) for study in studies]
        self.faults: dict[Path, str] = {}  # for each notebook without a page, why
        self._is_over = Event()
        self._thread = Thread(target=self._watch, daemon=True)  # it must not delay an interrupt

    def __enter__(self) -> "Pages":
        os.environ[VARIABLE] = "1"
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        del os.environ[VARIABLE]
        self._is_over.set()
        if kind is None:
            self._thread.join()
            self.write()

    def due(self) -> list[Path]:
        """Return the executed notebooks without a page, or with an older one."""
        copies = [copy for folder in self.folders for depth in ("", "*/")  # replicates have theirs
                  for copy in sorted(folder.glob(f"{depth}notebooks/*.ipynb"))]
        return [copy for copy in copies if Path(copy.stem).suffix not in (".running", ".failed")
                and _when(copy.with_suffix(".html")) < _when(copy)]

    def write(self) -> None:
        """Write all pages that are due; `faults` says which could not be written."""
        self.faults = {}
        for copy in self.due():
            page = copy.with_suffix(".html")
            try:
                write_page(copy, page)
            except Exception as error:  # of many kinds in nbconvert; the other pages are written
                self.faults[copy] = (f"{shown(page)} was not written ({type(error).__name__}: "
                                     f"{error}); the executed notebook is {shown(copy)}")
            if not copy.exists():  # its stage began again
                page.unlink(missing_ok=True)
                self.faults.pop(copy, None)

    def _watch(self) -> None:
        while not self._is_over.wait(SECONDS_BETWEEN_LOOKS):
            if not self.faults:  # else every look would fail again
                self.write()


def write_page(copy: Path, page: Path) -> None:
    """Write the HTML of the executed notebook `copy` to `page`."""
    import nbformat  # slow to import, and a finished study writes no page

    notebook = nbformat.read(copy, nbformat.NO_CONVERT)
    write_text(page, _exporter().from_notebook_node(notebook, {"metadata": {"name": page.stem}})[0])


@cache
def _exporter():
    from nbconvert import HTMLExporter

    return HTMLExporter(mathjax_url="", require_js_url="")  # readable without a network


def _when(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # not written yet, or its stage began again
        return 0
