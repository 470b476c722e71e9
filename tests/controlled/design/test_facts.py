"""The controlled facts: balance of kind and length, sections, and values that stand for nothing else."""

import re
from collections import Counter
from math import log2

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


def _spread(counts: Counter) -> int:
    return max(counts.values()) - min(counts.values())


@pytest.fixture(scope="module")
def facts():
    return make_facts(61, seed=4)  # odd, and no multiple of three: nothing divides evenly


def test_the_same_seed_gives_the_same_facts_and_another_seed_others(facts):
    assert facts == make_facts(61, seed=4)
    assert facts != make_facts(61, seed=5)


def test_a_product_has_every_attribute_once_in_the_order_section_and_place(facts):
    for known in by_product(facts).values():
        assert sorted(fact.attribute for fact in known) == sorted(ATTRIBUTES)
        assert [(fact.section, fact.place) for fact in known] == [(section, place) for section in range(3)
                                                                  for place in range(3)]
        assert [fact.attribute in LIST_POOLS for fact in known] == [False, False, True] * 3
    assert len({fact.fact_id for fact in facts}) == len(facts) == 61 * 9


def test_kind_and_length_are_even_within_each_attribute_and_over_all(facts):
    for label in SCALAR_LABELS:
        assert _spread(Counter(fact.kind for fact in facts if fact.attribute == label)) <= 1
    for label in LIST_POOLS:
        counts = Counter(len(fact.value) for fact in facts if fact.attribute == label)
        assert set(counts) == {2, 3, 4} and _spread(counts) <= 1
    assert _spread(Counter(fact.kind for fact in facts if fact.attribute in SCALAR_LABELS)) <= 1
    assert _spread(Counter(len(fact.value) for fact in facts if fact.attribute in LIST_POOLS)) <= 1


def test_kind_and_length_are_even_in_every_section_and_place(facts):
    """Within an attribute a cell cuts at most two blocks of the deal, so its kinds differ by two at most."""
    for label in SCALAR_LABELS:
        for section in range(3):
            for place in range(2):
                kinds = [fact.kind for fact in facts if (fact.attribute, fact.section, fact.place)
                         == (label, section, place)]
                assert abs(kinds.count("number") - kinds.count("word")) <= 2, (label, section, place)
    for section in range(3):
        lengths = Counter(len(fact.value) for fact in facts if fact.section == section and fact.attribute in LIST_POOLS)
        assert _spread(lengths) <= 6  # two in each of three attributes


def test_attributes_move_between_sections(facts):
    for label in ATTRIBUTES:
        assert {fact.section for fact in facts if fact.attribute == label} == {0, 1, 2}


def test_a_value_is_of_its_kind(facts):
    for fact in facts:
        if fact.kind == "number":
            assert re.fullmatch(rf"[1-5]\d\d {SCALARS[fact.attribute][0]}", fact.value[0]) and len(fact.value) == 1
        elif fact.attribute in SCALAR_LABELS:
            first, second = fact.value[0].split(" ")
            assert first in FIRST_WORDS and second in SCALARS[fact.attribute][1]
        else:
            assert set(fact.value) <= set(LIST_POOLS[fact.attribute]) and len(set(fact.value)) == len(fact.value)


def test_no_value_of_a_product_stands_in_another_fact_of_it():
    for known in by_product(make_facts(400, seed=1)).values():
        items = [item for fact in known for item in fact.value]
        assert len(set(items)) == len(items)


def test_both_kinds_hold_the_same_bits():
    for _, nouns in SCALARS.values():
        assert log2(len(set(FIRST_WORDS)) * len(set(nouns))) == log2(len(range(100, 550)))


def test_no_word_of_a_value_is_in_another_pool_a_name_or_a_label():
    nouns = [noun for _, nouns in SCALARS.values() for noun in nouns] + [unit for unit, _ in SCALARS.values()]
    pools = [FIRST_WORDS, *LIST_POOLS.values(), tuple(" ".join(ATTRIBUTES).split())]
    assert len(set(nouns)) == len(nouns)
    pools.append(tuple(nouns))
    pools.append(tuple({word.lower() for product in make_products(3000, 1) for word in product.name.split()}))
    words = [word for pool in pools for word in set(pool)]
    assert [word for word, n in Counter(words).items() if n > 1] == []


def test_labels_agree_with_the_verb_of_their_question(facts):
    assert all(is_plural(label) == (label in LIST_POOLS) for label in ATTRIBUTES)
    scalar = KnownFact(fact_id="a-b/batch-mark", product="A B", attribute="batch mark", value=["482"], kind="number",
                       section=0, place=0)
    assert (question(scalar), reference(scalar)) == ("What is the batch mark of A B?", "482")
    several = scalar.model_copy(update={"attribute": "spare parts", "value": ["fuse", "rotor"], "kind": "word"})
    assert (question(several), reference(several)) == ("What are the spare parts of A B?", "fuse\nrotor")
    assert len({question(fact) for fact in facts}) == len(facts)


def test_taken_names_are_not_used_again(facts):
    names = frozenset(fact.product for fact in facts)
    assert not names & {fact.product for fact in make_facts(200, seed=4, taken=names)}
