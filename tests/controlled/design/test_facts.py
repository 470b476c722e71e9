"""The controlled facts: balance of kind and length, sections, and unambiguous values."""

import re
from collections import Counter

import pytest

from lib.controlled.design.facts import (
    ATTRIBUTES,
    FIRST_WORDS,
    LIST_POOLS,
    SCALAR_LABELS,
    SCALARS,
    by_product,
    make_facts,
    question,
    reference,
)
from lib.controlled.records import KnownFact
from lib.core.text import is_plural
from lib.lab.products import make_products


def _spread(values) -> int:
    counts = Counter(values).values()
    return max(counts) - min(counts)


@pytest.fixture(scope="module")
def facts():
    return make_facts(61, seed=4)  # odd, and not a multiple of three: nothing divides evenly


def test_a_product_has_every_attribute_once_in_the_order_section_and_place(facts):
    for known in by_product(facts).values():
        assert sorted(fact.attribute for fact in known) == sorted(ATTRIBUTES)
        assert [(fact.section, fact.place) for fact in known] == [divmod(n, 3) for n in range(9)]
        assert [fact.attribute in LIST_POOLS for fact in known] == [False, False, True] * 3
    assert len({fact.fact_id for fact in facts}) == len(facts) == 61 * 9


def test_kind_and_length_are_balanced_within_each_attribute_and_over_all(facts):
    scalars = [fact for fact in facts if fact.attribute in SCALAR_LABELS]
    lists = [fact for fact in facts if fact.attribute in LIST_POOLS]
    for label in SCALAR_LABELS:
        assert _spread(fact.kind for fact in scalars if fact.attribute == label) <= 1
    for label in LIST_POOLS:
        lengths = [len(fact.value) for fact in lists if fact.attribute == label]
        assert set(lengths) == {2, 3, 4} and _spread(lengths) <= 1
    assert _spread(fact.kind for fact in scalars) <= 1
    assert _spread(len(fact.value) for fact in lists) <= 1


def test_kind_and_length_are_balanced_in_every_section_and_place(facts):
    """Within an attribute a cell cuts at most two blocks of the deal: kinds differ by at most 2."""
    cells = {(fact.attribute, fact.section, fact.place) for fact in facts}
    for cell in cells:
        kinds = [fact.kind for fact in facts if (fact.attribute, fact.section, fact.place) == cell]
        assert cell[0] in LIST_POOLS or abs(kinds.count("number") - kinds.count("word")) <= 2, cell
    for section in range(3):
        lengths = [len(fact.value) for fact in facts
                   if fact.section == section and fact.attribute in LIST_POOLS]
        assert _spread(lengths) <= 6  # two in each of three attributes


def test_a_value_is_of_its_kind(facts):
    for fact in facts:
        if fact.kind == "number":
            assert re.fullmatch(rf"[1-5]\d\d {SCALARS[fact.attribute][0]}", *fact.value)
        elif fact.attribute in SCALAR_LABELS:
            first, second = fact.value[0].split(" ")
            assert first in FIRST_WORDS and second in SCALARS[fact.attribute][1]
        else:
            assert set(fact.value) <= set(LIST_POOLS[fact.attribute])


def test_no_value_of_a_product_is_in_another_of_its_facts():
    for known in by_product(make_facts(400, seed=1)).values():
        items = [item for fact in known for item in fact.value]
        assert len(set(items)) == len(items)


def test_no_word_of_a_value_is_in_another_pool_a_name_or_a_label():
    nouns = [word for unit, nouns in SCALARS.values() for word in (unit, *nouns)]
    assert len(set(nouns)) == len(nouns)
    names = [word.lower() for product in make_products(3000, 1) for word in product.name.split()]
    pools = [FIRST_WORDS, *LIST_POOLS.values(), " ".join(ATTRIBUTES).split(), nouns, names]
    words = Counter(word for pool in pools for word in set(pool))
    assert [word for word, n in words.items() if n > 1] == []


def test_labels_agree_with_the_verb_of_their_question(facts):
    assert all(is_plural(label) == (label in LIST_POOLS) for label in ATTRIBUTES)
    scalar = KnownFact(fact_id="a-b/batch-mark", product="A B", attribute="batch mark",
                       value=["482"], kind="number", section=0, place=0)
    several = scalar.model_copy(update={"attribute": "spare parts", "value": ["fuse", "rotor"]})
    assert [(question(fact), reference(fact)) for fact in (scalar, several)] == [
        ("What is the batch mark of A B?", "482"),
        ("What are the spare parts of A B?", "fuse\nrotor")]
    assert len({question(fact) for fact in facts}) == len(facts)
