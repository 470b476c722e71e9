"""The Latin square: every fact once in each structure, and nothing else that differs between rotations."""

import re
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.controlled.design.facts import ATTRIBUTES, by_product, make_facts
from lib.controlled.design.latin_square import Layout, render, starts
from lib.controlled.design.structures import STRUCTURES
from lib.controlled.records import Rendered
from lib.documents.blocks import parse

FACTS = make_facts(7, seed=2)
KNOWN = {fact.fact_id: fact for fact in FACTS}
BASE = Layout()


def _rotations(layout: Layout, facts=FACTS, seed: int = 1) -> list[list[Rendered]]:
    return [render(facts, rotation, seed, layout) for rotation in range(len(layout.structures))]


def _frame(document: Rendered) -> list[str]:
    """The document's headings, and what stands before its first section."""
    before = document.raw[:document.raw.index("\n## ")]
    return [before, *re.findall(r"^## .*$", document.raw, re.M)]


subsets = st.lists(st.sampled_from(list(STRUCTURES)), min_size=1, unique=True).map(tuple)


@settings(max_examples=25)
@given(structures=subsets, fillers=st.integers(0, 3), seed=st.integers(0, 99))
def test_over_the_rotations_each_fact_stands_once_in_each_structure_and_its_frame_never_changes(structures, fillers,
                                                                                               seed):
    rotations = _rotations(Layout(structures, filler_lines=fillers), seed=seed)
    stood = defaultdict(list)
    for documents in rotations:
        for document, first in zip(documents, rotations[0], strict=True):
            assert (document.document_id, document.title) == (first.document_id, first.title)
            assert _frame(document) == _frame(first)
            assert [place.fact_id for place in document.places] == [place.fact_id for place in first.places]
            for place in document.places:
                stood[place.fact_id].append(place.structure)
    assert {fact_id: sorted(names) for fact_id, names in stood.items()} == dict.fromkeys(KNOWN, sorted(structures))


@settings(max_examples=25)
@given(structures=subsets, is_named=st.booleans())
def test_a_place_holds_its_label_and_value(structures, is_named):
    for document in render(FACTS, 0, 1, Layout(structures, is_named=is_named)):
        for place in document.places:
            said = document.raw[place.start:place.end]
            assert KNOWN[place.fact_id].attribute in said.lower()
            assert all(item in said for item in KNOWN[place.fact_id].value)


def test_a_section_keeps_its_wording_when_its_structure_comes_round_under_another_arm():
    raw, far, bare = (render(FACTS, 0, 1, layout) for layout in (BASE, Layout(filler_lines=5), Layout(is_named=False)))
    for one, other, unnamed in zip(raw, far, bare, strict=True):
        assert [one.raw[place.start:place.end] for place in one.places] == [
            other.raw[place.start:place.end] for place in other.places]
        heading = f"# {one.title}\n"
        assert one.raw.removeprefix(heading).replace(one.title, "this unit").lower() == unnamed.raw.removeprefix(
            heading).lower()


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    assert render(FACTS, 1, 5) == render(FACTS, 1, 5)
    assert [document.raw for document in render(FACTS, 1, 5)] != [document.raw for document in render(FACTS, 1, 6)]
    assert all(document.text == document.raw for document in render(FACTS, 1, 5))


@given(n=st.integers(1, 40), k=st.integers(1, 15), seed=st.integers(0, 99), rotation=st.integers(0, 14))
def test_in_a_rotation_each_structure_has_as_many_sections_at_each_position(n, k, seed, rotation):
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
    assert follows == {(one, other): 4 for one in BASE.structures for other in BASE.structures if one != other}


def test_a_section_is_parsed_as_the_structure_that_it_is_placed_in():
    kinds = {"natural": {"prose"}, "entity-list": {"list", "prose"}, "tabular": {"table"}}
    for document in render(FACTS, 2, 1):
        blocks = [block for block in parse(document.raw) if block.kind != "heading"]
        for place in document.places:
            touched = {block.kind for block in blocks if block.start < place.end and place.start < block.end}
            assert touched <= kinds[place.structure] and touched, place


