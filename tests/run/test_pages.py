"""The HTML copies of executed notebooks, which a study writes while its stages run."""

import os
import time

import nbformat
import pytest

from lib.core.paths import data_path
from lib.run import pages
from lib.run.pages import write_due, writing_pages


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))


def executed(name: str, text: str, study: str = "tiny"):
    """Write an executed notebook that says `text`; return its path and its page's."""
    path = data_path(study, "notebooks", f"{name}.ipynb")
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)]), path)
    return path, path.with_suffix(".html")


def test_a_page_is_written_while_stages_run_and_the_last_one_at_the_end(monkeypatch):
    monkeypatch.setattr(pages, "SECONDS_BETWEEN_LOOKS", 0.05)
    _, first = executed("01_annotate", "the first")
    with writing_pages(["tiny"]) as faults:
        assert os.environ[pages.VARIABLE]  # stages write none themselves
        end = time.monotonic() + 120
        while not first.exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert "the first" in first.read_text()
        _, last = executed("05_judge-dapt-gpt-4.1", "the last")
    assert pages.VARIABLE not in os.environ and not faults
    html = last.read_text()
    assert "the last" in html and "<title>05_judge-dapt-gpt-4.1</title>" in html


def test_only_finished_notebooks_with_an_older_page_or_none_get_one():
    old, done = executed("01_annotate", "old"), executed("04_infer-dapt", "done")
    others = [executed(*one)[1] for one in (
        ("03_train-dapt.failed", "failed"), ("03_train-dapt-n.running", "running"),
        ("00_lab", "another study", "other"))]
    _, replicate = executed("00_lab", "one of ten", "tiny/1010")
    for (copy, page), age in ((old, -10), (done, +10)):
        page.write_text("an earlier run")
        when = copy.stat().st_mtime + age
        os.utime(page, (when, when))
    assert write_due(["tiny"]) == []
    assert "an earlier run" not in old[1].read_text() and "one of ten" in replicate.read_text()
    assert done[1].read_text() == "an earlier run" and not any(page.exists() for page in others)


def test_a_notebook_without_a_page_is_named_and_the_others_get_theirs():
    (broken, page), (_, whole) = executed("01_annotate", ""), executed("02_normalize", "whole")
    broken.write_text("{")
    with writing_pages(["tiny"]) as faults:
        pass
    assert whole.exists() and len(faults) == 1
    assert "01_annotate.html was not written" in faults[0]
    executed("01_annotate", "mended")
    assert write_due(["tiny"]) == [] and page.exists()


def test_a_stage_that_began_again_keeps_no_page_of_its_last_run(monkeypatch):
    copy, page = executed("01_annotate", "the last run")
    write_page = pages.write_page

    def while_it_begins_again(copy, page):
        write_page(copy, page)
        copy.unlink()
    monkeypatch.setattr(pages, "write_page", while_it_begins_again)
    assert write_due(["tiny"]) == [] and not page.exists()
