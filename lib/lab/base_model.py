"""Make the laboratory's base model, a small Llama and its tokenizer, from public records."""

import random

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from lib.core.records import Document, Fact, Query
from lib.core.text import listed
from lib.infer.prompts import prompt_for
from lib.lab.documents import facts_asked

# The base is not a chat model, but servers need a template: this one only joins the messages.
_CHAT = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}"


def train_tokenizer(texts: list[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Train byte-level BPE that splits digits: a number in one token could be guessed by luck."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=["<s>", "</s>", "<pad>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>",
        padding_side="left", clean_up_tokenization_spaces=False, chat_template=_CHAT)


def new_llama(tokenizer: PreTrainedTokenizerFast, *, hidden_size: int, layers: int, heads: int,
              context: int, seed: int) -> LlamaForCausalLM:
    """Return an untrained Llama with tied embeddings; the same seed gives the same weights."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=hidden_size,
        intermediate_size=hidden_size * 8 // 3 // 8 * 8, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=heads, max_position_embeddings=context,
        rope_parameters={"rope_theta": 10_000.0, "rope_type": "default"},
        tie_word_embeddings=True, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id))


def pretraining_texts(documents: list[Document], queries: list[Query], facts: list[Fact],
                      repeats: int, seed: int) -> list[str]:
    """Return public records once and their questions, with answers, `repeats` times, all shuffled.

    An answer is the fact that the source reference overlaps; a list is answered as in prose in
    every structure. Raises ValueError if a query asks for none of `facts`.
    """
    texts = [document.text for document in documents]
    for query in queries:
        found = facts_asked(query, facts)
        if not found:
            raise ValueError(f"{query.question!r} asks for none of the laboratory's facts")
        texts += [f"{prompt_for(query.question)} {listed(found[0].value)}"] * repeats
    random.Random(seed).shuffle(texts)
    return texts
