"""Measure how fast the laboratory answers and scores, compared with transformers' `generate`.

    python -m benchmarks.inference [a model's folder]

Without a folder, a model of the laboratory's size is first trained on the laboratory's questions
and answers, so that its answers end as real ones do. All ways start from the same tokens and suffer
the same disturbances: each has its turn in each of ROUNDS rounds, and the numbers are medians. The
time to fill in a prompt is stated separately. Prompts with a text to read, which are long, have
rows of their own.
"""

import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.annotate.questions import annotate
from lib.core.records import Query, listed
from lib.infer.generate import continuations, in_batches, load
from lib.infer.loglik import after_question, token_scores
from lib.infer.prompts import STOPS, before_stop, encoded, prompt_for
from lib.lab.bases import new_llama, train_tokenizer
from lib.lab.facts import ask_facts
from lib.lab.records import ATTRIBUTES, make_products, make_records
from lib.run.provenance import machine
from lib.train.config import TrainConfig, computes_bf16
from lib.train.corpus import pack
from lib.train.trainer import train

ROUNDS = 5
N_ALONE = 32  # queries per round for the ways that take one at a time
LONG_FIRST = "long prompts, generate in batches"
BATCH, BUDGET = 64, 64  # queries per forward pass, tokens per answer: as in 04_infer.ipynb
N_LONG, LONG, LONG_BUDGET = (
    32,
    1024,
    192,
)  # prompts with a text to read: their number, tokens of each, tokens of a reply


@dataclass
class Way:
    """One way to answer or score: a function of queries' indices, run in turn with the others."""

    name: str
    run: Callable[[list[int]], list]
    places: list[int]
    seconds: list[float] = field(default_factory=list)
    result: list = field(default_factory=list)

    def measure(self) -> None:
        """Run and time one round."""
        started = time.perf_counter()
        self.result = self.run(self.places)
        self.seconds.append(time.perf_counter() - started)

    @property
    def rate(self) -> float:
        """Return the queries per second, the median of all rounds."""
        return len(self.places) / statistics.median(self.seconds)


def questions() -> list[Query]:
    """Return the laboratory's questions on its private records."""
    documents, facts = make_records(make_products(60, seed=11), seed=11)
    return annotate(documents, ask_facts(facts), max_queries=len(ATTRIBUTES))[0]


def trained_model(queries: Sequence[Query], folder: Path, epochs: int = 12) -> str:
    """Train a model of the laboratory's size on questions with answers; return its folder."""
    texts = [
        f"{prompt_for(query.question)} {listed(query.answer.splitlines())}" for query in queries
    ]
    tokenizer = train_tokenizer(texts, 1536)
    model = new_llama(tokenizer, hidden_size=256, layers=4, heads=4, context=1280, seed=1)
    config = TrainConfig(
        epochs=epochs,
        global_batch_size=8,
        device_batch_size=8,
        learning_rate=2e-3,
        warmup_steps=20,
        weight_decay=0.1,
        seed=1,
    )
    blocks = pack(texts, tokenizer, 320, "document")
    train(model, tokenizer, blocks, None, config, folder / "model", {})
    return str(folder / "model")


def by_transformers(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: list[list[int]],
    batch_size: int,
    budget: int = BUDGET,
) -> list[str]:
    """Return greedy answers by `generate`, left-padded."""
    texts = []
    for start in range(0, len(prompts), batch_size):
        batch = tokenizer.pad(
            {"input_ids": prompts[start : start + batch_size]}, return_tensors="pt"
        ).to(model.device)
        output = model.generate(
            **batch, do_sample=False, max_new_tokens=budget, pad_token_id=tokenizer.pad_token_id
        )
        texts += tokenizer.batch_decode(
            output[:, batch["input_ids"].shape[1] :], skip_special_tokens=True
        )
    return [text.strip() for text in texts]


def by_ours(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompts: list[list[int]]
) -> list[str]:
    """Return greedy answers as 04_infer does."""
    return [
        before_stop(text, STOPS)
        for start in range(0, len(prompts), BATCH)
        for text in texts_of(model, tokenizer, prompts[start : start + BATCH], BUDGET, STOPS)
    ]


def texts_of(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: list[list[int]],
    budget: int,
    stops: tuple[str, ...] = (),
) -> list[str]:
    """Return the greedy continuations of one batch as texts."""
    rows = continuations(model, tokenizer, prompts, [budget] * len(prompts), stops)
    return tokenizer.batch_decode([row.tokens for row in rows], skip_special_tokens=True)


