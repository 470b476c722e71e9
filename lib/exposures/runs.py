"""One run of the exposure study: training at a constant rate, scores after 1, 2, 4, … exposures.

`question` and `record` are mean log-probabilities of a value, in nats per token, after its question
and after the arm's own words; `answered` and `stored` say whether greedy decoding gives it;
`answered_items` whether it gives a list's items in any order.
"""

import random
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import pandas as pd
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.core.records import Document, Fact, listed
from lib.core.store import BadInput, made_by, replacing, shown
from lib.exposures.arms import Written, texts_at
from lib.infer.generate import generate_greedy, load
from lib.infer.loglik import Likelihood, likelihood, overlapping, token_scores
from lib.infer.loglik import Sequence as Scored
from lib.infer.prompts import beginning, prompt_for
from lib.lab.facts import question
from lib.train.config import TrainConfig
from lib.train.corpus import PackedBlocks, pack
from lib.train.trainer import ScoreAfter, fit

_BATCH = 64  # texts per forward pass
_BETWEEN = re.compile(r",|\band\b|\n")  # items of a list in a reply


def blocks_of(
    read_at: Callable[[int], list[str]],
    public: Sequence[str],
    tokenizer: PreTrainedTokenizerBase,
    *,
    n_exposures: int,
    public_text_share: float,
    batch_size: int,
    block_size: int,
    seed: int,
) -> tuple[PackedBlocks, list[int]]:
    """All blocks in the order of training, and the number of updates up to each exposure.

    `read_at` gives an exposure's texts, to which public texts are added, drawn anew, up to their
    share of the tokens. An update has `batch_size` blocks.
    """
    rng, share = random.Random(f"order {seed}"), public_text_share
    sizes = [len(ids) for ids in tokenizer(list(public))["input_ids"]] if public else []
    blocks, updates = PackedBlocks([], [], [], 0, 0), []
    for exposure in range(n_exposures):
        own = read_at(exposure)
        wanted = share / (1 - share) * sum(map(len, tokenizer(own)["input_ids"]))
        drawn = rng.sample(range(len(public)), len(public)) if wanted else []
        before = accumulate((sizes[one] for one in drawn), initial=0)
        own += [public[one] for one, n in zip(drawn, before, strict=False) if n < wanted]
        packed = pack(own, tokenizer, block_size, "document").padded_to(batch_size)
        order = rng.sample(range(len(packed)), len(packed))
        parts = ("input_ids", "labels", "position_ids")
        rows = {name: [getattr(packed, name)[place] for place in order] for name in parts}
        blocks += replace(packed, **rows)
        updates.append(len(packed) // batch_size)
    return blocks, list(accumulate(updates))


def run(
    base_model: str,
    arm: str,
    documents: list[Document],
    facts: list[Fact],
    public: Sequence[str],
    kept: Sequence[Fact],
    work: Path,
    *,
    exposures: Sequence[int],
    learning_rate: float,
    public_text_share: float,
    warmup_steps: int,
    batch_size: int,
    block_size: int,
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Train an arm from a base; return the rows of its facts, and what it keeps of public ones.

    Both are scored before training (exposure 0) and after each of `exposures`, ascending. `kept`
    has public facts that are in none of the texts `public`.
    """
    model, tokenizer = load(base_model, training=True)
    blocks, updates = blocks_of(
        lambda exposure: [one.text for one in texts_at(arm, documents, facts, exposure)],
        public,
        tokenizer,
        n_exposures=exposures[-1],
        public_text_share=public_text_share,
        batch_size=batch_size,
        block_size=block_size,
        seed=seed,
    )
    config = TrainConfig(
        epochs=1,
        global_batch_size=batch_size,
        device_batch_size=batch_size,
        learning_rate=learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=warmup_steps,
        weight_decay=0.1,
        seed=seed,
        shuffle=False,
    )
    rows, left = [], []

    def score(model: PreTrainedModel, exposure: int) -> None:
        last = texts_at(arm, documents, facts, max(0, exposure - 1))  # what was read last
        rows.append(_scores(model, tokenizer, last, documents, facts).assign(exposures=exposure))
        left.append({"exposures": exposure, **answered(model, tokenizer, kept)})

    score(model, 0)
    points = {updates[exposure - 1]: exposure for exposure in exposures}
    shutil.rmtree(work, ignore_errors=True)  # a killed run starts again: it has no scores
    fit(lambda: model, blocks, None, config, work, [ScoreAfter(points, score)])
    shutil.rmtree(work)
    return pd.concat(rows), pd.DataFrame(left).assign(tokens=blocks.n_tokens, updates=updates[-1])


def _scores(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: list[Written],
    documents: list[Document],
    facts: list[Fact],
) -> pd.DataFrame:
    raw = {one.document_id: one.text for one in documents}
    asked = after_question(model, tokenizer, facts)
    read = after_record(model, tokenizer, texts, facts)
    pairs = zip(facts, asked, strict=True)
    lists = [fact for fact, one in pairs if fact.value[1:] and not one.is_argmax]
    has_items = gives_items(model, tokenizer, lists)
    return pd.DataFrame(
        {
            "product": fact.entity,
            "attribute": fact.attribute,
            "structure": fact.structure,
            "is_named": fact.entity in raw[fact.document_id][fact.start : fact.end],
            "question": round(after.loglik, 3),
            "record": round(record.loglik, 3),
            "answered": after.is_argmax,
            "stored": record.is_argmax,
            "answered_items": has_items.get(fact.fact_id, after.is_argmax),
        }
        for fact, after, record in zip(facts, asked, read, strict=True)
    )


def _prompts(tokenizer: PreTrainedTokenizerBase, facts: Sequence[Fact]) -> list[list[int]]:
    asked = [prompt_for(question(fact)) for fact in facts]
    ids = tokenizer(asked, add_special_tokens=False)["input_ids"] if asked else []
    return [beginning(tokenizer) + one for one in ids]


def after_question(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, facts: Sequence[Fact]
) -> list[Likelihood]:
    """Score each value after its question: its mean log-probability in nats per token.

    `is_argmax` also needs the end of the text after it: a model that decodes greedily then answers
    with exactly this value.
    """
    values = [f" {listed(fact.value)}" for fact in facts]
    values = tokenizer(values, add_special_tokens=False)["input_ids"]
    sequences = [
        Scored(
            ask + value + [tokenizer.eos_token_id],
            list(range(len(ask), len(ask) + len(value) + 1)),
        )
        for ask, value in zip(_prompts(tokenizer, facts), values, strict=True)
    ]
    scores = token_scores(model, sequences, _BATCH)
    return [_mean(one[:-1])._replace(is_argmax=likelihood(one).is_argmax) for one in scores]


def gives_items(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, facts: Sequence[Fact]
) -> dict[str, bool]:
    """True where the greedy reply to a fact's question is exactly its items, in any order.

    Keys are fact_ids. A reply is split at commas, line breaks and "and".
    """
    budgets = [len(listed(fact.value)) + 8 for fact in facts]  # tokens: at most its characters
    found = {}
    for start in range(0, len(facts), _BATCH):
        part = slice(start, start + _BATCH)
        replies = generate_greedy(model, tokenizer, _prompts(tokenizer, facts[part]), budgets[part])
        for fact, reply in zip(facts[part], replies, strict=True):
            items = map(str.strip, _BETWEEN.split(tokenizer.decode(reply.tokens)))
            is_same = sorted(filter(None, items)) == sorted(fact.value)
            found[fact.fact_id] = is_same and not reply.truncated
    return found


def after_record(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[Written],
    facts: Sequence[Fact],
) -> list[Likelihood]:
    """Score each value where `texts` state it, after all that stands before it, as after_question.

    Raises ValueError if a statement lacks an item of its value.
    """
    begin, values, found = beginning(tokenizer), {one.fact_id: one.value for one in facts}, {}
    read = tokenizer(
        [one.text for one in texts], add_special_tokens=False, return_offsets_mapping=True
    )
    sequences = [begin + ids for ids in read["input_ids"]]
    sequences = [Scored(ids, list(range(1, len(ids)))) for ids in sequences]
    scores = token_scores(model, sequences, _BATCH)
    for one, offsets, tokens in zip(texts, read["offset_mapping"], scores, strict=True):
        for name, span in one.places.items():
            spans = _items_at(one.text, values[name], *span)
            places = overlapping(offsets, spans, len(begin) - 1)
            found[name] = _mean([tokens[place] for place in places])
    return [found[fact.fact_id] for fact in facts]


def _items_at(text: str, items: list[str], at: int, end: int) -> list[tuple[int, int]]:
    spans = []
    for item in items:
        at = text.index(item, at, end)
        spans.append((at, at + len(item)))
        at += len(item)
    return spans


def _mean(tokens: list) -> Likelihood:
    whole = likelihood(tokens)
    return whole._replace(loglik=whole.loglik / whole.n_tokens)


def answered(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, facts: Sequence[Fact]
) -> dict[str, float]:
    """The share of public questions answered, and their log-likelihood in nats a token."""
    scores = after_question(model, tokenizer, facts)
    return {
        "public_answered": sum(one.is_argmax for one in scores) / len(scores),
        "public_loglik": sum(one.loglik for one in scores) / len(scores),
    }


def write_rows(path: Path, rows: pd.DataFrame) -> None:
    """Write rows as CSV, compressed and without a date, so that equal rows give equal files."""
    flags = rows.select_dtypes("bool").columns
    with replacing(path) as temporary:
        rows.astype(dict.fromkeys(flags, int)).to_csv(
            temporary, index=False, compression={"method": "gzip", "mtime": 0}
        )


def read_rows(folder: Path, seeds: Iterable[int] = ()) -> pd.DataFrame:
    """The rows of <seed>.csv.gz in `folder`, with a column `base`; default: all seeds.

    Outcomes of before 2026-12 have no `answered_items`: NaN. Raises BadInput if a file is missing.
    """
    names = [f"{seed}.csv.gz" for seed in seeds] or sorted(
        path.name for path in folder.glob("[!.]*.csv.gz")
    )
    missing = [name for name in names if not (folder / name).exists()]
    if missing or not names:
        raise BadInput(
            f"{shown(folder / (missing or ['*.csv.gz'])[0])} is missing: run "
            f"{made_by('outcomes')} first (or `make study`)"
        )
    rows = pd.concat(
        [pd.read_csv(folder / name).assign(base=int(name.partition(".")[0])) for name in names],
        ignore_index=True,
    )
    if "answered" in rows and "answered_items" not in rows:
        rows["answered_items"] = np.nan
    return rows
