"""Tagged numbers: every way to print one, units by their measures, periods by their contexts."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import document_fromstring

from lib.tasks.tablequest.filings.facts import facts_of

HEADER = """<div style="display:none"><ix:header><ix:resources>
<xbrli:context id="day"><xbrli:period><xbrli:instant>2031-05-31</xbrli:instant></xbrli:period>
</xbrli:context>
<context id="year"><period><startDate>2030-06-01</startDate><endDate>2031-05-31</endDate></period>
</context><xbrli:context id="odd"><xbrli:forever/></xbrli:context>
<xbrli:unit id="U_1"><xbrli:measure>iso4217:EUR</xbrli:measure></xbrli:unit>
<xbrli:unit id="U_2"><xbrli:divide><xbrli:unitNumerator><xbrli:measure>iso4217:USD</xbrli:measure>
</xbrli:unitNumerator><xbrli:unitDenominator><xbrli:measure>xbrli:shares</xbrli:measure>
</xbrli:unitDenominator></xbrli:divide></xbrli:unit>
<unit id="shares"><measure>shares</measure></unit>
<xbrli:unit id="pure"><xbrli:measure>xbrli:pure</xbrli:measure></xbrli:unit>
<xbrli:unit id="lab"><xbrli:measure>acme:testLaboratory</xbrli:measure></xbrli:unit>
<xbrli:unit id="mi"><xbrli:measure>utr:mi</xbrli:measure></xbrli:unit>
<xbrli:unit id="per_barrel"><xbrli:divide><xbrli:unitNumerator><xbrli:measure>iso4217:USD
</xbrli:measure></xbrli:unitNumerator><xbrli:unitDenominator><xbrli:measure>utr:bbl</xbrli:measure>
</xbrli:unitDenominator></xbrli:divide></xbrli:unit>
</ix:resources></ix:header></div>"""


def fact(text: str, **attributes: str):
    given_ = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    page = f"<html><body>{HEADER}<p><ix:nonFraction {given_}>{text}</ix:nonFraction></p></body>"
    root = document_fromstring(page)
    return facts_of(root).of(next(root.iter("ix:nonfraction")))


@pytest.mark.parametrize(("text", "form", "scale", "exact"), [
    ("24,690", "ixt:num-dot-decimal", "6", 24_690_000_000),
    ("24.690,5", "ixt:num-comma-decimal", "3", 24_690_500),
    ("1 234,5", "ixt:numspacecomma", "", "1234.5"),
    ("24,690.25", "ixt4:numcommadot", "0", "24690.25"), ("1 234", "ixt:numspacedot", "0", 1234),
    ("—", "ixt:fixed-zero", "6", 0), ("none", "ixt:fixed-zero", "0", 0),
    ("-", "ixt:zerodash", "3", 0),
    ("12.4", "", "-2", "0.124"), ("1234", "", "", 1234), (".5", "ixt:num-dot-decimal", "0", "0.5"),
    ("1'234,5", "ixt:num-comma-decimal-apos", "0", "1234.5"),
    ("—", "", "6", 0), ("several", "ixt-sec:numwordsen", "0", None), ("n/a", "", "0", None),
    ("5", "", "six", None)])
def test_the_number_that_a_tag_prints(text, form, scale, exact):
    found = fact(text, format=form, scale=scale)
    assert (found.exact if found else None) == (None if exact is None else Fraction(exact))


@given(st.integers(0, 10**12), st.integers(0, 3), st.integers(-4, 12))
def test_a_printed_number_is_read_exactly(digits, n_decimals, power):
    number = Fraction(digits, 10**n_decimals)
    text = f"{digits // 10**n_decimals:,}"
    if n_decimals:
        text += f".{digits % 10**n_decimals:0{n_decimals}}"
    found = fact(text, format="ixt:num-dot-decimal", scale=str(power), sign="-")
    assert found.exact == number * Fraction(10) ** power and found.is_negative
