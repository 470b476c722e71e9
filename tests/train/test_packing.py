"""Packing: every token predicted exactly once, borders respected."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, default_data_collator

from lib.lab.base_model import new_llama, train_tokenizer
from lib.train.packing import IGNORED, pack, pack_replies

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


def tokenizer_like(kind: str) -> PreTrainedTokenizerFast:
    """Byte-level BPE with the special tokens of a family of models, made on the spot."""
    begin, end = {"gpt2": ("<|endoftext|>",) * 2}.get(kind, ("<|begin_of_text|>", "<|end_of_text|>"))
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    bpe.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=300, special_tokens=list({begin, end}),
                                                       show_progress=False,
                                                       initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    template = {"gpt2": "$A", "llama3": f"{begin} $A", "both": f"{begin} $A {end}"}[kind]
    bpe.post_processor = processors.TemplateProcessing(
        single=template, special_tokens=[(token, bpe.token_to_id(token)) for token in {begin, end}])
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token=begin, eos_token=end)


@pytest.mark.parametrize("packing", ["document", "concat"])
@pytest.mark.parametrize("kind, n_bos", [("gpt2", 0), ("llama3", 1), ("both", 1)])
def test_any_tokenizer_gives_a_text_one_bos_where_it_adds_one_and_one_eos(kind, n_bos, packing):
    tokenizer = tokenizer_like(kind)
    texts = [*TEXTS, f"spelled: {tokenizer.bos_token} and {tokenizer.eos_token}."]
    blocks = pack(texts, tokenizer, 400, packing)
    ends = len(texts) * (1 + n_bos)  # BOS and EOS, which GPT-2 does not tell apart
    found, spelled = [], []
    for tokens, labels in zip(blocks.input_ids, blocks.labels, strict=True):
        kept = [token for place, token in enumerate(tokens) if labels[place] != IGNORED or
                labels[place + 1:place + 2] not in ([], [IGNORED])]  # not the padding
        found += [token for token in kept if token in (tokenizer.bos_token_id, tokenizer.eos_token_id)]
        spelled.append(tokenizer.decode([token for token in kept if token not in found]))
    assert len(found) == ends and found.count(tokenizer.eos_token_id) == len(texts)
    assert any(texts[-1] in text for text in spelled), "what a text spells is kept, as letters"
    assert blocks.n_openings == (len(texts) if packing == "document" else 1)


def test_a_text_with_a_special_token_inside_is_refused():
    tokenizer = tokenizer_like("llama3")
    tokenizer.add_tokens("Ardwin")  # as a tokenizer would be that has a word of the text for its EOS
    tokenizer.eos_token = "Ardwin"
    with pytest.raises(ValueError, match="'Ardwin' stands within a text"):
        pack(TEXTS, tokenizer, 64, "concat")


def test_a_tokenizer_without_eos_is_refused():
    tokenizer = tokenizer_like("llama3")
    tokenizer.eos_token = None
    with pytest.raises(ValueError, match="no EOS token"):
        pack(TEXTS, tokenizer, 64, "concat")


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_the_weights_of_attention_across_a_border_are_zero(attention):
    """Another first text leaves the logits of the second, to the last bit, what they were; in concat it does not."""
    model = new_llama(TOKENIZER, hidden_size=32, layers=2, heads=2, context=128, seed=1).eval()
    model.config.use_cache = False
    model.set_attn_implementation(attention)

    def last(first: str, packing: str) -> torch.Tensor:
        blocks = pack([first, TEXTS[1]], TOKENIZER, 96, packing)
        assert len(blocks) == 1 and blocks.has_borders == (packing == "document")
        own = [position for position, label in enumerate(blocks.labels[0]) if label != IGNORED][-5:]
        with torch.no_grad():
            return model(input_ids=torch.tensor(blocks.input_ids),
                         position_ids=torch.tensor(blocks.position_ids)).logits[0, own]

    one, other = TEXTS[0], TEXTS[0].replace("8443", "8444")
    assert torch.equal(last(one, "document"), last(other, "document"))
    assert not torch.equal(last(one, "concat"), last(other, "concat"))


def test_a_block_that_only_fills_up_carries_no_loss():
    blocks = pack(TEXTS, TOKENIZER, 32, "document")
    even = blocks.padded_to(len(blocks) + 1)
    assert len(even) == len(blocks) + 1 and set(even.labels[-1]) == {IGNORED}
    assert even.n_targets == blocks.n_targets and blocks.padded_to(1) == blocks
    padded = pack(TEXTS[:1], TOKENIZER, 96, "concat")
    assert IGNORED in padded.labels[0][1:] and not padded.has_borders


@pytest.mark.parametrize("arguments, message", [
    ((["a"], 1, "concat"), "at least 2"), ((["a"], 8, "both"), "not one of"),
    (([" "], 8, "concat"), "no text to train on")])
def test_what_cannot_be_packed_says_why(arguments, message):
    texts, block_size, packing = arguments
    with pytest.raises(ValueError, match=message):
        pack(texts, TOKENIZER, block_size, packing)


def test_only_replies_are_learned_and_none_sees_another_pair():
    """The loss of packed pairs is that of each reply alone after its prompt, by the model's own probabilities."""
    model = new_llama(TOKENIZER, hidden_size=32, layers=2, heads=2, context=128, seed=1).eval()
    model.config.use_cache = False
    prompts, replies = [[5, 6, 7], [8, 9], [10, 11, 12, 13]], [[20, 1], [21, 22, 1], [23]]
    blocks = pack_replies(prompts, replies, 10, TOKENIZER.eos_token_id)
    assert targets(blocks) == sorted(sum(replies, [])) and blocks.n_tokens == 15 and len(blocks) == 2
    assert any(labels[0] == labels[5] == IGNORED for labels in blocks.labels)
    batch = default_data_collator([blocks[index] for index in range(len(blocks))])
    with torch.no_grad():
        packed = float(model(**batch).loss) * blocks.n_targets
        alone = 0.0
        for prompt, reply in zip(prompts, replies, strict=True):
            logits = model(input_ids=torch.tensor([prompt + reply])).logits[0, len(prompt) - 1:-1]
            alone += float(torch.nn.functional.cross_entropy(logits, torch.tensor(reply), reduction="sum"))
    assert packed == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize("prompts, replies, message", [
    ([[1, 2, 3]], [[4, 5]], "5 tokens, but block_size is 4"), ([], [], "nothing to train on"),
    ([[1]], [[]], "nothing to train on"), ([[]], [[1]], "nothing to train on")])
def test_pairs_that_cannot_be_packed_say_why(prompts, replies, message):
    with pytest.raises(ValueError, match=message):
        pack_replies(prompts, replies, 4, 0)
