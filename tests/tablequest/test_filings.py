"""Filings end to end: real ones against their inline XBRL, one by hand without it, passages."""

import gzip
import os
from pathlib import Path

import pytest

from benchmarks.filings import measured
from lib.core.errors import BadInput
from lib.core.store import REPOSITORY
from lib.tablequest.filings import ReadFiling, read_filing, read_filings
from tests.growth import calls
from tests.tablequest.shapes import head, row, table

EXCERPTS = REPOSITORY / "tests" / "data" / "filings"
REAL = [*sorted((REPOSITORY / "data" / "filings").glob("*.gz")), *EXCERPTS.glob("*.gz")]
NUMBERS = table(head("2031", "2030"), row("Sales", "$10", "$9"), row("Costs", "(4)", "(3)"))
HEADER = """<div style="display:none"><ix:header>
<xbrli:context id="c31"><xbrli:startDate>2030-06-01</xbrli:startDate><xbrli:endDate>2031-05-31
</xbrli:endDate></xbrli:context><xbrli:context id="c30"><xbrli:instant>2030-05-31</xbrli:instant>
</xbrli:context><xbrli:unit id="d"><xbrli:measure>iso4217:CAD</xbrli:measure></xbrli:unit>
<xbrli:unit id="p"><xbrli:measure>xbrli:pure</xbrli:measure></xbrli:unit></ix:header></div>"""


def page(*blocks: str) -> str:
    return (
        "<html><head><title>Acme, Inc.</title></head><body><p>FORM 10-K</p><p>For the fiscal "
        f"year ended May 31, 2031</p>{''.join(blocks)}</body></html>"
    )


def one(tmp_path: Path, *blocks: str, **options) -> ReadFiling:
    path = tmp_path / "acme.html"
    path.write_text(page(*blocks), encoding="utf-8")
    return read_filing(path, **options)


def ix(text: str, context: str = "c31", unit: str = "d", scale: int = 6, sign: str = "") -> str:
    return (
        f'<ix:nonFraction name="a:Sales" contextRef="{context}" unitRef="{unit}" '
        f'scale="{scale}" sign="{sign}">{text}</ix:nonFraction>'
    )


def line(*values: str) -> str:
    return "<tr>" + "".join(f"<td>{value}</td>" for value in values) + "</tr>"


def tagged(tmp_path: Path, *lines: str, **options) -> list[tuple]:
    body = f"<p>Results</p><table>{line('', '2031', '2030')}{''.join(lines)}</table>"
    grid = one(tmp_path, HEADER, body, **options).grids[0]
    return [
        (cell.value, cell.unit, cell.scale, cell.period, cell.source)
        for cells in grid.cells
        for cell in cells
    ]


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name[:4])
def test_every_tagged_number_of_a_real_filing_is_read_with_its_tag_and_nearly_all_without(path):
    found = measured(path)
    assert found["covered"] == found["right"] == found["tagged"] > 200
    assert min(found["untagged value"], found["unit"]) >= 0.97 * found["tagged"]


def test_the_cover_names_the_company_and_whole_dollars_of_statements_outvote_one_note(tmp_path):
    statement = "<p>Statement (Expressed in U.S. dollars)</p>"
    read = one(
        tmp_path,
        "<p>ACME MINES LTD. (Exact name of registrant)</p>",
        f"<p>(in $000)</p><table>{line('', '2031')}{line('Net assets', '$26')}</table>",
        statement,
        f"<table>{line('', '2031')}{line('Cash', '$8,255')}</table>",
        statement,
        f"<table>{line('', '2031')}{line('Net sales', '$5,088')}</table>",
        "<p><b>PART II</b></p><p>Fees</p>"
        f"<table>{line('', '2031')}{line('Audit fees', '$43,700')}</table>",
    )
    assert read.filing.company == "ACME MINES LTD."
    assert [grid.cells[0][0].scale for grid in read.grids][0] == 1e3
    assert read.grids[-1].cells[0][0].exact == 43_700


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name[:4])
def test_each_grid_of_a_real_filing_is_in_one_passage(path):
    read = read_filing(path, max_passage_words=800)
    placed = [grid_id for passage in read.passages for grid_id in passage.grid_ids]
    assert placed == [grid.grid_id for grid in read.grids]
    assert len(read.grids) + len(read.not_understood) >= read.filing.n_tables
    assert all(passage.section for passage in read.passages[1:])


