"""What a model stores beside what it can be asked for: log-likelihoods of reference answers, teacher-forced.

After the question, a likely answer can be asked for. After the record's own words up to the answer (cloze), it is
stored, whether a question reaches it or not. Not in the paper, whose accuracies cannot tell the two apart.
"""

import re
from dataclasses import dataclass

import pandas as pd
import torch
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.core.records import STRUCTURES, Query, Score
from lib.core.text import listed
from lib.infer.prompts import beginning, encoded, is_chat

REWORDED = "the answer is not in the source reference word for word"
REPEATED = "the answer stands in its context already and could be copied"
BARE = "nothing stands before the answer"


@dataclass(frozen=True)
class Sequence:
    """Tokens of which some are the answer: `scored` are their places, none of them the first."""

    tokens: list[int]
    scored: list[int]


@dataclass(frozen=True)
class Likelihood:
    """Of a sequence's scored tokens, each given all before it: natural logarithms summed; whether all are likeliest."""

    loglik: float
    n_tokens: int
    is_argmax: bool


def score(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, queries: list[Query], texts: dict[str, str],
          arm: str, *, batch_size: int, prompt_style: str = "auto", cloze_tokens: int = 256) -> list[Score]:
    """One row a query, in order. `texts`: the documents' texts by id, so that a cloze has what stands before it.

    An entity list is scored in the likelier of two layouts, one entity a line and "a, b and c". A cloze has at most
    `cloze_tokens` tokens of the record before the source reference.
    """
    asked = [after_question(tokenizer, query, prompt, prompt_style)
             for query, prompt in zip(queries, encoded(tokenizer, queries, prompt_style), strict=True)]
    clozes = [cloze(tokenizer, query, texts.get(query.document_id, "")[:query.start], cloze_tokens)
              for query in queries]
    sequences = [one for layouts in asked for one in layouts] + [one for one in clozes if not isinstance(one, str)]
    found = iter(likelihoods(model, sequences, batch_size, f"scores of {arm}"))
    best = [max((next(found) for _ in layouts), key=lambda one: one.loglik) for layouts in asked]
    return [_row(query, arm, first, context if isinstance(context, str) else next(found))
            for query, first, context in zip(queries, best, clozes, strict=True)]


def storage_table(queries: list[Query], scores: list[Score]) -> pd.DataFrame:
    """By structure and for all: mean log-likelihood a token, and the share of answers whose tokens all are likeliest.

    `stored_only` is the share of clozes that are filled in so although the question is not answered so.
    """
    rows = pd.DataFrame([row.model_dump() | {"structure": query.structure}
                         for query, row in zip(queries, scores, strict=True)])
    table = {}
    for name in [*STRUCTURES, "all"]:
        asked = rows if name == "all" else rows[rows.structure == name]
        clozes = asked[asked.cloze_missing == ""]
        filled = clozes.cloze_argmax.astype(bool)
        table[name] = {
            "n": len(asked), "question_loglik": asked.question_loglik.sum() / max(1, asked.question_tokens.sum()),
            "question_argmax": asked.question_argmax.mean(), "n_cloze": len(clozes),
            "cloze_loglik": clozes.cloze_loglik.sum() / max(1, clozes.cloze_tokens.sum()),
            "cloze_argmax": filled.mean(), "stored_only": (filled & ~clozes.question_argmax).mean()}
    return pd.DataFrame(table).T.astype({"n": int, "n_cloze": int})


