"""The cache holds what transformers' own holds, token by token and row by row, and makes room once for many tokens."""

import pytest
import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM, MistralConfig

from lib.infer.kv_cache import ROOM, growing_cache

CONFIG = LlamaConfig(vocab_size=50, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
                     num_key_value_heads=2)


def steps(cache, model, ids):
    """Logits after a prompt of 70 tokens and each of 150 more; one of the three rows leaves after 100."""
    logits = []
    for start, end in ((0, 70), *((at, at + 1) for at in range(70, 220))):
        if start == 170:
            cache.batch_select_indices(torch.tensor([0, 2]))
            ids = ids[[0, 2]]
        logits.append(model(ids[:, start:end], past_key_values=cache, use_cache=True).logits[:, -1])
    return logits


@torch.inference_mode()
def test_logits_are_those_of_transformers_own_cache():
    torch.manual_seed(3)
    model = LlamaForCausalLM(CONFIG).eval()
    ids, ours = torch.randint(50, (3, 220)), growing_cache(CONFIG)
    for one, other in zip(steps(ours, model, ids), steps(DynamicCache(config=CONFIG), model, ids), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
    assert ours.get_seq_length() == 220 and ours.layers[1].keys.shape == (2, 2, 220, 8)


def test_room_is_made_once_for_many_tokens():
    layer = growing_cache(CONFIG).layers[0]
    rooms = [None]
    for _ in range(3 * ROOM):
        layer.update(torch.ones(1, 2, 1, 8), torch.ones(1, 2, 1, 8))
        rooms += [layer.room] if layer.room is not rooms[-1] else []
    assert len(rooms) - 1 == 3 and layer.get_seq_length() == 3 * ROOM and bool((layer.values == 1).all())


def test_what_else_transformers_does_with_a_cache_holds_too():
    ours, theirs = growing_cache(CONFIG), DynamicCache(config=CONFIG)
    order = torch.tensor([2, 0, 1])
    for cache in (ours, theirs):
        torch.manual_seed(5)
        for change in (lambda cache: None, lambda cache: cache.reorder_cache(order), lambda cache: cache.crop(-4),
                       lambda cache: cache.batch_repeat_interleave(2), lambda cache: cache.batch_select_indices(order),
                       lambda cache: cache.reset()):
            for layer in range(2):
                rows = len(cache.layers[layer].keys) if cache.get_seq_length(layer) else 3
                states = torch.randn(rows, 2, 5, 8)
                cache.update(states, states + 1, layer)
            change(cache)
        states = torch.randn(2, 2, 3, 8)
        cache.update(states, states + 1, 0)
    assert ours.layers[0].keys.shape == (2, 2, 3, 8)
    torch.testing.assert_close(ours.layers[0].values, theirs.layers[0].values, rtol=0, atol=0)


@pytest.mark.parametrize("n_tokens", [3, 20])
def test_a_layer_with_a_sliding_window_stays_as_it_is(n_tokens):
    cache = growing_cache(MistralConfig(num_hidden_layers=1, sliding_window=8))
    cache.update(torch.ones(1, 2, n_tokens, 4), torch.ones(1, 2, n_tokens, 4), 0)
    assert cache.layers[0].is_sliding and cache.layers[0].keys.shape[-2] == min(n_tokens, 7)
