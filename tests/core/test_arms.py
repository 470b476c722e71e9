"""Names of arms that are trained with several seeds, and their order."""

import pytest

from lib.core.arms import is_trained, require_one_base, split_arm
from lib.core.store import BadInput, artifact_path, write_json


def test_some_arms_are_trained_and_any_other_is_a_model_as_it_is():
    assert all(map(is_trained, ["dapt", "dapt@3", "dapt-n", "dapt-n@2", "dapt-x", "tuned-hint"]))
    others = ["base", "gpt-4o", "llama-70b", "solver", "daptx", "tunedlike"]
    assert not any(map(is_trained, others))


@pytest.mark.parametrize("name", ["", "@2", "dapt@", "dapt@1", "dapt@02", "dapt@2@3", "dapt@x"])
def test_a_name_of_another_form_is_refused(name):
    with pytest.raises(ValueError, match="dapt@2"):
        split_arm(name)


def test_arms_that_were_trained_on_other_weights_are_in_no_table(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    for arm, weights in (("dapt", "a"), ("dapt-n", "a"), ("dapt@2", "b")):
        path = artifact_path("s", "model", arm=arm) / "training.json"
        write_json(path, {"fingerprint": {"base_weights": weights}})
    require_one_base("s", ["base", "dapt", "dapt-n", "dapt-a"])
    with pytest.raises(BadInput, match="dapt, dapt@2 were trained on different weights"):
        require_one_base("s", ["base", "dapt", "dapt@2"])
