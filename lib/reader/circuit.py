"""Write an induction circuit into an untrained Llama, which finding one by training delays."""

import torch
from transformers import LlamaForCausalLM

_FREQUENT = 8  # rotary frequencies that tell a token from its neighbours
_STD = 0.04  # of embeddings; the rest of the weights must not hide them


@torch.no_grad()
def induce(model: LlamaForCausalLM, seed: int) -> None:
    """Let the first layers of `model` continue repeated text; training then changes all weights.

    Two heads of the first layer attend to the token before and write what it is into dimensions
    that embeddings leave free. Two of the second attend to tokens that follow an earlier occurrence
    of the current token and copy them (an induction head: Olsson et al. 2022, *In-context Learning
    and Induction Heads*). In the other heads, queries and keys begin alike (Trockman and Kolter
    2023, *Mimetic Initialization of Self-Attention Layers*). Raises ValueError if `model` has fewer
    than two layers or heads, or two heads are wider than half of its states.
    """
    config, layers = model.config, model.model.layers
    states, width = config.hidden_size, config.hidden_size // config.num_attention_heads
    if len(layers) < 2 or config.num_attention_heads < 2 or 4 * width > states:
        raise ValueError(f"{len(layers)} layers with {config.num_attention_heads} heads in "
                         f"{states} dimensions have no room for an induction circuit: give at "
                         "least 2 layers and 4 heads")
    random = torch.Generator().manual_seed(seed)
    own, before = slice(1, states - 2 * width), slice(states - 2 * width, states)
    read = torch.zeros(2 * width, states)  # of the token before, by the first layer
    read[:, own] = torch.randn(2 * width, own.stop - 1, generator=random) / own.stop ** 0.5

    embeddings = model.model.embed_tokens.weight  # (vocabulary, states)
    embeddings.normal_(std=_STD, generator=random)
    embeddings[:, 0] = 4 * _STD  # a constant, for the first layer to attend by position alone
    embeddings[:, before] = 0
    for layer in layers:
        layer.mlp.down_proj.weight.mul_(0.2)
        layer.self_attn.o_proj.weight.mul_(0.5)
    _look_one_back(layers[0].self_attn, config, read, before)
    for number, layer in enumerate(layers[1:]):
        _match(layer.self_attn, config, random, slice(2 * (number == 0), None))
    _induct(layers[1].self_attn, config, read, own)


def _look_one_back(attention, config, read: torch.Tensor, before: slice) -> None:
    """Let heads 0 and 1 attend to position -1 and write `read` of it into the states `before`."""
    width, half = len(read) // 2, len(read) // 4
    theta = config.rope_parameters["rope_theta"]
    n = min(_FREQUENT, half)
    angle = theta ** (-torch.arange(n) / half)
    # Rotary positions turn the pair (i, i + half) by position × angle; a query that is turned back
    # by one position has its largest product with the key of the position before.
    key, query = torch.zeros(width), torch.zeros(width)
    key[:n] = 1
    query[:n], query[half:half + n] = angle.cos(), -angle.sin()
    for head in range(2):
        rows = slice(head * width, (head + 1) * width)
        for weight, by_position in ((attention.q_proj.weight, query),
                                    (attention.k_proj.weight, key)):
            weight[rows] *= 0.2
            weight[rows, 0] = 2.4 * by_position
        attention.v_proj.weight[rows] = read[rows]
        attention.o_proj.weight[:, rows] = 0
        attention.o_proj.weight[before, rows] = 0.06 * torch.eye(2 * width)[:, rows]


def _slow(head: int, width: int) -> list[int]:
    """Return a head's rows that rotary positions hardly turn, so that any distance can match."""
    half = width // 2
    return [head * width + part + n for part in (0, half) for n in range(half // 2, half)]


def _match(attention, config, random: torch.Generator, heads: slice) -> None:
    """Let `heads` attend to tokens whose states are like the current one's."""
    width = config.hidden_size // config.num_attention_heads
    for head in range(config.num_attention_heads)[heads]:
        rows = _slow(head, width)
        like = 1.5 * torch.randn(len(rows), config.hidden_size, generator=random)
        like[:, 0] = 0  # the constant
        attention.q_proj.weight[rows] = attention.k_proj.weight[rows] = (
            like / config.hidden_size ** 0.5)


def _induct(attention, config, read: torch.Tensor, own: slice) -> None:
    """Let heads 0 and 1 attend to what followed the current token, and copy it."""
    width, states = len(read) // 2, config.hidden_size
    copied = torch.zeros(2 * width, states)
    n_copied = min(2 * width, own.stop - 1)
    copied[range(n_copied), range(1, 1 + n_copied)] = 1
    for head in range(2):
        rows, slow = slice(head * width, (head + 1) * width), _slow(head, width)
        matched = read[rows][:len(slow)]
        written = torch.zeros(len(slow), states)  # where the first layer put `matched`
        written[range(len(slow)), range(own.stop + head * width,
                                        own.stop + head * width + len(slow))] = 1
        for weight in (attention.q_proj.weight, attention.k_proj.weight):
            weight[rows] *= 0.2
        attention.q_proj.weight[slow] = 2.2 * matched
        attention.k_proj.weight[slow] = 3.3 * written
        attention.v_proj.weight[rows] = copied[rows]
        attention.o_proj.weight[:, rows] = 0.2 * copied[rows].T
