"""Segments cover their documents, keep the limit and count their tokens truly."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from lib.records import Document
from lib.segments import segment

TEXT = ("# Corvane P-417\n\nThe default port is 8443. It listens on all interfaces.\n\n- Linux\n- QNX\n\n"
        "| a | b |\n|--|--|\n| 1 | 2 |\n")


def byte_level(corpus: list[str], vocabulary: int = 400) -> PreTrainedTokenizerFast:
    """A byte-level BPE trained on `corpus`, single digits, with a special token that no count may hold."""
    tokenizer = Tokenizer(models.BPE())
    digits, byte = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Sequence([digits, byte]), decoders.ByteLevel()
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=vocabulary, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|end|>"],
        show_progress=False))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|end|>", eos_token="<|end|>")


TOKENIZER = byte_level([TEXT] * 20)


def document(text: str) -> Document:
    return Document(document_id="doc", title="Doc", path="", text=text)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab .\n|#-1é\t\r", max_size=300), st.integers(8, 40))
def test_segments_cover_every_text_in_order(text, limit):
    segments = segment([document(text)], TOKENIZER, limit)
    assert "".join(one.text for one in segments) == text
    assert all(one.text == text[one.start:one.end] and one.text for one in segments)
    assert [one.end for one in segments[:-1]] == [one.start for one in segments[1:]]


def test_a_segment_keeps_the_limit_but_for_the_blanks_after_it():
    segments = segment([document(TEXT * 30)], TOKENIZER, 50)
    assert len(segments) > 10
    assert max(one.n_tokens for one in segments) <= 54
    assert all(one.n_tokens == len(TOKENIZER.encode(one.text, add_special_tokens=False)) for one in segments)


def test_a_long_run_of_blanks_is_a_segment_of_its_own():
    segments = segment([document("The first.\n" + "\n" * 500 + "The last.")], TOKENIZER, 40)
    assert [one.text.strip() for one in segments] == ["The first.", "", "The last."]


def test_ids_number_the_segments_of_each_document():
    both = [document("One."), Document(document_id="other", title="", path="", text="Two.")]
    assert [one.segment_id for one in segment(both, TOKENIZER)] == ["doc-s0000", "other-s0000"]


def test_an_empty_document_has_no_segment_and_a_blank_one_has_one():
    assert segment([document("")], TOKENIZER) == []
    assert [one.text for one in segment([document(" \n\n")], TOKENIZER)] == [" \n\n"]


def test_a_limit_below_one_character_is_refused():
    with pytest.raises(ValueError, match="max_segment_tokens is 7"):
        segment([document("a")], TOKENIZER, 7)
