"""Start a training run in this process, or in several under torchrun on one or more machines."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from transformers import PreTrainedTokenizerBase, TrainerCallback

from lib.core import process
from lib.core.digest import module_digest
from lib.core.errors import Stopped
from lib.core.process import VARIABLE
from lib.core.store import REPOSITORY, write_json, write_text
from lib.infer.answers import load
from lib.train import agent, worker
from lib.train.checkpoints import fingerprint, prepare, weights_hash
from lib.train.packing import PackedBlocks
from lib.train.recipe import Recipe
from lib.train.trainer import History, finish, train

LAUNCHER = "TRAINING_LAUNCHER"  # `srun torchrun …` or similar, used to start the processes
_REASON = re.compile(
    r"process \d+ (?:stopped|was killed)|srun: error: .*: task \d+: "
    r"|torch\S*RendezvousConnectionError: "
)  # the node where all meet has ended


def train_arm(
    source: str,
    tokenizer: PreTrainedTokenizerBase,
    blocks: PackedBlocks,
    validation: PackedBlocks | None,
    recipe: Recipe,
    output: Path,
    facts: dict[str, object],
    callbacks: Sequence[TrainerCallback] = (),
    *,
    processes: int = 1,
    zero_stage: int = 1,
) -> History:
    """Train the model at `source` (a folder or hub id) into `output`, as `trainer.train` does.

    A single process trains here, without DeepSpeed, with `callbacks`. Several are started by
    torchrun, or for several nodes by $TRAINING_LAUNCHER with the appended command. Raises Stopped
    if one fails.
    """
    if processes == 1:
        model, _ = load(source, training=True)
        return train(model, tokenizer, blocks, validation, recipe, output, facts, callbacks)
    work = output.with_name(f".{output.name}")
    config = worker.deepspeed_config(recipe, processes, zero_stage)
    fields = fingerprint(
        recipe,
        blocks,
        validation,
        weights_hash(source),
        module_digest(worker.__name__),
        processes,
        zero_stage,
    )
    prepare(work, fields)
    work.chmod(0o700)  # whoever can write there decides what is trained
    write_text(
        work / worker.JOB,
        json.dumps(
            {
                "source": source,
                "blocks": vars(blocks),
                "validation": validation and vars(validation),
                "recipe": asdict(recipe),
                "processes": processes,
                "deepspeed": config,
            }
        ),
    )
    _run(["-m", worker.__name__, str(work / worker.JOB)], processes)
    history = History(**json.loads((work / worker.HISTORY).read_text(encoding="utf-8")))
    tokenizer.save_pretrained(work / "final")
    write_json(work / "final" / "deepspeed.json", config)
    finish(
        work,
        output,
        history,
        {
            "recipe": asdict(recipe),
            "fingerprint": fields,
            "processes": processes,
            "zero_stage": zero_stage,
            **config["data_types"],
            **facts,
        },
    )
    return history


def _run(arguments: list[str], processes: int) -> None:
    launcher = shlex.split(os.environ.get(LAUNCHER, ""))
    paths = filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
        "PYTHONWARNINGS": "ignore::FutureWarning",
    }
    if not torch.cuda.is_available():
        environment["DS_ACCELERATOR"] = "cpu"  # otherwise each process would warn about its choice
    environment[VARIABLE] = str(os.getpid())
    if launcher:
        launcher = [sys.executable, "-m", process.__name__, *launcher]
    else:
        launcher = [
            sys.executable,
            "-m",
            agent.__name__,
            "--standalone",
            "--nproc-per-node",
            str(processes),
        ]
        # all processes together get the cores that a single one would have
        cores = int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0)))
        environment["OMP_NUM_THREADS"] = str(max(1, cores // processes))
    reasons = []
    with subprocess.Popen(
        [*launcher, *arguments],
        cwd=REPOSITORY,
        env=environment,
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as child:
        for line in child.stdout:  # a progress bar's \r also ends a line
            is_progress = line.startswith("updates:")
            print(
                "\r" * is_progress + line.rstrip("\n"),
                end="" if is_progress else "\n",
                file=sys.stderr if is_progress else sys.stdout,
                flush=True,
            )
            reasons += [line.strip()] if _REASON.match(line) else []
    print(file=sys.stderr)
    if child.returncode:
        raise Stopped(
            "\n".join(
                [
                    "a training process failed; the same command resumes from the last complete "
                    "checkpoint; its log is above",
                    *reasons,
                ]
            )
        )
