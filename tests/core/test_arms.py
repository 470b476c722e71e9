"""Names of arms that are trained with several seeds, and their order."""

import pytest

from lib.core.arms import is_trained, split_arm


def test_some_arms_are_trained_and_any_other_is_a_model_as_it_is():
    assert all(map(is_trained, ["dapt", "dapt@3", "dapt-n", "dapt-n@2", "dapt-x", "tuned-hint"]))
    others = ["base", "gpt-4o", "llama-70b", "solver", "daptx", "tunedlike"]
    assert not any(map(is_trained, others))


@pytest.mark.parametrize("name", ["", "@2", "dapt@", "dapt@1", "dapt@02", "dapt@2@3", "dapt@x"])
def test_a_name_of_another_form_is_refused(name):
    with pytest.raises(ValueError, match="dapt@2"):
        split_arm(name)
