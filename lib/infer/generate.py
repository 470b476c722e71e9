"""Answers of a local model: greedy (paper, 4.3), the same in any batches, or drawn."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby, takewhile
from pathlib import Path
from typing import NamedTuple

import torch
import transformers.utils
from tqdm import tqdm

# Slow to import, and not needed here: scipy (losses of object detection), datasets (Trainer).
transformers.utils.is_scipy_available = transformers.utils.is_datasets_available = lambda: False
from transformers import (  # noqa: E402
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from lib.core.records import Answer, Query  # noqa: E402
from lib.infer.prompts import (  # noqa: E402
    GenerationConfig,
    before_stop,
    chat_prompt_for,
    encoded,
    end_token,
    ends_of,
    is_chat,
    prompt_of,
)

GREEDY = GenerationConfig()
LONG = 512  # tokens of prompts for which a cache of fixed length is faster on a CPU
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
    written = continuations(model, tokenizer, prompts, budgets, (*stops, *ends), config)
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


class Continuation(NamedTuple):
    """The tokens that a model wrote after one prompt, without the end token."""

    tokens: list[int]
    truncated: bool  # ended by its budget, not by the model or a stop


@torch.inference_mode()
def continuations(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: list[list[int]],
    budgets: list[int],
    stops: tuple[str, ...] = (),
    config: GenerationConfig = GREEDY,
) -> list[Continuation]:
    """What the model writes after each prompt, up to EOS, a stop or its budget of tokens.

    The batch's shape shifts a float32 logit by about 1e-5. Raises ValueError as `end_token` does.
    """
    eos = model.generation_config.eos_token_id
    # Instruct models end a turn with their own token, which only the generation settings name.
    ends = {end_token(tokenizer), *(eos if isinstance(eos, list) else [eos])}
    batch = tokenizer.pad({"input_ids": prompts}, padding_side="left", return_tensors="pt")
    start = batch["input_ids"].shape[1]

    def is_stopped(own: list[int]) -> bool:
        text = tokenizer.decode(own, skip_special_tokens=True).lstrip() if stops else ""
        return any(stop in text for stop in stops)

    def is_over(input_ids: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
        rows, beams = input_ids[:, start:].tolist(), len(input_ids) // len(budgets)
        over = [len(own) >= budgets[at // beams] or is_stopped(own) for at, own in enumerate(rows)]
        return torch.tensor(over, device=input_ids.device)

    more = {"do_sample": config.temperature > 0, "num_beams": config.num_beams}
    if config.temperature:
        more |= {name: getattr(config, name) for name in ("temperature", "top_p", "top_k")}
    # The default copies all keys and values for every token, this one computes with unused places.
    # It has the weights' type, which keys of a model in mixed-precision training have not.
    is_mixed = hasattr(model, "_original_forward")
    if start >= LONG and model.device.type == "cpu" and config.num_beams == 1 and not is_mixed:
        more["cache_implementation"] = "static"
    torch.manual_seed(config.seed)  # for each batch, so that a resumed run draws the same
    tokens = model.generate(
        **batch.to(model.device),
        **more,
        repetition_penalty=1.0,  # whatever the model's own settings are
        max_new_tokens=max(budgets),
        stopping_criteria=[is_over],
        eos_token_id=list(ends),
        pad_token_id=tokenizer.pad_token_id,
    )[:, start:].tolist()
    written = []
    for row, budget in zip(tokens, budgets, strict=True):
        own = list(takewhile(lambda token: token not in ends, row))[:budget]
        stopped = (own[:n] for n in range(1, len(own) + 1) if is_stopped(own[:n]))
        own = next(stopped, own)  # what follows is padding
        written.append(Continuation(own, len(own) == budget and not is_stopped(own)))
    return written
