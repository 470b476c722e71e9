"""Measure how fast the laboratory trains, compared with a plain Trainer and bare loops.

    python -m benchmarks training

Every way makes a few updates of the laboratory's model in turn, ROUNDS times over, so that other
load on the machine affects all of them; the numbers are medians. Tokens are those with loss:
padding is not counted.
"""

import contextlib
import io
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path

os.environ.setdefault(
    "GOMP_SPINCOUNT", "20000"
)  # as the notebook runner does; before torch is imported

import torch
from transformers import (
    DataCollatorForLanguageModeling,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from lib.core.records import listed
from lib.lab.bases import new_llama, train_tokenizer
from lib.lab.records import make_products, public_records
from lib.train.config import TrainConfig, computes_bf16
from lib.train.corpus import PackedBlocks, pack
from lib.train.trainer import fastest_attention, train

ROUNDS, UPDATES = 5, 6
BLOCK, BATCH, RATE = 320, 8, 2e-3  # those of 00_lab.ipynb
SHAPE = {"hidden_size": 256, "layers": 4, "heads": 4}
TARGETS = {
    "ours over Trainer, padded to the longest": 5.0,
    "ours over the best bare loop": 0.9,
}


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

    def model(self) -> PreTrainedModel:
        """Return the untrained model, the same at every call."""
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
    """Train by lib.train.trainer.train; its checkpoint comes after the last update."""
    chosen = slice(UPDATES * BATCH)
    part = [
        rows[chosen] for rows in (lab.blocks.input_ids, lab.blocks.labels, lab.blocks.position_ids)
    ]
    tokens = sum(label >= 0 for labels in part[1] for label in labels)

    class Timed(TrainerCallback):
        def on_step_end(self, args, state, control, **more):
            watch.mark(tokens / UPDATES)

    config = TrainConfig(
        epochs=1,
        global_batch_size=BATCH,
        device_batch_size=BATCH,
        learning_rate=RATE,
        warmup_steps=1,
        weight_decay=0.1,
        seed=1,
        precision=lab.precision,
    )
    blocks = PackedBlocks(*part, tokens, tokens)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "m"
        train(lab.model(), lab.tokenizer, blocks, None, config, output, {}, [Timed()])


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
        optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.1, fused=True)
        columns = [
            torch.tensor(rows[: UPDATES * BATCH]).split(BATCH)
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
    "**ours** (`lib.train.trainer.train`)": ours,
}
OURS, LONGEST = (
    "**ours** (`lib.train.trainer.train`)",
    "Trainer, padded to the longest",
)


def measured(lab: Laboratory) -> dict[str, Speed]:
    """Return each way's median speed over ROUNDS rounds; in each round all ways take turns."""
    runs: dict[str, list[Speed]] = {name: [] for name in WAYS}
    for _ in range(ROUNDS):
        for name, way in WAYS.items():
            watch = Stopwatch()
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                way(lab, watch)
            runs[name].append(watch.speed())
    return {
        name: Speed(*map(statistics.median, zip(*map(astuple, speeds), strict=True)))
        for name, speeds in runs.items()
    }


def main() -> str:
    """Return the measurement as Markdown."""
    lab = laboratory()
    speeds = measured(lab)
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
    return "\n".join(lines)


if __name__ == "__main__":
    print(main())
