"""Files of filings: compressed and plain ones are read, bad ones are listed with their reason."""

import gzip
import os

import pytest

from lib.core.errors import BadInput
from lib.tasks.tablequest.filings.read import read_filing, read_filings
from tests.tasks.tablequest.filings.test_read import NUMBERS, page

PRE = "<pre>\nSales      1,200   1,100\n</pre>"
BAD = {
    "empty.html": (b"", "empty"),
    "picture.htm": (b"\x89PNG\0\0", "binary"),
    "words.html": (b"just words", "no tag"),
    "prose.html": (page("No.").encode(), "no table"),
    "contents.html": (
        page(f"<table>{'<tr><td>Item</td><td>7</td></tr>' * 9}</table>").encode(),
        "labelled numbers",
    ),
    "shop.html": (f"<html><p>Our prices</p>{NUMBERS}</html>".encode(), "annual report"),
    "deep.html": (page("<div>" * 20_000, NUMBERS).encode(), "broken beyond repair"),
    "half.html": (page(NUMBERS, NUMBERS, "<p>The end").encode()[:-20], "truncated"),
    "bits.html.gz": (gzip.compress(page(NUMBERS).encode())[:-20], "not a complete gzip file"),
    "plain.htm.gz": (page(NUMBERS).encode(), "not a complete gzip file"),
    "bomb.html.gz": (gzip.compress(bytes(110_000_000), 1), "more than the limit of 100 MB"),
    "odd.html": (page(NUMBERS).encode("utf-16"), "UTF-16"),
    "old.html": (page(NUMBERS, PRE).encode(), "text in <pre>"),
    "whole.htm": (f"<SEC-DOCUMENT>1.txt\n<TYPE>10-K\n{page(NUMBERS)}".encode(), "in SGML"),
}
SKIPPED = {".hidden.html": (b"x", "hidden"), "data.csv": (b"a,b", "not .html")}


def test_a_bad_file_is_listed_with_its_reason_and_the_others_are_read(tmp_path):
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "good.html.gz").write_bytes(gzip.compress(page(NUMBERS).encode()))
    for name, (content, _) in (BAD | SKIPPED).items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe.html")
    [read], rejected = read_filings(tmp_path)
    assert (read.filing.filing_id, read.filing.company) == ("later-good", "Acme, Inc.")
    reasons = {row.item: row.reason for row in rejected}
    expected = {name: word for name, (_, word) in (BAD | SKIPPED).items()}
    expected["pipe.html"] = "not an ordinary file"
    assert reasons.keys() == expected.keys()
    assert not {name: reasons[name] for name, word in expected.items() if word not in reasons[name]}


def test_two_files_cannot_share_an_id(tmp_path):
    for name in ("a b.html", "a-b.html"):
        (tmp_path / name).write_text(page(NUMBERS))
    found, rejected = read_filings(tmp_path)
    assert len(found) == 1 and "same id as a b.html" in rejected[0].reason


def test_a_folder_without_a_readable_filing_ends_with_every_reason(tmp_path):
    for name in ("words.htm", "shop.html"):
        (tmp_path / name).write_text("just words")
    with pytest.raises(BadInput, match="(?s)no file in.*shop.html: not HTML.*words.htm: not HTML"):
        read_filings(tmp_path)


def test_broken_html_is_repaired_and_entities_do_not_grow(tmp_path):
    complete = page(NUMBERS, NUMBERS.replace("Sales", "Rent"))
    cut = complete[: complete.rindex("Costs")].replace("</td>", "").replace("</p>", "") + "</HTML>"
    bomb = '<!DOCTYPE html [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
    both, path = ("Sales", "Costs"), tmp_path / "acme.html"
    for content, rows in (
        (cut, [both, ("Rent",)]),
        (bomb + page("<p>&b;</p>", NUMBERS), [both]),
        (page("<div>" * 1500, NUMBERS), [both]),
    ):
        path.write_text(content)
        assert [grid.rows for grid in read_filing(path).grids] == rows
