"""The rule for numeric queries: hand-worked forms, and properties of numbers, units and codes."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.core.records import Query
from lib.core.values import is_number, is_numeric

INTEGERS = st.integers(0, 10**9)
WORDS = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=8)
NUMBERS = (
    "less than 5 ms; no more than 3; between 5 and 10 s; between 80 and 90; "
    "1 year and 6 months; 3 h 20 min; 16 GB of RAM; 5% of users; 30 s (default); "
    "around 120us; a 16KiB bootloader; -40 to 85 °C; ±0.5 mm; 20 degrees Celsius; 99.9 %; "
    "12VDC; €5; 20241399; 0; 0.5"
).split("; ")
OTHERS = (
    "20241203; 192.168.0.1; 0042; 00; x86; IP67; 3/4; 0x1F; 17b8ce4c; 64-bit Windows; "
    "5 and 10; 2 s and 3 GB; 3 h 20; 5 GB and Oslo; 80 443; RS-485; 24/7; TLS 1.2; no; "
    "up to; 10 of 12"
).split("; ")


@pytest.mark.parametrize("text", NUMBERS + OTHERS)
def test_amounts_of_any_form_are_numbers_but_not_dates_codes_and_sums_of_unlike_things(text):
    assert is_number(text) == (text in NUMBERS)


@given(INTEGERS, WORDS, st.sampled_from(["-", "_", "/", ".", ":", "#", "@"]))
def test_digits_in_a_code_are_never_a_number(number, word, mark):
    for code in (f"X{word}{mark}{number}", f"{number}{mark}X{word}", f"/{word}/{number}"):
        assert not is_number(code), code
    assert not is_number(f"0{number}") and not is_number(f"10.{number % 256}.0.1")


@given(
    st.dates(date(1900, 1, 1), date(2099, 12, 31)),
    st.sampled_from("%Y-%m-%d;%Y/%m/%d;%Y%m%d;%d %B %Y;%B %d, %Y;%b %Y;%d.%m.%Y".split(";")),
)
def test_dates_are_never_numbers(day, form):
    assert not is_number(day.strftime(form))


@given(st.lists(st.sampled_from(["80", "443/tcp", "12 V", "Oslo"]), min_size=1, max_size=4))
def test_a_list_is_numeric_where_each_entity_is_and_a_scalar_by_itself(entities):
    row = {"query_id": "q", "document_id": "d", "question": "?", "source_reference": "", "start": 0}
    row |= {"end": 0, "block_type": "list", "entity_count": len(entities)}
    query = Query(**row, answer="\n".join(entities))
    assert is_numeric(query) == all(map(is_number, entities))
