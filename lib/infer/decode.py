"""Greedy continuations of many prompts at once (paper, 4.3): left-padded, one forward pass a token, no answer waits."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.infer.kv_cache import growing_cache

NEAR = 1e-3  # logits; on a CPU the shape of a batch moves one in float32 by about 1e-5
MOST_PARAMETERS = 2e8  # of a model that may be copied in float64


@dataclass
class Continuation:
    """What a model wrote after one prompt, without the token that ended it."""

    tokens: list[int] = field(default_factory=list)
    truncated: bool = False  # by its budget, not by the model or a stop


@torch.inference_mode()
def continuations(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompts: list[list[int]],
                  budgets: list[int], stops: tuple[str, ...] = ()) -> list[Continuation]:
    """The likeliest token after each prompt, again and again, until EOS, a stop in the text or the prompt's budget.

    transformers' `generate` computes every row until the last one ends; here a row leaves the batch when it ends.
    """
    likeliest = _Likeliest(model)
    ends, is_stopped = _end_tokens(model, tokenizer), _stop_test(tokenizer, stops)
    input_ids, mask = _left_padded(prompts, tokenizer.pad_token_id, model.device)  # (B, T)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    cache, written = growing_cache(model.config), [Continuation() for _ in prompts]
    rows = list(range(len(prompts)))  # the prompts that are still in the batch
    while rows:
        logits = model(input_ids, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True,
                       logits_to_keep=1).logits
        so_far = [(prompts[row], written[row].tokens) for row in rows]
        tokens, going = likeliest(logits[:, -1], so_far), []  # (B,)
        for place, token in enumerate(tokens.tolist()):
            row = written[rows[place]]
            if token in ends:
                continue
            row.tokens.append(token)
            stopped = is_stopped(row.tokens)
            row.truncated = not stopped and len(row.tokens) == budgets[rows[place]]
            if not stopped and not row.truncated:
                going.append(place)
        if len(going) < len(rows):
            rows, kept = [rows[place] for place in going], torch.tensor(going, device=model.device, dtype=torch.long)
            tokens, mask, positions = tokens[kept], mask[kept], positions[kept]
            cache.batch_select_indices(kept)
        input_ids, positions = tokens[:, None], positions[:, -1:] + 1
        mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)
    return written


class _Likeliest:
    """The likeliest token of each row, the same whatever the batch.

    Where a model computes in float32 on a CPU and the two likeliest tokens are nearer than NEAR, a copy of it in
    float64 decides, on the row alone. On a GPU, in bfloat16 and above MOST_PARAMETERS a near tie stays as it falls.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.model, self.exact = model, None
        self.is_small = model.device.type == "cpu" and model.num_parameters() <= MOST_PARAMETERS

    def __call__(self, logits: torch.Tensor, rows: list[tuple[list[int], list[int]]]) -> torch.Tensor:
        """Tokens (B,) from logits (B, V); `rows` has the prompt and what was written so far."""
        values, tokens = logits.topk(2)
        if self.is_small and logits.dtype == torch.float32:
            for place in (values[:, 0] - values[:, 1] < NEAR).nonzero()[:, 0].tolist():
                tokens[place, 0] = self._alone([*rows[place][0], *rows[place][1]])
        return tokens[:, 0]

    def _alone(self, ids: list[int]) -> int:
        self.exact = self.exact or copy.deepcopy(self.model).double()
        return int(self.exact(torch.tensor([ids]), logits_to_keep=1, use_cache=False).logits[0, -1].argmax())


def _left_padded(prompts: list[list[int]], filler: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(map(len, prompts))
    input_ids = torch.tensor([[filler] * (width - len(prompt)) + prompt for prompt in prompts], device=device)
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts], device=device)
    return input_ids, mask


def _end_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> set[int]:
    """EOS of the tokenizer and of the model's generation settings: instruct models end a turn with one of their own."""
    of_model = model.generation_config.eos_token_id
    return {tokenizer.eos_token_id, *(of_model if isinstance(of_model, list) else [of_model])}


def _stop_test(tokenizer: PreTrainedTokenizerBase, stops: tuple[str, ...]) -> Callable[[list[int]], bool]:
    """Whether the text of some tokens holds a stop; only a token with a stop's last character is worth decoding for."""
    lasts, can_end = {stop[-1] for stop in stops}, {}

    def is_stopped(tokens: list[int]) -> bool:
        last = tokens[-1]
        if last not in can_end:
            can_end[last] = not lasts.isdisjoint(tokenizer.decode([last]))
        if not can_end[last]:
            return False
        text = tokenizer.decode(tokens, skip_special_tokens=True).lstrip()  # what stands before the answer is no end
        return any(stop in text for stop in stops)

    return is_stopped
