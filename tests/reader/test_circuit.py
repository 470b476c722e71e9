"""The circuits: an untrained Llama continues repeated text."""

import torch

from lib.lab.base_model import new_llama, train_tokenizer
from lib.reader.circuit import induce

TOKENIZER = train_tokenizer(["abcdefgh " * 20], 260)


def continued(is_induced: bool, seed: int) -> float:
    """Return the share of the second half of random repeated tokens that is predicted."""
    model = new_llama(TOKENIZER, hidden_size=256, layers=3, heads=4, context=512, seed=seed,
                      rope_theta=500_000.0).eval()
    if is_induced:
        induce(model, seed)
    half = torch.randperm(250, generator=torch.Generator().manual_seed(seed))[:100] + 3
    tokens = torch.cat([half, half])
    with torch.no_grad():
        told = model(input_ids=tokens[None]).logits[0].argmax(-1)
    return float((told[100:-1] == tokens[101:]).float().mean())


def test_repeated_text_is_continued_before_any_training_and_not_without_the_circuit():
    assert min(continued(True, seed) for seed in (1, 2, 3)) > 0.5
    assert max(continued(False, seed) for seed in (1, 2, 3)) < 0.1
