"""Tags first: tagged cells equal their facts exactly; their neighbours follow; the rest is told."""

import re
from fractions import Fraction

import pytest

from lib.core.paths import REPOSITORY
from lib.tasks.tablequest.filings.read import ReadFiling, read_file
from tests.tasks.tablequest.filings.test_read import one

FILINGS = REPOSITORY.parent / "shared" / "filings"
HEADER = """<div style="display:none"><ix:header>
<xbrli:context id="c31"><xbrli:startDate>2030-06-01</xbrli:startDate><xbrli:endDate>2031-05-31
</xbrli:endDate></xbrli:context>
<xbrli:context id="c30"><xbrli:startDate>2029-06-01</xbrli:startDate><xbrli:endDate>2030-05-31
</xbrli:endDate></xbrli:context>
<xbrli:unit id="d"><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unit>
<xbrli:unit id="s"><xbrli:measure>xbrli:shares</xbrli:measure></xbrli:unit>
<xbrli:unit id="p"><xbrli:measure>xbrli:pure</xbrli:measure></xbrli:unit>
<xbrli:unit id="site"><xbrli:measure>acme:site</xbrli:measure></xbrli:unit></ix:header></div>"""


def ix(text: str, context: str = "c31", unit: str = "d", scale: int = 6, name: str = "a:Sales",
       **more: str) -> str:
    given = {"name": name, "contextRef": context, "unitRef": unit, "scale": scale,
             "format": "ixt:num-dot-decimal", **more}
    attributes = " ".join(f'{key}="{value}"' for key, value in given.items())
    return f"<ix:nonFraction {attributes}>{text}</ix:nonFraction>"


def filing(tmp_path, *rows: str, tags: bool = True, head: str = "") -> ReadFiling:
    body = "".join(f"<tr>{row}</tr>" for row in ("<td></td><td>2031</td><td>2030</td>", *rows))
    return one(tmp_path, HEADER, f"<p>Results{head}</p><table>{body}</table>", tags=tags)


def line(label: str, *values: str) -> str:
    return f"<td>{label}</td>" + "".join(f"<td>{value}</td>" for value in values)


def amounts(read: ReadFiling) -> list[list[str]]:
    return [[f"{cell.value:g} {cell.unit or '-'} {cell.scale:g}" for cell in cells]
            for cells in read.grids[0].cells]


def test_value_unit_scale_and_period_come_from_the_tag(tmp_path):
    rows = (line("Sales", ix("24,690"), ix("21.500,5", "c30", format="ixt:num-comma-decimal")),
            line("Sites", ix("12", unit="site", scale=0), ix("—", "c30", "site", 0,
                                                            format="ixt:fixed-zero")),
            line("Rate", ix("12.4", unit="p", scale=-2) + "%", ix("3", "c30", "p", -2) + "%"))
    read = filing(tmp_path, *rows)
    assert amounts(read) == [["24690 USD 1e+06", "21500.5 USD 1e+06"],
                             ["12 sites 1", "0 sites 1"], ["12.4 % 1", "3 % 1"]]
    assert [cell.period for cell in read.grids[0].cells[0]] == [
        "2030-06-01/2031-05-31", "2029-06-01/2030-05-31"]
    without = filing(tmp_path, *rows, tags=False)
    assert without.grids[0].cells[0][0].scale == 1 and not without.grids[0].cells[0][0].period
    assert without.check == read.check and read.check.n_tagged == 6
    assert [without.check.agree[kind] for kind in ("value", "sign")] == [4, 5]


@pytest.mark.parametrize(("printed", "values"), [
    # an outflow in brackets whose concept is positive: the row is inverted
    ([("(", "5", "", ")"), ("(", "4", "", ")")], [-5, -4]),
    ([("(", "5", "-", ")"), ("", "4", "", "")], [-5, 4]),
    # a loss printed without brackets under "Net loss"
    ([("", "5", "-", ""), ("", "4", "-", "")], [5, 4]),
    # one bracket is lost: its row tells the sign
    ([("(", "5", "-", ""), ("", "4", "", "")], [-5, 4])])
def test_signs_are_as_a_reader_sees_them(tmp_path, printed, values):
    cells = [f"$ {before}{ix(text, context, sign=sign)}{after}"
             for (before, text, sign, after), context in zip(printed, ("c31", "c30"), strict=True)]
    read = filing(tmp_path, line("Cost", *cells), line("Rent", "3", "2"))
    assert [cell.value for cell in read.grids[0].cells[0]] == values


def test_untagged_cells_follow_their_row_then_their_column(tmp_path):
    read = filing(tmp_path, line("Sales", ix("10"), "9"), line("Costs", "4", "3"),
                  line("Sites", ix("7", unit="site", scale=0), "6"))
    assert amounts(read) == [["10 USD 1e+06", "9 USD 1e+06"], ["4 - 1", "3 - 1"],
                             ["7 sites 1", "6 sites 1"]]
    assert read.grids[0].doubt  # what "Costs" are, the column does not say
    read = filing(tmp_path, line("Sales", ix("10"), "9"), line("Costs", "4", "3"))
    assert amounts(read) == [["10 USD 1e+06", "9 USD 1e+06"], ["4 USD 1e+06", "3 USD 1e+06"]]
    assert "3 untagged values the rules alone read 3" in read.grids[0].doubt
    agreeing = filing(tmp_path, line("Sales", "$" + ix("10"), "$9"), line("Costs", "4", "3"),
                      head=" (in millions)")
    assert not agreeing.grids[0].doubt and amounts(agreeing)[1] == ["4 USD 1e+06", "3 USD 1e+06"]


def facts_by_hand(path) -> dict[str, list[Fraction]]:
    """Return |number × 10^scale| of every tag, by its digits; shares no code with reading."""
    found: dict[str, list[Fraction]] = {}
    for attributes, text in re.findall(r"<ix:nonFraction([^>]*)>([^<]*)</ix", path.read_text()):
        digits, scale = text.replace(",", ""), re.search(r'scale="(-?\d+)"', attributes)
        if re.fullmatch(r"\d+(?:\.\d+)?", digits):
            exact = Fraction(digits) * Fraction(10) ** int(scale[1] if scale else 0)
            found.setdefault(text, []).append(exact)
    return found


@pytest.mark.skipif(not FILINGS.is_dir(), reason="../shared/filings is not there: real reports")
@pytest.mark.parametrize("path", sorted(FILINGS.glob("*.html")), ids=lambda path: path.name[:4])
def test_every_tagged_cell_of_a_real_report_is_its_fact_exactly(path):
    facts, read = facts_by_hand(path), read_file(path)
    tagged = [cell for grid in read.grids for cells in grid.cells for cell in cells if cell.period]
    assert len(tagged) == read.check.n_tagged > 800
    for cell in (cell for cell in tagged if cell.value):
        text = re.search(r"\d[\d.,]*", cell.text)[0]
        assert abs(cell.exact) / (100 if cell.unit == "%" else 1) in facts[text], cell