def after_question(tokenizer: PreTrainedTokenizerBase, query: Query, prompt: list[int], style: str) -> list[Sequence]:
    """The prompt with the reference answer behind it, in each layout that an answer to this query may have."""
    entities = query.answer.splitlines()
    layouts = dict.fromkeys([query.answer, listed(entities)] if query.structure == "entity-list" else [query.answer])
    blank = "" if is_chat(tokenizer, style) else " "
    sequences = []
    for layout in layouts:
        tokens = tokenizer(blank + layout, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        sequences.append(Sequence(prompt + tokens, list(range(len(prompt), len(prompt) + len(tokens)))))
    return sequences


def cloze(tokenizer: PreTrainedTokenizerBase, query: Query, before: str, most_tokens: int) -> Sequence | str:
    """The record up to the end of the answer, whose tokens are scored; or why there is no such thing.

    `before` is the document's text before the source reference. A list's entities are scored each where it stands,
    the bullets between them are not.
    """
    source = query.source_reference
    pieces = [query.answer] if _places([query.answer], source) else query.answer.splitlines()
    places = _places(pieces, source)
    if not places:
        return REWORDED
    if all(_places([piece], before + source[:places[0][0]]) for piece in pieces):
        return REPEATED
    begin, read = beginning(tokenizer), tokenizer(before + source[:places[-1][1]], add_special_tokens=False,
                                                  split_special_tokens=True, return_offsets_mapping=True)
    offsets = [(start - len(before), end - len(before)) for start, end in read["offset_mapping"]]
    left_out = max(0, sum(end <= 0 for _, end in offsets) - most_tokens)
    scored = [len(begin) + number for number, (start, end) in enumerate(offsets[left_out:])
              if any(start < last and first < end for first, last in places)]
    return Sequence(begin + read["input_ids"][left_out:], scored) if scored[0] else BARE


def likelihoods(model: PreTrainedModel, sequences: list[Sequence], batch_size: int, title: str) -> list[Likelihood]:
    """One a sequence, in order. Sequences whose answers begin at like places share a forward pass, because logits are
    computed from the first of these places on: with a vocabulary of 128,000 they are most of the memory."""
    order = sorted(range(len(sequences)), key=lambda index: sequences[index].scored[0])
    found: dict[int, Likelihood] = {}
    with tqdm(total=len(order), desc=title, mininterval=2) as bar:
        for start in range(0, len(order), batch_size):
            batch = order[start:start + batch_size]
            found.update(zip(batch, _likelihoods(model, [sequences[index] for index in batch]), strict=True))
            bar.update(len(batch))
    return [found[index] for index in range(len(sequences))]


@torch.inference_mode()
def _likelihoods(model: PreTrainedModel, batch: list[Sequence]) -> list[Likelihood]:
    """Padded on the right and without a mask: no token of a causal model sees what comes after it."""
    width, first = max(len(one.tokens) for one in batch), min(one.scored[0] for one in batch)
    input_ids = torch.tensor([one.tokens + [0] * (width - len(one.tokens)) for one in batch], device=model.device)
    logits = model(input_ids, use_cache=False, logits_to_keep=width - first + 1).logits  # (B, width - first + 1, V)
    row = torch.tensor([row for row, one in enumerate(batch) for _ in one.scored], device=model.device)
    place = torch.tensor([place for one in batch for place in one.scored], device=model.device)
    logits, targets = logits[row, place - first].float(), input_ids[row, place]  # (N, V): what comes before a place
    logliks = logits.log_softmax(-1).gather(1, targets[:, None])[:, 0].tolist()
    is_argmax = (logits.argmax(-1) == targets).tolist()
    rows, start = [], 0
    for one in batch:
        here = slice(start, start := start + len(one.scored))
        rows.append(Likelihood(sum(logliks[here]), len(one.scored), all(is_argmax[here])))
    return rows


def _places(pieces: list[str], text: str) -> list[tuple[int, int]]:
    """Where each piece stands in `text` as whole words, one after the other; [] where one does not."""
    places, end = [], 0
    for piece in pieces:
        found = re.compile(rf"(?<!\w){re.escape(piece)}(?!\w)").search(text, end)
        if not found:
            return []
        places.append(found.span())
        end = found.end()
    return places


def _row(query: Query, arm: str, asked: Likelihood, context: Likelihood | str) -> Score:
    found = None if isinstance(context, str) else context
    return Score(query_id=query.query_id, arm=arm, question_loglik=asked.loglik, question_tokens=asked.n_tokens,
                 question_argmax=asked.is_argmax, cloze_loglik=found and found.loglik,
                 cloze_tokens=found and found.n_tokens, cloze_argmax=found and found.is_argmax,
                 cloze_missing="" if found else context)
