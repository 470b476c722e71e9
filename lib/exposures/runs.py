"""Runs of the exposure study: what an arm reads at each exposure, training, scores after some.

`question` and `record` are mean log-probabilities of a value, in nats per token, after its question
and after the arm's own words; `answered` and `stored` say whether greedy decoding gives it.
"""

import random
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.core.arms import RAW, check_exposures
from lib.core.records import STRUCTURES, Document, Fact, by_document, listed
from lib.core.store import replacing
from lib.infer.generate import load
from lib.infer.loglik import Likelihood, likelihood, overlapping, token_scores
from lib.infer.loglik import Sequence as Scored
from lib.infer.prompts import PLAIN, beginning, encode, prompt_for
from lib.lab.facts import question, rewritten, sentence_of
from lib.lab.records import laid, paraphrases
from lib.train.config import TrainConfig
from lib.train.corpus import PackedBlocks, pack
from lib.train.trainer import ScoreAfter, fit

N_PARAPHRASES = 8
_BATCH = 64  # texts per forward pass


class Written(NamedTuple):
    """A text to train on, and the characters of each fact's statement in it, by fact_id."""

    text: str
    places: dict[str, tuple[int, int]]


def texts_at(
    arm: str, documents: list[Document], facts: list[Fact], exposure: int
) -> list[Written]:
    """What an arm reads of each record at an exposure, counted from 0."""
    of_record = by_document(facts)
    return [_WRITERS[arm](one, of_record[one.document_id], exposure) for one in documents]


def _raw(record: Document, facts: list[Fact], exposure: int) -> Written:
    return Written(record.text, {fact.fact_id: (fact.start, fact.end) for fact in facts})


def _rewritten(
    record: Document, facts: list[Fact], exposure: int, *, is_prose_kept: bool = False
) -> Written:
    ordered = sorted(facts, key=lambda fact: fact.start)
    text, places = rewritten(record, ordered, range(len(record.text)), is_prose_kept), {}
    for fact in facts:
        said = sentence_of(fact, record.text, is_prose_kept)
        places[fact.fact_id] = (text.index(said), text.index(said) + len(said))
    return Written(text, places)


# The record itself, then its facts in eight other wordings, and again from the start.
def _paraphrased(record: Document, facts: list[Fact], exposure: int) -> Written:
    turn = exposure % (N_PARAPHRASES + 1)
    if turn == 0:
        return _raw(record, facts, exposure)
    said = {}
    for fact in facts:
        rng = random.Random(f"paraphrases {fact.fact_id}")
        wordings = paraphrases(fact.entity, fact.attribute, fact.value, N_PARAPHRASES, rng)
        said[fact.fact_id] = wordings[turn - 1]
    order = random.Random(f"order {record.document_id} {turn}").sample(list(said), len(said))
    text, spans = laid([said[name] for name in order], between=" ")
    return Written(text, dict(zip(order, spans, strict=True)))


_WRITERS = {  # of EXPOSURE_ARMS: from a record, its facts and the exposure, a text
    RAW: _raw,
    "normalized": _rewritten,
    "rewritten-structures": partial(_rewritten, is_prose_kept=True),  # lists and tables alone
    "paraphrase-8": _paraphrased,
}


