"""Zero-shot greedy answers (paper, 4.3): batched, resumed after a crash, the same whatever was done before."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

import torch
from tqdm import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from lib.core.records import Answer, Query
from lib.infer.decode import continuations
from lib.infer.prompts import STYLES, asked, chat_prompt_for, encoded, is_chat, is_read, prompt_for

STOPS = ("\n\n", "\nQuestion:")  # where an answer ends although a base model writes on
_OPEN = re.compile(r"<(\w+)>\s*\Z")  # what a ready-made prompt ends with where the answer stands in a tag
PRECISIONS = ("auto", "fp32", "bf16")


@dataclass(frozen=True)
class Decoding:
    """How answers are written, beside the model and the questions; greedy always."""

    max_answer_tokens: int = 64  # budget of an answer
    max_list_tokens: int = 192  # budget of an entity list
    batch_size: int = 64  # prompts a forward pass
    prompt_style: str = "auto"  # plain, chat, or auto: chat where the tokenizer has a template
    precision: str = "auto"  # bf16, fp32, or auto: bf16 on a GPU
    max_read_tokens: int = 512  # budget of an answer to a ready-made prompt
    is_ready: bool = False  # a query's context is the whole prompt, asked as it stands

    def __post_init__(self) -> None:
        for name in ("max_answer_tokens", "max_list_tokens", "max_read_tokens", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give at least 1")
        for name, legal in (("prompt_style", STYLES), ("precision", PRECISIONS)):
            if getattr(self, name) not in legal:
                raise ValueError(f"{name} {getattr(self, name)!r} is not one of {', '.join(legal)}")

    def budget(self, query: Query) -> int:
        """Tokens that an answer to `query` may have."""
        if is_read(query, self.is_ready):
            return self.max_read_tokens
        return self.max_list_tokens if query.structure == "entity-list" else self.max_answer_tokens


def answers_in_bf16(precision: str, device: str = "") -> bool:
    """Whether `precision` is bfloat16 on `device` (default: the first GPU, else the CPU)."""
    return precision == "bf16" or precision == "auto" and (device or _device()) != "cpu"


def load(source: str, *, training: bool = False, precision: str = "auto",
         device: str = "") -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The causal model and tokenizer of a folder or hub id, on `device` (default: the first GPU, else the CPU).

    It trains in float32. To answer, "auto" is float32 on a CPU, where bfloat16 is no faster without units for it and
    may change an answer, and bfloat16 on a GPU.
    Raises ValueError where transformers has no causal language model for it.
    """
    device = device or _device()
    tokenizer = AutoTokenizer.from_pretrained(source, padding_side="left")
    is_bf16 = not training and answers_in_bf16(precision, device)
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.bfloat16 if is_bf16 else torch.float32)
    if tokenizer.pad_token_id is None:  # Llama has none; padding is masked, so any token serves
        tokenizer.pad_token = tokenizer.eos_token
    return model.to(device).eval(), tokenizer


def answer(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, queries: list[Query], arm: str, *,
           partial: Path, **decoding: object) -> list[Answer]:
    """One greedy answer a query, in the queries' order; `decoding` as Decoding has it.

    Batches are made of prompts of like length before anything is skipped, so that a resumed run computes the very
    batches that an unbroken one does. Finished batches are appended to `partial`, which the caller removes.
    """
    how = Decoding(**decoding)
    done = read_partial(partial)
    with tqdm(total=len(queries), desc=f"answers of {arm}", mininterval=2) as bar:
        waiting = [batch for batch in in_batches(queries, how.batch_size, how.is_ready)
                   if not all(query.query_id in done for query in batch)]
        bar.update(len(queries) - sum(map(len, waiting)))
        answer_batches(model, tokenizer, waiting, arm, how, partial, bar.update)
    return in_query_order(queries, read_partial(partial))


