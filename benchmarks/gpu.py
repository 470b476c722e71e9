"""Measure how fast a base of 1B to 8B trains here: all its weights, by LoRA, on several devices.

    python -m benchmarks.gpu FOLDER [FOLDER …]

Each way trains in processes of its own on blocks of random tokens and ends after a few updates,
before anything is saved. The first update warms up and is not counted.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import torch
from transformers import AutoConfig, TrainerCallback

from benchmarks.__main__ import write_section
from lib.core.store import model_source, write_json
from lib.infer.generate import load
from lib.train import trainer
from lib.train.config import TrainConfig, plan
from lib.train.corpus import PackedBlocks
from lib.train.distributed import JOB, environment, run_process

SPEED = "speed.json"
RANK = 64
# Operations a second in bf16 without sparsity, by words of a device's name: data sheets of NVIDIA
PEAKS = {
    "H100 PCIe": 756e12,
    "H100": 989e12,
    "H200": 989e12,
    "A100": 312e12,
    "A10G": 70e12,
    "A10": 125e12,
    "L40S": 362e12,
    "L4": 121e12,
}
SIZE = 2048  # of the matrices whose product is timed on any other device
HEAD = """
| base | way | devices | tokens/s | tokens/s a device | share of peak | memory, GB | planned, GB |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


class Timed(TrainerCallback):
    """Writes speed and size beside the job after the last update, and ends the process."""

    def __init__(self, job: Path) -> None:
        self.job, self.marks = job, []

    def on_step_end(self, args, state, control, model=None, **more):
        """Note the time; transformers calls this."""
        on_gpu = torch.cuda.is_available()
        if on_gpu:
            torch.cuda.synchronize()
        self.marks.append(time.perf_counter())
        if state.global_step < state.max_steps:
            return
        weights = [one for one in model.parameters() if one.ndim > 1]
        result = {
            "seconds": (self.marks[-1] - self.marks[0]) / (len(self.marks) - 1),
            "parameters": sum(one.numel() for one in weights),
            "trained": sum(one.numel() for one in weights if one.requires_grad),
            "memory": torch.cuda.max_memory_allocated() if on_gpu else None,
        }
        if state.is_world_process_zero:
            write_json(self.job.with_name(SPEED), result)
        if torch.distributed.is_initialized():
            torch.distributed.barrier()
        os._exit(0)  # saving an 8B model takes minutes


def train_once(path: Path) -> None:
    """Train the job at `path` in this process, which torchrun may have started with others."""
    fit, callbacks = trainer.fit, [Timed(path)]
    trainer.fit = lambda *given: fit(*given, callbacks)  # run_process calls it
    if "RANK" in os.environ:
        run_process(path)
    job = json.loads(path.read_bytes())
    config = TrainConfig(**job["config"])
    is_float = not config.lora_rank or config.arithmetic() == "fp32"  # as trainer.train
    model = load(job["source"], training=is_float)[0]
    trainer.fit(model, PackedBlocks(**job["blocks"]), None, config, path.parent)


def random_blocks(n: int, size: int, vocabulary: int) -> PackedBlocks:
    """Blocks of random tokens, each a target but the first of a block."""
    ids = torch.randint(vocabulary, (n, size), generator=torch.Generator().manual_seed(1)).tolist()
    labels = [[-100, *row[1:]] for row in ids]
    return PackedBlocks(ids, labels, [[*range(size)]] * n, n * size, n * (size - 1))


def run(source: str, config: TrainConfig, blocks: PackedBlocks) -> dict | str:
    """What Timed measures of one way, or the last line of a training that failed."""
    with tempfile.TemporaryDirectory() as folder:
        job = {"source": source, "config": asdict(config), "blocks": vars(blocks)}
        path = write_json(Path(folder) / JOB, job | {"validation": None})
        child, n = ["-m", "benchmarks.gpu", "--job", str(path)], config.processes
        if n > 1:
            agent = ["-m", "lib.train.distributed", "--standalone", "--nproc-per-node", str(n)]
            child = [*agent, *child]
        command, where = [sys.executable, *child], environment(n)
        ran = subprocess.run(command, env=where, text=True, capture_output=True, check=False)
        result = path.with_name(SPEED)
        if result.exists():
            return json.loads(result.read_bytes())
        errors = [line for line in ran.stderr.splitlines() if "Error" in line]
        return (errors or ran.stderr.splitlines() or [f"status {ran.returncode}"])[-1][:200]


def data_sheet(device: str) -> float:
    """What PEAKS has for a device by whole words of its name, or 0: an L40 is no L4."""
    known = (speed for name, speed in PEAKS.items() if re.search(rf"\b{name}\b", device))
    return next(known, 0.0)


