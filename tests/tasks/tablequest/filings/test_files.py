"""Files of filings: compressed and plain ones are read, bad ones are listed with their reason."""

import gzip
import os

import pytest

from lib.core.errors import BadInput
from lib.tasks.tablequest.filings.read import read_file, read_filings
from tests.tablequest_shapes import table
from tests.tasks.tablequest.filings.test_read import NUMBERS, page

BAD = {
    "empty.html": (b"", "empty"), "picture.htm": (b"\x89PNG\0\0", "binary"),
    "words.html": (b"just words", "no tag"), "prose.html": (b"<p>Form 10-K</p>", "no table"),
    "contents.html": (page(table("<td>Item 1.</td><td>Business</td><td>1</td>")).encode(),
                      "labelled numbers"),
    "shop.html": (f"<html><p>Our prices</p>{NUMBERS}</html>".encode(), "annual report"),
    "deep.html": (page("<div>" * 20_000, NUMBERS).encode(), "broken beyond repair"),
    "half.html": (page(NUMBERS, NUMBERS, "<p>The end").encode()[:-20], "truncated: it has neither"),
    "bits.html.gz": (gzip.compress(page(NUMBERS).encode())[:-20], "not a complete gzip file"),
    "plain.htm.gz": (page(NUMBERS).encode(), "not a complete gzip file"),
    "none.html.gz": (gzip.compress(b""), "empty"),
    "bomb.html.gz": (gzip.compress(bytes(110_000_000), 1), "more than the limit of 100 MB"),
    "piece.html": (f"<p>Form 10-K</p>{NUMBERS}{NUMBERS}".encode()[:-20], "within a table"),
    "nested.html": (f"<p>Form 10-K</p><table><tr><td>{NUMBERS}</td><td>Sales".encode(),
                    "within a table"),
    "comment.html": (f"<p>Prices</p>{NUMBERS}<!-- no <table> here --><p>End</p>".encode(),
                     "annual report"),
    "odd.html": (page(NUMBERS).encode("utf-16")[:-1], "broken UTF-16")}


def test_a_bad_file_is_listed_with_its_reason_and_the_others_are_read(tmp_path):
    good = {"later/good.html": page(NUMBERS).encode()}
    skipped = {".hidden.html": (b"x", "hidden"), "data.csv": (b"a,b", "not .html"),
               "old.gz": (b"x", "not .html")}
    bad = BAD | skipped
    for name, content in {**good, **{name: content for name, (content, _) in bad.items()}}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "link.html").symlink_to("nowhere")
    [read], rejected = read_filings(tmp_path)
    assert (read.filing.filing_id, read.filing.company) == ("later-good", "Acme, Inc.")
    assert len(read.grids) == 1
    reasons = {row_.item: row_.reason for row_ in rejected}
    expected = {name: word for name, (_, word) in bad.items()} | {
        "pipe.html": "not an ordinary file", "link.html": "No such file"}
    assert reasons.keys() == expected.keys()
    assert not {name: reasons[name] for name, word in expected.items() if word not in reasons[name]}


def test_two_files_cannot_share_an_id(tmp_path):
    for name in ("a b.html", "a-b.html"):
        (tmp_path / name).write_text(page(NUMBERS))
    found, rejected = read_filings(tmp_path)
    assert len(found) == 1 and "same id as a b.html" in rejected[0].reason


@pytest.mark.parametrize("ending", ["html.gz", "htm.gz", "HTM", "html"])
def test_compressed_filings_are_read_like_others(tmp_path, ending):
    raw = page(NUMBERS).encode()
    (tmp_path / f"acme.{ending}").write_bytes(gzip.compress(raw) if "gz" in ending else raw)
    [read], rejected = read_filings(tmp_path)
    assert [grid.grid_id for grid in read.grids] == ["acme-t01"] and not rejected


def test_a_folder_without_a_readable_filing_ends_with_every_reason(tmp_path):
    (tmp_path / "shop.html").write_text(f"<html><p>Our prices</p>{NUMBERS}</html>")
    (tmp_path / "words.htm").write_text("just words")
    (tmp_path / "data.csv").write_text("a,b")
    with pytest.raises(BadInput) as error:
        read_filings(tmp_path)
    lines = str(error.value).splitlines()
    assert "no file in" in lines[0]
    assert [text.split(":")[0].strip() for text in lines[1:]] == ["data.csv", "shop.html",
                                                                  "words.htm"]


def test_broken_html_is_repaired_and_entities_do_not_grow(tmp_path):
    complete = page(NUMBERS, NUMBERS.replace("Sales", "Rent"))
    cut = complete[:complete.rindex("Costs")].replace("</td>", "").replace("</p>", "") + "</HTML>"
    bomb = '<!DOCTYPE html [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
    pages = {"cut": cut, "deep": page("<div>" * 1500, NUMBERS),
             "entities": bomb + page("<p>&b;</p>", NUMBERS)}
    rows = {}
    for name, content in pages.items():
        path = tmp_path / f"{name}.html"
        path.write_text(content)
        rows[name] = [grid.rows for grid in read_file(path).grids]
    both = ("Sales", "Costs")
    assert rows == {"cut": [both, ("Rent",)], "deep": [both], "entities": [both]}
