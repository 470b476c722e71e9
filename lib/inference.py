"""Zero-shot greedy answers (paper, 4.3): batched, resumed after a crash, the same whatever was done before."""

import hashlib
import json
from itertools import takewhile
from pathlib import Path
from typing import TextIO

import torch
from tqdm import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from lib.llm import rendered
from lib.records import Answer, Query

STOPS = ("\n\n", "\nQuestion:")  # where an answer ends although a base model writes on


def prompt_for(question: str, context: str = "") -> str:
    """What a model is asked: prompts/answer.md with its slots filled, no blank at its end."""
    return rendered("answer", question=question, context=context).rstrip()


def load(source: str, *, training: bool = False) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The causal model and tokenizer of a folder or hub id: float32, or bfloat16 to answer on a GPU.

    Raises ValueError where transformers has no causal language model for it.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(source, padding_side="left")
    dtype = torch.float32 if training or device == "cpu" else torch.bfloat16
    model = AutoModelForCausalLM.from_pretrained(source, dtype=dtype)
    if tokenizer.pad_token_id is None:  # Llama has none; padding is masked, so any token serves
        tokenizer.pad_token = tokenizer.eos_token
    return model.to(device).eval(), tokenizer


def answer(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, queries: list[Query], arm: str, *,
           max_answer_tokens: int, batch_size: int, partial: Path) -> list[Answer]:
    """One greedy answer a query, in the queries' order.

    Batches are made of prompts of like length before anything is skipped, so that a resumed run computes the very
    batches that an unbroken one does. Finished batches are appended to `partial`, which the caller removes.
    """
    prompts = {query.query_id: prompt_for(query.question, query.context) for query in queries}
    order = sorted(prompts, key=lambda query_id: (len(prompts[query_id]), query_id))
    done = _read_partial(partial)
    bar = tqdm(total=len(queries), desc=f"answers of {arm}", mininterval=2)
    with open(partial, "a", encoding="utf-8") as file:
        for start in range(0, len(order), batch_size):
            batch = order[start:start + batch_size]
            if not all(query_id in done for query_id in batch):
                replies = generate(model, tokenizer, [prompts[query_id] for query_id in batch], max_answer_tokens)
                rows = [Answer(query_id=query_id, arm=arm, answer=text, n_tokens=n_tokens, truncated=truncated)
                        for query_id, (text, n_tokens, truncated) in zip(batch, replies, strict=True)]
                _append(file, rows)
                done.update({row.query_id: row for row in rows})
            bar.update(len(batch))
    bar.close()
    return [done[query.query_id] for query in queries]


@torch.inference_mode()
def generate(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompts: list[str],
             max_answer_tokens: int) -> list[tuple[str, int, bool]]:
    """Greedy continuation of each prompt as (text, tokens written before EOS, cut off by the budget)."""
    batch = tokenizer(prompts, return_tensors="pt", padding=True).to(model.device)
    batch.pop("token_type_ids", None)
    output = model.generate(**batch, do_sample=False, max_new_tokens=max_answer_tokens, stop_strings=list(STOPS),
                            tokenizer=tokenizer, pad_token_id=tokenizer.pad_token_id)
    replies = []
    for tokens in output[:, batch["input_ids"].shape[1]:].tolist():  # (new tokens,)
        written = list(takewhile(lambda token: token not in (tokenizer.eos_token_id, tokenizer.pad_token_id), tokens))
        text = tokenizer.decode(written, skip_special_tokens=True)
        is_cut = len(written) == max_answer_tokens and not any(stop in text for stop in STOPS)
        replies.append((_cut(text), len(written), is_cut))
    return replies


def identity(source: str, queries: list[Query], *settings: object) -> str:
    """Hash of everything that decides the answers: a partial file of another one is never gone on with."""
    digest = hashlib.sha256(json.dumps([source, *map(str, settings)]).encode())
    manifest = Path(source) / "training.json"
    digest.update(manifest.read_bytes() if manifest.exists() else b"")
    digest.update("".join(prompt_for(query.question, query.context) + query.query_id for query in queries).encode())
    return digest.hexdigest()[:16]


def _append(file: TextIO, rows: list[Answer]) -> None:
    try:
        file.writelines(row.model_dump_json() + "\n" for row in rows)
        file.flush()
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} while writing {file.name}; free some space and run the same "
                      "command again: what it holds is kept") from error


def _cut(text: str) -> str:
    ends = [text.find(stop, len(text) - len(text.lstrip())) for stop in STOPS]
    return text[:min([end for end in ends if end >= 0], default=len(text))].strip()


def _read_partial(path: Path) -> dict[str, Answer]:
    """Rows of an interrupted run; a last line that was cut off while it was written is left out."""
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    whole = text[:text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return {row.query_id: row for row in map(Answer.model_validate_json, whole.split("\n")[:-1])}