def in_batches(queries: Sequence[Query], batch_size: int, is_ready: bool = False) -> list[list[Query]]:
    """Queries of like length together, whatever their order; apart where their answers end in other ways."""
    ordered = sorted(queries, key=lambda query: (len(query.context) + len(query.question), query.query_id))
    alike: dict[tuple, list[Query]] = {}
    for query in ordered:
        alike.setdefault(ends_of(query, is_ready), []).append(query)
    return [rows[start:start + batch_size] for _, rows in sorted(alike.items())
            for start in range(0, len(rows), batch_size)]


def ends_of(query: Query, is_ready: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where an answer to `query` ends although a base model writes on: stops that are cut off, and ends that are kept.

    Blank lines are a part of an answer to a ready-made prompt. Where such a prompt opens a tag for the answer, the
    answer ends with the tag, which is kept for the reader of final answers; a reply that reasons ends by itself alone,
    since it may name the tag before it fills it.
    """
    if not is_read(query, is_ready):
        return STOPS, ()
    opened = _OPEN.search(query.context)
    return (), (f"</{opened[1]}>",) if opened else ()


def answer_batches(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, batches: list[list[Query]], arm: str,
                   how: Decoding, partial: Path, advance: Callable[[int], object]) -> None:
    """Append each batch's answers to `partial` when it is done, and tell `advance` how many they were."""
    with open(partial, "a", encoding="utf-8") as file:
        for batch in batches:
            prompts = encoded(tokenizer, batch, how.prompt_style, how.is_ready)
            stops, ends = ((), ()) if is_chat(tokenizer, how.prompt_style) else ends_of(batch[0], how.is_ready)
            replies = generate(model, tokenizer, prompts, [how.budget(query) for query in batch], stops, ends)
            _append(file, [Answer(query_id=query.query_id, arm=arm, answer=text, n_tokens=n_tokens, truncated=truncated)
                           for query, (text, n_tokens, truncated) in zip(batch, replies, strict=True)])
            advance(len(batch))


def generate(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompts: list[list[int]], budgets: list[int],
             stops: tuple[str, ...] = STOPS, ends: tuple[str, ...] = ()) -> list[tuple[str, int, bool]]:
    """Greedy continuation of each prompt as (text up to a stop, tokens written before EOS, cut off by its budget).

    It ends at one of `ends` too, which stays in the text.
    """
    written = continuations(model, tokenizer, prompts, budgets, (*stops, *ends))
    texts = tokenizer.batch_decode([row.tokens for row in written], skip_special_tokens=True)
    return [(cut(text, stops), len(row.tokens), row.truncated) for text, row in zip(texts, written, strict=True)]


def cut(text: str, stops: tuple[str, ...]) -> str:
    """`text` up to the first of `stops`; what stands before its first word is no stop."""
    text = text.lstrip()
    return text[:min((end for end in map(text.find, stops) if end >= 0), default=len(text))].strip()


def identity(source: str, queries: list[Query], how: Decoding) -> str:
    """Hash of everything that decides the answers: a partial file of another one is never gone on with."""
    digest = hashlib.sha256(json.dumps([source, asdict(how)]).encode())
    for path in sorted(Path(source).glob("*")):  # nothing, where `source` is a hub id
        digest.update(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}".encode())
    for query in queries:
        texts = (query.query_id, query.structure, *(asked(query, how.is_ready, prompt)
                                                    for prompt in (prompt_for, chat_prompt_for)))
        digest.update(json.dumps(texts).encode())
    return digest.hexdigest()[:16]


def read_partial(path: Path) -> dict[str, Answer]:
    """Rows of an interrupted run; a last line that was cut off while it was written is left out."""
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    whole = text[:text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return {row.query_id: row for row in map(Answer.model_validate_json, whole.split("\n")[:-1])}


def in_query_order(queries: list[Query], done: dict[str, Answer]) -> list[Answer]:
    """The answers in the queries' order."""
    return [done[query.query_id] for query in queries]


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _append(file: TextIO, rows: list[Answer]) -> None:
    try:
        file.writelines(row.model_dump_json() + "\n" for row in rows)
        file.flush()
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} while writing {file.name}; free some space and run the same "
                      "command again: what it holds is kept") from error
