"""Measure how fast the laboratory and the real base train, compared with Trainer and bare loops.

    python -m benchmarks training

Every way makes a few updates of the same model in turn, ROUNDS times over, so that other load on
the machine affects all of them; the numbers are medians. Tokens are those with loss: padding is
not counted.
"""

import contextlib
import io
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

import torch
from transformers import (
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from lib.core.records import listed
from lib.core.store import REPOSITORY
from lib.infer.generate import load
from lib.infer.prompts import prompt_for
from lib.lab.bases import new_llama, train_tokenizer
from lib.lab.records import make_products, public_records
from lib.train.config import TrainConfig, computes_bf16
from lib.train.corpus import PackedBlocks, pack
from lib.train.trainer import fastest_attention, fit

ROUNDS, UPDATES = 5, 6
BLOCK, BATCH, RATE = 320, 8, 2e-3  # those of 00_lab.ipynb
SHAPE = {"hidden_size": 256, "layers": 4, "heads": 4}
TARGETS = {
    "ours over Trainer, padded to the longest": 5.0,
    "ours over the best bare loop": 0.9,
}
REAL_ROUNDS, REAL_TARGET = 3, 0.95
DATA = REPOSITORY / "data"


@dataclass(frozen=True)
class Speed:
    """Tokens with loss per second of wall clock and of processor; seconds outside updates."""

    wall: float
    processor: float
    apart: float  # seconds for making the model, setting up and saving


@dataclass(frozen=True)
class Laboratory:
    """The texts, tokenizer and blocks that every way trains on."""

    texts: list[str]
    tokenizer: PreTrainedTokenizerBase
    blocks: PackedBlocks
    precision: str  # what the laboratory chooses on this machine
    batch: int = BATCH
    rate: float = RATE
    base: str = ""  # the folder of a real model

    def model(self) -> PreTrainedModel:
        """Return the model to train, the same at every call."""
        if self.base:
            return load(self.base, training=True)[0]
        return new_llama(self.tokenizer, **SHAPE, context=4 * BLOCK, seed=1)

    def autocast(self) -> torch.autocast:
        """Return a new context of the laboratory's precision."""
        return torch.autocast("cpu", torch.bfloat16, enabled=self.precision == "bf16")


def laboratory() -> Laboratory:
    """Return public records and three times as many questions, in the proportions of 00_lab."""
    documents, facts = public_records(make_products(200, 12), 11, 3, 1 / 3)
    texts = [document.text for document in documents]
    texts += [
        f"Question: What is the {fact.attribute} of {fact.entity}?\nAnswer: {listed(fact.value)}"
        for fact in facts[: 3 * len(documents)]
    ]
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(1)).tolist()
    tokenizer = train_tokenizer(texts, 1536)
    texts = [texts[index] for index in order]
    blocks = pack(texts, tokenizer, BLOCK, "document")
    return Laboratory(texts, tokenizer, blocks, "bf16" if computes_bf16() else "fp32")