def ways(source: str, queries: list[Query]) -> list[Way]:
    """Return ways on the same queries; single ones, and bf16 without units, get only a part."""
    tokenizer = load(source)[1]
    models = {
        "float32": load(source, training=True)[0],
        "bf16": load(source)[0].bfloat16(),
    }
    prompts = encoded(tokenizer, queries)
    references = [
        after_question(tokenizer, query, prompt)[0]
        for query, prompt in zip(queries, prompts, strict=True)
    ]
    everything = list(range(len(queries)))
    alone = everything[:: max(1, len(queries) // N_ALONE)]
    some = everything if computes_bf16() else everything[:BATCH]

    def way(name: str, run: Callable[[list[list[int]]], list], places: list[int]) -> Way:
        return Way(name, lambda places: run([prompts[place] for place in places]), places)

    def scored(name: str, batch_size: int, places: list[int]) -> Way:
        return Way(
            f"scores, {name}",
            lambda places: token_scores(
                models[name.split(",")[0]], [references[place] for place in places], batch_size
            ),
            places,
        )

    return [
        way(
            "generate, one at a time",
            lambda rows: by_transformers(models["float32"], tokenizer, rows, 1),
            alone,
        ),
        way(
            "generate, batches",
            lambda rows: by_transformers(models["float32"], tokenizer, rows, BATCH),
            everything,
        ),
        way("ours, float32", lambda rows: by_ours(models["float32"], tokenizer, rows), everything),
        way("ours, bf16", lambda rows: by_ours(models["bf16"], tokenizer, rows), some),
        scored("float32, one at a time", 1, alone),
        scored("float32", BATCH, everything),
        scored("bf16", BATCH, some),
    ]


def long_ways(source: str) -> list[Way]:
    """Return ways to reply to prompts of LONG tokens; most replies end at the budget."""
    model, tokenizer = load(source, training=True)
    documents, _ = make_records(make_products(60, seed=11), seed=11)
    ids = tokenizer("\n".join(document.text for document in documents), add_special_tokens=False)[
        "input_ids"
    ]
    step = (len(ids) - LONG) // N_LONG
    prompts = [ids[place * step : place * step + LONG] for place in range(N_LONG)]
    return [
        Way(
            LONG_FIRST,
            lambda _: by_transformers(model, tokenizer, prompts, N_LONG, LONG_BUDGET),
            list(range(N_LONG)),
        ),
        Way(
            "long prompts, ours",
            lambda _: texts_of(model, tokenizer, prompts, LONG_BUDGET),
            list(range(N_LONG)),
        ),
    ]


def table(measured: list[Way]) -> list[str]:
    """Return rates and ratios as Markdown, and how many answers differ."""
    rows = {way.name: way for way in measured}
    alone, first = rows["generate, one at a time"], rows["scores, float32, one at a time"]
    lines = [
        "| way | queries/s | times the first of its kind | queries a round |",
        "|---|---|---|---|",
    ]
    for way in measured:
        base = {"scores": first, "long": rows[LONG_FIRST]}.get(re.split("[ ,]", way.name)[0], alone)
        rate = f"{way.rate:,.1f}"
        lines.append(f"| {way.name} | {rate} | {way.rate / base.rate:.1f} | {len(way.places)} |")
    ours = dict(zip(rows["ours, float32"].places, rows["ours, float32"].result, strict=True))
    lines.append("")
    for name in ("generate, one at a time", "generate, batches", "ours, bf16"):
        other = rows[name]
        changed = sum(
            ours[place] != text for place, text in zip(other.places, other.result, strict=True)
        )
        lines.append(
            f"- {name}: {changed} of {len(other.places)} answers differ from ours in float32"
        )
    long, theirs = rows["long prompts, ours"].result, rows[LONG_FIRST].result
    changed = sum(one != other for one, other in zip(long, theirs, strict=True))
    lines.append(
        f"- {LONG_FIRST}: {changed} of {N_LONG} replies to prompts of {LONG:,} tokens differ from "
        "ours"
    )
    return lines


def main(source: str = "", rounds: int = ROUNDS) -> str:
    """Measure and return Markdown."""
    queries = [query for batch in in_batches(questions(), BATCH) for query in batch]
    with tempfile.TemporaryDirectory() as folder:
        source = source or trained_model(queries, Path(folder))
        measured = [*ways(source, queries), *long_ways(source)]
        started = time.perf_counter()
        encoded(load(source)[1], queries)
        filling = (time.perf_counter() - started) / len(queries)
        for _ in range(rounds):
            for way in measured:
                way.measure()
    units = "" if computes_bf16() else ", no bf16 units (float32 is chosen by itself)"
    where = f"{machine()['processor']}, {torch.get_num_threads()} threads{units}"
    return "\n".join(
        [
            "## Inference",
            "",
            f"`python -m benchmarks inference`; {where}; medians of {rounds} rounds. "
            f"Filling in and encoding a prompt takes {filling * 1e3:.2f} ms more.",
            "",
            *table(measured),
        ]
    )


if __name__ == "__main__":
    print(main(*sys.argv[1:2]))
