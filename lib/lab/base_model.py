"""The laboratory's base model: a small Llama and its tokenizer, made from public records and questions on them."""

import random
from collections import defaultdict

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from lib.core.records import Document, Fact, Query
from lib.core.text import listed
from lib.infer.answers import prompt_for


def train_tokenizer(texts: list[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE with single digits: numbers are spelled, so that no value is one lucky token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=["<s>", "</s>", "<pad>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    # The base is no chat model; a chat is its messages' text, so that chat endpoints can serve it as it is.
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>",
                                   padding_side="left", clean_up_tokenization_spaces=False,
                                   chat_template="{{ bos_token }}{% for message in messages %}{{ message['content'] }}"
                                                 "{% endfor %}")


def new_llama(tokenizer: PreTrainedTokenizerFast, *, hidden_size: int, layers: int, heads: int, context: int,
              seed: int) -> LlamaForCausalLM:
    """An untrained Llama with tied embeddings; the same seed gives the same weights."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=hidden_size, intermediate_size=hidden_size * 8 // 3 // 8 * 8,
        num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=heads, max_position_embeddings=context,
        tie_word_embeddings=True, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id))


def answered(query: Query, fact: Fact) -> str:
    """A question with its answer, worded as 04_infer will ask: how the base learns what a question is.

    A list-valued fact is answered as prose names it, "a, b and c", whatever its structure. One layout, because the
    base cannot know which of three is wanted; this one, because arms whose base answered one item a line often broke
    off in another layout after DAPT. What the choice alone is worth has not been isolated.
    """
    return f"{prompt_for(query.question)} {listed(fact.value)}"


def pretraining_texts(documents: list[Document], queries: list[Query], facts: list[Fact], repeats: int,
                      seed: int) -> list[str]:
    """Public records once and their answered questions `repeats` times, in one shuffled list.

    A query is answered with the fact whose place its source reference overlaps.
    Raises ValueError where there is no such fact.
    """
    texts = [document.text for document in documents]
    places = defaultdict(list)
    for fact in facts:
        places[fact.document_id].append(fact)
    for query in queries:
        held = [fact for fact in places[query.document_id] if query.start < fact.end and fact.start < query.end]
        if not held:
            raise ValueError(f"{query.question!r} asks for no fact of the laboratory's ledger")
        texts += [answered(query, held[0])] * repeats
    random.Random(seed).shuffle(texts)
    return texts
