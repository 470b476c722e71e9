"""Keys and values with room for the tokens to come: transformers' own cache copies all of them for every token.

After prompts of 1,024 tokens that copy was three quarters of a small model's decoding. It serves lib.generation, which
adds tokens and drops rows; no other change of a cache is provided for.
"""

import torch
from transformers import DynamicCache, PreTrainedConfig
from transformers.cache_utils import DynamicLayer

ROOM = 64  # tokens that are made room for at once


def growing_cache(config: PreTrainedConfig) -> DynamicCache:
    """An empty cache for a model of `config`; layers that see a window of the text only stay transformers' own."""
    cache = DynamicCache(config=config)
    cache.layers = [_GrowingLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


class _GrowingLayer(DynamicLayer):
    """`keys` and `values` (B, H, T, D) are the beginning of tensors that are longer than T."""

    room: tuple[torch.Tensor, torch.Tensor] | None = None

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object,
               **kwargs: object) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        if self.room is None or self.room[0].shape[-2] < end:
            self.room = tuple(self._longer(old, new, end) for old, new in
                              ((self.keys, key_states), (self.values, value_states)))
        for room, new in zip(self.room, (key_states, value_states), strict=True):
            room[:, :, start:end] = new
        self._show(end)
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        end = self.get_seq_length()
        if end:
            self.room = tuple(room[indices] for room in self.room)
            self._show(end)

    def _longer(self, old: torch.Tensor, new: torch.Tensor, end: int) -> torch.Tensor:
        room = new.new_empty(*new.shape[:-2], end + ROOM, new.shape[-1])
        if old.numel():
            room[:, :, :old.shape[-2]] = old
        return room

    def _show(self, end: int) -> None:
        self.keys, self.values = (room[:, :, :end] for room in self.room)
