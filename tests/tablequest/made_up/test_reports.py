"""Made-up annual reports: every value that was written is read again, sums add up, a seed gives the same bytes."""

import pytest

from lib.tablequest.filings.read import read_filings
from lib.tablequest.made_up.reports import write_reports
from lib.tablequest.made_up.tables import SETTINGS


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return folder, write_reports(folder, 2 * len(SETTINGS), 11)


def test_every_value_is_read_under_its_labels_with_unit_and_scale(reports):
    folder, known = reports
    filings, grids, passages, not_understood, rejected = read_filings(folder)
    names = {filing.filing_id: filing.path for filing in filings}
    read = [(names[grid.filing_id], label, column, cell.value, cell.unit, cell.scale) for grid in grids
            for label, cells in zip(grid.rows, grid.cells, strict=True)
            for column, cell in zip(grid.columns, cells, strict=True) if cell.value is not None]
    written = [(cell.file, cell.row, cell.column, cell.value, cell.unit, cell.scale) for cell in known]
    assert sorted(read) == sorted(written)
    assert len(known) > 1500 and not rejected and len(filings) == 2 * len(SETTINGS)
    assert {row.kind for row in not_understood} == {"table of contents", "bullets", "signatures"}


def test_a_report_has_three_statements_and_segments(reports):
    captions = [grid.section for grid in read_filings(reports[0])[1]]
    for heading in ("STATEMENTS OF OPERATIONS", "BALANCE SHEETS", "CASH FLOWS", "Net Sales by Region"):
        assert sum(heading in caption for caption in captions) == 2 * len(SETTINGS)


def test_statements_agree_with_each_other(reports):
    values = {(cell.file, cell.row, cell.column[-4:], "Cash" in cell.row): cell.value for cell in reports[1]
              if cell.column.startswith("Years ended")}
    balance = {(cell.file, cell.row, cell.column[-4:]): cell.value for cell in reports[1]}
    n_checked = 0
    for (file, row, year, _), value in values.items():
        if row == "Gross margin":
            sales, cost = (values[file, f"Total {item}", year, False] for item in ("net sales", "cost of sales"))
            assert value == sales - cost
            n_checked += 1
        if row == "Cash and cash equivalents, ending balances" and (file, "Total assets", year) in balance:
            assert value == balance[file, "Assets: Current assets: Cash and cash equivalents", year]
            assert balance[file, "Total assets", year] == (balance[file, "Total liabilities", year]
                                                           + balance[file, "Total shareholders’ equity", year])
            n_checked += 1
    assert n_checked == 2 * len(SETTINGS) * (3 + 2)


def test_the_same_seed_gives_the_same_reports_and_another_others(reports, tmp_path):
    folder, known = reports
    assert write_reports(tmp_path / "again", 2, 11) == [cell for cell in known if cell.file in {
        path.name for path in (tmp_path / "again").iterdir()}]
    for path in (tmp_path / "again").iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes()
    assert write_reports(tmp_path / "other", 1, 12) != write_reports(tmp_path / "same", 1, 11)


def test_no_report_is_no_number_of_reports(tmp_path):
    with pytest.raises(ValueError, match="n_companies is 0"):
        write_reports(tmp_path, 0, 1)
