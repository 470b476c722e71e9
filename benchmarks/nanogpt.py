"""A GPT as nanoGPT trains it, reimplemented from its settings: the laboratory's baseline.

LayerNorm, learned positions, one product for query, key and value, PyTorch's SDPA, a GELU layer of
four times the width, tied embeddings; a batch starts at random positions of one stream of tokens;
PyTorch's default AdamW for a CPU.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Layer(nn.Module):
    """Attention and MLP, each on a normalized residual stream (B, T, C)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention_in, self.attention_out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp_in, self.mlp_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.attention_in(self.before_attention(x)).chunk(3, -1)
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts
        )  # (B, H, T, D)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.attention_out(seen.transpose(1, 2).flatten(2))
        return x + self.mlp_out(F.gelu(self.mlp_in(self.before_mlp(x))))


class GPT(nn.Module):
    """A model from token ids (B, T) and targets (B, T) to the mean loss."""

    def __init__(
        self, vocabulary: int, block_size: int, layers: int, width: int, heads: int
    ) -> None:
        super().__init__()
        self.tokens, self.positions = (
            nn.Embedding(vocabulary, width),
            nn.Embedding(block_size, width),
        )
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        for weights in self.parameters():
            if weights.ndim > 1:
                nn.init.normal_(weights, std=0.02)

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        return F.cross_entropy(
            self.head(self.norm(self.layers(x))).flatten(0, 1), targets.flatten()
        )


def nanogpt_updates(
    model: GPT,
    stream: Tensor,
    batch_size: int,
    block_size: int,
    autocast: torch.autocast,
    learning_rate: float,
) -> Callable[[], None]:
    """Return a function that makes one update of `model` per call."""
    decayed = [weights for weights in model.parameters() if weights.ndim > 1]
    others = [weights for weights in model.parameters() if weights.ndim == 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=learning_rate,
        betas=(0.9, 0.95),
    )

    def update() -> None:
        starts = torch.randint(len(stream) - block_size, (batch_size,)).tolist()
        ids = torch.stack([stream[start : start + block_size] for start in starts])
        targets = torch.stack([stream[start + 1 : start + 1 + block_size] for start in starts])
        with autocast:
            loss = model(ids, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return update
