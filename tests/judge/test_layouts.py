"""The rules give the same verdict for every layout of the same items or value."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.core.text import listed
from lib.judge.rules import compare, match_list
from tests.growth import calls, ends

LISTED = "Which parts does the Corvane P-417 contain?"
ASKED = "What is the drain valve of the Corvane P-417?"

LAYOUTS = {
    "lines": "\n".join,
    "bullets": lambda items: "\n".join(f"- {item}" for item in items),
    "numbers": lambda items: "\n".join(f"{n}. {item}" for n, item in enumerate(items, 1)),
    "commas": ", ".join,
    "semicolons": "; ".join,
    "and": lambda items: listed(list(items)),
    "a sentence": lambda items: f"The Corvane P-417 contains {listed(list(items))}.",
    "a lead-in": lambda items: f"The parts are: {listed(list(items))}.",
    "a count": lambda items: f"It contains {len(items)} parts: {', '.join(items)}.",
    "a sentence each": lambda items: " ".join(f"It contains {item}." for item in items),
    "an item a sentence": lambda items: " ".join(f"{item}." for item in items),
    "a place each": lambda items: " ".join(f"In Parts: {item}." for item in items),
    "numbers in a line": lambda items: " ".join(f"({n}) {item}." for n, item
                                                in enumerate(items, 1)),
    "a table": lambda items: "| Part |\n|---|\n" + "\n".join(f"| {item} |" for item in items),
    "a table with notes": lambda items: "| Part | Note |\n|---|---|\n" + "\n".join(
        f"| {item} | on request |" for item in items),
    "a lead-in and bullets": lambda items: "Parts of the Corvane P-417:\n\n" + "\n".join(
        f"* {item}" for item in items),
    "bold bullets with text after": lambda items: "\n".join(
        f"- **{item}**" for item in items) + "\n\nAsk the vendor for more.",
}
VALUE_LAYOUTS = {
    "bare": "{}", "a sentence": "The drain valve of the Corvane P-417 is {}.", "a bullet": "- {}",
    "a number": "1. {}", "a label": "Drain valve: {}", "a row": "| Drain valve | {} |",
    "a table": "| Drain valve |\n|---|\n| {} |", "code": "`{}`", "bold": "It is **{}**.",
    "surplus": "{}\nQuestion: What is the memory?\nAnswer: 4711", "an answer": "Answer: {}",
    "a place": "In Data, Valves: The drain valve is {}.",
}

NOUNS = st.sampled_from(
    "gasket spindle relay Linux QNX VxWorks Zephyr O-ring bushing fuse coupling diaphragm lid "
    "RS-485 IP54 E17 data.csv /etc/x.conf washer bearing housing seal Halvorsen Brandt".split())
NAMES = st.one_of(
    NOUNS, st.tuples(st.sampled_from(["steel", "rear", "Sorrel", "spare", "12 V", "blue"]),
                     NOUNS).map(" ".join),
    st.sampled_from(["Research and Development", "Unit (rev B)", "port 8443", "30 s", "2024-05-11",
                     "Halvorsen Ltd", "cable with two plugs", "the host name resolves",
                     "no older release is running", "disk has at least 20 GB free"]))


def is_apart(names: list[str]) -> bool:
    """Return whether no name is part of another, which would make an answer ambiguous."""
    words = [set(name.casefold().split()) for name in names]
    return not any(one & other for place, one in enumerate(words) for other in words[:place])


SETS = st.lists(NAMES, min_size=3, max_size=7, unique=True).filter(is_apart)


@settings(max_examples=40)
@given(SETS, st.sampled_from(sorted(LAYOUTS)), st.data())
def test_a_list_has_one_verdict_in_every_layout(names, name, data):
    wanted, foreign = names[:-1], names[-1]
    shown = data.draw(st.permutations(wanted))
    place = data.draw(st.integers(0, len(wanted)))

    def is_correct(items):
        text = LAYOUTS[name](items)
        return compare(LISTED, "\n".join(wanted), text, len(wanted)).is_correct

    assert is_correct(shown)
    assert not is_correct(shown[1:]), "one is missing"
    assert not is_correct([*shown[:place], foreign, *shown[place:]]), "one is foreign"
    assert not is_correct([*shown[1:], foreign]), "one is replaced"


@settings(max_examples=40)
@given(SETS.filter(lambda names: not any(  # a sentence after a value is surplus
    re.search(r" (?:is|has|resolves) ", f" {name} ") for name in names)),
       st.sampled_from(sorted(VALUE_LAYOUTS)), st.sampled_from([None, 1]))
def test_a_value_has_one_verdict_in_every_layout(names, name, count):
    value, other, third, *_ = names

    def is_correct(text, layout=VALUE_LAYOUTS[name]):
        return compare(ASKED, value, layout.format(text), count).is_correct

    assert is_correct(value) and is_correct(f"{value}\n{value}", "{}")
    for wrong in (other, f"{value} or {other}", f"{other}, not {value}", f"not {value}",
                  f"{other} and {value}"):
        assert not is_correct(wrong), wrong
    assert not compare(ASKED, f"{value} {third}", value, count).is_correct, "partly"


HALVES = json.loads((Path(__file__).parent / "triples.json").read_text(encoding="utf-8"))


# rules were made on all of them
@pytest.mark.parametrize("half", ["develop", "final", "later", "spellings", "claims", "frames"])
def test_the_triples_are_judged_as_a_person_would(half):
    for is_right, most in ((True, 0.15), (False, 0.02)):
        outcomes = [compare(group["question"], group["reference"], text, group["entity_count"])
                    for group in HALVES if group["half"] == half
                    for text in group["right" if is_right else "wrong"]]
        n_missed = sum(outcome.is_correct != is_right for outcome in outcomes)
        assert n_missed <= most * len(outcomes), (half, is_right, n_missed)


@settings(max_examples=30)
@given(st.text(max_size=200), st.sampled_from(["", " ", "\n", ", ", "| ", "- ", "8443 ", "and "]),
       st.integers(1, 100), st.sampled_from(["8443", "a\nb\nc", "yes", "to be or not to be"]))
def test_any_text_gets_a_verdict(text, between, n, reference):
    for question in (ASKED, LISTED, text):
        assert compare(question, reference, (text + between) * n, None).reason
    match_list(LISTED, text, reference, 3)


@pytest.mark.parametrize("unit", [
    "a", ".", "8443 ", "- 8443\n", "| x ", "(", "1,", ",111", "*a* ", "-", "between 1 and ", "a. ",
    "\u0000", "'", "IP 5", "  \n  ", "?", "![", "(1) "])
def test_a_long_answer_is_judged_with_work_in_proportion(unit):
    for reference, count in (("8443", None), ("Linux\nQNX\n8443", 3), ("yes", None)):
        with ends():
            short, long = (calls(compare, ASKED, reference, unit * (size // len(unit)), count)
                           for size in (1_000, 4_000))
        assert long < 5 * short + 100, f"{unit!r}: {long} calls for four times the text of {short}"