def test_a_further_rendering_deals_the_facts_to_other_sections_in_other_words():
    first, second = (render(FACTS, 0, 1, rendering=number) for number in (0, 3))
    assert len({document.document_id for document in first + second}) == 14
    assert any([place.fact_id for place in one.places] != [place.fact_id for place in other.places]
               for one, other in zip(first, second, strict=True))
    for document in second:
        assert sorted(place.fact_id for place in document.places) == sorted(
            fact.fact_id for fact in by_product(FACTS)[document.title])
        assert [len(KNOWN[place.fact_id].value) > 1 for place in document.places] == [False, False, True] * 3
    assert {place.structure for place in second[0].places} == set(BASE.structures)


def test_a_planted_section_stands_a_second_time_at_the_end_and_nothing_else_changes():
    for rotation in range(3):
        for raw, planted in zip(render(FACTS, rotation, 1), render(FACTS, rotation, 1, Layout(repeated="tabular")),
                                strict=True):
            assert planted.raw.startswith(raw.raw) and planted.places == raw.places
            heading, table = re.fullmatch(r"\n(## .*)\n\n(.*)\n", planted.raw.removeprefix(raw.raw), re.S).groups()
            assert raw.raw.count(table) == 1 and heading not in raw.raw
            assert [block.kind for block in parse(table)] == ["table"]


def test_fillers_stand_between_the_notice_and_the_first_section():
    [near, far] = [render(FACTS, 0, 1, Layout(filler_lines=number))[0] for number in (0, 12)]
    before, after = near.raw.split("\n## ", 1)
    assert far.raw.startswith(before + "\n") and far.raw.endswith("\n## " + after)
    lines = far.raw.removeprefix(before + "\n").removesuffix("\n## " + after).splitlines()
    assert len(lines) == 12 and re.search(r"\b12\b", lines[-1])
    assert [far.raw[place.start:place.end] for place in far.places] == [
        near.raw[place.start:place.end] for place in near.places]


@pytest.mark.parametrize(("width", "height", "n_documents", "shape"), [
    (3, 2, 4, [(3, 2)] * 3), (4, 7, 1, [(4, 7), (4, 7), (1, 7)]), (9, 100, 1, [(9, 7)]), (1, 5, 2, [(1, 5)] * 9)])
def test_a_catalogue_has_a_row_a_product_and_a_column_an_attribute(width, height, n_documents, shape):
    documents = render(FACTS, 0, 1, Layout(table=(width, height)))
    assert len(documents) == n_documents and len({document.document_id for document in documents}) == n_documents
    tables = [block for block in parse(documents[0].raw) if block.kind == "table"]
    assert [(len(table.header) - 1, len(table.rows)) for table in tables] == shape
    read = {}
    for document in documents:
        for table in parse(document.raw):
            labels = [cell.text.lower() for cell in table.header]
            for row in table.rows:
                read |= {(row[0].text, label): cell.text for label, cell in zip(labels[1:], row[1:], strict=True)}
    assert read == {(fact.product, fact.attribute): ", ".join(fact.value) for fact in FACTS}
    for document in documents:
        for place in document.places:
            fact, said = KNOWN[place.fact_id], document.raw[place.start:place.end]
            assert said.startswith(f"| {fact.product} |") and said.endswith(f"| {', '.join(fact.value)}")
            assert "\n" not in said
            assert place.structure == "tabular"
    assert Counter(place.fact_id for document in documents for place in document.places) == dict.fromkeys(KNOWN, 1)


def test_a_catalogue_of_other_products_or_of_a_further_rendering_has_another_code():
    layout, others = Layout(table=(3, 4)), make_facts(7, seed=3)
    titles = [one.title for one in (*render(FACTS, 0, 1, layout), *render(others, 0, 1, layout),
                                    *render(FACTS, 0, 1, layout, rendering=1))]
    assert len(set(titles)) == len(titles) == 6


def test_what_cannot_be_rendered_is_refused_with_what_can():
    with pytest.raises(ValueError, match="choose from natural, entity-list, tabular"):
        Layout(("natural", "tables"))
    with pytest.raises(ValueError, match="each once"):
        Layout(("natural", "natural"))
    with pytest.raises(ValueError, match="rotations 0 to 2"):
        render(FACTS, 3, 1)
    with pytest.raises(ValueError, match="width and a height"):
        Layout(table=(0, 4))


def test_a_heading_or_notice_says_no_label():
    for document in render(FACTS, 0, 1, Layout(filler_lines=20)):
        frame = " ".join(_frame(document)).lower()
        assert not any(label in frame for label in ATTRIBUTES)
