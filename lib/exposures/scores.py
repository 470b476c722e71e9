"""Score each fact from one forward pass: after its question, and after the arm's own words."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.core.records import Fact
from lib.core.text import listed
from lib.exposures.arms import Written
from lib.infer.prompts import beginning, prompt_for
from lib.lab.engines import question


@dataclass(frozen=True)
class Scored:
    """A value's mean log-probability in nats per token; `is_greedy`: each token is the argmax."""

    loglik: float
    n_tokens: int
    is_greedy: bool


@torch.inference_mode()
def token_scores(
    model: PreTrainedModel, sequences: Sequence[list[int]], batch_size: int = 64
) -> list[tuple[list[float], list[bool]]]:
    """Return the log-probability of each token but the first, and whether it is the argmax."""
    was_training = model.training
    model.eval()
    found: dict[int, tuple[list[float], list[bool]]] = {}
    order = sorted(range(len(sequences)), key=lambda index: len(sequences[index]))
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        ids = pad_sequence(
            [torch.tensor(sequences[index]) for index in chosen], batch_first=True
        ).to(model.device)  # (B, T)
        logits = model(ids, use_cache=False).logits[:, :-1].float()  # (B, T - 1, V)
        loglik = logits.log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]
        is_argmax = logits.argmax(-1) == ids[:, 1:]
        for row, index in enumerate(chosen):
            n = len(sequences[index]) - 1
            found[index] = (loglik[row, :n].tolist(), is_argmax[row, :n].tolist())
    model.train(was_training)
    return [found[index] for index in range(len(sequences))]


def after_question(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, facts: Sequence[Fact]
) -> list[Scored]:
    """Score each value after its question. `is_greedy` also needs the end of the text after it:
    a model that decodes greedily then answers with exactly this value."""
    begin, ends = beginning(tokenizer), [tokenizer.eos_token_id]
    asked, values = (
        tokenizer(texts, add_special_tokens=False)["input_ids"]
        for texts in (
            [prompt_for(question(fact)) for fact in facts],
            [f" {listed(fact.value)}" for fact in facts],
        )
    )
    sequences = [begin + ask + value + ends for ask, value in zip(asked, values, strict=True)]
    found = []
    for value, (logliks, is_argmax) in zip(values, token_scores(model, sequences), strict=True):
        n = len(value)
        found.append(Scored(sum(logliks[-n - 1 : -1]) / n, n, all(is_argmax[-n - 1 :])))
    return found


def after_record(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[Written],
    facts: Sequence[Fact],
) -> list[Scored]:
    """Score each value where `texts` state it, after all that stands before it.

    Raises ValueError if a statement lacks an item of its value.
    """
    begin, of_id, found = beginning(tokenizer), {fact.fact_id: fact for fact in facts}, {}
    read = tokenizer(
        [one.text for one in texts], add_special_tokens=False, return_offsets_mapping=True
    )
    scores = token_scores(model, [begin + ids for ids in read["input_ids"]])
    for one, offsets, (logliks, is_argmax) in zip(
        texts, read["offset_mapping"], scores, strict=True
    ):
        for name, (start, end) in one.places.items():
            spans, at = [], start
            for item in of_id[name].value:
                at = one.text.index(item, at, end)
                spans.append((at, at + len(item)))
                at += len(item)
            own = [
                place - 1 + len(begin)
                for place, (first, last) in enumerate(offsets)
                if any(first < stop and begun < last for begun, stop in spans)
            ]
            found[name] = Scored(
                sum(logliks[place] for place in own) / len(own),
                len(own),
                all(is_argmax[place] for place in own),
            )
    return [found[fact.fact_id] for fact in facts]
