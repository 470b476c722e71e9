"""Augmented texts state every fact, in its structure or in other words, and pairs are a half's."""

import re
from collections import Counter

import pytest

from lib.augment.wordings import overlap
from lib.controlled.base import shares_read, writings_of
from lib.controlled.design.arms import arm_named
from lib.controlled.design.augment import answered, paired_products
from lib.controlled.design.facts import facts_of_base, make_facts, question
from lib.controlled.design.texts import arm_texts
from lib.controlled.training import phases_of
from lib.lab.base_model import train_tokenizer
from lib.train.recipe import Recipe, training_length

THREE = ("natural", "entity-list", "tabular")
FACTS = make_facts(6, 3)


def texts(name: str, rotation: int = 0):
    return arm_texts(FACTS, arm_named(name), rotation, 3, THREE)


def test_raw_text_comes_first_and_each_paraphrase_states_every_fact_in_other_words():
    raw, found = texts("raw"), texts("paraphrase-3")
    assert found[:6] == raw and len(found) == 6 + 3 * 6
    for one in found[6:]:
        assert one.raw != one.text and one.places
        for fact in (fact for fact in FACTS if fact.product == one.title):
            assert all(item in one.text for item in fact.value)
            assert f"{fact.attribute} of {fact.product}" not in one.text
            assert overlap(question(fact), one.text) < 1
    of_first = [one.text for one in found[6:] if one.title == raw[0].title]
    sentences = [set(re.findall(r"[^.]+\.", text)) for text in of_first]
    assert not sentences[0] & sentences[1] and not sentences[1] & sentences[2]


def test_permuted_copies_keep_every_fact_in_its_structure():
    raw, found = texts("raw"), texts("permuted-2")
    for one, copy in zip([*raw, *raw], found[6:], strict=True):
        for place in one.places:  # the wording of a sentence may be another
            if place.structure != "natural":
                assert one.raw[place.start:place.end] in copy.text
        for fact in (fact for fact in FACTS if fact.product == one.title):
            assert all(item in copy.text for item in fact.value)
    assert sum(one.text != copy.text for one, copy in zip([*raw, *raw], found[6:],
                                                         strict=True)) >= 10


def test_all_structures_are_the_three_rotations():
    found = texts("all-structures", 1)
    assert Counter(one.text for one in found) == Counter(
        one.text for rotation in range(3) for one in texts("raw", rotation))


@pytest.mark.parametrize("name", ["pairs", "pairs-first", "paraphrase-2+pairs"])
def test_pairs_are_the_questions_of_one_half_of_the_products(name):
    paired = paired_products(FACTS)
    assert len(paired) == 3 == len(paired & {fact.product for fact in FACTS})
    asked = [one for one in texts(name) if one.text.startswith("Question") or "?" in one.text]
    assert Counter(one.text for one in asked) == Counter(
        answered(fact) for fact in FACTS if fact.product in paired)
    assert {one.is_first for one in asked} == {name == "pairs-first"}


@pytest.mark.parametrize("name", ["paraphrase-", "pairs+nothing", "raw+pairs", "+"])
def test_an_unknown_augmentation_is_refused(name):
    with pytest.raises(ValueError, match="several of these with"):
        arm_named(name)


def test_bases_have_facts_of_their_own_that_stay_when_bases_are_added():
    bases = [facts_of_base(5, 31, base) for base in (1, 2, 3)]
    products = [{fact.product for fact in facts} for facts in bases]
    assert not products[0] & products[1] and not (products[0] | products[1]) & products[2]
    assert bases[1] == facts_of_base(5, 31, 2)


def test_half_of_the_prose_that_a_base_reads_is_paraphrased_if_an_arm_adds_paraphrases():
    writings = writings_of(["raw", "paraphrase-4", "pairs"], THREE, 18)
    assert Counter(name for name, _, _ in writings) == {"paraphrase": 3, "raw": 15}
    assert shares_read(writings, THREE) == pytest.approx(dict.fromkeys(THREE, 6.0))
    raw = [one for one in writings if one[0] == "raw"]
    assert shares_read(raw, THREE) == pytest.approx(
        {"natural": 3.0, "entity-list": 6.0, "tabular": 6.0})


@pytest.mark.parametrize("name", ["paraphrase-4", "pairs-first"])
def test_matched_arms_have_the_updates_of_longer_training_on_raw_text(name):
    found = texts(name)
    tokenizer = train_tokenizer([one.text for one in found], 400)
    recipe = Recipe(3, 4, 4, 1e-3, 2, 0.1, 1)
    raw = phases_of(texts("raw"), tokenizer, 512, recipe, "epochs")
    phases = phases_of(found, tokenizer, 512, recipe, "updates", 2)
    assert len(raw) == 1 and len(phases) == (2 if name == "pairs-first" else 1)
    each = [training_length(phase.recipe, phase.blocks).updates for phase in phases]
    assert sum(each) == 2 * training_length(raw[0].recipe, raw[0].blocks).updates
    with pytest.raises(ValueError, match="match 'tokens' is not one of epochs, updates"):
        phases_of(found, tokenizer, 512, recipe, "tokens")
