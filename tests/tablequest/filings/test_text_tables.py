"""Reports of the years before 2001 in plain text and <PRE>; both are made up."""

import gzip

import pytest

from lib.core.paths import REPOSITORY
from lib.tablequest.filings.files import NoFiling
from lib.tablequest.filings.read import read_file
from lib.tablequest.filings.text_tables import text_blocks
from tests.growth import ends
from tests.tablequest.filings.test_read import NUMBERS, page

DATA = REPOSITORY / "tests" / "data" / "text_filings"


def amounts(grid) -> dict[str, list[tuple]]:
    return {label: [(cell.value, cell.unit, cell.scale) for cell in cells]
            for label, cells in zip(grid.rows, grid.cells, strict=True)}


def test_a_submission_s_tables_become_grids():
    read = read_file(DATA / "acme-10-k-1997.txt")
    filing, (selected, balance, note) = read.filing, read.grids
    assert (filing.company, filing.form, filing.period, filing.fiscal_year, filing.n_tables) == (
        "ACME ROPE & ANVIL CO", "10-K", "May 31, 1997", 1997, 3)
    assert selected.columns == tuple(f"Years Ended May 31, {year}" for year in (1997, 1996, 1995))
    found = amounts(selected)
    assert found["Interest expense, net of amounts capitalized"][2] == (-150, "USD", 1e3)
    assert found["Income taxes"] == [(0, "USD", 1e3), (1200, "USD", 1e3), (980, "USD", 1e3)]
    assert found["Earnings per share"][0] == (1.42, "USD/share", 1)
    assert balance.section.endswith("SUPPLEMENTARY DATA > CONSOLIDATED BALANCE SHEETS")
    assert balance.columns == ("May 31, 1997", "May 31, 1996")
    assert balance.rows[1] == ("Current assets: Accounts receivable, less allowance for doubtful "
                               "accounts of $310 and $290")
    assert amounts(balance)["Total assets"][0] == (188_630, "USD", 1e3)
    assert note.section.endswith("NOTE 3 -- INVENTORIES") and note.columns == ("1997", "1996")
    assert amounts(note)["Raw materials"][1] == (19_800, "USD", 1e3)


def test_tables_in_pre_become_grids():
    read = read_file(DATA / "bolt-10-k-1999.htm")
    revenue, counts, cash = read.grids
    assert read.filing.company == "Bolt Rail Inc" and not read.not_understood
    assert revenue.columns == ("1999 Amount", "1999 %", "1998 Amount", "1998 %", "Change")
    assert amounts(revenue)["Freight: Grain"] == [
        (190, "USD", 1e6), (19, "%", 1), (200, "USD", 1e6), (20.8, "%", 1), (-5, "%", 1)]
    assert revenue.footnotes and "ports" in revenue.footnotes[0]
    assert amounts(counts)["Miles of track"] == [(2310, "", 1)] * 2
    assert "CONSOLIDATED STATEMENTS OF CASH FLOWS" in cash.section
    deferred = next(cells for label, cells in amounts(cash).items() if "Deferred" in label)
    assert deferred == [(-1200, "USD", 1e3), (300, "USD", 1e3), (0, "USD", 1e3)]
    assert amounts(cash)["Net cash used in investing"][2] == (-39_300, "USD", 1e3)


def test_every_number_of_the_text_is_in_a_cell(tmp_path):
    read = read_file(DATA / "acme-10-k-1997.txt")
    n_values = sum(cell.text != "" for grid in read.grids for cells in grid.cells for cell in cells)
    assert n_values == 7 * 3 + 6 * 2 + 4 * 2
    path = tmp_path / "acme.txt.gz"
    path.write_bytes(gzip.compress((DATA / "acme-10-k-1997.txt").read_bytes()))
    again = [grid.model_copy(update={"grid_id": "", "filing_id": ""}) for grid in read.grids]
    assert [grid.model_copy(update={"grid_id": "", "filing_id": ""})
            for grid in read_file(path).grids] == again


def test_of_a_submission_in_html_only_the_reports_are_read(tmp_path):
    parts = "".join(f"<DOCUMENT>\n<TYPE>{kind}\n<TEXT>{page(NUMBERS.replace('Sales', kind))}</TEXT>"
                    "</DOCUMENT>\n" for kind in ("10-K405", "EX-13", "EX-99"))
    header = "CONFORMED SUBMISSION TYPE:\t10-K405\nCOMPANY CONFORMED NAME:\t\tACME INC\n"
    (tmp_path / "acme.txt").write_text(f"<SEC-HEADER>{header}</SEC-HEADER>{parts}")
    read = read_file(tmp_path / "acme.txt")
    assert (read.filing.company, read.filing.form) == ("ACME INC", "10-K405")
    assert [grid.rows[0] for grid in read.grids] == ["10-K405", "EX-13"]


def test_prose_with_numbers_is_no_table():
    text = ("In 1999 we sold 4,000 ropes and 310 anvils to 27 customers, of which 12\nwere new, "
            "and in 1998 we sold 3,900 ropes to customers whose number was 26\n\n  - 12 -\n")
    assert {block.kind for block in text_blocks(text)} == {"paragraph"}


@pytest.mark.parametrize("line", ["-" * 300_000 + "x", ". " * 300_000, "$ " * 300_000,
                                  "1 " * 300_000, "(" * 300_000, " " * 300_000 + "1"])
def test_odd_lines_are_read_to_their_end(line):
    with ends():
        list(text_blocks(f"Sales   1,000   2,000\n{line}\n{line}\nCosts   1,000   2,000\n"))


def test_a_note_in_plain_text_is_no_filing(tmp_path):
    (tmp_path / "readme.txt").write_text("Put annual reports here.\n")
    with pytest.raises(NoFiling, match="no tag"):
        read_file(tmp_path / "readme.txt")
