"""Attention by batched products equals SDPA's and is used only where it was measured faster."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

from lib.train.corpus import pack
from lib.train.trainer import MOST_TOKENS, PRODUCTS, ROWS, fastest_attention
from tests.train.test_trainer import TEXTS, TOKENIZER, new_model

SIZE = 2 * ROWS + 7  # tokens per block: the last product has fewer rows than the others


def small_llama(key_heads: int = 4, **more: object) -> PreTrainedModel:
    torch.manual_seed(3)
    config = new_model().config.to_dict() | {"num_attention_heads": 4, "initializer_range": 0.2}
    config |= {"num_key_value_heads": key_heads, "use_cache": False, "head_dim": 8}
    return LlamaForCausalLM(LlamaConfig(**config, **more))  # wide, so that attention matters


def packed(packing: str) -> dict[str, torch.Tensor]:
    blocks = pack(TEXTS * 2, TOKENIZER, SIZE, packing)
    return {
        name: torch.tensor(getattr(blocks, name)[:2])
        for name in ("input_ids", "labels", "position_ids")
    }


def padded() -> dict[str, torch.Tensor]:
    """Return two sequences without positions, the first of them padded on the left."""
    batch = packed("concat")
    del batch["position_ids"]
    batch["attention_mask"] = torch.ones_like(batch["input_ids"])
    batch["attention_mask"][0, :90] = 0
    batch["labels"][0, :91] = -100
    return batch


def loss_and_gradients(model: PreTrainedModel, batch: dict[str, torch.Tensor]):
    model.zero_grad()
    loss = model(**batch).loss
    loss.backward()
    return [loss.detach(), *(weights.grad.clone() for weights in model.parameters())]


@pytest.mark.parametrize("key_heads", [4, 2, 1])
@pytest.mark.parametrize(
    "batch", [packed("document"), packed("concat"), padded()], ids=["document", "concat", "padded"]
)
def test_loss_and_gradients_are_those_of_sdpa(batch, key_heads):
    model = small_llama(key_heads)
    expected = loss_and_gradients(model, batch)
    with fastest_attention(model, SIZE):
        assert model.config._attn_implementation == PRODUCTS
        found = loss_and_gradients(model, batch)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_it_replaces_only_sdpa_in_small_blocks_and_leaves_no_trace(tmp_path):
    model, eager = small_llama(), small_llama(attn_implementation="eager")
    with fastest_attention(model, MOST_TOKENS + 1), fastest_attention(eager, SIZE):
        assert model.config._attn_implementation == "sdpa"
        assert eager.config._attn_implementation == "eager"
    with pytest.raises(KeyError), fastest_attention(model, SIZE):
        model.save_pretrained(tmp_path)
        raise KeyError
    assert model.config._attn_implementation == "sdpa"
    assert PRODUCTS not in (tmp_path / "config.json").read_text()
