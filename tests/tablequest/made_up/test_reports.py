"""Made-up annual reports: every value is read again, sums add up, a seed gives the same bytes."""

from collections import Counter

import pytest

from lib.tablequest.filings.read import read_filings
from lib.tablequest.made_up.reports import write_reports
from lib.tablequest.made_up.tables import SETTINGS
from lib.tablequest.questions.by_rules import questions_by_rules
from lib.tablequest.records import LEVELS

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


def test_statements_agree_with_each_other(reports):
    values: dict[tuple, float] = {}
    for cell in reports[1]:  # the first of equal rows is a statement's
        values.setdefault((cell.file, cell.column[-4:], cell.row, cell.unit), cell.value)
    n_checked = 0
    for file, year in {key[:2] for key in values}:
        def value(row: str, file=file, year=year) -> float | None:
            return values.get((file, year, row, "USD"))

        if (gross := value("Gross margin")) is not None:
            assert gross == value("Total net sales") - value("Total cost of sales")
            n_checked += 1
        if (assets := value("Total assets")) is not None:
            assert assets == (value("Total liabilities") + value("Total shareholders’ equity"))
            assert (value("Cash and cash equivalents, ending balances")
                    == value("Assets: Current assets: Cash and cash equivalents"))
            n_checked += 1
    assert n_checked == N_REPORTS * (3 + 2)


def test_the_same_seed_gives_the_same_reports_and_another_others(reports, tmp_path):
    folder, known = reports
    again = write_reports(tmp_path / "again", 2, 11)
    paths = list((tmp_path / "again").iterdir())
    assert again == [cell for cell in known if cell.file in {path.name for path in paths}]
    assert all(path.read_bytes() == (folder / path.name).read_bytes() for path in paths)
    other, same = (write_reports(tmp_path / str(seed), 1, seed) for seed in (12, 11))
    assert other != same


def test_no_report_is_not_a_number_of_reports(tmp_path):
    with pytest.raises(ValueError, match="n_companies is 0"):
        write_reports(tmp_path, 0, 1)


def test_the_reports_give_chains_of_all_levels_and_most_kinds(reports):
    found = read_filings(reports[0])[0][:3]
    read = ([one for report in found for one in getattr(report, name)]
            for name in ("grids", "passages"))
    questions, _ = questions_by_rules([report.filing for report in found], *read, 12)
    assert Counter(question.level for question in questions) == dict.fromkeys(LEVELS, 12)
    assert len({question.kind for question in questions if question.level == "hard"}) >= 5
