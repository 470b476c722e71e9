"""Arms, runs and texts of the controlled experiment, and what its bases read."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.controlled.base import public_texts, shares_read, writings_of
from lib.controlled.design.arms import arm_named, epochs_of, runs_of, split_run
from lib.controlled.design.augment import answered
from lib.controlled.design.facts import make_facts
from lib.controlled.design.texts import arm_texts
from lib.tasks.spark.structures import STRUCTURES

THREE = ("natural", "entity-list", "tabular")


def texts(name: str):
    return arm_texts(make_facts(6, 3), arm_named(name), 0, 3, THREE)


def test_raw_has_all_rotations_and_another_arm_one_per_seed_with_a_raw_partner():
    runs = runs_of(["raw", "mixed"], 3, range(1, 5), ["raw"])
    assert [run for run in runs if run.startswith("mixed")] == [
        "mixed-0-1", "mixed-1-2", "mixed-2-3", "mixed-0-4"]
    assert len(runs) == 3 * 4 + 4
    partners = {split_run(run)[1:] for run in runs if run.startswith("raw")}
    assert all(split_run(run)[1:] in partners for run in runs)


@pytest.mark.parametrize("run", ["raw", "raw-0", "raw-x-1", ""])
def test_a_name_of_another_form_is_not_a_run(run):
    with pytest.raises(ValueError, match="such as raw-0-1"):
        split_run(run)


@pytest.mark.parametrize("name", ["nothing", "raw-3x", "RAW"])
def test_an_unknown_arm_is_refused_with_the_legal_ones(name):
    with pytest.raises(ValueError, match="choose among raw,"):
        arm_named(name)


def test_a_treated_text_keeps_the_raw_one_and_its_places():
    for raw, treated in zip(texts("raw"), texts("normalized"), strict=True):
        assert treated.raw == raw.raw == raw.text and treated.places == raw.places
        assert treated.text != raw.text and "|" not in treated.text


def test_mixed_trains_on_raw_and_rewritten_text():
    raw, mixed = texts("raw"), texts("mixed")
    both = [one.text for one in raw] + [one.text for one in texts("normalized")]
    assert [one.text for one in mixed] == both
    assert [epochs_of(name) for name in ("raw", "raw-2x", "mixed")] == [1, 2, 1]


@given(st.sets(st.sampled_from(sorted(STRUCTURES)), min_size=2), st.integers(2, 60),
       st.sets(st.sampled_from(["normalized", "mixed", "paraphrase-2", "pairs"])))
def test_no_structure_is_read_a_rendering_more_than_another(structures, renderings, arms):
    structures = tuple(structures)
    try:
        writings = writings_of(["raw", *arms], structures, renderings)
    except ValueError:
        return
    assert len(writings) == renderings
    read = shares_read(writings, structures).values()
    assert max(read) - min(read) <= 1
    counts = Counter(name for name, _, _ in writings if name != "raw")
    assert len(set(counts.values())) <= 1


def test_public_texts_are_the_same_for_a_seed_and_answer_each_question():
    facts = make_facts(3, 5)
    first, same, other = (public_texts(facts, ["raw", "normalized"], THREE, 6, 2, seed)
                          for seed in (1, 1, 2))
    assert first == same != other
    assert len(first) == 6 * 3 + 2 * len(facts)
    assert all(first.count(answered(fact)) == 2 for fact in facts)