def runs_of(
    arms: list[str], rotations: list[int], configs: list[dict], base: int
) -> list[tuple[str, int, dict]]:
    """Arm, rotation and regime of each run from base number `base`.

    Without `rotations`, raw text is trained in all of them, other arms in the base's own one.
    """
    check_exposures(arms, configs)
    n = len(STRUCTURES)
    return [
        (arm, rotation, regime)
        for arm in arms
        for rotation in rotations or (range(n) if arm == RAW else [base // 10 % n])
        for regime in configs
    ]


def blocks_of(
    texts: Iterable[list[str]],
    public: Sequence[str],
    tokenizer: PreTrainedTokenizerBase,
    config: TrainConfig,
    *,
    public_text_share: float,
    block_size: int,
) -> tuple[PackedBlocks, list[int]]:
    """All blocks in the order of training, and the number of updates up to each exposure.

    To an exposure's `texts`, public texts are added, drawn anew, up to their share of the tokens.
    """
    rng, n_blocks = random.Random(f"order {config.seed}"), config.global_batch_size
    sizes = [len(ids) for ids in tokenizer(list(public))["input_ids"]] if public else []
    parts, updates = [], []
    for own in texts:
        n_own = sum(map(len, tokenizer(own)["input_ids"]))
        wanted = public_text_share / (1 - public_text_share) * n_own
        drawn = rng.sample(range(len(public)), len(public)) if wanted else []
        before = accumulate((sizes[one] for one in drawn), initial=0)
        more = [public[one] for one, n in zip(drawn, before, strict=False) if n < wanted]
        packed = pack(own + more, tokenizer, block_size, "document").padded_to(n_blocks)
        order = rng.sample(range(len(packed)), len(packed))
        columns = {name: [packed[place][name] for place in order] for name in packed[0]}
        parts.append(replace(packed, **columns))
        updates.append(len(packed) // n_blocks)
    return sum(parts[1:], parts[0]), list(accumulate(updates))


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
    warmup_steps: int,
    batch_size: int,
    seed: int,
    **packing,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Train an arm from a base; return the rows of its facts, and what it keeps of public ones.

    Both are scored before training (exposure 0) and after each of `exposures`, ascending. `kept`
    has public facts that are in none of the texts `public`. `packing` is of `blocks_of`.
    """
    model, tokenizer = load(base_model, training=True)
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
    read = [texts_at(arm, documents, facts, exposure) for exposure in range(exposures[-1])]
    texts = ([one.text for one in written] for written in read)
    blocks, updates = blocks_of(texts, public, tokenizer, config, **packing)
    rows, left = [], []

    def score(model: PreTrainedModel, exposure: int) -> None:
        last = read[max(0, exposure - 1)]  # what was read last
        rows.append(_scores(model, tokenizer, last, documents, facts).assign(exposures=exposure))
        asked = after_question(model, tokenizer, kept)
        public = {
            "public_answered": sum(one.is_argmax for one in asked) / len(asked),
            "public_loglik": sum(one.loglik for one in asked) / len(asked),
        }
        left.append({"exposures": exposure, **public})

    score(model, 0)
    points = {updates[exposure - 1]: exposure for exposure in exposures}
    shutil.rmtree(work, ignore_errors=True)  # a killed run starts again: it has no scores
    fit(model, blocks, None, config, work, [ScoreAfter(points, score)])
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
        }
        for fact, after, record in zip(facts, asked, read, strict=True)
    )


def after_question(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, facts: Sequence[Fact]
) -> list[Likelihood]:
    """Score each value after its question: its mean log-probability in nats per token.

    `is_argmax` also needs the end of the text after it: a model that decodes greedily then answers
    with exactly this value.
    """
    begin, sequences = beginning(tokenizer), []
    prompts = encode(tokenizer, [prompt_for(question(fact)) for fact in facts])
    values = encode(tokenizer, [f" {listed(fact.value)}" for fact in facts])
    for prompt, value in zip(prompts, values, strict=True):
        ask = begin + prompt
        tokens = ask + value + [tokenizer.eos_token_id]
        sequences.append(Scored(tokens, list(range(len(ask), len(tokens)))))
    scores = token_scores(model, sequences, _BATCH)
    return [_mean(one[:-1])._replace(is_argmax=likelihood(one).is_argmax) for one in scores]


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
    read = tokenizer([one.text for one in texts], **PLAIN, return_offsets_mapping=True)
    sequences = [begin + ids for ids in read["input_ids"]]
    sequences = [Scored(ids, list(range(1, len(ids)))) for ids in sequences]
    scores = token_scores(model, sequences, _BATCH)
    for one, offsets, tokens in zip(texts, read["offset_mapping"], scores, strict=True):
        for name, span in one.places.items():
            spans = list(_items_at(one.text, values[name], *span))
            places = overlapping(offsets, spans, len(begin) - 1)
            found[name] = _mean([tokens[place] for place in places])
    return [found[fact.fact_id] for fact in facts]


def _items_at(text: str, items: list[str], at: int, end: int) -> Iterator[tuple[int, int]]:
    for item in items:
        start = text.index(item, at, end)
        at = start + len(item)
        yield start, at


def _mean(tokens: list) -> Likelihood:
    whole = likelihood(tokens)
    return whole._replace(loglik=whole.loglik / whole.n_tokens)


def write_rows(path: Path, rows: pd.DataFrame) -> None:
    """Write rows as CSV, compressed and without a date, so that equal rows give equal files."""
    flags = rows.select_dtypes("bool").columns
    with replacing(path) as temporary:
        rows.astype(dict.fromkeys(flags, int)).to_csv(
            temporary, index=False, compression={"method": "gzip", "mtime": 0}
        )
