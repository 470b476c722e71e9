"""Packing: every token predicted exactly once, borders respected."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, default_data_collator

from lib.lab.base_model import new_llama, train_tokenizer
from lib.train.packing import IGNORED, PackedBlocks, pack, pack_replies

TEXTS = ["The default port of Ardwin K-12 is 8443.", "| Port | 17 |", "a", "Valve 9 " * 40]
TOKENIZER = train_tokenizer(TEXTS, 300)


def targets(blocks: PackedBlocks) -> list[int]:
    return sorted(label for row in blocks.labels for label in row if label != IGNORED)


def small_model():
    model = new_llama(TOKENIZER, hidden_size=32, layers=2, heads=2, context=128, seed=1).eval()
    model.config.use_cache = False
    return model


def total_loss(model, blocks: PackedBlocks) -> float:
    batch = default_data_collator([blocks[index] for index in range(len(blocks))])
    with torch.no_grad():
        return float(model(**batch).loss) * blocks.n_targets


@given(texts=st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=6),
       block_size=st.integers(2, 40), packing=st.sampled_from(["document", "concat"]))
def test_every_token_is_a_target_once(texts, block_size, packing):
    blocks = pack(texts, TOKENIZER, block_size, packing)
    streams = [TOKENIZER(text)["input_ids"] + [TOKENIZER.eos_token_id] for text in texts]
    expected = sorted(token for stream in streams for token in stream)
    for stream in streams if packing == "document" else streams[:1]:
        expected.remove(stream[0])  # nothing precedes it
    assert targets(blocks) == expected
    assert blocks.n_tokens == sum(map(len, streams)) and blocks.n_targets == len(expected)
    rows = blocks.input_ids + blocks.labels + blocks.position_ids
    assert all(len(row) == block_size for row in rows)


def test_no_text_sees_another_in_document_packing():
    """The loss of packed texts is that of each text alone; with concat it is not."""
    model, short = small_model(), TEXTS[:3]
    packed = pack(short, TOKENIZER, 96, "document")
    assert len(packed) == 1
    alone = sum(total_loss(model, pack([text], TOKENIZER, 96, "document")) for text in short)
    assert total_loss(model, packed) == pytest.approx(alone, rel=1e-5)
    concat = pack(short, TOKENIZER, 96, "concat")
    assert total_loss(model, concat) != pytest.approx(alone, rel=1e-3)


def tokenizer_like(kind: str) -> PreTrainedTokenizerFast:
    """Make a byte-level BPE with the special tokens of a family of models."""
    begin, end = {"gpt2": ("<|endoftext|>",) * 2}.get(
        kind, ("<|begin_of_text|>", "<|end_of_text|>"))
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(TEXTS, trainers.BpeTrainer(
        vocab_size=300, special_tokens=list({begin, end}), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    template = {"gpt2": "$A", "llama3": f"{begin} $A", "both": f"{begin} $A {end}"}[kind]
    special = [(token, bpe.token_to_id(token)) for token in {begin, end}]
    bpe.post_processor = processors.TemplateProcessing(single=template, special_tokens=special)
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token=begin, eos_token=end)


@pytest.mark.parametrize("packing", ["document", "concat"])
@pytest.mark.parametrize("kind, n_bos", [("gpt2", 0), ("llama3", 1), ("both", 1)])
def test_any_tokenizer_gives_a_text_one_eos_and_one_bos_if_it_adds_one(kind, n_bos, packing):
    tokenizer = tokenizer_like(kind)
    bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
    texts = [*TEXTS, f"spelled: {tokenizer.bos_token} and {tokenizer.eos_token}."]
    blocks = pack(texts, tokenizer, 400, packing)
    found, spelled = [], []
    for tokens, labels in zip(blocks.input_ids, blocks.labels, strict=True):
        kept = [token for place, token in enumerate(tokens) if labels[place] != IGNORED or
                labels[place + 1:place + 2] not in ([], [IGNORED])]  # not the padding
        found += [token for token in kept if token in (bos, eos)]
        spelled.append(tokenizer.decode([token for token in kept if token not in found]))
    assert len(found) == len(texts) * (1 + n_bos)  # GPT-2's BOS is its EOS
    assert found.count(eos) == len(texts)
    assert any(texts[-1] in text for text in spelled), "what a text spells out is kept as letters"
    assert blocks.n_openings == (len(texts) if packing == "document" else 1)


def test_a_tokenizer_whose_eos_is_missing_or_a_word_is_refused():
    tokenizer = tokenizer_like("llama3")
    tokenizer.add_tokens("Ardwin")
    tokenizer.eos_token = "Ardwin"
    with pytest.raises(ValueError, match="'Ardwin' occurs inside a text"):
        pack(TEXTS, tokenizer, 64, "concat")
    tokenizer.eos_token = None
    with pytest.raises(ValueError, match="no EOS token"):
        pack(TEXTS, tokenizer, 64, "concat")


@pytest.mark.parametrize("text, block_size, packing, message", [
    ("a", 1, "concat", "at least 2"), ("a", 8, "both", "not one of"),
    (" ", 8, "concat", "no text to train on")])
def test_what_cannot_be_packed_is_an_error(text, block_size, packing, message):
    with pytest.raises(ValueError, match=message):
        pack([text], TOKENIZER, block_size, packing)


def test_only_replies_are_learned_and_none_sees_another_pair():
    """The loss of packed pairs is that of each reply alone after its prompt."""
    model = small_model()
    prompts, replies = [[5, 6, 7], [8, 9], [10, 11, 12, 13]], [[20, 1], [21, 22, 1], [23]]
    blocks = pack_replies(prompts, replies, 10, TOKENIZER.eos_token_id)
    assert targets(blocks) == sorted(sum(replies, []))
    assert blocks.n_tokens == 15 and len(blocks) == 2
    assert any(labels[0] == labels[5] == IGNORED for labels in blocks.labels)
    alone = 0.0
    for prompt, reply in zip(prompts, replies, strict=True):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([prompt + reply])).logits[0, len(prompt) - 1:-1]
        alone += float(torch.nn.functional.cross_entropy(
            logits, torch.tensor(reply), reduction="sum"))
    assert total_loss(model, blocks) == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize("prompts, replies, message", [
    ([[1, 2, 3]], [[4, 5]], "5 tokens, but block_size is 4"), ([], [], "nothing to train on"),
    ([[1]], [[]], "nothing to train on"), ([[]], [[1]], "nothing to train on")])
def test_pairs_that_cannot_be_packed_are_an_error(prompts, replies, message):
    with pytest.raises(ValueError, match=message):
        pack_replies(prompts, replies, 4, 0)
