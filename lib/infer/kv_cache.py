"""Keys and values with room for the tokens to come: transformers' own cache copies all of them for every token.

After prompts of 1,024 tokens that copy was three quarters of a small model's decoding.
"""

import torch
from transformers import DynamicCache, PreTrainedConfig
from transformers.cache_utils import DynamicLayer

ROOM = 64  # tokens that are made room for at once


def growing_cache(config: PreTrainedConfig) -> DynamicCache:
    """An empty cache for a model of `config`; other kinds of layers, such as sliding ones, stay transformers'."""
    cache = DynamicCache(config=config)
    cache.layers = [_GrowingLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


class _GrowingLayer(DynamicLayer):
    """`keys` and `values` (B, H, T, D) are the beginning of `room`, which is longer than T, until something else is
    made of them (rows in another order, say); then room is made anew."""

    room: tuple[torch.Tensor, torch.Tensor] | None = None

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object,
               **kwargs: object) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the states (B, H, t, D) of `t` tokens behind those that are there; all keys and all values."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        if not self._is_in_room() or self.room[0].shape[-2] < end:
            self.room = tuple(_longer(old, new, end) for old, new in
                              ((self.keys, key_states), (self.values, value_states)))
        for room, new in zip(self.room, (key_states, value_states), strict=True):
            room[:, :, start:end] = new
        self._show(end)
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep the rows `indices` of the batch, in that order, and their room."""
        if not self._is_in_room():
            super().batch_select_indices(indices)
            return
        end = self.get_seq_length()
        self.room = tuple(room[indices] for room in self.room)
        self._show(end)

    def _is_in_room(self) -> bool:
        return self.room is not None and self.keys is not None and all(
            part.data_ptr() == room.data_ptr() for part, room in zip((self.keys, self.values), self.room, strict=True))

    def _show(self, end: int) -> None:
        self.keys, self.values = (room[:, :, :end] for room in self.room)


def _longer(old: torch.Tensor, new: torch.Tensor, end: int) -> torch.Tensor:
    """Room for `end` tokens and ROOM more, with those of `old` at its beginning."""
    room = new.new_empty(*new.shape[:-2], end + ROOM, new.shape[-1])
    if old.numel():
        room[:, :, :old.shape[-2]] = old
    return room
