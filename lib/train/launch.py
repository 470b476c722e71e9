"""Start a training run in this process, or in several under torchrun on one or more machines."""

import json
import os
import re
import shlex
import signal
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
from lib.train import worker
from lib.train.checkpoints import fingerprint, prepare, weights_hash
from lib.train.curve import Acquisition, AcquisitionCallback
from lib.train.packing import PackedBlocks
from lib.train.recipe import Recipe
from lib.train.trainer import History, finish, train

LAUNCHER = "TRAINING_LAUNCHER"  # `srun torchrun …` or similar, used to start the processes
_KEPT_LINES = 20
_REASON = re.compile(r"process \d+ (?:stopped|was killed)")
_OF_TORCHRUN = re.compile(
    r"^[EWI]\d{4} |^(?:=|-){20}|torch/distributed/|^\s*(?:Root Cause|Failures|<NO_OTHER)")


class TrainingFailed(RuntimeError):
    """A training process failed or was killed; the message has the log's last lines."""


def train_arm(source: str, tokenizer: PreTrainedTokenizerBase, blocks: PackedBlocks,
              validation: PackedBlocks | None, recipe: Recipe, output: Path,
              facts: dict[str, object], *, processes: int = 1, zero_stage: int = 1,
              acquisition: Acquisition | None = None) -> History:
    """Train the model at `source` (a folder or hub id) into `output`, as `trainer.train` does.

    A single process trains here, without DeepSpeed. Several are started by torchrun, one per GPU or
    all on the CPU; DeepSpeed shards by `zero_stage`, and their log is shown as it grows. For
    several nodes, $TRAINING_LAUNCHER names another command. It must start `processes` processes in
    all, each with the appended command. Raises TrainingFailed if one fails; a new call resumes.
    """
    if processes == 1:
        model, _ = load(source, training=True)
        callbacks = [AcquisitionCallback(acquisition, tokenizer)] if acquisition else []
        return train(model, tokenizer, blocks, validation, recipe, output, facts, callbacks)
    if acquisition and zero_stage == 3:
        raise ValueError("acquisition_every needs the complete model in each process: set "
                         "zero_stage to 1 or 2, or acquisition_every to 0")
    config = worker.deepspeed_config(recipe, processes, zero_stage)
    work = output.with_name(f".{output.name}")
    fields = fingerprint(recipe, blocks, validation, weights_hash(source),
                         module_digest(worker.__name__), processes, zero_stage)
    prepare(work, fields)
    job = worker.write_job(work, source=source, blocks=blocks, validation=validation,
                           recipe=recipe, processes=processes, zero_stage=zero_stage,
                           acquisition=acquisition)
    _run(["-m", worker.__name__, str(job)], processes)
    history = History(**json.loads((work / worker.HISTORY).read_text(encoding="utf-8")))
    tokenizer.save_pretrained(work / "final")
    (work / worker.CONFIG).rename(work / "final" / worker.CONFIG)
    finish(work, output, history, {
        "recipe": asdict(recipe), "fingerprint": fields, "processes": processes,
        "zero_stage": zero_stage, **config["data_types"], **facts})
    return history


def _run(arguments: list[str], processes: int) -> None:
    """Start the processes and show what they print. Raises TrainingFailed if one fails."""
    launcher = shlex.split(os.environ.get(LAUNCHER, ""))
    paths = filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1",
                   "PYTHONWARNINGS": "ignore::FutureWarning"}
    if not torch.cuda.is_available():
        environment["DS_ACCELERATOR"] = "cpu"  # otherwise each process would warn about its choice
    environment.pop(VARIABLE, None)  # on other nodes no process is a child of this one
    if not launcher:
        launcher = [sys.executable, "-m", __name__, "--standalone", "--nproc-per-node",
                    str(processes)]
        # all processes together get the cores that a single one would have
        cores = int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0)))
        environment |= {VARIABLE: str(os.getpid()),
                        "OMP_NUM_THREADS": str(max(1, cores // processes))}
    last: deque[str] = deque(maxlen=_KEPT_LINES)
    reasons = []
    with subprocess.Popen([*launcher, *arguments], cwd=REPOSITORY, env=environment, text=True,
                          errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as child:
        for line in child.stdout:  # a progress bar's \r also ends a line
            _show(line.rstrip("\n"), last)
            reasons += [line.strip()] if _REASON.match(line) else []
    print(file=sys.stderr)
    if child.returncode:
        raise TrainingFailed("\n".join([
            "a training process failed; the same command resumes from the last complete "
            "checkpoint", *reasons, "The last lines of its log:", *last]))


def _show(line: str, last: deque[str]) -> None:
    if re.match(r"updates:\s", line):
        print(f"\r{line}", end="", file=sys.stderr, flush=True)
    elif line.strip():
        print(line, flush=True)
        if not _OF_TORCHRUN.search(line):
            last.append(line)


def main(arguments: list[str]) -> None:
    """Run torchrun so that it ends with its parent: a killed notebook leaves no training behind."""
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import main as torchrun

    die_with_parent()
    be_parent()
    try:
        torchrun(arguments)
    except ChildFailedError as error:
        # a killed process is the cause of what its partners report, perhaps before it is noticed
        killed = [one for one in error.failures.values() if one.exitcode == -signal.SIGKILL]
        failure = killed[0] if killed else error.get_first_failure()[1]
        code = failure.exitcode
        how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
        sys.exit(f"process {failure.local_rank} {how}")


if __name__ == "__main__":
    main(sys.argv[1:])
