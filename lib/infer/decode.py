"""Decode many prompts at once, greedily (paper, 4.3): left-padded, one forward pass per token."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import torch
import transformers.utils
from torch.nn.functional import pad

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

    def goes_on(self, token: int, budget: int, has_stop: Callable[[list[int]], bool]) -> bool:
        """Append a token; return False if it is the last one."""
        self.tokens.append(token)
        if has_stop(self.tokens):
            return False
        self.truncated = len(self.tokens) == budget
        return not self.truncated


@torch.inference_mode()
def continuations(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: list[list[int]],
    budgets: list[int],
    stops: tuple[str, ...] = (),
) -> list[Continuation]:
    """Return the greedy continuation of each prompt, up to EOS, a stop or its budget of tokens.

    A row leaves the batch when it ends; its tokens do not depend on the other rows.
    """
    # 1) Left-pad the prompts, so that every row's next token is in the last column.
    batch = tokenizer.pad({"input_ids": prompts}, padding_side="left", return_tensors="pt")
    input_ids, mask = (batch.to(model.device)[name] for name in ("input_ids", "attention_mask"))
    positions = (mask.cumsum(-1) - 1).clamp(min=0)  # (B, T)
    argmax, has_stop = _argmax_of(model), _stop_test(tokenizer, stops)
    states = kv_cache(model.config)
    # Instruct models end a turn with their own token, which only the generation settings name.
    eos = model.generation_config.eos_token_id
    ends = {tokenizer.eos_token_id, *(eos if isinstance(eos, list) else [eos])}
    written = [Continuation() for _ in prompts]
    rows = list(range(len(prompts)))  # the prompts that are still in the batch
    while rows:
        # 2) One forward pass: the complete prompts first, then one new token per row.
        logits = model(
            input_ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=states,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        tokens = argmax(logits, [prompts[row] + written[row].tokens for row in rows])  # (B,)
        # 3) Append each row's token; find the rows that continue.
        kept = [
            place
            for place, (row, token) in enumerate(zip(rows, tokens.tolist(), strict=True))
            if token not in ends and written[row].goes_on(token, budgets[row], has_stop)
        ]
        # 4) Drop the rows that ended, from the cache too.
        if len(kept) < len(rows):
            rows = [rows[place] for place in kept]
            index = torch.tensor(kept, device=model.device, dtype=torch.long)
            tokens, mask, positions = tokens[index], mask[index], positions[index]
            states.batch_select_indices(index)
        # 5) The new tokens are the next input; everything before them is in the cache.
        input_ids, positions = tokens[:, None], positions[:, -1:] + 1
        mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)
    return written


def _argmax_of(model: PreTrainedModel) -> Callable[..., torch.Tensor]:
    # If a model computes in float32 on a CPU and its two best tokens are closer than NEAR_TIE, a
    # float64 copy decides, on that row alone. On a GPU, in bfloat16 or above MAX_PARAMETERS, near
    # ties are not resolved.
    is_small = model.device.type == "cpu" and model.num_parameters() <= MAX_PARAMETERS
    exact = cache(lambda: copy.deepcopy(model).double())

    def argmax(logits: torch.Tensor, rows: list[list[int]]) -> torch.Tensor:
        values, tokens = logits.topk(2)  # (B, 2)
        if is_small and logits.dtype == torch.float32:
            for place in (values[:, 0] - values[:, 1] < NEAR_TIE).nonzero()[:, 0].tolist():
                ids = torch.tensor([rows[place]])
                last = exact()(ids, logits_to_keep=1, use_cache=False).logits[0, -1]
                tokens[place, 0] = last.argmax()
        return tokens[:, 0]

    return argmax


def _stop_test(
    tokenizer: PreTrainedTokenizerBase, stops: tuple[str, ...]
) -> Callable[[list[int]], bool]:
    # It decodes the text only if the last token contains the last character of a stop.
    lasts = {stop[-1] for stop in stops}
    can_end = cache(lambda token: not lasts.isdisjoint(tokenizer.decode([token])))

    def has_stop(tokens: list[int]) -> bool:
        if not can_end(tokens[-1]):
            return False
        text = tokenizer.decode(tokens, skip_special_tokens=True).lstrip()  # drop leading stops
        return any(stop in text for stop in stops)

    return has_stop


def kv_cache(config: PreTrainedConfig) -> DynamicCache:
    """Return an empty KV cache with plain layers preallocated, sliding windows as they are."""
    # transformers' own copies all keys and values for every token: after prompts of 1,024 tokens,
    # that took three quarters of a small model's decoding time.
    states = DynamicCache(config=config)
    states.layers = [
        PreallocatedLayer() if type(layer) is DynamicLayer else layer for layer in states.layers
    ]
    return states


class PreallocatedLayer(DynamicLayer):
    """Keys and values (B, H, T, D) that are the first T columns of two longer buffers."""

    buffers: tuple[torch.Tensor, ...] = ()

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the states (B, H, t, D) of `t` tokens; return all keys and all values."""
        new = (key_states, value_states)
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        if not self.buffers or self.buffers[0].shape[-2] < end:
            self.buffers = tuple(pad(states, (0, 0, 0, RESERVE)) for states in super().update(*new))
        for buffer, states in zip(self.buffers, new, strict=True):
            buffer[:, :, start:end] = states
        self.keys, self.values = (buffer[:, :, :end] for buffer in self.buffers)
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep the rows `indices` of the batch, in that order."""
        super().batch_select_indices(indices)
        self.buffers = ()
