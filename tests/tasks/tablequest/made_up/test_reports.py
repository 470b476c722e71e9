"""Made-up annual reports: every value is read again, sums add up, a seed gives the same bytes."""


import pytest

from lib.tasks.tablequest.filings.read import read_filings
from lib.tasks.tablequest.made_up.reports import write_reports
from lib.tasks.tablequest.made_up.tables import SETTINGS

N_REPORTS = 2 * len(SETTINGS)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return folder, write_reports(folder, N_REPORTS, 11)


def test_every_value_is_read_under_its_labels_with_unit_and_scale(reports):
    folder, known = reports
    found, rejected = read_filings(folder)
    read = [(report.filing.path, label, column, cell.value, cell.unit, cell.scale)
            for report in found for grid in report.grids
            for label, cells in zip(grid.rows, grid.cells, strict=True)
            for column, cell in zip(grid.columns, cells, strict=True) if cell.value is not None]
    written = [(cell.file, cell.row, cell.column, cell.value, cell.unit, cell.scale)
               for cell in known]
    assert sorted(read) == sorted(written)
    assert len(known) > 1500 and not rejected and len(found) == N_REPORTS
    assert {row.kind for report in found for row in report.not_understood} == {
        "table of contents", "bullets", "signatures"}
    sections = [grid.section for report in found for grid in report.grids]
    for heading in ("STATEMENTS OF OPERATIONS", "BALANCE SHEETS", "CASH FLOWS",
                    "Net Sales by Region"):
        assert sum(heading in section for section in sections) == N_REPORTS
