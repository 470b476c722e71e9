"""The Latin square: every fact once in each structure; nothing else differs between rotations."""

import re
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.controlled.design.facts import ATTRIBUTES, by_product, make_facts
from lib.controlled.design.latin_square import Layout, render, starts
from lib.controlled.design.structures import STRUCTURES
from lib.controlled.records import Rendered
from lib.documents.blocks import parse

FACTS = make_facts(7, seed=2)
KNOWN = {fact.fact_id: fact for fact in FACTS}
BASE = Layout()

subsets = st.lists(st.sampled_from(list(STRUCTURES)), min_size=1, unique=True).map(tuple)


def _frame(document: Rendered) -> list[str]:
    """Return the document's headings, and the text before its first section."""
    before = document.raw[:document.raw.index("\n## ")]
    return [before, *re.findall(r"^## .*$", document.raw, re.M)]


def _spans(document: Rendered) -> list[str]:
    return [document.raw[place.start:place.end] for place in document.places]


@given(structures=subsets, fillers=st.integers(0, 3), seed=st.integers(0, 99))
def test_each_fact_is_once_in_each_structure_and_its_frame_never_changes(structures, fillers, seed):
    layout = Layout(structures, filler_lines=fillers)
    rotations = [render(FACTS, rotation, seed, layout) for rotation in range(len(structures))]
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


@given(structures=subsets, is_named=st.booleans())
def test_a_place_has_its_label_and_value(structures, is_named):
    for document in render(FACTS, 0, 1, Layout(structures, is_named=is_named)):
        for place, text in zip(document.places, _spans(document), strict=True):
            fact = KNOWN[place.fact_id]
            assert fact.attribute in text.lower() and all(item in text for item in fact.value)


def test_a_section_keeps_its_wording_under_another_arm():
    raw, far, bare = (render(FACTS, 0, 1, layout)
                      for layout in (BASE, Layout(filler_lines=5), Layout(is_named=False)))
    for one, other, unnamed in zip(raw, far, bare, strict=True):
        assert _spans(one) == _spans(other)
        heading = f"# {one.title}\n"
        named = one.raw.removeprefix(heading).replace(one.title, "this unit").lower()
        assert named == unnamed.raw.removeprefix(heading).lower()


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    documents = render(FACTS, 1, 5)
    assert documents == render(FACTS, 1, 5) != render(FACTS, 1, 6)
    assert all(document.text == document.raw for document in documents)


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
    assert follows == {(one, other): 4 for one in BASE.structures for other in BASE.structures
                       if one != other}


def test_a_section_is_parsed_as_the_structure_that_it_is_placed_in():
    kinds = {"natural": {"prose"}, "entity-list": {"list", "prose"}, "tabular": {"table"}}
    for document in render(FACTS, 2, 1):
        blocks = [block for block in parse(document.raw) if block.kind != "heading"]
        for place in document.places:
            touched = {block.kind for block in blocks
                       if block.start < place.end and place.start < block.end}
            assert touched <= kinds[place.structure] and touched, place


def test_a_further_rendering_deals_the_facts_to_other_sections():
    first, second = (render(FACTS, 0, 1, rendering=number) for number in (0, 3))
    assert len({document.document_id for document in first + second}) == 14
    orders = [[[place.fact_id for place in one.places] for one in each] for each in (first, second)]
    assert orders[0] != orders[1]
    for document, order in zip(second, orders[1], strict=True):
        assert sorted(order) == sorted(fact.fact_id for fact in by_product(FACTS)[document.title])
        assert [len(KNOWN[one].value) > 1 for one in order] == [False, False, True] * 3
    assert {place.structure for place in second[0].places} == set(BASE.structures)


@pytest.mark.parametrize("rotation", range(3))
def test_a_planted_section_is_repeated_at_the_end_and_nothing_else_changes(rotation):
    both = (render(FACTS, rotation, 1), render(FACTS, rotation, 1, Layout(repeated="tabular")))
    for raw, planted in zip(*both, strict=True):
        assert planted.raw.startswith(raw.raw) and planted.places == raw.places
        added = planted.raw.removeprefix(raw.raw)
        heading, table = re.fullmatch(r"\n(## .*)\n\n(.*)\n", added, re.S).groups()
        assert raw.raw.count(table) == 1 and heading not in raw.raw
        assert [block.kind for block in parse(table)] == ["table"]


def test_fillers_are_between_the_notice_and_the_first_section():
    near, far = (render(FACTS, 0, 1, Layout(filler_lines=number))[0] for number in (0, 12))
    before, after = near.raw.split("\n## ", 1)
    assert far.raw.startswith(before + "\n") and far.raw.endswith("\n## " + after)
    lines = far.raw.removeprefix(before + "\n").removesuffix("\n## " + after).splitlines()
    assert len(lines) == 12 and re.search(r"\b12\b", lines[-1])
    assert _spans(far) == _spans(near)


@pytest.mark.parametrize(("width", "height", "n_documents", "shape"), [
    (3, 2, 4, [(3, 2)] * 3), (4, 7, 1, [(4, 7), (4, 7), (1, 7)]), (9, 100, 1, [(9, 7)]),
    (1, 5, 2, [(1, 5)] * 9)])
def test_a_catalogue_has_one_row_per_product_and_one_column_per_attribute(width, height,
                                                                          n_documents, shape):
    documents = render(FACTS, 0, 1, Layout(table=(width, height)))
    assert len({document.document_id for document in documents}) == len(documents) == n_documents
    tables = [[block for block in parse(document.raw) if block.kind == "table"]
              for document in documents]
    assert [(len(table.header) - 1, len(table.rows)) for table in tables[0]] == shape
    read = {(row[0].text, label.text.lower()): cell.text for each in tables for table in each
            for row in table.rows for label, cell in zip(table.header[1:], row[1:], strict=True)}
    assert read == {(fact.product, fact.attribute): ", ".join(fact.value) for fact in FACTS}
    for document in documents:
        for place, text in zip(document.places, _spans(document), strict=True):
            fact = KNOWN[place.fact_id]
            assert text.startswith(f"| {fact.product} |") and "\n" not in text
            assert text.endswith(f"| {', '.join(fact.value)}") and place.structure == "tabular"
    assert Counter(place.fact_id for document in documents
                   for place in document.places) == dict.fromkeys(KNOWN, 1)


def test_a_catalogue_of_other_products_or_of_a_further_rendering_has_another_code():
    layout, others = Layout(table=(3, 4)), make_facts(7, seed=3)
    rendered = (*render(FACTS, 0, 1, layout), *render(others, 0, 1, layout),
                *render(FACTS, 0, 1, layout, rendering=1))
    assert len({one.title for one in rendered}) == len(rendered) == 6


@pytest.mark.parametrize(("changed", "rotation", "message"), [
    ({"structures": ("natural", "tables")}, 0, "choose from natural, entity-list, tabular"),
    ({"structures": ("natural", "natural")}, 0, "each once"),
    ({}, 3, "rotations 0 to 2"), ({"table": (0, 4)}, 0, "width and a height")])
def test_a_layout_that_cannot_be_rendered_is_refused(changed, rotation, message):
    with pytest.raises(ValueError, match=message):
        render(FACTS, rotation, 1, Layout(**changed))


def test_a_heading_or_notice_has_no_label():
    for document in render(FACTS, 0, 1, Layout(filler_lines=20)):
        frame = " ".join(_frame(document)).lower()
        assert not any(label in frame for label in ATTRIBUTES)
