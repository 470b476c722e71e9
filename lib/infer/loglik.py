"""Teacher-forced log-likelihoods: of answers after questions, in records (cloze), of documents."""

import re
from collections.abc import Sequence as Sequential
from typing import NamedTuple

import torch
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.core.records import Query, Score, listed
from lib.infer.prompts import PLAIN, beginning, encode, encoded, is_chat

_COLUMNS = ("loglik", "tokens", "is_greedy")


class Sequence(NamedTuple):
    """Tokens, of which those at the indices `scored` are scored, none of them 0."""

    tokens: list[int]
    scored: list[int]


class Likelihood(NamedTuple):
    """The summed (natural) log-probabilities of tokens, and whether each is the argmax."""

    loglik: float
    n_tokens: int
    is_argmax: bool


@torch.inference_mode()
def token_scores(
    model: PreTrainedModel, sequences: Sequential[Sequence], batch_size: int, title: str = ""
) -> list[list[tuple[float, bool]]]:
    """The teacher-forced score of each scored token: its log-probability, whether it is the argmax.

    Sequences whose scored tokens begin at similar indices share a forward pass, in evaluation mode.
    """
    was_training = model.training
    model.eval()
    order = sorted(range(len(sequences)), key=lambda index: sequences[index].scored[0])
    rows = {}
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
            logliks = own.log_softmax(-1).gather(1, targets[:, None])[:, 0]
            is_argmax = own.argmax(-1) == targets
            rows[index] = list(zip(logliks.tolist(), is_argmax.tolist(), strict=True))
    model.train(was_training)
    return [rows[index] for index in range(len(sequences))]


def likelihood(tokens: Sequential[tuple[float, bool]]) -> Likelihood:
    """The tokens' scores together."""
    logliks, is_argmax = zip(*tokens, strict=True)
    return Likelihood(sum(logliks), len(tokens), all(is_argmax))


def score(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    queries: list[Query],
    texts: dict[str, str],
    arm: str,
    *,
    batch_size: int,
    cloze_context_tokens: int = 256,
) -> list[Score]:
    """Score each query's answer after its question and in its record (cloze), in order.

    `texts` maps document ids to texts. An entity list is scored in the more likely of two layouts,
    lines and "a, b and c".
    """
    prompts = encoded(tokenizer, queries)
    layouts = [
        after_question(tokenizer, query, prompt)
        for query, prompt in zip(queries, prompts, strict=True)
    ]
    clozes = [
        cloze(
            tokenizer, query, texts.get(query.document_id, "")[: query.start], cloze_context_tokens
        )
        for query in queries
    ]
    sequences = [one for several in layouts for one in several]
    sequences += [one for one in clozes if isinstance(one, Sequence)]
    read = map(likelihood, token_scores(model, sequences, batch_size, f"scores of {arm}"))
    best = [max((next(read) for _ in several), key=lambda one: one.loglik) for several in layouts]
    return [
        Score(
            query_id=query.query_id,
            arm=arm,
            **_columns("answer", after),
            **_columns("cloze", next(read) if isinstance(one, Sequence) else (None,) * 3),
            cloze_missing="" if isinstance(one, Sequence) else one,
        )
        for query, after, one in zip(queries, best, clozes, strict=True)
    ]


def _columns(name: str, values: tuple) -> dict[str, object]:
    return {f"{name}_{key}": one for key, one in zip(_COLUMNS, values, strict=True)}


def after_question(
    tokenizer: PreTrainedTokenizerBase, query: Query, prompt: list[int]
) -> list[Sequence]:
    """The prompt followed by the reference answer, in each layout that it may have."""
    layouts = [query.answer]
    if query.entity_count is not None:
        layouts.append(listed(query.answer.splitlines()))
    space = "" if is_chat(tokenizer) else " "
    read = encode(tokenizer, [space + layout for layout in dict.fromkeys(layouts)])
    return [
        Sequence(prompt + tokens, list(range(len(prompt), len(prompt) + len(tokens))))
        for tokens in read
    ]


def cloze(
    tokenizer: PreTrainedTokenizerBase, query: Query, before: str, max_tokens: int
) -> Sequence | str:
    """The record up to the end of the answer, or why there is no cloze.

    `before` is the text before the source reference; its last `max_tokens` tokens are kept.
    """
    if not max_tokens:
        return "not scored"
    source = query.source_reference
    pieces = [query.answer] if _places([query.answer], source) else query.answer.splitlines()
    places = _places(pieces, source)
    if not places:
        return "the source reference does not contain the answer verbatim"
    if all(_places([piece], before + source[: places[0][0]]) for piece in pieces):
        return "the answer already occurs in its context and could be copied"
    begin = beginning(tokenizer)
    read = tokenizer(before + source[: places[-1][1]], **PLAIN, return_offsets_mapping=True)
    offsets = [(start - len(before), end - len(before)) for start, end in read["offset_mapping"]]
    left_out = max(0, sum(end <= 0 for _, end in offsets) - max_tokens)
    scored = overlapping(offsets[left_out:], places, len(begin))
    if not scored[0]:
        return "nothing precedes the answer"
    return Sequence(begin + read["input_ids"][left_out:], scored)


def overlapping(
    offsets: Sequential[tuple[int, int]], spans: Sequential[tuple[int, int]], first: int
) -> list[int]:
    """Indices, counted from `first`, of the tokens whose characters overlap one of `spans`."""
    return [
        index
        for index, (start, end) in enumerate(offsets, first)
        if any(start < last and begin < end for begin, last in spans)
    ]


def _places(pieces: list[str], text: str) -> list[tuple[int, int]]:
    places, end = [], 0
    for piece in pieces:
        match = re.compile(rf"(?<!\w){re.escape(piece)}(?!\w)").search(text, end)
        if not match:
            return []
        places.append(match.span())
        end = match.end()
    return places
