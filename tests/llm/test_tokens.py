"""A model's tokenizer without its model."""

import json
import subprocess
import sys

import pytest
from transformers import AutoTokenizer

from lib.core.paths import REPOSITORY
from lib.lab.base_model import train_tokenizer

TEXT = "<s> Pump P-7 delivers 40 l/min;\n| flow | 40 |"
PROGRAM = """import json, sys
from lib.llm.tokens import tokenizer_of
one = tokenizer_of({!r})
print(json.dumps([type(one).__name__, one({!r})["input_ids"], "torch" in sys.modules]))"""


@pytest.mark.parametrize("model, kind", [
    ("llama", "TokenizersBackend"), ("llama", "LlamaTokenizer"), ("qwen2", "TokenizersBackend")])
def test_a_tokenizer_is_the_one_that_transformers_chooses_and_the_laboratorys_needs_no_torch(
        model, kind, tmp_path):
    train_tokenizer([TEXT] * 20, 300).save_pretrained(tmp_path)
    path = tmp_path / "tokenizer_config.json"
    config = json.loads(path.read_text())
    assert config["tokenizer_class"] == "TokenizersBackend"
    path.write_text(json.dumps(config | {"tokenizer_class": kind}))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model}))
    ran = subprocess.run([sys.executable, "-c", PROGRAM.format(str(tmp_path), TEXT)], check=True,
                         cwd=REPOSITORY, capture_output=True, text=True)
    name, ids, has_torch = json.loads(ran.stdout)
    expected = AutoTokenizer.from_pretrained(tmp_path)
    assert (name, ids) == (type(expected).__name__, expected(TEXT)["input_ids"])
    assert has_torch == ((model, kind) != ("llama", "TokenizersBackend"))
