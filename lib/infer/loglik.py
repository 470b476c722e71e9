"""Teacher-forced log-likelihoods of the answer after the question and in the record (cloze)."""

import re
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.core.records import Document, Loss, Query, Score
from lib.core.text import listed
from lib.infer.prompts import beginning, encoded, is_chat

REWORDED = "the source reference does not contain the answer verbatim"
REPEATED = "the answer already occurs in its context and could be copied"
BARE = "nothing precedes the answer"
SKIPPED = "not scored"  # with cloze_tokens 0


@dataclass(frozen=True)
class Sequence:
    """Tokens that contain an answer at the indices `scored`, none of them 0."""

    tokens: list[int]
    scored: list[int]


class Likelihood(NamedTuple):
    """The summed (natural) log-probabilities of scored tokens, and whether each is the argmax."""

    loglik: float
    n_tokens: int
    is_argmax: bool


def score(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    queries: list[Query],
    texts: dict[str, str],
    arm: str,
    *,
    batch_size: int,
    prompt_style: str = "auto",
    cloze_tokens: int = 256,
) -> list[Score]:
    """Return one row per query, in order; `texts` maps document ids to the documents' texts.

    An entity list is scored in the more likely of two layouts, lines and "a, b and c".
    """
    prompts = encoded(tokenizer, queries, prompt_style)
    layouts = [
        after_question(tokenizer, query, prompt, prompt_style)
        for query, prompt in zip(queries, prompts, strict=True)
    ]
    clozes = [
        cloze(tokenizer, query, texts.get(query.document_id, "")[: query.start], cloze_tokens)
        if cloze_tokens
        else SKIPPED
        for query in queries
    ]
    sequences = [one for several in layouts for one in several]
    sequences += [one for one in clozes if isinstance(one, Sequence)]
    found = iter(likelihoods(model, sequences, batch_size, f"scores of {arm}"))
    best = [max((next(found) for _ in several), key=lambda one: one.loglik) for several in layouts]
    return [
        Score(
            query_id=query.query_id,
            arm=arm,
            **_numbers("question", after),
            **_numbers("cloze", next(found) if isinstance(one, Sequence) else (None,) * 3),
            cloze_missing="" if isinstance(one, Sequence) else one,
        )
        for query, after, one in zip(queries, best, clozes, strict=True)
    ]


def losses(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    documents: list[Document],
    arm: str,
    *,
    window: int = 512,
    batch_size: int = 4,
) -> list[Loss]:
    """Return the log-likelihood of each document, read in pieces of `window` tokens."""
    found = []
    for document in documents:
        ids = tokenizer(document.text, add_special_tokens=False, split_special_tokens=True)[
            "input_ids"
        ]
        pieces = [
            beginning(tokenizer) + ids[start : start + window]
            for start in range(0, len(ids) - 1, window)
        ]
        rows = likelihoods(
            model,
            [Sequence(piece, list(range(1, len(piece)))) for piece in pieces if len(piece) > 1],
            batch_size,
            "",
        )
        found.append(
            Loss(
                document_id=document.document_id,
                arm=arm,
                loglik=sum(row.loglik for row in rows),
                n_tokens=sum(row.n_tokens for row in rows),
            )
        )
    return found


def _numbers(name: str, likelihood: tuple) -> dict[str, object]:
    return dict(
        zip((f"{name}_loglik", f"{name}_tokens", f"{name}_argmax"), likelihood, strict=True)
    )


def after_question(
    tokenizer: PreTrainedTokenizerBase, query: Query, prompt: list[int], style: str
) -> list[Sequence]:
    """Return the prompt followed by the reference answer, in each layout that it may have."""
    layouts = [query.answer]
    if query.entity_count is not None:
        layouts.append(listed(query.answer.splitlines()))
    space = "" if is_chat(tokenizer, style) else " "
    read = tokenizer(
        [space + layout for layout in dict.fromkeys(layouts)],
        add_special_tokens=False,
        split_special_tokens=True,
    )
    return [
        Sequence(prompt + tokens, list(range(len(prompt), len(prompt) + len(tokens))))
        for tokens in read["input_ids"]
    ]


def cloze(
    tokenizer: PreTrainedTokenizerBase, query: Query, before: str, max_tokens: int
) -> Sequence | str:
    """Return the record up to the end of the answer, or why there is no cloze.

    `before` is the text before the source reference; its last `max_tokens` tokens are kept.
    """
    source = query.source_reference
    pieces = [query.answer] if _places([query.answer], source) else query.answer.splitlines()
    places = _places(pieces, source)
    if not places:
        return REWORDED
    if all(_places([piece], before + source[: places[0][0]]) for piece in pieces):
        return REPEATED
    begin = beginning(tokenizer)
    read = tokenizer(
        before + source[: places[-1][1]],
        add_special_tokens=False,
        split_special_tokens=True,
        return_offsets_mapping=True,
    )
    offsets = [(start - len(before), end - len(before)) for start, end in read["offset_mapping"]]
    left_out = max(0, sum(end <= 0 for _, end in offsets) - max_tokens)
    scored = [
        len(begin) + number
        for number, (start, end) in enumerate(offsets[left_out:])
        if any(start < last and first < end for first, last in places)
    ]
    return Sequence(begin + read["input_ids"][left_out:], scored) if scored[0] else BARE


def _places(pieces: list[str], text: str) -> list[tuple[int, int]]:
    places, end = [], 0
    for piece in pieces:
        found = re.compile(rf"(?<!\w){re.escape(piece)}(?!\w)").search(text, end)
        if not found:
            return []
        places.append(found.span())
        end = found.end()
    return places


@torch.inference_mode()
def likelihoods(
    model: PreTrainedModel, sequences: list[Sequence], batch_size: int, title: str
) -> list[Likelihood]:
    """Return the likelihood of each sequence, in order.

    Sequences whose answers begin at similar indices share a forward pass.
    """
    order = sorted(range(len(sequences)), key=lambda index: sequences[index].scored[0])
    found: dict[int, Likelihood] = {}
    for start in tqdm(range(0, len(order), batch_size), title, mininterval=2, disable=not title):
        indices = order[start : start + batch_size]
        batch = [sequences[index] for index in indices]
        input_ids = pad_sequence([torch.tensor(one.tokens) for one in batch], batch_first=True).to(
            model.device
        )  # (B, T)
        first = batch[0].scored[0]
        # Only from `first` on: at a vocabulary of 128,000, all logits would fill the memory.
        logits = model(
            input_ids, use_cache=False, logits_to_keep=input_ids.shape[1] - first + 1
        ).logits  # (B, T', V)
        for row, index in enumerate(indices):
            places = torch.tensor(sequences[index].scored, device=model.device)
            targets = input_ids[row, places]
            own = logits[row, places - first].float()  # those that predict each target
            logliks = own.log_softmax(-1).gather(1, targets[:, None])[:, 0].tolist()
            is_argmax = bool((own.argmax(-1) == targets).all())
            found[index] = Likelihood(sum(logliks), len(logliks), is_argmax)
    return [found[index] for index in range(len(sequences))]
