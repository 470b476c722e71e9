"""Names of arms that are trained with several seeds."""

import pytest

from lib.core.arms import is_trained, repeated, split_arm


def test_every_name_of_a_repeated_arm_says_its_arm_and_number():
    assert repeated("dapt-n", 3) == ["dapt-n", "dapt-n@2", "dapt-n@3"]
    assert [split_arm(name) for name in repeated("dapt-n", 12)] == [("dapt-n", number) for number in range(1, 13)]


def test_some_arms_are_trained_and_any_other_is_a_model_as_it_is():
    assert all(map(is_trained, ["dapt", "dapt@3", "dapt-n", "dapt-n@2", "tuned", "tuned@2", "tuned-hint"]))
    assert not any(map(is_trained, ["base", "gpt-4o", "llama-70b", "solver", "dapt-x", "tunedlike"]))


@pytest.mark.parametrize("name", ["", "@2", "dapt@", "dapt@1", "dapt@0", "dapt@02", "dapt@2@3", "dapt@x"])
def test_a_name_of_another_form_is_refused(name):
    with pytest.raises(ValueError, match="dapt@2"):
        split_arm(name)
