"""Arms, runs and texts of the controlled experiment, and the study's file that names them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.controlled.base import answered, public_texts, shares_read, writings_of
from lib.controlled.design.arms import arm_named, epochs_of, rotations_of, runs_of, split_run
from lib.controlled.design.facts import make_facts
from lib.controlled.design.structures import STRUCTURES
from lib.controlled.design.texts import NotRewritten, arm_texts
from lib.controlled.study import ControlledStudy, controlled_study

THREE = ("natural", "entity-list", "tabular")


def texts(name: str, rotation: int = 0, n: int = 6):
    return arm_texts(make_facts(n, 3), arm_named(name, THREE), rotation, 3)


def test_raw_has_all_rotations_and_another_arm_one_a_seed_beside_it():
    runs = runs_of(["raw", "prefix-name"], THREE, 4, ["raw"])
    assert [run for run in runs if run.startswith("prefix")] == [
        "prefix-name-0-1", "prefix-name-1-2", "prefix-name-2-3", "prefix-name-0-4"]
    assert len(runs) == 3 * 4 + 4
    partners = {split_run(run)[1:] for run in runs if run.startswith("raw")}
    assert all(split_run(run)[1:] in partners for run in runs)


@pytest.mark.parametrize("run", ["raw", "raw-0", "raw-x-1", ""])
def test_what_is_no_run_is_refused(run):
    with pytest.raises(ValueError, match="such as raw-0-1"):
        split_run(run)


@pytest.mark.parametrize("name", ["nothing", "far-", "table-3", "planted-json", "RAW"])
def test_an_unknown_arm_is_refused_with_the_legal_ones(name):
    with pytest.raises(ValueError, match="choose among raw,"):
        arm_named(name, THREE)


def test_a_table_arm_has_one_rotation_and_the_others_one_a_structure():
    names = ("raw", "far-20", "table-3x5", "mixed", "prose")
    assert [rotations_of(arm_named(name, THREE)) for name in names] == [3, 3, 1, 3, 1]
    assert [epochs_of(name) for name in ("raw", "raw-2x", "raw-12x", "mixed")] == [1, 2, 12, 1]


def test_a_treated_text_keeps_the_raw_one_and_its_places():
    raw, treated = texts("raw"), texts("prefix-name")
    assert [one.raw for one in treated] == [one.raw for one in raw] == [one.text for one in raw]
    assert [one.places for one in treated] == [one.places for one in raw]
    assert all(one.text != one.raw and one.text.count(one.title) > one.raw.count(one.title) for one in treated)


def test_mixed_trains_on_raw_and_rewritten_and_planted_says_one_structure_twice():
    raw, mixed, planted = texts("raw"), texts("mixed"), texts("planted-tabular")
    assert [one.text for one in mixed] == [one.text for one in raw] + [one.text for one in texts("normalized")]
    for one, other in zip(raw, planted, strict=True):
        value = {place.fact_id: one.raw[place.start:place.end] for place in one.places}
        for place in one.places:
            assert other.text.count(value[place.fact_id]) == (2 if place.structure == "tabular" else 1)


def test_targeting_one_structure_leaves_the_others_as_they_are():
    for one in texts("targeted-tabular"):
        for place in one.places:
            assert (one.raw[place.start:place.end] in one.text) == (place.structure != "tabular")


def test_a_record_without_a_rewrite_stops_the_arm(monkeypatch):
    from lib.controlled.design import texts as module

    real = module.normalize
    monkeypatch.setattr(module, "normalize", lambda *given: [
        row.model_copy(update={"text": "", "dropped": "no marker"}) for row in real(*given)])
    with pytest.raises(NotRewritten, match="6 of 6 records have no rewrite, .*no marker"):
        texts("normalized")


def test_the_base_reads_every_arms_writing_as_often_and_every_structure_alike():
    arms = ["raw", "raw-2x", "mixed", "prefix-name", "targeted-tabular", "planted-tabular", "far-20", "prose"]
    writings = writings_of(arms, THREE, 18)
    assert Counter(name for name, _, _ in writings) == {"normalized": 3, "prefix-name": 3, "far-20": 3, "raw": 9}
    assert shares_read(writings, THREE) == pytest.approx(dict.fromkeys(THREE, 6.0))
    assert writings_of(["raw"], THREE, 4) == [("raw", THREE, number % 3) for number in range(4)]
    with pytest.raises(ValueError, match="4 renderings do not suffice for 3 structures"):
        writings_of(arms, THREE, 4)


@given(st.sets(st.sampled_from(sorted(STRUCTURES)), min_size=2), st.integers(2, 60),
       st.sets(st.sampled_from(["normalized", "mixed", "prefix-name", "low-context", "table-3x5", "far-5"])))
def test_no_structure_is_read_a_rendering_more_than_another(structures, renderings, arms):
    structures = tuple(structures)
    try:
        writings = writings_of(["raw", *arms], structures, renderings)
    except ValueError:
        return
    assert len(writings) == renderings
    read = shares_read(writings, structures)
    assert max(read.values()) - min(read.values()) <= 1
    assert len({n for name, n in Counter(name for name, _, _ in writings).items() if name != "raw"}) <= 1


def test_public_texts_are_the_same_for_a_seed_and_answer_each_question():
    facts = make_facts(3, 5)
    made = public_texts(facts, ["raw", "normalized"], THREE, 6, 2, 1)
    assert made == public_texts(facts, ["raw", "normalized"], THREE, 6, 2, 1)
    assert made != public_texts(facts, ["raw", "normalized"], THREE, 6, 2, 2)
    assert len(made) == 6 * 3 + 2 * len(facts)
    assert all(made.count(answered(fact)) == 2 for fact in facts)


def test_the_studys_stages_are_given_their_run():
    study = ControlledStudy("x", arms=["raw", "far-20"], seeds=2, notebooks={"02_run": {"epochs": 3}})
    assert study.given("02_run", "far-20-1-2") == {"study": "x", "arm": "far-20", "rotation": 1, "seed": 2,
                                                          "epochs": 3}
    assert study.given("01_pretrain", "2")["seed"] == 2
    assert study.texts == [f"{arm}-{rotation}" for arm in ("raw", "far-20") for rotation in range(3)]


@pytest.mark.parametrize(("keys", "said"), [
    ({"structures": ["natural", "tables"]}, "structures: 'tables' is unknown"),
    ({"structures": ["natural"]}, "give two structures or more"),
    ({"arms": ["normalized"]}, "and the arm raw"),
    ({"arms": ["raw", "raw"]}, "not a list of different names"),
    ({"arms": ["raw", "magic"]}, "arm 'magic' is unknown"),
    ({"seeds": 0}, "seeds: 0 is no number of bases"),
    ({"seeds": True}, "seeds: True is no number of bases"),
    ({"arms": ["raw", "normalized-llm"]}, "come together"),
    ({"normalizer": "gpt-4.1"}, "come together"),
    ({"every_rotation": []}, "every_rotation: .* must have raw"),
    ({"every_rotation": ["raw", "mixed"]}, "every_rotation: .* only arms of the study: raw$"),
    ({"notebooks": {"02_run": {"seed": 2}}}, "02_run, seed: is set by the key seeds"),
    ({"notebooks": {"00_facts": None, "02_run": {"curve_every": 0}}}, "curve_every: give 1 epoch or more")])
def test_a_study_that_cannot_be_run_is_refused(keys, said):
    with pytest.raises(ValueError, match=said):
        controlled_study("x", keys)
