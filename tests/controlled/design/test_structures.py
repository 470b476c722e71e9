"""Every structure, read back by a parser of its format: nothing is lost, spans are right."""

import csv
import json
import random
import re
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lib.controlled.design.facts import make_facts
from lib.controlled.design.structures import STRUCTURES
from lib.controlled.records import KnownFact
from lib.documents.blocks import parse

CODE = ("csv", "json", "yaml", "xml")
NAME = "Corvane Flint"


def _fact(label: str, value: list[str], kind: str = "word") -> KnownFact:
    return KnownFact(fact_id=f"corvane-flint/{label}", product=NAME, attribute=label, value=value,
                     kind=kind, section=0, place=0)


FACTS = [_fact("service code", ["482 pages"], "number"), _fact("storage slot", ["amber badger"]),
         _fact("spare parts", ["fuse", "rotor", "relay"])]
_MADE = make_facts(3, seed=8)
_SECTIONS = [_MADE[start:start + 3] for start in range(0, len(_MADE), 3)]


def _body(structure: str, name: str = NAME, seed: int = 0) -> str:
    return STRUCTURES[structure](name, FACTS, random.Random(seed))[0]


def _cells(row) -> list[str]:
    return [cell.text for cell in row]


def _read(structure: str, body: str) -> dict[str, list[str]]:
    """Return the labels in lower case and their values, as read by a parser of the format."""
    inside = re.sub(r"\A```\w+\n|\n```\Z", "", body)
    if structure == "csv":
        _, *rows = csv.reader(inside.splitlines())
        return {label: value.split(", ") for label, value in rows}
    if structure in ("json", "yaml"):
        read = json.loads(inside) if structure == "json" else yaml.safe_load(inside)
        return {label: value if isinstance(value, list) else [str(value)]
                for label, value in read.items()}
    if structure == "xml":
        return {entry.get("name"): [item.text for item in entry] or [entry.text]
                for entry in ElementTree.fromstring(inside)}
    if structure == "html-table":
        return {row[0].text.lower(): row[1].text.split(", ")
                for row in ElementTree.fromstring(body)}
    if structure == "key-value":
        return {label.lower(): value.split(", ")
                for label, value in (line.split(": ") for line in body.splitlines())}
    if structure == "tabular":
        return {label.lower(): value.split(", ")
                for label, value in map(_cells, parse(body)[0].rows)}
    block = parse(body)[0]
    values = [cell.split(": ")[-1].split(", ") for cell in _cells(block.rows[0])]
    return dict(zip([label.lower() for label in _cells(block.header)], values, strict=True))


@pytest.mark.parametrize("structure", [*CODE, "html-table", "key-value", "tabular", "wide-table",
                                       "wide-table-repeated"])
def test_a_parser_reads_the_facts_back(structure):
    assert _read(structure, _body(structure)) == {fact.attribute: fact.value for fact in FACTS}


def test_a_code_block_is_one_block_and_an_html_table_is_a_table():
    for structure in CODE:
        assert [block.kind for block in parse(_body(structure))] == ["code"], structure
    assert [block.kind for block in parse(_body("html-table"))] == ["table"]


def test_bullets_and_lead_in_are_two_lists():
    bullets, lead, items = parse(_body("entity-list"))
    assert [item.text for item in bullets.items] == ["Service code: 482 pages",
                                                     "Storage slot: amber badger"]
    assert lead.text == "Spare parts:"
    assert [item.text for item in items.items] == ["fuse", "rotor", "relay"]


def test_a_nested_list_hangs_from_the_products_name():
    [block] = parse(_body("nested-list"))
    assert [(item.depth, item.text) for item in block.items] == [
        (0, NAME), (1, "Service code: 482 pages"), (1, "Storage slot: amber badger"),
        (1, "Spare parts:"), (2, "fuse"), (2, "rotor"), (2, "relay")]


def test_a_repeated_header_is_in_every_cell():
    repeated = _body("wide-table-repeated")
    assert "| Service code: 482 pages | Storage slot: amber badger |" in repeated
    assert "| 482 pages | amber badger |" in _body("wide-table")


@pytest.mark.parametrize(("structure", "n"), [("natural", 1), ("prose-2", 2), ("prose-4", 4)])
def test_prose_states_each_fact_in_as_many_different_sentences(structure, n):
    body, spans = STRUCTURES[structure](NAME, FACTS, random.Random(3))
    for fact, (start, end) in zip(FACTS, spans, strict=True):
        sentences = re.split(r"(?<=\.) ", body[start:end])
        assert len(set(sentences)) == len(sentences) == n
        for sentence in sentences:  # the name before the value: not to test recall in reverse
            assert sentence.index(NAME) < sentence.index(fact.value[0])
            assert fact.attribute in sentence


def test_prose_of_several_facts_is_one_sentence_or_two():
    bodies = {_body("prose-several", seed=seed) for seed in range(30)}
    ends = (", the storage slot is amber badger and the spare parts are fuse, rotor and relay.",
            " and the storage slot is amber badger. The spare parts are fuse, rotor and relay.")
    assert bodies == {f"{word} {NAME}, the service code is 482 pages{end}"
                      for word in ("On", "For") for end in ends}


@pytest.mark.parametrize("structure", STRUCTURES)
def test_another_name_changes_nothing_else(structure):
    for seed in range(8):
        bare, named = (_body(structure, name, seed) for name in ("this unit", NAME))
        assert NAME not in bare and named.replace(NAME, "this unit").lower() == bare.lower()


@given(structure=st.sampled_from(list(STRUCTURES)), seed=st.integers(0, 999),
       which=st.integers(0, 8))
def test_a_span_has_its_label_and_value_and_only_its_own(structure, seed, which):
    facts = _SECTIONS[which]
    body, spans = STRUCTURES[structure](facts[0].product, facts, random.Random(seed))
    for fact, (start, end) in zip(facts, spans, strict=True):
        span = body[start:end]
        assert fact.attribute in span.lower() and all(item in span for item in fact.value)
        assert "\n\n" not in span.strip().replace(":\n\n", "")
        if structure != "wide-table":  # there all labels are above all values
            assert not any(other.attribute in span.lower() for other in facts if other != fact)
    if structure != "wide-table":
        assert all(one[1] <= other[0] for one, other in zip(spans, spans[1:], strict=False))