def peak() -> tuple[float, str]:
    """Operations a second that a device can make, and whose figure it is."""
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "the processor"
    if known := data_sheet(name):
        return known, f"{name}, {known / 1e12:,.0f} TFLOP/s by its data sheet"
    dtype = (
        torch.bfloat16 if TrainConfig(**recipe(1, 1, 1)).arithmetic() == "bf16" else torch.float32
    )
    one = torch.ones(SIZE, SIZE, dtype=dtype)
    one = one.cuda() if torch.cuda.is_available() else one
    for _ in range(3):  # the first is slower
        start = time.perf_counter()
        float((one @ one)[0, 0])
    speed = 2 * SIZE**3 / (time.perf_counter() - start)
    return speed, f"{name}, {speed / 1e12:,.2f} TFLOP/s measured in a product of {SIZE} x {SIZE}"


def recipe(batch: int, devices: int, updates: int) -> dict[str, object]:
    """Settings that all ways share."""
    return {
        "epochs": 1,
        "max_steps": updates,
        "global_batch_size": batch * devices,
        "device_batch_size": batch,
        "learning_rate": 1e-5,
        "warmup_steps": 1,
        "weight_decay": 0.1,
        "seed": 1,
        "processes": devices,
        "save_every_epochs": 2,  # no checkpoint
    }


def row(folder: str, way: str, config: TrainConfig, block: int, at_most: float) -> str:
    """Measure one way; return its row of the table."""
    source = model_source(folder)
    shape, n = AutoConfig.from_pretrained(source).get_text_config(), config.processes
    updates = config.max_steps * config.global_batch_size
    found = run(source, config, random_blocks(updates, block, shape.vocab_size))
    needed = plan(source, config, block)
    name = f"| {Path(folder).name} ({needed.parameters / 1e6:,.1f}M) | {way} | {n} |"
    planned = f"{needed.bytes_needed / 1e9:,.1f} |"
    if isinstance(found, str):
        return f"{name} failed: {found.replace('|', '/')} | | | | {planned}"
    speed = config.global_batch_size * block / found["seconds"]
    # a product for each weight forward and one back, one more for a trained one; an embedding's
    # row is looked up; causal attention (Chowdhery et al. 2022, appendix B, halved)
    used = (
        found["parameters"] - (not shape.tie_word_embeddings) * shape.vocab_size * shape.hidden_size
    )
    attention = 6 * shape.num_hidden_layers * shape.hidden_size * block
    operations = 4 * used + 2 * min(found["trained"], used) + attention
    memory = f"{found['memory'] / 1e9:,.1f}" if found["memory"] else "–"
    share = f"{operations * speed / n / at_most:.0%}"
    return f"{name} {speed:,.0f} | {speed / n:,.0f} | {share} | {memory} | {planned}"


def ways_on(devices: int) -> list[tuple[str, int, int]]:
    """Name, rank of an adapter and number of devices of each way."""
    numbers = [1, devices] if devices > 1 else [1]
    return [
        (f"{name}{', ZeRO-2' * (n > 1)}", rank, n)
        for n in numbers
        for name, rank in ((f"LoRA, rank {RANK}", RANK), ("full", 0))
    ]


def main() -> None:
    """Measure the ways that this machine's devices allow, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", help="of bases, or hub ids")
    parser.add_argument("--block", type=int, default=2048, help="tokens per sequence")
    parser.add_argument("--batch", type=int, default=1, help="sequences per device and update")
    parser.add_argument("--updates", type=int, default=8)
    parser.add_argument("--devices", type=int, default=max(1, torch.cuda.device_count()))
    parser.add_argument("--checkpointing", action="store_true", help="gradient checkpointing")
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job:
        return train_once(asked.job)
    if not asked.folders:
        parser.error("name the folder of a base, or a hub id")
    at_most, whose = peak()
    rows = []
    for folder in asked.folders:
        for way, rank, n in ways_on(asked.devices):
            given = recipe(asked.batch, n, asked.updates)
            more = {"lora_rank": rank, "gradient_checkpointing": asked.checkpointing}
            config = TrainConfig(**given, **more)
            rows.append(row(folder, way, config, asked.block, at_most))
            print(rows[-1], flush=True)
    how = f"{asked.batch} blocks of {asked.block} per device and update, {asked.updates} updates"
    how += ", layers computed again" * asked.checkpointing
    note = "" if torch.cuda.is_available() else " **Without a GPU, this only shows that it runs.**"
    text = (
        "## Training a large base\n\n"
        f"`python -m benchmarks.gpu`; {whose}; {how}; {config.arithmetic()}; random tokens.{note}\n"
        f"{HEAD}{chr(10).join(rows)}"
    )
    write_section("gpu", text)
    return print(text)


if __name__ == "__main__":
    main()