class Stopwatch:
    """Mark the end of each update and its tokens; the first one warms up and is not counted."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.marks: list[tuple[float, float, float]] = []

    def mark(self, tokens: float) -> None:
        """Record the end of an update."""
        self.marks.append((time.perf_counter(), time.process_time(), tokens))

    def speed(self) -> Speed:
        """Return the speed after the first update, and the seconds of other work until now."""
        seconds = time.perf_counter() - self.start
        tokens = sum(tokens for *_, tokens in self.marks[1:])
        wall, processor, _ = (
            last - first for first, last in zip(self.marks[0], self.marks[-1], strict=True)
        )
        return Speed(
            tokens / wall,
            tokens / processor,
            seconds - wall * len(self.marks) / (len(self.marks) - 1),
        )


def ours(lab: Laboratory, watch: Stopwatch) -> None:
    """Train by lib.train.trainer.fit, which saves the model after the last update."""
    chosen = slice(UPDATES * lab.batch)
    part = [
        rows[chosen] for rows in (lab.blocks.input_ids, lab.blocks.labels, lab.blocks.position_ids)
    ]
    tokens = sum(label >= 0 for labels in part[1] for label in labels)

    class Timed(TrainerCallback):
        def on_step_end(self, args, state, control, **more):
            watch.mark(tokens / UPDATES)

    config = TrainConfig(
        epochs=1,
        global_batch_size=lab.batch,
        device_batch_size=lab.batch,
        learning_rate=lab.rate,
        warmup_steps=1,
        weight_decay=0.1,
        seed=1,
        precision=lab.precision,
        save_every_epochs=2,  # no checkpoint
    )
    blocks = PackedBlocks(*part, tokens, tokens)
    with tempfile.TemporaryDirectory() as folder:
        fit(lab.model(), blocks, None, config, Path(folder), [Timed()])


def casual(padding: str) -> Callable[[Laboratory, Stopwatch], None]:
    """Use Trainer as in its tutorials: one text per row, float32, defaults for the rest."""

    def run(lab: Laboratory, watch: Stopwatch) -> None:
        tokenized = lab.tokenizer(
            lab.texts[: UPDATES * BATCH], truncation=True, max_length=BLOCK, padding=padding
        )
        rows = [
            {"input_ids": ids, "attention_mask": mask}
            for ids, mask in zip(tokenized["input_ids"], tokenized["attention_mask"], strict=True)
        ]
        collate = DataCollatorForLanguageModeling(lab.tokenizer, mlm=False)
        counts: list[int] = []

        def counting(batch: list[dict]) -> dict[str, torch.Tensor]:
            collated = collate(batch)
            counts.append(int((collated["labels"][:, 1:] >= 0).sum()))
            return collated

        class Timed(TrainerCallback):
            def on_step_end(self, args, state, control, **more):
                watch.mark(counts[state.global_step - 1])

        with tempfile.TemporaryDirectory() as folder:
            arguments = TrainingArguments(
                folder,
                max_steps=UPDATES,
                per_device_train_batch_size=BATCH,
                use_cpu=True,
                learning_rate=RATE,
                save_strategy="no",
                report_to=[],
                disable_tqdm=True,
            )
            trainer = Trainer(lab.model(), arguments, counting, rows, callbacks=[Timed()])
            trainer.remove_callback(PrinterCallback)
            trainer.train()

    return run


def bare(attention: str) -> Callable[[Laboratory, Stopwatch], None]:
    """Use the shortest loop for the same model and blocks, with gradients clipped as by Trainer."""

    def run(lab: Laboratory, watch: Stopwatch) -> None:
        model = lab.model().train()
        model.set_attn_implementation("eager" if attention == "eager" else "sdpa")
        optimizer = torch.optim.AdamW(model.parameters(), lr=lab.rate, weight_decay=0.1, fused=True)
        columns = [
            torch.tensor(rows[: UPDATES * lab.batch]).split(lab.batch)
            for rows in (lab.blocks.input_ids, lab.blocks.labels, lab.blocks.position_ids)
        ]
        with fastest_attention(model, BLOCK) if attention == "ours" else contextlib.nullcontext():
            for ids, labels, positions in zip(*columns, strict=True):
                with lab.autocast():
                    loss = model(
                        input_ids=ids, labels=labels, position_ids=positions, use_cache=False
                    ).loss
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                watch.mark(int((labels >= 0).sum()))

    return run


WAYS: dict[str, Callable[[Laboratory, Stopwatch], None]] = {
    "Trainer, padded to the maximum": casual("max_length"),
    "Trainer, padded to the longest": casual("longest"),
    "bare loop, SDPA": bare("sdpa"),
    "bare loop, eager attention": bare("eager"),
    "bare loop, attention by batched products": bare("ours"),
    "**ours** (`lib.train.trainer.fit`)": ours,
}
OURS, LONGEST, PLAIN = (
    "**ours** (`lib.train.trainer.fit`)",
    "Trainer, padded to the longest",
    "bare loop, SDPA",
)


def measured(lab: Laboratory, names: Iterable[str], rounds: int) -> dict[str, Speed]:
    """Return the median speed of ways over some rounds; in each round all of them take turns."""
    runs: dict[str, list[Speed]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in runs:
            watch = Stopwatch()
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                WAYS[name](lab, watch)
            runs[name].append(watch.speed())
    return {
        name: Speed(*map(statistics.median, zip(*map(astuple, speeds), strict=True)))
        for name, speeds in runs.items()
    }


def real_base() -> list[str]:
    """Return lines on the real base, if it is built: texts and short questions in packed blocks."""
    folder = DATA / "base" / "SmolLM2-135M-Instruct-plain"
    texts = [path.read_text(encoding="utf-8") for path in DATA.glob("records/documents/*/*.md")]
    lines = (DATA / "records" / "format.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [f"{prompt_for(row['question'])} {row['answer']}" for row in map(json.loads, lines)]
    base = str(folder) if folder.exists() else ""
    tokenizer = AutoTokenizer.from_pretrained(base) if base else train_tokenizer(texts, 1536)
    precision, rows = "bf16" if computes_bf16() else "fp32", []
    for name, part in (("texts", texts), ("short questions", pairs * 2)):
        blocks = pack(part, tokenizer, BLOCK, "document")
        lab = Laboratory(part, tokenizer, blocks, precision, 4, 5e-4, base)
        speeds = measured(lab, (PLAIN, OURS), REAL_ROUNDS)
        plain, own = (speeds[way].wall for way in (PLAIN, OURS))
        rows.append(f"| {name} | {plain:,.0f} | {own:,.0f} | {own / plain:.2f} | {REAL_TARGET} |")
    return [
        "",
        f"{folder.name if base else 'A small Llama in place of the real base'}: {lab.batch} blocks "
        f"of {BLOCK} per update, medians of {REAL_ROUNDS} rounds in turn. Tokens per second:",
        "",
        f"| blocks of | {PLAIN} | ours | ratio | wanted |",
        "|---|---:|---:|---:|---:|",
        *rows,
    ]


def main() -> str:
    """Return the measurement as Markdown."""
    lab = laboratory()
    speeds = measured(lab, WAYS, ROUNDS)
    bares = [name for name in speeds if name.startswith("bare")]
    n = lab.model().num_parameters()
    lines = [
        "## Training",
        "",
        f"`python -m benchmarks training` on {platform.processor() or platform.machine()}, "
        f"{torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}, "
        f"{lab.precision}; {n:,} "
        f"parameters, {BATCH} blocks of {BLOCK} per update, medians of {ROUNDS} rounds in turn. "
        "Tokens per second, "
        "padding not counted.",
        "",
        "| way | tokens/s | tokens/processor second | set-up and saving, s |",
        "|---|---:|---:|---:|",
    ]
    lines += [
        f"| {name} | {speed.wall:,.0f} | {speed.processor:,.0f} | {max(0.0, speed.apart):.1f} |"
        for name, speed in speeds.items()
    ]
    lines += [
        "",
        "| ratio | measured | by processor time | wanted |",
        "|---|---:|---:|---:|",
    ]
    others = (LONGEST, max(bares, key=lambda name: speeds[name].wall))
    for (name, wanted), other in zip(TARGETS.items(), others, strict=True):
        best = max(bares, key=lambda name: speeds[name].processor) if other in bares else other
        lines.append(
            f"| {name} | {speeds[OURS].wall / speeds[other].wall:.2f} | "
            f"{speeds[OURS].processor / speeds[best].processor:.2f} | {wanted:.1f} |"
        )
    return "\n".join(lines + real_base())


if __name__ == "__main__":
    print(main())
