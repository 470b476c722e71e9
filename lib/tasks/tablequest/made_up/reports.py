"""Write made-up annual reports with known figures, for studies without filings."""

import random
from dataclasses import dataclass
from pathlib import Path

from lib.core.files import write_text
from lib.tasks.tablequest.made_up.figures import Company, made_company, made_tables
from lib.tasks.tablequest.made_up.tables import SETTINGS, MadeTable, as_html

_STATEMENTS = 3  # this many tables are statements; the others are in notes
_TAG = {"split": "div", "plain": "P", "headed": "p"}  # setting -> tag of a paragraph


@dataclass(frozen=True)
class KnownCell:
    """A value in a report."""

    file: str
    caption: str  # the paragraph before its table
    row: str
    column: str
    value: float
    unit: str
    scale: float


def write_reports(folder: Path, n_companies: int, seed: int) -> list[KnownCell]:
    """Write `n_companies` annual reports, one .html file each, and return every value in them.

    The companies do not exist. Sums add up, cash flows lead to the balance sheet's cash, and
    changes in % follow from the amounts. The reports imitate three kinds of filing software
    (SETTINGS) in turn. Raises ValueError if `n_companies` is below 1.
    """
    if n_companies < 1:
        raise ValueError(f"n_companies is {n_companies}: at least one report is needed")
    known: list[KnownCell] = []
    for index in range(n_companies):
        random_ = random.Random(f"{seed}-{index}")
        company = made_company(random_, index)
        tables = made_tables(company, random_)
        name = f"{company.slug}-10-k-{company.year}.html"
        write_text(Path(folder) / name, _report(company, tables, SETTINGS[index % len(SETTINGS)]))
        known += [cell for table in tables for cell in _known(name, table)]
    return known


def _known(name: str, table: MadeTable) -> list[KnownCell]:
    found = []
    for line in table.lines:
        row = line.label if line.is_sum else ": ".join([*line.groups, line.label])
        for column, value in enumerate(line.values):
            unit = line.unit_of(column)
            found.append(KnownCell(name, table.intro, row, table.columns[column], value, unit,
                                   table.scales.get(unit, 1.0)))
    return found


def _report(company: Company, tables: list[MadeTable], setting: str) -> str:
    tag = _TAG[setting]

    def paragraph(text: str) -> str:
        return f"<{tag}>{text}</{tag}>\n"

    def heading(text: str) -> str:
        bold = '<span style="font-weight:700">{}</span>' if setting == "split" else "<b>{}</b>"
        return paragraph(bold.format(text))

    def table(*rows: tuple[str, ...]) -> str:
        cells = ("".join(f"<td>{cell}</td>" for cell in row) for row in rows)
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>\n"

    pieces = [
        paragraph("FORM 10-K"), paragraph("☒ ANNUAL REPORT PURSUANT TO SECTION 13 OR 15(d)"),
        paragraph(f"For the fiscal year ended {company.ends[0]}"), heading(company.name),
        paragraph("(Exact name of registrant as specified in its charter)"),
        table(("Item 1.", "Business", "1"), ("Item 7.", "Discussion", "12"),
              ("Item 8.", "Financial Statements", "20")),
        heading("PART I"), heading("Item 1. Business"), paragraph(
            f"{company.name} makes and services {company.line} for industrial customers. It sells "
            "through its own branches and through dealers, and it reports by region."),
        table(("•", "We compete on quality."), ("•", "We compete on service.")),
        heading("PART II"), heading("Item 7. Management’s Discussion and Analysis")]
    for made in tables[_STATEMENTS:_STATEMENTS + 2]:
        pieces += [as_html(made, setting), paragraph(
            f"The table above shows the {made.heading.lower()} that {company.name} reports. "
            "Changes reflect volumes, prices and currency; no single customer accounted for more "
            "than a tenth of net sales.")]
    pieces.append(heading("Item 8. Financial Statements and Supplementary Data"))
    pieces += [as_html(made, setting) for made in tables[:_STATEMENTS]]
    for number, made in enumerate(tables[_STATEMENTS + 2:], 1):
        pieces += [heading(f"Note {number} – {made.heading}"), paragraph(
            f"{company.name} accounts for {made.heading.lower()} as described in its accounting "
            "policies."), as_html(made, setting)]
    pieces += [heading("SIGNATURES"),
               table((f"Date: March 1, {company.year + 1}", "/s/ A. Director"))]
    return ('<!DOCTYPE html>\n<html><head><meta charset="utf-8">'
            f"<title>{company.name}</title></head><body>\n{''.join(pieces)}</body></html>\n")
