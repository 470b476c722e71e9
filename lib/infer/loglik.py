"""Measure, by teacher-forced log-likelihoods, what a model stores beyond what it can answer.

The reference answer is scored after the question, and after the record's own words up to the
answer (cloze). If it is likely after these words, it is stored, whether or not a question retrieves
it. The paper's accuracies cannot separate the two.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.core.arms import ALL
from lib.core.records import STRUCTURES, Query, Score
from lib.core.text import listed
from lib.infer.prompts import beginning, encoded, is_chat

if TYPE_CHECKING:
    import pandas as pd

REWORDED = "the source reference does not contain the answer verbatim"
REPEATED = "the answer already occurs in its context and could be copied"
BARE = "nothing precedes the answer"


@dataclass(frozen=True)
class Sequence:
    """Tokens that contain an answer at the indices `scored`, none of them 0."""

    tokens: list[int]
    scored: list[int]


@dataclass(frozen=True)
class Likelihood:
    """The summed (natural) log-probabilities of scored tokens, and whether each is the argmax."""

    loglik: float
    n_tokens: int
    is_argmax: bool


def score(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, queries: list[Query],
          texts: dict[str, str], arm: str, *, batch_size: int, prompt_style: str = "auto",
          cloze_tokens: int = 256) -> list[Score]:
    """Return one row per query, in order; `texts` maps document ids to the documents' texts.

    An entity list is scored in the more likely of two layouts, one entity per line and "a, b and
    c". A cloze begins with at most `cloze_tokens` tokens of the record before the source reference.
    """
    prompts = encoded(tokenizer, queries, prompt_style)
    layouts = [after_question(tokenizer, query, prompt, prompt_style)
               for query, prompt in zip(queries, prompts, strict=True)]
    clozes = [cloze(tokenizer, query, texts.get(query.document_id, "")[:query.start], cloze_tokens)
              for query in queries]
    sequences = [one for several in layouts for one in several]
    sequences += [one for one in clozes if isinstance(one, Sequence)]
    found = iter(likelihoods(model, sequences, batch_size, f"scores of {arm}"))
    asked = [max((next(found) for _ in several), key=lambda one: one.loglik)
             for several in layouts]
    rows = []
    for query, answer, one in zip(queries, asked, clozes, strict=True):
        filled = next(found) if isinstance(one, Sequence) else None
        rows.append(Score(
            query_id=query.query_id, arm=arm, question_loglik=answer.loglik,
            question_tokens=answer.n_tokens, question_argmax=answer.is_argmax,
            cloze_loglik=filled and filled.loglik, cloze_tokens=filled and filled.n_tokens,
            cloze_argmax=filled and filled.is_argmax, cloze_missing="" if filled else one))
    return rows


def storage_table(queries: list[Query], scores: list[Score]) -> "pd.DataFrame":
    """Return mean log-likelihoods per token, and shares of answers whose tokens are all argmax.

    One row per structure and one for all. `stored_only` is the share of clozes whose tokens are all
    argmax, although those of the answer after the question are not.
    """
    import pandas as pd

    rows = pd.DataFrame([row.model_dump() | {"structure": query.structure}
                         for query, row in zip(queries, scores, strict=True)])
    table = {}
    for name in [*STRUCTURES, ALL]:
        cell = rows[(rows.structure == name) | (name == ALL)]
        clozes = cell[cell.cloze_missing == ""]
        filled = clozes.cloze_argmax.astype(bool)
        table[name] = {
            "n": len(cell),
            "question_loglik": cell.question_loglik.sum() / max(1, cell.question_tokens.sum()),
            "question_argmax": cell.question_argmax.mean(),
            "n_cloze": len(clozes),
            "cloze_loglik": clozes.cloze_loglik.sum() / max(1, clozes.cloze_tokens.sum()),
            "cloze_argmax": filled.mean(),
            "stored_only": (filled & ~clozes.question_argmax).mean()}
    return pd.DataFrame(table).T.astype({"n": int, "n_cloze": int})


def after_question(tokenizer: PreTrainedTokenizerBase, query: Query, prompt: list[int],
                   style: str) -> list[Sequence]:
    """Return the prompt followed by the reference answer, in each layout that it may have."""
    layouts = [query.answer]
    if query.structure == "entity-list":
        layouts.append(listed(query.answer.splitlines()))
    space = "" if is_chat(tokenizer, style) else " "
    sequences = []
    for layout in dict.fromkeys(layouts):
        tokens = tokenizer(space + layout, add_special_tokens=False,
                           split_special_tokens=True)["input_ids"]
        end = len(prompt) + len(tokens)
        sequences.append(Sequence(prompt + tokens, list(range(len(prompt), end))))
    return sequences


def cloze(tokenizer: PreTrainedTokenizerBase, query: Query, before: str,
          max_tokens: int) -> Sequence | str:
    """Return the record up to the end of the answer, or why there is no cloze.

    `before` is the document's text before the source reference, of which the last `max_tokens`
    tokens are kept. A list's entities are scored where they occur, but not the bullets.
    """
    source = query.source_reference
    pieces = [query.answer] if _places([query.answer], source) else query.answer.splitlines()
    places = _places(pieces, source)
    if not places:
        return REWORDED
    if all(_places([piece], before + source[:places[0][0]]) for piece in pieces):
        return REPEATED
    begin = beginning(tokenizer)
    read = tokenizer(before + source[:places[-1][1]], add_special_tokens=False,
                     split_special_tokens=True, return_offsets_mapping=True)
    offsets = [(start - len(before), end - len(before)) for start, end in read["offset_mapping"]]
    left_out = max(0, sum(end <= 0 for _, end in offsets) - max_tokens)
    scored = [len(begin) + number for number, (start, end) in enumerate(offsets[left_out:])
              if any(start < last and first < end for first, last in places)]
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


def likelihoods(model: PreTrainedModel, sequences: list[Sequence], batch_size: int,
                title: str) -> list[Likelihood]:
    """Return the likelihood of each sequence, in order.

    Sequences whose answers begin at similar indices share a forward pass. It computes logits only
    from the first of these indices on, because at a vocabulary of 128,000 they fill the memory.
    """
    order = sorted(range(len(sequences)), key=lambda index: sequences[index].scored[0])
    found: dict[int, Likelihood] = {}
    with tqdm(total=len(order), desc=title, mininterval=2) as bar:
        for start in range(0, len(order), batch_size):
            batch = order[start:start + batch_size]
            rows = _likelihoods(model, [sequences[index] for index in batch])
            found.update(zip(batch, rows, strict=True))
            bar.update(len(batch))
    return [found[index] for index in range(len(sequences))]


@torch.inference_mode()
def _likelihoods(model: PreTrainedModel, batch: list[Sequence]) -> list[Likelihood]:
    width, first = max(len(one.tokens) for one in batch), min(one.scored[0] for one in batch)
    input_ids = torch.tensor([one.tokens + [0] * (width - len(one.tokens)) for one in batch],
                             device=model.device)
    logits = model(input_ids, use_cache=False,
                   logits_to_keep=width - first + 1).logits  # (B, width - first + 1, V)
    row = torch.tensor([row for row, one in enumerate(batch) for _ in one.scored],
                       device=model.device)
    place = torch.tensor([place for one in batch for place in one.scored], device=model.device)
    targets = input_ids[row, place]  # (N,)
    logits = logits[row, place - first].float()  # (N, V): those that predict each target
    logliks = logits.log_softmax(-1).gather(1, targets[:, None])[:, 0].tolist()
    is_argmax = (logits.argmax(-1) == targets).tolist()
    rows, start = [], 0
    for one in batch:
        here = slice(start, start := start + len(one.scored))
        rows.append(Likelihood(sum(logliks[here]), len(one.scored), all(is_argmax[here])))
    return rows
