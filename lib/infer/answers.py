"""Answer queries zero-shot and greedily (paper, 4.3), independently of how they are batched."""

from collections.abc import Sequence
from itertools import groupby

import torch
from tqdm import tqdm
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from lib.core.records import Answer, Query
from lib.infer.decode import continuations
from lib.infer.decoding import Decoding, before_stop, ends_of
from lib.infer.prompts import encoded, is_chat


def answers_in_bf16(precision: str, device: str = "") -> bool:
    """Return whether `precision` is bfloat16 on `device` (default: the first GPU, else the CPU)."""
    return precision == "bf16" or precision == "auto" and (device or _device()) != "cpu"


def load(source: str, *, training: bool = False, precision: str = "auto",
         device: str = "") -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load the causal model and tokenizer of a folder or hub id.

    `device` defaults to the first GPU, else the CPU. Training uses float32. For answers, "auto"
    is bfloat16 on a GPU and float32 on a CPU, where bfloat16 may change an answer and is no faster
    without hardware support. Raises ValueError if transformers has no causal model for `source`.
    """
    device = device or _device()
    tokenizer = AutoTokenizer.from_pretrained(source, padding_side="left")
    is_bf16 = not training and answers_in_bf16(precision, device)
    model = AutoModelForCausalLM.from_pretrained(
        source, dtype=torch.bfloat16 if is_bf16 else torch.float32)
    if tokenizer.pad_token_id is None:  # Llama has none; padding is masked, so any token will do
        tokenizer.pad_token = tokenizer.eos_token
    return model.to(device).eval(), tokenizer


def answer(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, queries: list[Query],
           arm: str, **decoding: object) -> list[Answer]:
    """Return one greedy answer per query, in order; `decoding` sets fields of Decoding."""
    how = Decoding(**decoding)
    batches = in_batches(queries, how.batch_size, how.is_ready)
    done = {row.query_id: row for batch in tqdm(batches, f"answers of {arm}", mininterval=2)
            for row in answer_batch(model, tokenizer, batch, arm, how)}
    return [done[query.query_id] for query in queries]


def in_batches(queries: Sequence[Query], batch_size: int,
               is_ready: bool = False) -> list[list[Query]]:
    """Group queries of similar length with the same `ends_of`; the order may change."""
    ordered = sorted(queries, key=lambda query: (
        ends_of(query, is_ready), len(query.context) + len(query.question), query.query_id))
    runs = [list(run) for _, run in groupby(ordered, key=lambda query: ends_of(query, is_ready))]
    return [run[start:start + batch_size] for run in runs
            for start in range(0, len(run), batch_size)]


def answer_batch(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, batch: list[Query],
                 arm: str, how: Decoding) -> list[Answer]:
    """Return the answers to one batch of `in_batches`."""
    prompts = encoded(tokenizer, batch, how.prompt_style, how.is_ready)
    stops, ends = ends_of(batch[0], how.is_ready)
    if is_chat(tokenizer, how.prompt_style):
        stops = ends = ()
    written = continuations(model, tokenizer, prompts, list(map(how.budget, batch)),
                            (*stops, *ends))
    texts = tokenizer.batch_decode([row.tokens for row in written], skip_special_tokens=True)
    return [Answer(query_id=query.query_id, arm=arm, answer=before_stop(text, stops),
                   n_tokens=len(row.tokens), truncated=row.truncated)
            for query, row, text in zip(batch, written, texts, strict=True)]


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"
