"""Annual reports: two real ones against their inline XBRL, bad input, surroundings, passages."""

from collections import Counter
from pathlib import Path

import pytest

from lib.core.paths import REPOSITORY
from lib.tasks.tablequest.filings.read import ReadFiling, read_file
from lib.tasks.tablequest.filings.xbrl_check import check_rows
from tests.tablequest_shapes import head, row, table

FILINGS = REPOSITORY.parent / "shared" / "filings"
NUMBERS = table(head("2031", "2030"), row("Sales", "$10", "$9"), row("Costs", "(4)", "(3)"))
# numbers that could not be read
NUMERIC_KINDS = ("no row labels", "no column labels", "columns overlap", "columns change",
                 "too large")


def page(*blocks: str, title: str = "Acme, Inc.") -> str:
    return (f"<html><head><title>{title}</title></head><body><p>FORM 10-K</p><p>For the fiscal "
            f"year ended May 31, 2031</p><p>{title}</p><p>(Exact name of registrant as specified "
            f"in its charter)</p>{''.join(blocks)}</body></html>")


def bold(text: str) -> str:
    return f'<div><span style="font-weight:700">{text}</span></div>'


def one(tmp_path: Path, *blocks: str, **options) -> ReadFiling:
    path = tmp_path / "acme.html"
    path.write_text(page(*blocks), encoding="utf-8")
    return read_file(path, **options)


def placed(read: ReadFiling) -> list[str]:
    return sorted(grid_id for passage in read.passages for grid_id in passage.grid_ids)


def texts_of(read: ReadFiling) -> list[str]:
    return [block.text for passage in read.passages for block in passage.blocks]


@pytest.fixture(scope="module")
def real():
    if not FILINGS.is_dir():
        pytest.skip("../shared/filings is not there: two real annual reports")
    return [read_file(path) for path in sorted(FILINGS.glob("*.html"))]


def test_every_tagged_number_of_two_real_reports_agrees_with_its_tag(real):
    assert [read.check.differences for read in real] == [(), ()]
    checks = check_rows({read.filing.filing_id: read.check for read in real})
    assert [list(line.values())[2:] for line in checks] == [
        [852, *(f"{n} / {n} (100.0%)" for n in ("852", "852", "803", "784"))],
        [1073, *(f"{n} / {n} (100.0%)" for n in ("1,073", "1,073", "1,034", "916"))]]


def test_numeric_tables_of_two_real_reports_become_grids(real):
    kinds = Counter(row_.kind for read in real for row_ in read.not_understood)
    n_grids = sum(len(read.grids) for read in real)
    assert n_grids == 106 and sum(kinds[kind] for kind in NUMERIC_KINDS) == 0
    n_tables = sum(read.filing.n_tables for read in real)
    assert n_tables == n_grids + kinds.total()
    for read in real:
        assert placed(read) == sorted(grid.grid_id for grid in read.grids)
        for grid in read.grids:
            assert len(set(grid.rows)) == len(grid.rows), grid.grid_id
            assert len(set(grid.columns)) == len(grid.columns), grid.grid_id


@pytest.mark.parametrize(("change", "kind"), [
    ({}, None), ({"scale": "3"}, "value"), ({"unitref": "shares"}, "unit"),
    ({"sign": "-"}, "sign"), ({"contextref": "c2030"}, "period")])
def test_a_tag_that_differs_from_its_cell_is_found(tmp_path, change, kind):
    def tagged(year: int, **attributes: str) -> str:
        given = {"name": "Sales", "unitref": "usd", "scale": "6", "contextref": f"c{year}"}
        text = " ".join(f'{name}="{value}"' for name, value in (given | attributes).items())
        return f"<td>$<ix:nonfraction {text}>10</ix:nonfraction></td>"

    measures = {"usd": "iso4217:USD", "shares": "xbrli:shares"}
    header = "".join(f'<xbrli:unit id="{name}"><xbrli:measure>{measure}</xbrli:measure>'
                     "</xbrli:unit>" for name, measure in measures.items())
    header += "".join(
        f'<xbrli:context id="c{year}"><xbrli:startdate>{year}-01-01</xbrli:startdate>'
        f"<xbrli:enddate>{year}-12-31</xbrli:enddate></xbrli:context>" for year in (2030, 2031))
    read = one(tmp_path, f"<ix:header>{header}</ix:header><p>Sales (in millions):</p><table><tr>"
               f"<td></td><td>2030</td><td>2031</td></tr><tr><td>Sales</td>{tagged(2030)}"
               f"{tagged(2031, **change)}</tr></table>")
    assert read.check.n_tagged == 2 and sum(read.check.checked.values()) == 8
    assert [found.kind for found in read.check.differences] == [kind] * bool(kind)


def test_what_surrounds_a_table_is_kept_with_it(tmp_path):
    read = one(tmp_path, bold("PART II"), bold("Item 7. Discussion"), bold("Sales by Region"),
               "<div>Sales were as follows (in millions):</div>",
               NUMBERS.replace("Sales", "Sales (1)"), "<div>———</div>",
               "<div>(1) Without taxes.</div>", "<div>Sales rose.</div>")
    [grid], [passage] = read.grids, read.passages
    assert grid.section == "PART II > Item 7. Discussion > Sales by Region"
    assert grid.caption == "Sales were as follows (in millions):"
    assert grid.unit_note == "(in millions)" and grid.cells[0][0].scale == 1e6
    assert grid.footnotes == ("(1) Without taxes.",) and grid.rows[0] == "Sales"
    assert [block.kind for block in passage.blocks][-4:] == ["paragraph", "table", "paragraph",
                                                             "paragraph"]
    assert {block.kind for block in passage.blocks[:-4]} == {"heading"}
    assert passage.blocks[-1].text == "Sales rose."


def test_one_introduction_holds_for_the_tables_of_its_note(tmp_path):
    intro = "<div>The following tables show details (in thousands):</div>"
    read = one(tmp_path, bold("Note 6 – Details"), intro, bold("Assets"), NUMBERS, bold("Debts"),
               NUMBERS, bold("Note 7 – Others"), NUMBERS)
    assert [(grid.caption, grid.unit_note) for grid in read.grids] == [
        ("Assets", "(in thousands)"), ("Debts", "(in thousands)"), ("Note 7 – Others", "")]


def test_a_remark_does_not_part_a_statement_from_its_unit_note(tmp_path):
    read = one(tmp_path, bold("Statements of Income"), "<div>(in millions)</div>",
               "<div>(unaudited)</div>", NUMBERS)
    assert read.grids[0].cells[0][0].scale == 1e6


@pytest.mark.parametrize(("third", "scale"), [("(in millions)", 1e6), ("(in thousands)", 1)])
def test_a_table_without_a_note_has_the_one_of_its_note_to_the_statements(tmp_path, third, scale):
    told = [part for unit in ("(in millions)", "(in millions)", third)
            for part in (f"<div>Costs were as follows {unit}:</div>", NUMBERS)]
    read = one(tmp_path, bold("Note 6 – Details"), *told, "<div>The effects were:</div>", NUMBERS)
    assert read.grids[-1].cells[0][0].scale == scale


def test_a_table_continues_after_the_end_of_a_page(tmp_path):
    footer = ("<table><tr><td>Acme Form 10-K</td><td>9</td></tr></table>"
              '<hr style="page-break-after:always">')
    read = one(tmp_path, "<div>Sales (in millions):</div>", NUMBERS, footer,
               table(row("Rent", "$7", "$6")))
    assert read.grids[1].columns == ("2031", "2030") and read.grids[1].cells[0][1].scale == 1e6
