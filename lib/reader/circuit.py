"""Write circuits into an untrained Llama that training would take millions of tokens to find."""

from typing import NamedTuple

import torch
from transformers import LlamaForCausalLM

_STD = 0.04  # of embeddings; the rest of the weights must not hide them
_SHARP, _SOFT, _AWAY = 2.4, 0.7, 1.35  # of a head's attention by position
_NEAR, _FAR, _SELF = (0.5, 0.25), (0.15, 0.07), (0.12, 0.06)  # rotary frequencies, radians a token
_NEAR_AT, _FAR_AT = 3.0, 12.0  # tokens before the current one


# States that each part of a circuit writes to; embeddings use `own` and the first.
class _Room(NamedTuple):
    own: slice
    before: slice  # the token before
    near: slice  # the last few tokens, mixed
    far: slice  # the tokens before these, mixed


@torch.no_grad()
def induce(model: LlamaForCausalLM, seed: int) -> None:
    """Let the first two layers of `model` look up what they read; training changes all weights.

    An induction head (Olsson et al. 2022) continues repeated text; a head that matches windows of
    words (as Allen-Zhu's Canon layers do) finds values. Raises ValueError for too small a model.
    """
    config, layers = model.config, model.model.layers
    states, width = config.hidden_size, config.hidden_size // config.num_attention_heads
    if len(layers) < 2 or config.num_attention_heads < 4:
        raise ValueError(
            f"{len(layers)} layers with {config.num_attention_heads} heads have no "
            "room for the circuits: give at least 2 layers and 4 heads"
        )
    random = torch.Generator().manual_seed(seed)
    ends = [states - 2 * width, states - width, states - width // 2, states]
    room = _Room(slice(1, ends[0]), *(slice(a, b) for a, b in zip(ends, ends[1:], strict=False)))

    embeddings = model.model.embed_tokens.weight  # (vocabulary, states)
    embeddings.normal_(std=_STD, generator=random)
    embeddings[:, 0] = 4 * _STD  # a constant, for heads to attend by position alone
    embeddings[:, ends[0] :] = 0
    for layer in layers:
        layer.mlp.down_proj.weight.mul_(0.2)
        layer.self_attn.o_proj.weight.mul_(0.5)
    for number, layer in enumerate(layers[1:]):
        _alike(layer.self_attn, config, random, slice(2 * (number == 0), None))
    one = _projection(width, states, room.own, random)
    several = _projection(width // 2, states, room.own, random)
    first, second = (layer.self_attn for layer in layers[:2])
    _look_back(first, config, 0, 1.0, range(min(8, width // 2)), _SHARP, one, room.before, 0.06)
    for head, at, band, written in ((1, _NEAR_AT, _NEAR, room.near), (2, _FAR_AT, _FAR, room.far)):
        _look_back(first, config, head, at, _pairs(config, band), _SOFT, several, written, 0.12)
    bag = _identity(width // 2, states, room.near) + _identity(width // 2, states, room.far)
    _look_up(
        second,
        config,
        0,
        2.2 * one[: width // 2],
        3.3 * _identity(width // 2, states, room.before),
        room.own,
    )
    _look_up(second, config, 1, 1.4 * bag, 1.4 * bag, room.own)
    _turn(second, config, 1, 0.0, _pairs(config, _SELF), _AWAY, -1)  # not to the question itself


# (n, states)
def _projection(n: int, states: int, own: slice, random: torch.Generator) -> torch.Tensor:
    read = torch.zeros(n, states)
    read[:, own] = torch.randn(n, own.stop - own.start, generator=random) / own.stop**0.5
    return read


# (n, states)
def _identity(n: int, states: int, part: slice) -> torch.Tensor:
    read = torch.zeros(n, states)
    read[range(n), range(part.start, part.start + n)] = 1
    return read


def _frequencies(config) -> torch.Tensor:
    half = config.hidden_size // config.num_attention_heads // 2
    return config.rope_parameters["rope_theta"] ** (-torch.arange(half) / half)


def _pairs(config, band: tuple[float, ...]) -> list[int]:
    return [int((_frequencies(config) - each).abs().argmin()) for each in band]


# Rotary positions turn the pair (i, i + half) by position × angle; a query that is turned back by
# `back` positions has its largest product with the key there. With sign -1, its smallest.
def _turn(attention, config, head: int, back: float, pairs, gain: float, sign: int = 1) -> None:
    width = config.hidden_size // config.num_attention_heads
    for pair in pairs:
        angle, row = _frequencies(config)[pair] * back, head * width + pair
        attention.k_proj.weight[row, 0] = gain
        attention.q_proj.weight[row, 0] = sign * gain * angle.cos()
        attention.q_proj.weight[row + width // 2, 0] = -sign * gain * angle.sin()


def _look_back(
    attention,
    config,
    head: int,
    back: float,
    pairs,
    gain: float,
    read: torch.Tensor,
    written: slice,
    scale: float,
) -> None:
    width, n = config.hidden_size // config.num_attention_heads, len(read)
    rows = slice(head * width, (head + 1) * width)
    for weight in (attention.q_proj.weight, attention.k_proj.weight):
        weight[rows] *= 0.2 if gain == _SHARP else 0.05
        weight[rows, 0] = 0
    _turn(attention, config, head, back, pairs, gain)
    attention.v_proj.weight[rows] = 0
    attention.v_proj.weight[head * width : head * width + n] = read
    attention.o_proj.weight[:, rows] = 0
    attention.o_proj.weight[written, head * width : head * width + n] = scale * torch.eye(n)


# Rows that rotary positions hardly turn, so that any distance can match.
def _slow(head: int, width: int) -> list[int]:
    half = width // 2
    return [head * width + part + n for part in (0, half) for n in range(half // 2, half)]


def _alike(attention, config, random: torch.Generator, heads: slice) -> None:
    width = config.hidden_size // config.num_attention_heads
    for head in range(config.num_attention_heads)[heads]:
        rows = _slow(head, width)
        like = 1.5 * torch.randn(len(rows), config.hidden_size, generator=random)
        like[:, 0] = 0  # the constant
        attention.q_proj.weight[rows] = attention.k_proj.weight[rows] = (
            like / config.hidden_size**0.5
        )


def _look_up(
    attention, config, head: int, query: torch.Tensor, key: torch.Tensor, own: slice
) -> None:
    width = config.hidden_size // config.num_attention_heads
    rows, slow = slice(head * width, (head + 1) * width), _slow(head, width)
    copied = _identity(width, config.hidden_size, own)
    for weight, read in ((attention.q_proj.weight, query), (attention.k_proj.weight, key)):
        weight[rows] *= 0.05
        weight[slow] = read[: len(slow)]
    attention.v_proj.weight[rows] = copied
    attention.o_proj.weight[:, rows] = 0.2 * copied.T
