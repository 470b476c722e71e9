"""Packing: every token predicted exactly once, borders respected."""

import copy

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from transformers import default_data_collator

from lib.lab.bases import new_llama, train_tokenizer
from lib.train.corpus import IGNORED, PackedBlocks, pack

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


@given(
    texts=st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=6),
    block_size=st.integers(2, 40),
    packing=st.sampled_from(["document", "concat"]),
)
@example(texts=["<s>"], block_size=2, packing="document")
def test_every_token_is_a_target_once(texts, block_size, packing):
    blocks = pack(texts, TOKENIZER, block_size, packing)
    streams = [
        TOKENIZER(text, split_special_tokens=True)["input_ids"] + [TOKENIZER.eos_token_id]
        for text in texts
    ]
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


def test_a_tokenizer_whose_eos_is_missing_or_a_word_is_refused():
    tokenizer = copy.deepcopy(TOKENIZER)
    tokenizer.add_tokens("Ardwin")
    tokenizer.eos_token = "Ardwin"
    with pytest.raises(ValueError, match="'Ardwin' occurs inside a text"):
        pack(TEXTS, tokenizer, 64, "concat")
    tokenizer.eos_token = None
    with pytest.raises(ValueError, match="no EOS token"):
        pack(TEXTS, tokenizer, 64, "concat")
