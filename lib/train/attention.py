"""Attention by batched products, for a small model faster on a CPU than fused kernels.

Each product takes ROWS queries and only the keys up to the last of these queries, so most of what a
causal mask hides is never computed. All attention except plain causal attention over one block goes
to PyTorch's own kernels (SDPA).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.autograd.function import once_differentiable
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "batched_products"
ROWS = 80  # queries per product; 64 to 160 are equally fast at 320 tokens
MOST_TOKENS = 1280  # per block; longer ones keep too many probabilities for the backward pass
_HIDDEN = torch.finfo(torch.bfloat16).min  # also in float32; -inf would make rows of padding NaN


@contextmanager
def fastest_attention(
    model: PreTrainedModel, block_size: int, device: torch.device | None = None
) -> Iterator[None]:
    """Let `model` compute attention by batched products if that is faster: small blocks on a CPU.

    `device` is where the model will compute, if it is not there yet. Only SDPA is replaced, because
    only SDPA is known to compute softmax(QK')V.
    """
    before = model.config._attn_implementation
    on_cpu = (device or model.device).type == "cpu"
    if on_cpu and before == "sdpa" and block_size <= MOST_TOKENS:
        model.set_attn_implementation(NAME)
    try:
        yield
    finally:
        if model.config._attn_implementation != before:
            model.set_attn_implementation(before)


def _causal_mask(*, dtype=torch.float32, **how):
    # The mask to add to the scores: 0 or _HIDDEN (batch, 1, T, T), SDPA's if not causal. Built once
    # per forward pass, in the type that attention computes in, so that no layer has to convert it.
    seen = sdpa_mask(**{**how, "allow_is_causal_skip": False})
    if seen.shape[-2] != seen.shape[-1] or seen.triu(1).any():
        return seen
    if torch.is_autocast_enabled(seen.device.type):
        dtype = torch.get_autocast_dtype(seen.device.type)
    return torch.zeros_like(seen, dtype=dtype).masked_fill_(~seen, _HIDDEN)


def _attend(module, query, key, value, mask, **how):
    # transformers' interface: `query` is (B, H, T, D), `key` and `value` are (B, KV, T, D), the
    # result is (B, T, H, D). Dropout, a position bias and any other mask go to SDPA.
    is_plain = mask is not None and mask.is_floating_point() and not how.get("dropout")
    if not is_plain or how.get("position_bias") is not None:
        return sdpa_attention_forward(module, query, key, value, mask, **how)
    repeats = query.shape[1] // key.shape[1]
    scaled = query * (how.get("scaling") or query.shape[-1] ** -0.5)
    # In autocast, rotary positions return float32, so queries and keys get the values' type.
    heads = (
        scaled.to(value.dtype),
        repeat_kv(key.to(value.dtype), repeats),
        repeat_kv(value, repeats),
    )
    output = _Attention.apply(*(states.flatten(0, 1) for states in heads), mask)  # (B * H, T, D)
    return output.view(*query.shape[:3], -1).transpose(1, 2).contiguous(), None


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, mask):
        output = query.new_empty(*query.shape[:2], value.shape[-1])
        probabilities = []
        for start in range(0, query.shape[1], ROWS):
            rows = query[:, start : start + ROWS]
            end = start + rows.shape[1]
            scores = torch.bmm(rows, key[:, :end].transpose(1, 2))  # (B * H, rows, end)
            scores.view(len(mask), -1, *scores.shape[1:]).add_(mask[:, :, start:end, :end])
            probabilities.append(scores.softmax(-1))
            output[:, start:end] = torch.bmm(probabilities[-1], value[:, :end])
        ctx.save_for_backward(query, key, value, *probabilities)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        query, key, value, *probabilities = ctx.saved_tensors
        d_query, d_key, d_value = (
            torch.empty_like(query),
            torch.zeros_like(key),
            torch.zeros_like(value),
        )
        for shares in probabilities:
            end = shares.shape[2]
            rows = slice(end - shares.shape[1], end)
            d_value[:, :end].baddbmm_(shares.transpose(1, 2), gradient[:, rows])
            d_shares = torch.bmm(gradient[:, rows], value[:, :end].transpose(1, 2))
            d_scores = torch._softmax_backward_data(d_shares, shares, -1, shares.dtype)
            d_query[:, rows] = torch.bmm(d_scores, key[:, :end])
            d_key[:, :end].baddbmm_(d_scores.transpose(1, 2), query[:, rows])
        return d_query, d_key, d_value, None


AttentionInterface.register(NAME, _attend)
AttentionMaskInterface.register(NAME, _causal_mask)
