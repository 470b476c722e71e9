"""A model's tokenizer without its model."""

import json
import subprocess
import sys

from transformers import AutoTokenizer

from lib.core.store import REPOSITORY
from lib.lab.bases import train_tokenizer

TEXT = "<s> Pump P-7 delivers 40 l/min;\n| flow | 40 |"
PROGRAM = """import json, sys
from lib.infer.prompts import tokenizer_of
for path in sys.argv[2:]:
    one = tokenizer_of(path)
    print(json.dumps([type(one).__name__, one(sys.argv[1])["input_ids"], "torch" in sys.modules]))
"""
LABORATORY = ("llama", "TokenizersBackend")


def test_a_tokenizer_is_the_one_that_transformers_chooses_and_the_laboratorys_needs_no_torch(
    tmp_path,
):
    kinds = [LABORATORY, ("llama", "LlamaTokenizer"), ("qwen2", "TokenizersBackend")]
    paths = [tmp_path / f"{model}-{kind}" for model, kind in kinds]
    for path, (model, kind) in zip(paths, kinds, strict=True):
        train_tokenizer([TEXT] * 20, 300).save_pretrained(path)
        config = json.loads((path / "tokenizer_config.json").read_text())
        assert config["tokenizer_class"] == LABORATORY[1]
        (path / "tokenizer_config.json").write_text(json.dumps(config | {"tokenizer_class": kind}))
        (path / "config.json").write_text(json.dumps({"model_type": model}))
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, TEXT, *map(str, paths)],
        check=True,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    for path, kind, line in zip(paths, kinds, ran.stdout.splitlines(), strict=True):
        expected = AutoTokenizer.from_pretrained(path)
        assert json.loads(line) == [
            type(expected).__name__,
            expected(TEXT)["input_ids"],
            kind != LABORATORY,
        ]
