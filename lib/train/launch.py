"""Training in this process, or in several that torchrun starts, on one machine or on many (paper, 4.2)."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections import deque
from dataclasses import asdict
from pathlib import Path

import torch
from transformers import PreTrainedTokenizerBase

from lib.core.digest import module_digest
from lib.core.paths import REPOSITORY
from lib.core.process import VARIABLE, be_parent, die_with_parent
from lib.infer.answers import load
from lib.train import worker as training_process
from lib.train.checkpoints import identity, prepare, weights_hash
from lib.train.curve import Acquisition, AcquisitionCallback
from lib.train.deepspeed_config import deepspeed_config
from lib.train.packing import Blocks
from lib.train.recipe import Recipe
from lib.train.trainer import History, finish, train
from lib.train.worker import HISTORY, write_job

LAUNCHER = "TRAINING_LAUNCHER"  # a command such as `srun torchrun …` that starts the processes instead of ours
_KEPT_LINES = 20
_REASON = re.compile(r"process \d+ (?:stopped|was killed)")
_OF_TORCHRUN = re.compile(r"^[EWI]\d{4} |^(?:=|-){20}|torch/distributed/|^\s*(?:Root Cause|Failures|<NO_OTHER)")


class TrainingFailed(RuntimeError):
    """A process of the training ended with an error or was killed; the message holds the last lines of the log."""


def train_arm(source: str, tokenizer: PreTrainedTokenizerBase, blocks: Blocks, validation: Blocks | None,
              recipe: Recipe, output: Path, facts: dict[str, object], *, processes: int = 1,
              zero_stage: int = 1, acquisition: Acquisition | None = None) -> History:
    """Train the model at `source` (a folder or hub id) into `output`, as lib.train.trainer.train does.

    With one process: here, without DeepSpeed. With more: torchrun starts them, one a GPU or, without GPUs, all on the
    CPU; DeepSpeed shards by `zero_stage`, and the log is shown as it comes. $TRAINING_LAUNCHER names another command
    that starts them, on several nodes: it must start `processes` in all and run what is appended to it.
    Raises TrainingFailed where a process fails or is killed; the same command then goes on.
    """
    if processes == 1:
        model, _ = load(source, training=True)
        callbacks = [AcquisitionCallback(acquisition, tokenizer)] if acquisition else []
        return train(model, tokenizer, blocks, validation, recipe, output, facts, callbacks)
    if acquisition and zero_stage == 3:
        raise ValueError("acquisition_every needs the whole model in each process: take zero_stage 1 or 2, or 0 epochs")
    config = deepspeed_config(recipe, processes, zero_stage)
    work = output.with_name(f".{output.name}")
    fields = identity(recipe, blocks, validation, weights_hash(source), module_digest(training_process.__name__),
                      processes, zero_stage)
    prepare(work, fields)
    job = write_job(work, source, blocks, validation, recipe, processes, zero_stage, acquisition)
    _run(["-m", training_process.__name__, str(job)], processes)
    history = History(**json.loads((work / HISTORY).read_text(encoding="utf-8")))
    tokenizer.save_pretrained(work / "final")
    (work / "deepspeed.json").rename(work / "final" / "deepspeed.json")
    finish(work, output, history, {"recipe": asdict(recipe), "identity": fields, "processes": processes,
                                   "zero_stage": zero_stage, **config["data_types"], **facts})
    return history


def _run(arguments: list[str], processes: int) -> None:
    """Start the processes and show what they print. Raises TrainingFailed with the last lines where one fails."""
    own = [sys.executable, "-m", __name__, "--standalone", "--nproc-per-node", str(processes)]
    given = shlex.split(os.environ.get(LAUNCHER, ""))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(
        filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")])), "PYTHONUNBUFFERED": "1",
        "PYTHONWARNINGS": "ignore::FutureWarning"}
    if not torch.cuda.is_available():
        environment["DS_ACCELERATOR"] = "cpu"  # else DeepSpeed warns in each process that it chose it
    environment.pop(VARIABLE, None)  # on other nodes no process is a child of ours
    if not given:
        environment |= {VARIABLE: str(os.getpid()), "OMP_NUM_THREADS": str(_threads(processes))}
    last: deque[str] = deque(maxlen=_KEPT_LINES)
    reasons = []
    with subprocess.Popen([*(given or own), *arguments], cwd=REPOSITORY, env=environment, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        for line in child.stdout:  # a progress bar's \r ends a line too
            _show(line.rstrip("\n"), last)
            reasons += [line.strip()] if _REASON.match(line) else []
    print(file=sys.stderr)
    if child.returncode:
        raise TrainingFailed("\n".join([
            "a process of the training failed; the same command goes on from the last complete checkpoint", *reasons,
            "The last lines of its log:", *last]))


def _threads(processes: int) -> int:
    """Threads of each process, so that all of them together have the cores that one would have."""
    return max(1, int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0))) // processes)


def _show(line: str, last: deque[str]) -> None:
    if re.match(r"updates:\s", line):
        print(f"\r{line}", end="", file=sys.stderr, flush=True)
    elif line.strip():
        print(line, flush=True)
        if not _OF_TORCHRUN.search(line):
            last.append(line)


def main(arguments: list[str]) -> None:
    """torchrun, bound to the process that started it, so that no killed notebook leaves a training behind."""
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import main as torchrun

    die_with_parent()
    be_parent()
    try:
        torchrun(arguments)
    except ChildFailedError as error:
        failure = error.get_first_failure()[1]
        how = f"was killed by signal {-failure.exitcode}" if failure.exitcode < 0 else f"ended with {failure.exitcode}"
        sys.exit(f"process {failure.local_rank} {how}")


if __name__ == "__main__":
    main(sys.argv[1:])
