"""Decoding in batches: token by token what each prompt gets alone, for each family of models."""

import random

import pytest
import torch
from transformers import (
    CONFIG_MAPPING,
    AutoModelForCausalLM,
    PreTrainedModel,
)

from lib.infer import generate
from lib.infer.generate import continuations
from lib.infer.loglik import Sequence, likelihood, token_scores
from lib.lab.bases import train_tokenizer

TOKENIZER = train_tokenizer(["Question: Who is it?\nAnswer: nobody"], 300)
SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
SLIDING = {**SMALL, "num_key_value_heads": 2, "sliding_window": 8}
FAMILIES = {  # rotary or learned positions, shared keys, sliding attention in all or some layers
    "llama": SMALL,
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 2},
    "gpt_neox": SMALL,
    "mistral": SLIDING,
    "gemma3_text": {**SLIDING, "num_hidden_layers": 6, "head_dim": 8},
}


@pytest.fixture(params=FAMILIES)
def model(request) -> PreTrainedModel:
    """Return a small untrained model whose next token depends on those before it."""
    torch.manual_seed(0)
    config = CONFIG_MAPPING[request.param](
        vocab_size=len(TOKENIZER),
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
        **FAMILIES[request.param],
    )
    model = AutoModelForCausalLM.from_config(config).eval()
    for weights in model.parameters():
        if weights.dim() > 1:
            torch.nn.init.normal_(weights, std=0.3)
    return model


@pytest.fixture
def prompts() -> list[list[int]]:
    drawn = random.Random(0)
    return [
        [0] + [drawn.randrange(3, len(TOKENIZER)) for _ in range(drawn.randrange(3, 25))]
        for _ in range(6)
    ]


@pytest.mark.parametrize("long", [0, 512])  # tokens from which the cache has a fixed length
def test_a_ragged_batch_continues_as_each_prompt_does_alone_by_generate(
    model, prompts, long, monkeypatch
):
    monkeypatch.setattr(generate, "LONG", long)
    budgets = [12, 3, 20, 7, 20, 1]
    found = continuations(model, TOKENIZER, prompts, budgets)
    for prompt, budget, row in zip(prompts, budgets, found, strict=True):
        alone = model.generate(
            torch.tensor([prompt]),
            do_sample=False,
            max_new_tokens=budget,
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
        )
        alone = alone[0, len(prompt) :].tolist()
        assert row.tokens + ([1] if len(row.tokens) < len(alone) else []) == alone
        assert row.truncated == (alone[-1] != 1)
    assert len({tuple(row.tokens[:1]) for row in found}) > 1, "the prompts matter"


def test_a_ragged_batch_is_scored_as_each_sequence_is_alone(model, prompts):
    sequences = [Sequence(prompt, [len(prompt) - 2, len(prompt) - 1]) for prompt in prompts]
    together, alone = (
        list(map(likelihood, token_scores(model, sequences, size))) for size in (6, 1)
    )
    assert [one.loglik for one in together] == pytest.approx(
        [one.loglik for one in alone], abs=1e-4
    )
