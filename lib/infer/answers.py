"""Answers of a local model, zero-shot and greedy (paper, 4.3), whatever the batches."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import torch
from tqdm import tqdm

from lib.core.records import Answer, Query
from lib.infer.decode import PreTrainedModel, PreTrainedTokenizerBase, continuations
from lib.infer.decoding import Decoding, before_stop, ends_of
from lib.infer.prompts import chat_prompt_for, encoded, is_chat, prompt_of


def answers_in_bf16(precision: str) -> bool:
    """True if `precision` is bfloat16 here: "auto" is, on a GPU.

    On a CPU, bfloat16 may change an answer, and without hardware support it is no faster.
    """
    return precision == "bf16" or precision == "auto" and torch.cuda.is_available()


def load(
    source: str, *, training: bool = False, precision: str = "auto"
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load the causal model and tokenizer of a folder or hub id; training uses float32.

    Raises ValueError if transformers has no causal model for `source`.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer  # after lib.infer.decode's choice

    tokenizer = AutoTokenizer.from_pretrained(source, padding_side="left")
    is_bf16 = not training and answers_in_bf16(precision)
    model = AutoModelForCausalLM.from_pretrained(
        source, dtype=torch.bfloat16 if is_bf16 else torch.float32
    )
    if tokenizer.pad_token_id is None:  # Llama has none; padding is masked, so any token will do
        tokenizer.pad_token = tokenizer.eos_token
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), tokenizer


def answer(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    queries: list[Query],
    arm: str,
    **decoding: object,
) -> list[Answer]:
    """Return one greedy answer per query, in order; `decoding` sets fields of Decoding."""
    how = Decoding(**decoding)
    batches = in_batches(queries, how.batch_size)
    done = {
        row.query_id: row
        for batch in tqdm(batches, f"answers of {arm}", mininterval=2)
        for row in answer_batch(model, tokenizer, batch, arm, how)
    }
    return [done[query.query_id] for query in queries]


def in_batches(queries: Sequence[Query], batch_size: int) -> list[list[Query]]:
    """Group queries of similar length with the same `ends_of`; the order may change."""
    ordered = sorted(
        queries,
        key=lambda query: (
            ends_of(query),
            len(query.context) + len(query.question),
            query.query_id,
        ),
    )
    runs = [list(run) for _, run in groupby(ordered, key=lambda query: ends_of(query))]
    return [
        run[start : start + batch_size] for run in runs for start in range(0, len(run), batch_size)
    ]


def answer_batch(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    batch: list[Query],
    arm: str,
    how: Decoding,
) -> list[Answer]:
    """Return the answers to one batch of `in_batches`."""
    prompts = encoded(tokenizer, batch, how.prompt_style)
    stops, ends = ends_of(batch[0])
    if is_chat(tokenizer, how.prompt_style):
        stops = ends = ()
    written = continuations(
        model, tokenizer, prompts, list(map(how.budget, batch)), (*stops, *ends)
    )
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


def answer_from(
    source: str, queries: list[Query], arm: str, how: Decoding, folder: Path
) -> list[Answer]:
    """Return one greedy answer per query, in order, from the model at `source`.

    Finished batches are appended to a hidden file in `folder`, from which another call resumes.
    """
    partial = folder / f".{arm}-{_fingerprint(source, queries, how)}.jsonl"
    done = _resumed(partial)
    # Form batches before skipping any, so that a resumed run has those of an uninterrupted one.
    waiting = [
        batch
        for batch in in_batches(queries, how.batch_size)
        if not all(query.query_id in done for query in batch)
    ]
    loaded = load(source, precision=how.precision) if waiting else ()
    with open(partial, "a", encoding="utf-8") as file:
        for batch in tqdm(waiting, f"answers of {arm}", mininterval=2):
            rows = answer_batch(*loaded, batch, arm, how)
            file.writelines(row.model_dump_json() + "\n" for row in rows)
            file.flush()
            done |= {row.query_id: row for row in rows}
    return [done[query.query_id] for query in queries]


def _fingerprint(source: str, queries: list[Query], how: Decoding) -> str:
    # Of all that determines the answers, so that a different run's file is never resumed.
    files = [
        (path.name, path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(Path(source).glob("*"))
    ]  # none if `source` is a hub id
    asked = [
        (query.query_id, query.structure, prompt_of(query), chat_prompt_for(query.question))
        for query in queries
    ]
    everything = json.dumps([source, asdict(how), files, asked])
    return hashlib.sha256(everything.encode()).hexdigest()[:16]


def _resumed(partial: Path) -> dict[str, Answer]:
    partial.touch()
    complete, end, _ = partial.read_bytes().rpartition(b"\n")
    partial.write_bytes(complete + end)  # without the half line that a killed process has written
    rows = [Answer.model_validate_json(line) for line in complete.split(b"\n") if line]
    return {row.query_id: row for row in rows}
