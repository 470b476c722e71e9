"""Names of arms that are trained with several seeds, and their order."""

import pytest

from lib.core.arms import is_trained, repeated, sorted_arms, split_arm


def test_every_name_of_a_repeated_arm_says_its_arm_and_number():
    assert repeated("dapt-n", 3) == ["dapt-n", "dapt-n@2", "dapt-n@3"]
    assert list(map(split_arm, repeated("dapt-n", 12))) == [("dapt-n", n) for n in range(1, 13)]


def test_arms_have_one_order_whatever_order_they_come_in():
    assert sorted_arms(["x", "dapt-n", "dapt@2", "base", "dapt", "x", "a"]) == [
        "base", "dapt", "dapt@2", "dapt-n", "x", "a"]


def test_some_arms_are_trained_and_any_other_is_a_model_as_it_is():
    assert all(map(is_trained, ["dapt", "dapt@3", "dapt-n", "dapt-n@2", "tuned", "tuned-hint"]))
    others = ["base", "gpt-4o", "llama-70b", "solver", "dapt-x", "tunedlike"]
    assert not any(map(is_trained, others))


@pytest.mark.parametrize("name", ["", "@2", "dapt@", "dapt@1", "dapt@02", "dapt@2@3", "dapt@x"])
def test_a_name_of_another_form_is_refused(name):
    with pytest.raises(ValueError, match="dapt@2"):
        split_arm(name)
