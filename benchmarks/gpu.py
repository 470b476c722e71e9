"""Measure training and answering on one GPU, with random weights of Llama-3.1-8B's shape.

    python -m benchmarks gpu

Speed and memory do not depend on the weights' values, so no hub is needed. Training takes as many
of the layers as the plan says fit. Each measurement has a process of its own.
"""

import copy
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import (
    AutoModelForCausalLM,
    DataCollatorForLanguageModeling,
    LlamaConfig,
    PreTrainedModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from benchmarks.inference import BATCH, BUDGET, by_ours, by_transformers, questions
from lib.core.paths import REPOSITORY
from lib.infer.answers import in_batches
from lib.infer.prompts import encoded, prompt_for
from lib.lab.base_model import train_tokenizer
from lib.train.packing import IGNORED, PackedBlocks
from lib.train.plan import plan
from lib.train.recipe import Recipe
from lib.train.trainer import fit

# Dense bf16 FLOP/s without sparsity, from NVIDIA's data sheets, by a part of the device's name. The
# PCIe and NVL cards are slower.
PEAKS = {"H100 80GB HBM3": 989e12, "H200": 989e12, "A100": 312e12}
PUBLISHED = (
    "Published for Llama-3.1-8B on 8 H100 with FSDP, 8,192-token blocks and selective activation "
    "checkpointing: 5,762 tokens/s a GPU, 33% MFU; with torch.compile 6,667 tokens/s, 39% MFU "
    "(torchtitan, benchmarks/llama3_h100_202412_torchtitan.md; its H100 had a lower power limit).")
TRAINER = "transformers' Trainer as in its tutorials"
WAYS = {  # packing and gradient checkpointing
    "ours, concat": ("concat", False), "ours, document": ("document", False),
    "ours, concat, gradient checkpointing": ("concat", True), TRAINER: ("concat", False)}
WANTED_MFU, WANTED_MEMORY = 0.45, 0.15  # at least; at most, as a share of the plan


@dataclass(frozen=True)
class Setting:
    """The model's shape, the blocks, the updates (the first one warms up) and the questions."""

    shape: dict[str, object] = field(default_factory=lambda: {
        "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
        "max_position_embeddings": 8192, "tie_word_embeddings": False})
    block_size: int = 4096
    document_tokens: int = 700  # per document with the packing `document`
    accumulation: int = 8  # blocks per update
    updates: int = 4
    questions: int = 8 * BATCH

    def config(self, layers: int | None = None) -> LlamaConfig:
        """Return the model's configuration, with fewer layers if `layers` is given."""
        return LlamaConfig(**self.shape | ({"num_hidden_layers": layers} if layers else {}))

    def recipe(self, is_checkpointed: bool = False) -> Recipe:
        """Return the paper's recipe, with this setting's blocks per update."""
        return Recipe(1, self.accumulation, 1, 5e-6, 20, 0.1, 42, "bf16",
                      gradient_checkpointing=is_checkpointed)

    def blocks(self, packing: str) -> PackedBlocks:
        """Return random tokens, in more blocks than are trained on: no epoch ends and is saved."""
        n_blocks, length = (self.updates + 1) * self.accumulation, (
            self.block_size if packing == "concat" else self.document_tokens)
        generator = torch.Generator().manual_seed(1)
        ids = torch.randint(3, self.shape["vocab_size"], (n_blocks, self.block_size),
                            generator=generator).tolist()
        positions = [place % length for place in range(self.block_size)]
        labels = [[token if place else IGNORED for token, place in zip(row, positions, strict=True)]
                  for row in ids]
        n_tokens = n_blocks * self.block_size
        return PackedBlocks(ids, labels, [positions] * n_blocks, n_tokens,
                            n_tokens - n_blocks * positions.count(0))


class Done(Exception):
    """All updates have been timed."""


class Stopwatch(TrainerCallback):
    """Note when each update ends, and stop after the last one."""

    def __init__(self, updates: int) -> None:
        self.updates, self.marks = updates, []

    def on_step_end(self, args, state, control, **more):
        _wait()
        self.marks.append(time.perf_counter())
        if len(self.marks) == self.updates:
            raise Done


def device() -> str:
    """Return the device to measure."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def peak_flops(name: str) -> float:
    """Return the dense bf16 FLOP/s of the device called `name`, 0 if it is not in PEAKS."""
    is_slower = "PCIe" in name or "NVL" in name
    return next((most for part, most in PEAKS.items() if part in name and not is_slower), 0.0)


def flops_per_token(config: LlamaConfig, parameters: int, block_size: int) -> float:
    """Return the FLOPs of a training pass per token (Chowdhery et al. 2022, appendix B).

    Looking up an embedding needs none; what gradient checkpointing computes again does not count.
    """
    looked_up = 0 if config.tie_word_embeddings else config.vocab_size * config.hidden_size
    return 6 * (parameters - looked_up) + (
        12 * config.num_hidden_layers * config.hidden_size * block_size)


def most_layers(setting: Setting, is_checkpointed: bool, device_bytes: float) -> int:
    """Return the most layers of `setting` that `lib.train.plan` says fit, 0 if none does."""
    for layers in range(setting.shape["num_hidden_layers"], 0, -1):
        if _plan(setting, layers, is_checkpointed, device_bytes).is_fitting:
            return layers
    return 0


def _plan(setting: Setting, layers: int, is_checkpointed: bool, device_bytes: float = 0):
    return plan(setting.config(layers), setting.recipe(is_checkpointed), precision="bf16",
                updates=setting.updates, block_size=setting.block_size, on_cpu=device() == "cpu",
                device_bytes=device_bytes)


def new_model(config: LlamaConfig, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """Return a model with random weights, made on the device."""
    torch.manual_seed(1)
    with torch.device(device()):
        return AutoModelForCausalLM.from_config(config, dtype=dtype)


def trained(setting: Setting, way: str, layers: int) -> dict[str, float]:
    """Train for a few updates; return tokens/s, peak and planned bytes, and FLOPs per token."""
    packing, is_checkpointed = WAYS[way]
    config, watch = setting.config(layers), Stopwatch(setting.updates)
    with tempfile.TemporaryDirectory() as folder, suppress(Done):  # raised after the last update
        if way == TRAINER:
            _by_trainer(setting, config, watch, folder)
        else:
            fit(lambda: new_model(config), setting.blocks(packing), None,
                setting.recipe(is_checkpointed), Path(folder), [watch])
    planned = _plan(setting, layers, is_checkpointed)
    seconds = statistics.median(
        after - before for before, after in zip(watch.marks, watch.marks[1:], strict=False))
    return {"layers": layers, "parameters": planned.parameters,
            "tokens_per_second": setting.accumulation * setting.block_size / seconds,
            "flops_per_token": flops_per_token(config, planned.parameters, setting.block_size),
            "planned_bytes": planned.bytes_needed,
            "peak_bytes": torch.cuda.max_memory_allocated() if device() == "cuda" else 0}


def _by_trainer(setting: Setting, config: LlamaConfig, watch: Stopwatch, folder: str) -> None:
    """Use Trainer as its tutorials do: bf16, and defaults for all that the recipe does not name."""
    ids, recipe = setting.blocks("concat").input_ids, setting.recipe()
    tokenizer = train_tokenizer(["one text"], 260)  # only for its padding token
    arguments = TrainingArguments(
        folder, num_train_epochs=1, per_device_train_batch_size=1, bf16=True, report_to=[],
        gradient_accumulation_steps=setting.accumulation, learning_rate=recipe.learning_rate,
        save_strategy="no", disable_tqdm=True, use_cpu=device() == "cpu")
    trainer = Trainer(new_model(config), arguments,
                      DataCollatorForLanguageModeling(tokenizer, mlm=False),
                      [{"input_ids": row} for row in ids], callbacks=[watch])
    trainer.remove_callback(PrinterCallback)
    trainer.train()


@torch.no_grad()
def leaks(setting: Setting, layers: int = 2) -> dict[str, float]:
    """Return the share of logits of a block's later documents that its first one changes.

    `apart` is with the positions of the packing `document`, `joined` without: there all may change.
    """
    model = new_model(setting.config(layers)).eval()
    block = setting.blocks("document")[0]
    start, found = setting.document_tokens, {}
    for name in ("apart", "joined"):
        rows = {"input_ids": torch.tensor([block["input_ids"]], device=model.device)}
        if name == "apart":
            rows["position_ids"] = torch.tensor([block["position_ids"]], device=model.device)
        other = copy.deepcopy(rows)
        other["input_ids"][:, :start] = 7
        logits = []
        for given in (rows, other):
            with torch.autocast(model.device.type, torch.bfloat16):
                logits.append(model(**given, use_cache=False).logits[0, start:])
        found[name] = float((logits[0] != logits[1]).float().mean())
    return found


def answered(setting: Setting) -> dict[str, float]:
    """Return questions per second in bf16 by 04_infer's engine and by `generate`, after a warm-up.

    Random weights do not end an answer, so that nearly all answers have all of BUDGET tokens.
    """
    queries = [query for batch in in_batches(questions()[:setting.questions], BATCH)
               for query in batch]
    tokenizer = train_tokenizer([prompt_for(query.question) for query in queries], 1536)
    prompts, model = encoded(tokenizer, queries), new_model(setting.config(), torch.bfloat16).eval()
    found = {"queries": len(queries)}
    for name, way in (("ours", by_ours), ("generate", _by_generate)):
        way(model, tokenizer, prompts[:BATCH])
        _wait()
        started = time.perf_counter()
        way(model, tokenizer, prompts)
        _wait()
        found[name] = len(queries) / (time.perf_counter() - started)
    return found


def _by_generate(model: PreTrainedModel, tokenizer, prompts: list[list[int]]) -> list[str]:
    return by_transformers(model, tokenizer, prompts, BATCH)


def _wait() -> None:
    if device() == "cuda":
        torch.cuda.synchronize()


def training_table(measured: dict[str, dict[str, float]], most: float) -> list[str]:
    """Return a row per way as Markdown; `most` is the device's FLOP/s, 0 if unknown."""
    lines = ["| way | layers | parameters | tokens/s | MFU | peak memory | planned | over it |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for way, one in measured.items():
        share = one["tokens_per_second"] * one["flops_per_token"] / most if most else 0
        peak, planned = one["peak_bytes"], one["planned_bytes"]
        lines.append(
            f"| {way} | {one['layers']} | {one['parameters'] / 1e9:.2f} billion | "
            f"{one['tokens_per_second']:,.0f} | {f'{share:.0%}' if share else '–'} | "
            f"{f'{peak / 1e9:.1f} GB' if peak else '–'} | {planned / 1e9:.1f} GB | "
            f"{f'{peak / planned - 1:+.0%}' if peak else '–'} |")
    return lines


def _held() -> tuple[str, float]:
    """Return the device's name and the bytes of its memory."""
    if device() == "cpu":
        return "the CPU", os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    one = torch.cuda.get_device_properties(0)
    return one.name, one.total_memory


def _alone(*words: object) -> dict[str, float]:
    """Return what this module measures in a process of its own, whose memory then is free.

    It sees one GPU, or Trainer would use all that are visible.
    """
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    ran = subprocess.run([sys.executable, "-m", "benchmarks.gpu", *map(str, words)], text=True,
                         cwd=REPOSITORY, capture_output=True, check=False,
                         env={**os.environ, "CUDA_VISIBLE_DEVICES": first})
    if ran.returncode:
        sys.exit(f"python -m benchmarks.gpu {' '.join(map(str, words))} failed:\n"
                 f"{ran.stderr[-2000:]}")
    return json.loads(ran.stdout.splitlines()[-1])


def main(setting: Setting | None = None) -> str:
    """Return the measurement as Markdown; a `setting` is measured here, also on a CPU.

    Without one, Llama-3.1-8B's shape is measured. Raises SystemExit if there is no GPU for it, or
    not even one of its layers fits.
    """
    def measured(what: str, *how: object) -> dict[str, float]:
        return MEASURES[what](setting, *how) if is_here else _alone(what, *how)

    is_here, setting = setting is not None, setting or Setting()
    if not is_here and device() == "cpu":
        sys.exit("no GPU is visible here (torch.cuda.is_available() is False): run "
                 "`python -m benchmarks gpu` on a machine with one; its other parts need none")
    name, memory = _held()
    layers = {way: most_layers(setting, is_checkpointed, memory)
              for way, (_, is_checkpointed) in WAYS.items()}
    if not all(layers.values()):
        sys.exit(f"{name} has {memory / 1e9:.0f} GB: not even one layer of the model fits, with "
                 "its optimizer; measure on a device with more memory")
    most = peak_flops(name)
    runs = {way: measured("trained", way, layers[way]) for way in WAYS}
    found, rates = measured("leaks"), measured("answered")
    against = f"{most / 1e12:,.0f} TFLOP/s" if most else "unknown for this device, so no MFU"
    return "\n".join([
        "## One GPU", "",
        f"`python -m benchmarks gpu` on {name}, {memory / 1e9:.0f} GB, torch "
        f"{torch.__version__}; random weights of Llama-3.1-8B's shape with as many layers as "
        f"fit, {setting.accumulation} blocks of {setting.block_size:,} tokens per update, bf16; "
        f"medians of {setting.updates - 1} updates. Dense bf16 peak: {against}.",
        "", *training_table(runs, most), "",
        f"Wanted: MFU of at least {WANTED_MFU:.0%}, peak memory within {WANTED_MEMORY:.0%} of the "
        "plan.", "", PUBLISHED, "",
        f"Packed documents: when the first one of a block is replaced, {found['apart']:.1%} of the "
        f"later ones' logits change ({found['joined']:.1%} where texts are joined).", "",
        f"Answers in bf16 by all {setting.shape['num_hidden_layers']} layers, {rates['queries']} "
        f"questions in batches of {BATCH}, {BUDGET} tokens each: {rates['ours']:.1f} questions/s "
        f"by 04_infer's engine, {rates['generate']:.1f} by transformers' generate."]) + "\n"


MEASURES = {"trained": trained, "leaks": leaks, "answered": answered}

if __name__ == "__main__":
    what, *how = sys.argv[1:]
    print(json.dumps(MEASURES[what](Setting(), *(int(one) if one.isdigit() else one
                                                 for one in how))))
