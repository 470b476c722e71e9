"""Quotations that a text contains, nearly contains, or does not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.annotate.llm_annotator import places

TEXT = """# Orsa R-9

The pump holds **36 litres** of oil. It
runs for 900 hours, see [PR #12](https://a.example/12) and `orsa.conf`.
The supply voltage is 12 V and the fuse is rated 1.5 A. The left valve opens at -20 °C.

> Drain the oil
> every 500 hours.

- C:\\temp\\new
- mineral

| Name | Value |
|---|---|
| Weight | 12 kg |
| Width  | 12 cm |
"""
OIL = "The pump holds **36 litres** of oil."
FUSE = "The supply voltage is 12 V and the fuse is rated 1.5 A."


def found(reference: str, text: str = TEXT) -> list[tuple[str, str]]:
    """Return (words of the text, how found) of each place."""
    return [
        (text[place.start : place.end], place.how)
        for place in places(reference, text, 0, len(text))
    ]


@pytest.mark.parametrize(
    ("reference", "words", "how"),
    [
        (OIL, OIL, "exact"),
        ("Weight | 12 kg", "Weight | 12 kg", "exact"),
        ("  | Weight | 12 kg |\n", "| Weight | 12 kg |", "exact"),
        ("It runs  for 900 hours", "It\nruns for 900 hours", "folded"),
        ("The pump holds 36 litres of oil.", OIL, "fuzzy"),
        ("the pump holds **36 litres** of oil", OIL, "fuzzy"),
        ("36 litres of oil", "**36 litres** of oil.", "fuzzy"),
        (
            "It runs for 900 hours, see PR #12 and orsa.conf.",
            "It\nruns for 900 hours, see [PR #12](https://a.example/12) and `orsa.conf`.",
            "fuzzy",
        ),
        ("for 900 hours, see PR #12", "for 900 hours, see [PR #12](https://a.example/12)", "fuzzy"),
        ("The supply voltage is 12 V and fuse is rated 1.5 A.", FUSE, "fuzzy"),
        ("The supply voltaeg is 12 V and the fuse is rated 1.5 A.", FUSE, "fuzzy"),
        ("Drain the oil every 500 hours.", "Drain the oil\n> every 500 hours.", "fuzzy"),
        ("The left valve opens at −20 °C.", "The left valve opens at -20 °C.", "fuzzy"),
    ],
)
def test_a_quotation_is_found_with_the_documents_own_words(reference, words, how):
    assert found(reference) == [(words, how)]


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "  \n",
        "The pump holds 63 litres of oil.",
        "2 V",
        "5 A",
        "20 °C",
        "1",
        "ump holds",
        "W",
        *[
            f"The supply voltage is {volts} V and the fuse is rated {amperes} A."
            for volts, amperes in (
                ("21", "1.5"),
                ("12", "5.1"),
                ("1.5", "12"),
                ("12", "15"),
                ("12", ".5"),
                ("not 12", "1.5"),
            )
        ],
        "The right valve opens at -20 °C.",
        "The left valve opens at 20 °C.",
        "The left valve never opens at -20 °C.",
        "An entirely different sentence about nothing here.",
    ],
)
def test_a_quotation_of_other_words_or_numbers_is_not_found(reference):
    assert found(reference) == []


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (
            "the X7 is supported by the old bus driver",
            "The X7 is unsupported by the old bus driver",
        ),
        (
            "The X7 pump is driven by the old bus driver of the Orsa",
            "The X7 pump is not driven by the old bus driver of the Orsa",
        ),
        ("Set the minimum limit of the X7 pump here", "Set the maximum limit of the X7 pump here"),
        (
            "Turn the X7 pump on before the valve opens",
            "Turn the X7 pump off before the valve opens",
        ),
    ],
)
def test_words_of_another_meaning_are_not_slips(reference, text):
    assert found(reference, text) == []


WORDS = st.lists(
    st.from_regex(r"[a-z]{1,7}|[1-9][0-9]?(\.[0-9])?", fullmatch=True), min_size=12, max_size=40
)


@given(WORDS, st.data())
def test_any_run_of_words_is_found_and_not_with_one_digit_changed(words, data):
    text = " ".join(words)
    first = data.draw(st.integers(0, len(words) - 1))
    quoted = words[first : data.draw(st.integers(first + 1, len(words)))]
    reference = "\n".join(quoted)
    assert quoted in [words.split() for words, _ in found(reference, text)]
    digits = [match.start() for match in re.finditer(r"\d", reference)]
    if digits:
        at = data.draw(st.sampled_from(digits))
        changed = reference[:at] + ("1" if reference[at] != "1" else "2") + reference[at + 1 :]
        for place, _ in found(changed, text):
            assert re.findall(r"[\d.]+", place) == re.findall(r"[\d.]+", changed)
