"""Answers of a local model: greedy (paper, 4.3), the same in any batches, or drawn; KV cache."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby, takewhile
from pathlib import Path

import torch
import transformers.utils
from torch.nn.functional import pad
from tqdm import tqdm

# Slow to import, and not needed here: scipy (losses of object detection), datasets (Trainer).
transformers.utils.is_scipy_available = transformers.utils.is_datasets_available = lambda: False
from transformers import (  # noqa: E402
    AutoModelForCausalLM,
    AutoTokenizer,
    DynamicCache,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.cache_utils import DynamicLayer  # noqa: E402

from lib.core.records import Answer, Query  # noqa: E402
from lib.infer.prompts import (  # noqa: E402
    GenerationConfig,
    before_stop,
    chat_prompt_for,
    encoded,
    ends_of,
    is_chat,
    prompt_of,
)

RESERVE = 64  # tokens that the KV cache allocates ahead
Loaded = tuple[PreTrainedModel, PreTrainedTokenizerBase]


def load(source: str, *, training: bool = False) -> Loaded:
    """Load the causal model and tokenizer of a folder or hub id, in bfloat16 to answer on a GPU.

    Raises ValueError if transformers has no causal model for `source`.
    """
    tokenizer = AutoTokenizer.from_pretrained(source, padding_side="left")
    # On a CPU, bfloat16 may change an answer, and without hardware support it is no faster.
    on_gpu = torch.cuda.is_available()
    dtype = torch.bfloat16 if on_gpu and not training else torch.float32
    model = AutoModelForCausalLM.from_pretrained(source, dtype=dtype)
    if tokenizer.pad_token_id is None:  # Llama has none; padding is masked, so any token will do
        tokenizer.pad_token = tokenizer.eos_token
    return model.to("cuda" if on_gpu else "cpu").eval(), tokenizer


def answer(
    base: Loaded | str,
    queries: list[Query],
    arm: str,
    config: GenerationConfig,
    folder: Path | None = None,
) -> list[Answer]:
    """One answer per query, in order, of a loaded model or of that at a folder or hub id.

    With `folder`, finished batches are appended to a hidden file in it, from which another call
    resumes.
    """
    partial = folder and folder / f".{arm}-{_fingerprint(str(base), queries, config)}.jsonl"
    done = _resumed(partial) if partial else {}
    # Form batches before skipping any, so that a resumed run has those of an uninterrupted one.
    waiting = [
        batch
        for batch in in_batches(queries, config.batch_size)
        if not all(query.query_id in done for query in batch)
    ]
    if waiting and isinstance(base, str):
        base = load(base)
    with open(partial or os.devnull, "a", encoding="utf-8") as file:
        for batch in tqdm(waiting, f"answers of {arm}", mininterval=2):
            rows = _answer_batch(*base, batch, arm, config)
            file.writelines(row.model_dump_json() + "\n" for row in rows)
            file.flush()
            done |= {row.query_id: row for row in rows}
    return [done[query.query_id] for query in queries]


def in_batches(queries: Sequence[Query], batch_size: int) -> list[list[Query]]:
    """Group queries of similar length with the same `ends_of`; the order may change."""
    ordered = sorted(
        queries, key=lambda one: (ends_of(one), len(one.context + one.question), one.query_id)
    )
    runs = [list(run) for _, run in groupby(ordered, key=ends_of)]
    return [
        run[start : start + batch_size] for run in runs for start in range(0, len(run), batch_size)
    ]


def _answer_batch(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    batch: list[Query],
    arm: str,
    config: GenerationConfig,
) -> list[Answer]:
    stops, ends = ends_of(batch[0])
    if is_chat(tokenizer):
        stops = ends = ()
    prompts = encoded(tokenizer, batch)
    budgets = list(map(config.budget, batch))
    asked = model, tokenizer, prompts, budgets, (*stops, *ends)
    is_drawn = config.temperature > 0 or config.num_beams > 1
    written = _generate_drawn(*asked, config) if is_drawn else generate_greedy(*asked)
    texts = tokenizer.batch_decode([row.tokens for row in written], skip_special_tokens=True)
    return [
        Answer(
            query_id=query.query_id,
            arm=arm,
            answer=before_stop(text, stops),
            n_tokens=len(row.tokens),
            truncated=row.truncated,
        )
        for query, row, text in zip(batch, written, texts, strict=True)
    ]


def _fingerprint(source: str, queries: list[Query], config: GenerationConfig) -> str:
    # Of all that determines the answers, so that a different run's file is never resumed.
    files = [
        (path.name, path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(Path(source).glob("*"))
    ]  # none if `source` is a hub id
    asked = [
        (query.query_id, query.structure, prompt_of(query), chat_prompt_for(query.question))
        for query in queries
    ]
    everything = json.dumps([source, asdict(config), files, asked])
    return hashlib.sha256(everything.encode()).hexdigest()[:16]


def _resumed(partial: Path) -> dict[str, Answer]:
    partial.touch()
    complete, end, _ = partial.read_bytes().rpartition(b"\n")
    partial.write_bytes(complete + end)  # without the half line that a killed process has written
    rows = [Answer.model_validate_json(line) for line in complete.split(b"\n") if line]
    return {row.query_id: row for row in rows}


@dataclass
class Continuation:
    """The tokens that a model wrote after one prompt, without the end token."""

    tokens: list[int] = field(default_factory=list)
    truncated: bool = False  # ended by its budget, not by the model or a stop


@torch.inference_mode()
def generate_greedy(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: list[list[int]],
    budgets: list[int],
    stops: tuple[str, ...] = (),
) -> list[Continuation]:
    """The greedy continuation of each prompt, up to EOS, a stop or its budget of tokens.

    A row leaves the batch when it ends. The batch's shape shifts a float32 logit by about 1e-5.
    """
    # 1) Left-pad the prompts, so that every row's next token is in the last column.
    batch = tokenizer.pad({"input_ids": prompts}, padding_side="left", return_tensors="pt")
    input_ids, mask = batch["input_ids"].to(model.device), batch["attention_mask"].to(model.device)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)  # (B, T)
    states = kv_cache(model.config)
    ends, written = _end_tokens(model, tokenizer), [Continuation() for _ in prompts]

    def goes_on(row: int, token: int) -> bool:
        if token in ends:
            return False
        own = written[row]
        own.tokens.append(token)
        if stops:
            text = tokenizer.decode(own.tokens, skip_special_tokens=True).lstrip()
            if any(stop in text for stop in stops):
                return False
        own.truncated = len(own.tokens) == budgets[row]
        return not own.truncated

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
        tokens = logits.argmax(-1)  # (B,)
        # 3) Append each row's token; drop the rows that ended, from the cache too.
        going = list(map(goes_on, rows, tokens.tolist()))
        if not all(going):
            rows = [row for row, is_going in zip(rows, going, strict=True) if is_going]
            index = torch.tensor(going, device=model.device).nonzero()[:, 0]
            tokens, mask, positions = tokens[index], mask[index], positions[index]
            states.batch_select_indices(index)
        # 4) The new tokens are the next input; everything before them is in the cache.
        input_ids, positions = tokens[:, None], positions[:, -1:] + 1
        mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)
    return written


def _end_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> set[int]:
    # Instruct models end a turn with their own token, which only the generation settings name.
    eos = model.generation_config.eos_token_id
    return {tokenizer.eos_token_id, *(eos if isinstance(eos, list) else [eos])}


@torch.inference_mode()
def _generate_drawn(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: list[list[int]],
    budgets: list[int],
    stops: tuple[str, ...],
    config: GenerationConfig,
) -> list[Continuation]:
    batch = tokenizer.pad({"input_ids": prompts}, padding_side="left", return_tensors="pt")
    drawn = {"temperature": config.temperature, "top_p": config.top_p, "top_k": config.top_k}
    torch.manual_seed(config.seed)  # for each batch, so that a resumed run draws the same
    tokens = model.generate(
        **batch.to(model.device),
        **(drawn if config.temperature else {}),
        do_sample=config.temperature > 0,
        num_beams=config.num_beams,
        max_new_tokens=max(budgets),
        stop_strings=list(stops) or None,
        tokenizer=tokenizer,
        pad_token_id=tokenizer.pad_token_id,
    )[:, batch["input_ids"].shape[1] :].tolist()
    ends, written = _end_tokens(model, tokenizer), []
    for row, budget in zip(tokens, budgets, strict=True):
        own = list(takewhile(lambda token: token not in ends, row))[:budget]
        text = tokenizer.decode(own, skip_special_tokens=True).lstrip()
        is_open = len(own) == budget and not any(stop in text for stop in stops)
        written.append(Continuation(own, is_open))
    return written


def kv_cache(config: PreTrainedConfig) -> DynamicCache:
    """An empty KV cache with plain layers preallocated, sliding windows as they are."""
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
