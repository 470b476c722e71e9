"""Make the laboratory's base model, a small Llama and its tokenizer, from public records."""

from collections.abc import Collection
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from lib.core.records import Document, Fact
from lib.core.text import listed
from lib.infer.prompts import prompt_for
from lib.lab.documents import public_records
from lib.lab.engines import question
from lib.lab.products import Product

# The base is not a chat model, but servers need a template: this one only joins the messages.
_CHAT = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}"


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
    """Return an untrained Llama with tied embeddings; the same seed gives the same weights."""
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


@dataclass(frozen=True)
class World:
    """The public records of a base, all renderings, and the facts of the first."""

    documents: list[Document]
    facts: list[Fact]
    question_repeats: int

    def texts(self, products: Collection[str] = ()) -> list[str]:
        """Return the records of `products` (default: all) and their questions with answers."""
        documents = [one.text for one in self.documents if not products or one.title in products]
        questions = [answered(one) for one in self.facts if not products or one.entity in products]
        return documents + questions * self.question_repeats


def make_world(
    products: list[Product], seed: int, renderings: int, table_share: float, question_repeats: int
) -> World:
    """Return what every base reads: the recipe is the same in all studies."""
    made = public_records(products, seed, renderings, table_share)
    return World([one for documents, _ in made for one in documents], made[0][1], question_repeats)


def answered(fact: Fact) -> str:
    """Return the question about a fact with its answer; a list is answered as in prose."""
    return f"{prompt_for(question(fact))} {listed(fact.value)}"
