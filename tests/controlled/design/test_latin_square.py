"""The Latin square: every fact once in each structure; nothing else differs between rotations."""

import re
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.controlled.design.facts import by_product, make_facts
from lib.controlled.design.latin_square import render, starts
from lib.controlled.records import Rendered
from lib.documents.blocks import parse
from lib.tasks.spark.structures import STRUCTURES

FACTS = make_facts(7, seed=2)
KNOWN = {fact.fact_id: fact for fact in FACTS}

subsets = st.lists(st.sampled_from(list(STRUCTURES)), min_size=1, unique=True).map(tuple)


def _frame(document: Rendered) -> list[str]:
    """Return the document's headings, and the text before its first section."""
    before = document.raw[:document.raw.index("\n## ")]
    return [before, *re.findall(r"^## .*$", document.raw, re.M)]


@given(structures=subsets, seed=st.integers(0, 99))
def test_each_fact_is_once_in_each_structure_and_its_frame_never_changes(structures, seed):
    rotations = [render(FACTS, rotation, seed, structures) for rotation in range(len(structures))]
    found = defaultdict(list)
    for documents in rotations:
        for document, first in zip(documents, rotations[0], strict=True):
            assert (document.document_id, document.title) == (first.document_id, first.title)
            assert _frame(document) == _frame(first)
            assert [one.fact_id for one in document.places] == [
                one.fact_id for one in first.places]
            for place in document.places:
                found[place.fact_id].append(place.structure)
    assert {fact_id: sorted(names) for fact_id, names in found.items()} == dict.fromkeys(
        KNOWN, sorted(structures))


@given(n=st.integers(1, 40), k=st.integers(1, 15), seed=st.integers(0, 99),
       rotation=st.integers(0, 14))
def test_in_a_rotation_each_structure_has_equally_many_sections_at_each_position(n, k, seed,
                                                                                 rotation):
    for section in range(3):
        counts = Counter((offset + direction * section + rotation) % k
                         for offset, direction in starts(n, k, seed))
        numbers = [counts[structure] for structure in range(k)]
        assert max(numbers) - min(numbers) <= 1


def test_no_structure_always_follows_the_same_other_one():
    follows = Counter()
    for document in render(make_facts(12, seed=3), 0, 1):
        order = [place.structure for place in document.places[::3]]
        follows.update(zip(order, order[1:], strict=False))
    assert follows == {(one, other): 4 for one in STRUCTURES for other in STRUCTURES
                       if one != other}


def test_a_section_is_parsed_as_the_structure_that_it_is_placed_in():
    kinds = {"natural": {"prose"}, "entity-list": {"list", "prose"}, "tabular": {"table"}}
    for document in render(FACTS, 2, 1):
        blocks = [block for block in parse(document.raw) if block.kind != "heading"]
        for place in document.places:
            touched = {block.kind for block in blocks
                       if block.start < place.end and place.start < block.end}
            assert touched <= kinds[place.structure] and touched, place
            stated = document.raw[place.start:place.end]
            assert all(item in stated for item in KNOWN[place.fact_id].value), place


def test_a_further_rendering_deals_the_facts_to_other_sections():
    first, second = (render(FACTS, 0, 1, rendering=number) for number in (0, 3))
    assert len({document.document_id for document in first + second}) == 14
    orders = [[[place.fact_id for place in one.places] for one in each] for each in (first, second)]
    assert orders[0] != orders[1]
    for document, order in zip(second, orders[1], strict=True):
        assert sorted(order) == sorted(fact.fact_id for fact in by_product(FACTS)[document.title])
        assert [len(KNOWN[one].value) > 1 for one in order] == [False, False, True] * 3
    assert {place.structure for place in second[0].places} == set(STRUCTURES)


def test_a_structure_that_is_registered_takes_its_place_in_the_square(code):
    found = [{place.fact_id: place.structure for one in render(FACTS, rotation, 1)
              for place in one.places} for rotation in range(4)]
    assert all({each[fact_id] for each in found} == {code, *STRUCTURES} for fact_id in KNOWN)
    with pytest.raises(ValueError, match="4 structures have the rotations 0 to 3"):
        render(FACTS, 4, 1)