def test_a_20_f_without_tags_in_canadian_dollars_is_read_as_it_prints_them():
    read = read_filing(EXCERPTS / "betrf-20-f-excerpt.html")
    filing = read.filing
    assert (filing.company, filing.form, filing.fiscal_year) == (
        "BETTERLIFE PHARMA INC.",
        "20-F",
        2025,
    )
    expenses, capital, flows = read.grids
    assert {
        (cell.unit, cell.scale) for grid in read.grids for cells in grid.cells for cell in cells
    } == {("CAD", 1)}
    assert expenses.columns == tuple(
        f"YEAR ENDED January 31, {year}" for year in (2025, 2024, 2023)
    )
    values = {
        label: [cell.value for cell in cells]
        for grid in read.grids
        for label, cells in zip(grid.rows, grid.cells, strict=True)
    }
    sums = [
        sum(cells) for cells in zip(*(values[label] for label in expenses.rows[:-1]), strict=True)
    ]
    assert expenses.rows[-1] == "" and values[""] == sums == [260500, 271731, 280467]
    assert values["Business licenses"] == [654, 0, 1905]  # it prints "nil"
    assert values["Working capital deficiency"] == [-7313034, -7022402]
    assert values["Effect of foreign exchange rate changes on cash"] == [8, -56, 2417]
    assert flows.caption.endswith("Net cash provided by (used in):")
    assert [row_.reason for row_ in read.not_understood] == ["text"]


def test_value_unit_scale_and_period_come_from_the_tag(tmp_path):
    lines = (
        line("Sales", ix("24,690"), "21,500"),
        line("Rate", ix("12.4", unit="p", scale=-2) + "%", ix("—", "c30", "p", -2) + "%"),
    )
    year = "2030-06-01/2031-05-31"
    assert tagged(tmp_path, *lines) == [
        (24690, "CAD", 1e6, year, "tag"),
        (21500, "", 1, "", ""),
        (12.4, "%", 1, year, "tag"),
        (0, "%", 1, "2030-05-31", "tag"),
    ]
    assert tagged(tmp_path, *lines, tags=False)[:2] == [
        (24690, "", 1, "", ""),
        (21500, "", 1, "", ""),
    ]


@pytest.mark.parametrize(
    ("printed", "values"),
    [
        # an outflow in brackets whose concept is positive: the row is inverted
        ([("(", "5", "", ")"), ("(", "4", "", ")")], [-5, -4]),
        ([("(", "5", "-", ")"), ("", "4", "", "")], [-5, 4]),
        # a loss printed without brackets under "Net loss"
        ([("", "5", "-", ""), ("", "4", "-", "")], [5, 4]),
    ],
)
def test_signs_are_those_of_the_tags_as_the_row_prints_them(tmp_path, printed, values):
    cells = [f"$ {before}{ix(text, sign=sign)}{after}" for before, text, sign, after in printed]
    assert [cell[0] for cell in tagged(tmp_path, line("Cost", *cells))] == values


def test_the_text_above_a_table_says_its_section_caption_and_unit(tmp_path):
    read = one(
        tmp_path,
        "<p><b>PART II</b></p><p><b>Item 7. Discussion</b></p>",
        "<div>Sales were as follows (in millions):</div>",
        "<div>(unaudited)</div>",
        NUMBERS,
        "<div>The rest:</div>",
        NUMBERS,
        "<p><b>Item 8. Others</b></p>",
        NUMBERS,
    )
    first, second, third = read.grids
    assert (first.section, first.caption) == (
        "PART II > Item 7. Discussion",
        "Sales were as follows (in millions):",
    )
    assert [grid.cells[0][0].source for grid in read.grids] == ["note", "nearest", "majority"]
    assert third.cells[0][0].scale == second.cells[0][0].scale == 1e6
    assert [len(passage.grid_ids) for passage in read.passages] == [2, 1]


def test_headers_say_currencies_and_cents_are_whole(tmp_path):
    heads = line("", "2031", "Price (Cdn$)")
    table_ = f"<table>{heads}{line('Sales', '$5', '$1.25')}</table>"
    read = one(tmp_path, f"<p>Results (in millions):</p>{table_}<p>Others:</p>{table_}")
    assert [(cell.unit, cell.scale) for grid in read.grids for cell in grid.cells[0]] == [
        ("USD", 1e6),
        ("CAD", 1e6),
        ("USD", 1e6),
        ("CAD", 1),
    ]


def test_a_long_table_takes_work_in_proportion_to_its_rows(tmp_path):
    path, work = tmp_path / "long.html", []
    for n_rows in (1_000, 4_000):
        lines = "".join(line(f"Row {number}", f"{number:,}") for number in range(n_rows))
        path.write_text(page(f"<table>{line('', '2031')}{lines}</table>"))
        assert len(read_filing(path).grids[0].rows) == n_rows
        work.append(calls(read_filing, path))
    assert work[1] < 4.5 * work[0]


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
