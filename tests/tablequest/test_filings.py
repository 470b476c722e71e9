"""Filings end to end: real ones against their inline XBRL, one without it, passages, bad files."""

import gzip
import os

import pytest

from benchmarks.filings import measured
from lib.core.store import REPOSITORY, BadInput
from lib.tablequest.filings import read_filing, read_filings
from tests.conftest import rows
from tests.growth import calls
from tests.tablequest.alm import DATA, NUMBERS, cases, page, read, read_page, table

REAL = [  # a 10-K, a 10-Q and an excerpt are read each time
    pytest.param(
        path, id=path.name[:4], marks=[pytest.mark.slow] * (path.name[:4] not in "aapl tsla")
    )
    for path in (*REPOSITORY.glob("data/filings/*.html.gz"), *(DATA / "filings").glob("*.gz"))
]
HEADER = """<div style="display:none"><ix:header>
<ix:nonNumeric name="dei:DocumentFiscalYearFocus">²⁰³¹</ix:nonNumeric>
<xbrli:context id="c31"><xbrli:startDate>2030-06-01</xbrli:startDate><xbrli:endDate>2031-05-31
</xbrli:endDate></xbrli:context><xbrli:context id="c30"><xbrli:instant>2030-05-31</xbrli:instant>
</xbrli:context><xbrli:unit id="d"><xbrli:measure>iso4217:CAD</xbrli:measure></xbrli:unit>
<xbrli:unit id="p"><xbrli:measure>xbrli:pure</xbrli:measure></xbrli:unit></ix:header></div>"""


@pytest.mark.parametrize("path", REAL)
def test_a_real_filing_is_read_with_its_tags_nearly_all_without_and_each_grid_is_placed(path):
    found = measured(path)
    assert found["covered"] == found["right"] == found["tagged"] > 200
    assert min(found["untagged value"], found["unit"]) >= 0.97 * found["tagged"]
    read = read_filing(path)
    placed = [grid_id for passage in read.passages for grid_id in passage.grid_ids]
    assert placed == [grid.grid_id for grid in read.grids]
    assert len(read.grids) + len(read.not_understood) >= read.filing.n_tables
    assert all(passage.section for passage in read.passages[1:])


@pytest.mark.parametrize(
    "path", sorted((DATA / "filings").glob("*.html")), ids=lambda path: path.stem
)
def test_a_filing_without_tags_is_read_as_it_prints_itself(path):
    filing, grids, passages, left_out = read_filing(path)
    parts = (filing, *grids, *passages, *left_out)
    found = [one.model_dump(mode="json", exclude={"html"}) for one in parts]
    assert found == rows(path.with_suffix(".jsonl"))


@cases("tags")
def test_a_cell_is_what_its_tag_says_with_the_sign_of_its_row_or_is_refused(case):
    found = read(HEADER, table(*case["lines"]))
    cells = [cell for grid in found.grids for row in grid.cells for cell in row]
    assert [[*cell.model_dump().values()][1:] for cell in cells] == case["cells"]
    refused = [[row.rejected_text, row.reason] for row in found.not_understood]
    assert refused == case["refused"]


def test_a_long_table_takes_work_in_proportion_to_its_rows():
    short, long = (
        table("|2031", *(f"Row {n}|{n:,}" for n in range(n_rows))) for n_rows in (1_000, 4_000)
    )
    assert len(read(long).grids[0].rows) == 4_000
    assert calls(read, long) < 4.5 * calls(read, short)


LONG = "<p>Of a report.</p>" * 12_000  # 228 kB
BAD = {
    "empty.html": ("", "empty"),
    "picture.htm": (b"\x89PNG\0\0", "binary"),
    "words.html": ("just words", "no tag"),
    "prose.html": (page("No."), "no table"),
    "contents.html": (page(table(*["Item|7"] * 9)), "labelled numbers"),
    "shop.html": (f"<html><p>Our prices</p>{NUMBERS}</html>", "annual report"),
    "deep.html": (page("<div>" * 20_000, NUMBERS), "broken beyond repair"),
    "half.html": (page("</html>", LONG, NUMBERS, "<p>The end")[:-20], "truncated"),
    "bits.html.gz": (gzip.compress(page(NUMBERS).encode())[:-20], "not a complete gzip file"),
    "plain.htm.gz": (page(NUMBERS), "not a complete gzip file"),
    "bomb.html.gz": (gzip.compress(bytes(110_000_000), 1), "more than the limit of 100 MB"),
    "odd.html": (page(NUMBERS).encode("utf-16"), "UTF-16"),
    "old.html": (page(NUMBERS, "<pre>\n" * 20_000, "Sales      1,200   1,100"), "text in <pre>"),
    "whole.htm": (f"<SEC-DOCUMENT>1.txt\n<TYPE>10-K\n{page(NUMBERS)}", "in SGML"),
    "a-b.html": (page(NUMBERS), "same id as a b.html"),
    ".hidden.html": ("x", "hidden"),
    "data.csv": ("a,b", "not .html"),
}


def test_a_bad_file_is_listed_with_its_reason_and_the_others_are_read(tmp_path):
    (tmp_path / "later").mkdir()
    good = page(LONG, "<p>A PRIVACY-ENHANCED MESSAGE</p>", NUMBERS).encode()
    (tmp_path / "later" / "good.html.gz").write_bytes(gzip.compress(good))
    (tmp_path / "a b.html").write_text(page(NUMBERS))
    for name, (content, _) in BAD.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    os.mkfifo(tmp_path / "pipe.html")
    found, rejected = read_filings(tmp_path)
    assert [one.filing.filing_id for one in found] == ["a-b", "later-good"]
    reasons = {row.rejected_text: row.reason for row in rejected}
    expected = {name: word for name, (_, word) in BAD.items()}
    expected["pipe.html"] = "not an ordinary file"
    assert reasons.keys() == expected.keys()
    assert not {name: reasons[name] for name, word in expected.items() if word not in reasons[name]}


def test_a_folder_without_a_readable_filing_ends_with_every_reason(tmp_path):
    for name in ("words.htm", "shop.html"):
        (tmp_path / name).write_text("just words")
    with pytest.raises(BadInput, match="(?s)no file in.*shop.html: not HTML.*words.htm: not HTML"):
        read_filings(tmp_path)


def test_broken_html_is_repaired_and_entities_do_not_grow():
    complete = page(NUMBERS, NUMBERS.replace("Sales", "Rent"))
    cut = complete[: complete.rindex("Costs")].replace("</td>", "").replace("</p>", "") + "</HTML>"
    bomb = '<!DOCTYPE html [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
    both = ("Sales", "Costs")
    for content, labels in (
        (cut, [both, ("Rent",)]),
        (bomb + page("<p>&b;</p>", NUMBERS), [both]),
        (page("<div>" * 1500, NUMBERS), [both]),
    ):
        assert [grid.rows for grid in read_page(content).grids] == labels
