"""The HTML copies of executed notebooks, which a study writes while its stages run."""

import os
import time

import nbformat
import pytest

from lib.core.paths import data_path
from lib.run import pages
from lib.run.pages import Pages


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))


def executed(name: str, text: str, study: str = "tiny"):
    """Write an executed notebook that says `text`; return its path."""
    path = data_path(study, "notebooks", f"{name}.ipynb")
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)]), path)
    return path


def page_of(copy):
    return copy.with_suffix(".html")


def test_a_page_is_written_while_stages_run_and_the_last_one_at_the_end(monkeypatch):
    monkeypatch.setattr(pages, "SECONDS_BETWEEN_LOOKS", 0.05)
    first = executed("01_annotate", "the first")
    with Pages(["tiny"]):
        assert os.environ[pages.VARIABLE]  # stages write none themselves
        end = time.monotonic() + 120
        while not page_of(first).exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert "the first" in page_of(first).read_text()
        last = executed("05_judge-dapt-gpt-4.1", "the last")
    assert pages.VARIABLE not in os.environ
    html = page_of(last).read_text()
    assert "the last" in html and "<title>05_judge-dapt-gpt-4.1</title>" in html


def test_only_finished_notebooks_with_an_older_page_or_none_are_due():
    old, done = executed("01_annotate", "old"), executed("04_infer-dapt", "done")
    executed("03_train-dapt.failed", "failed")
    executed("03_train-dapt-n.running", "running")
    replicate = executed("00_lab", "a replicate's own", "tiny/1010")
    executed("00_lab", "another study's", "other")
    for copy, age in ((old, -10), (done, +10)):
        page_of(copy).write_text("")
        when = copy.stat().st_mtime + age
        os.utime(page_of(copy), (when, when))
    assert Pages(["tiny"]).due() == [old, replicate]


def test_a_notebook_without_a_page_is_named_and_the_others_get_theirs():
    broken, whole = executed("01_annotate", ""), executed("02_normalize", "whole")
    broken.write_text("{")
    with Pages(["tiny"]) as written:
        pass
    assert page_of(whole).exists() and list(written.faults) == [broken]
    assert "01_annotate.html was not written" in written.faults[broken]
    executed("01_annotate", "mended")
    written.write()
    assert page_of(broken).exists() and not written.faults


def test_a_stage_that_began_again_keeps_no_page_of_its_last_run(monkeypatch):
    copy = executed("01_annotate", "the last run")
    write_page = pages.write_page

    def while_it_begins_again(copy, page):
        write_page(copy, page)
        copy.unlink()
    monkeypatch.setattr(pages, "write_page", while_it_begins_again)
    written = Pages(["tiny"])
    written.write()
    assert not page_of(copy).exists() and not written.faults
