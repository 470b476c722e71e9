"""Decode many prompts at once, greedily (paper, 4.3): left-padded, one forward pass per token."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import transformers.utils

# Slow to import, and not needed here: scipy (losses of object detection), datasets (Trainer).
transformers.utils.is_scipy_available = transformers.utils.is_datasets_available = lambda: False
from transformers import (  # noqa: E402
    DynamicCache,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.cache_utils import DynamicLayer  # noqa: E402

NEAR_TIE = 1e-3  # logits; on a CPU the batch's shape shifts a float32 logit by about 1e-5
MAX_PARAMETERS = 2e8  # of the largest model that is copied in float64
RESERVE = 64  # tokens that the KV cache allocates ahead


@dataclass
class Continuation:
    """The tokens that a model wrote after one prompt, without the end token."""

    tokens: list[int] = field(default_factory=list)
    truncated: bool = False  # ended by its budget, not by the model or a stop


@torch.inference_mode()
def continuations(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase,
                  prompts: list[list[int]], budgets: list[int],
                  stops: tuple[str, ...] = ()) -> list[Continuation]:
    """Return the greedy continuation of each prompt, up to EOS, a stop or its budget of tokens.

    transformers' `generate` computes every row until the last one ends; here a row leaves the batch
    when it ends. A row's tokens do not depend on the other rows (see `_Argmax`).
    """
    # 1) Left-pad the prompts, so that every row's next token is in the last column.
    width = max(map(len, prompts))
    pad = tokenizer.pad_token_id
    input_ids = torch.tensor([[pad] * (width - len(prompt)) + prompt for prompt in prompts],
                             device=model.device)  # (B, T)
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts],
                        device=model.device)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    argmax, has_stop, cache = _Argmax(model), _stop_test(tokenizer, stops), kv_cache(model.config)
    # Instruct models end a turn with their own token, which only the generation settings name.
    eos = model.generation_config.eos_token_id
    ends = {tokenizer.eos_token_id, *(eos if isinstance(eos, list) else [eos])}
    written = [Continuation() for _ in prompts]
    rows = list(range(len(prompts)))  # the prompts that are still in the batch
    while rows:
        # 2) One forward pass: the complete prompts first, then one new token per row.
        logits = model(input_ids, attention_mask=mask, position_ids=positions,
                       past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
        tokens = argmax(logits, [(prompts[row], written[row].tokens) for row in rows])  # (B,)
        # 3) Append each row's token; find the rows that continue.
        kept = []
        for place, token in enumerate(tokens.tolist()):
            row = written[rows[place]]
            if token in ends:
                continue
            row.tokens.append(token)
            is_stopped = has_stop(row.tokens)
            row.truncated = not is_stopped and len(row.tokens) == budgets[rows[place]]
            if not is_stopped and not row.truncated:
                kept.append(place)
        # 4) Drop the rows that ended, from the cache too.
        if len(kept) < len(rows):
            rows = [rows[place] for place in kept]
            index = torch.tensor(kept, device=model.device, dtype=torch.long)
            tokens, mask, positions = tokens[index], mask[index], positions[index]
            cache.batch_select_indices(index)
        # 5) The new tokens are the next input; everything before them is in the cache.
        input_ids, positions = tokens[:, None], positions[:, -1:] + 1
        mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)
    return written


class _Argmax:
    # If a model computes in float32 on a CPU and its two best tokens are closer than NEAR_TIE, a
    # float64 copy decides, on that row alone. On a GPU, in bfloat16 or above MAX_PARAMETERS, near
    # ties are not resolved.

    def __init__(self, model: PreTrainedModel) -> None:
        self.model, self.exact = model, None
        self.is_small = model.device.type == "cpu" and model.num_parameters() <= MAX_PARAMETERS

    def __call__(self, logits: torch.Tensor, rows: list[tuple[list[int], list[int]]]
                 ) -> torch.Tensor:
        """Return tokens (B,) from logits (B, V); `rows` has each prompt and its continuation."""
        values, tokens = logits.topk(2)
        if self.is_small and logits.dtype == torch.float32:
            for place in (values[:, 0] - values[:, 1] < NEAR_TIE).nonzero()[:, 0].tolist():
                self.exact = self.exact or copy.deepcopy(self.model).double()
                ids = torch.tensor([[*rows[place][0], *rows[place][1]]])
                exact = self.exact(ids, logits_to_keep=1, use_cache=False).logits[0, -1]
                tokens[place, 0] = int(exact.argmax())
        return tokens[:, 0]


def _stop_test(tokenizer: PreTrainedTokenizerBase,
               stops: tuple[str, ...]) -> Callable[[list[int]], bool]:
    # It decodes the text only if the last token contains the last character of a stop.
    lasts, can_end = {stop[-1] for stop in stops}, {}

    def has_stop(tokens: list[int]) -> bool:
        last = tokens[-1]
        if last not in can_end:
            can_end[last] = not lasts.isdisjoint(tokenizer.decode([last]))
        if not can_end[last]:
            return False
        text = tokenizer.decode(tokens, skip_special_tokens=True).lstrip()  # drop leading stops
        return any(stop in text for stop in stops)

    return has_stop


def kv_cache(config: PreTrainedConfig) -> DynamicCache:
    """Return an empty KV cache; plain layers are preallocated, others (sliding windows) are kept.

    transformers' own cache copies all keys and values for every token: after prompts of 1,024
    tokens, that took three quarters of a small model's decoding time.
    """
    cache = DynamicCache(config=config)
    cache.layers = [PreallocatedLayer() if type(layer) is DynamicLayer else layer
                    for layer in cache.layers]
    return cache


class PreallocatedLayer(DynamicLayer):
    """Keys and values (B, H, T, D) that are the first T columns of two longer buffers.

    If another operation, such as reordering rows, replaces the keys and values, the next `update`
    allocates new buffers.
    """

    buffers: tuple[torch.Tensor, torch.Tensor] | None = None

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object,
               **kwargs: object) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the states (B, H, t, D) of `t` tokens; return all keys and all values."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        new = (key_states, value_states)
        if not self._is_buffered() or self.buffers[0].shape[-2] < end:
            self.buffers = tuple(map(_enlarged, (self.keys, self.values), new, (end, end)))
        for buffer, states in zip(self.buffers, new, strict=True):
            buffer[:, :, start:end] = states
        self.keys, self.values = (buffer[:, :, :end] for buffer in self.buffers)
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep the rows `indices` of the batch, in that order."""
        if not self._is_buffered():
            super().batch_select_indices(indices)
            return
        end = self.get_seq_length()
        self.buffers = tuple(buffer[indices] for buffer in self.buffers)
        self.keys, self.values = (buffer[:, :, :end] for buffer in self.buffers)

    def _is_buffered(self) -> bool:
        return self.buffers is not None and self.keys is not None and all(
            part.data_ptr() == buffer.data_ptr()
            for part, buffer in zip((self.keys, self.values), self.buffers, strict=True))


def _enlarged(old: torch.Tensor, new: torch.Tensor, end: int) -> torch.Tensor:
    buffer = new.new_empty(*new.shape[:-2], end + RESERVE, new.shape[-1])
    if old.numel():
        buffer[:, :, :old.shape[-2]] = old
    return buffer
