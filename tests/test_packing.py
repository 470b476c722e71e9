"""Packing: every token predicted exactly once, borders respected."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import default_data_collator

from lib.laboratory_base import new_llama, train_tokenizer
from lib.packing import IGNORED, pack

TEXTS = ["The default port of Ardwin K-12 is 8443.", "| Port | 17 |", "a", "Valve 9 " * 40]
TOKENIZER = train_tokenizer(TEXTS, 300)


def targets(blocks) -> list[int]:
    return sorted(label for row in blocks.labels for label in row if label != IGNORED)


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=6), block_size=st.integers(2, 40),
       packing=st.sampled_from(["document", "concat"]))
def test_every_token_is_a_target_once(texts, block_size, packing):
    blocks = pack(texts, TOKENIZER, block_size, packing)
    streams = [TOKENIZER(text)["input_ids"] + [TOKENIZER.eos_token_id] for text in texts]
    opened = [stream[0] for stream in (streams if packing == "document" else streams[:1])]
    expected = sorted(token for stream in streams for token in stream)
    for token in opened:  # nothing stands before it
        expected.remove(token)
    assert targets(blocks) == expected
    assert blocks.n_tokens == sum(map(len, streams)) and blocks.n_targets == len(expected)
    assert all(len(row) == block_size for row in blocks.input_ids + blocks.labels + blocks.position_ids)


def test_each_text_has_one_bos_and_one_eos():
    blocks = pack(TEXTS, TOKENIZER, 64, "concat")
    stream = [token for row in blocks.labels for token in row if token != IGNORED]
    assert stream.count(TOKENIZER.eos_token_id) == len(TEXTS)
    assert stream.count(TOKENIZER.bos_token_id) == len(TEXTS) - 1  # the first opens the stream


def test_no_text_sees_another_in_document_packing():
    """The loss of packed texts is that of each text alone; with concat it is not."""
    model = new_llama(TOKENIZER, hidden_size=32, layers=2, heads=2, context=128, seed=1).eval()
    model.config.use_cache = False

    def loss(texts: list[str], packing: str, block_size: int = 96) -> float:
        blocks = pack(texts, TOKENIZER, block_size, packing)
        batch = default_data_collator([blocks[index] for index in range(len(blocks))])
        with torch.no_grad():
            return float(model(**batch).loss) * blocks.n_targets

    short = TEXTS[:3]
    assert len(pack(short, TOKENIZER, 96, "document")) == 1
    alone = sum(loss([text], "document") for text in short)
    assert loss(short, "document") == pytest.approx(alone, rel=1e-5)
    assert loss(short, "concat") != pytest.approx(alone, rel=1e-3)


@pytest.mark.parametrize("arguments, message", [
    ((["a"], 1, "concat"), "at least 2"), ((["a"], 8, "both"), "not one of"),
    (([" "], 8, "concat"), "no text to train on")])
def test_what_cannot_be_packed_says_why(arguments, message):
    texts, block_size, packing = arguments
    with pytest.raises(ValueError, match=message):
        pack(texts, TOKENIZER, block_size, packing)
