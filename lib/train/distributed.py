"""Training in several processes on one machine: torchrun and DeepSpeed.

`python -m lib.train.distributed` runs torchrun, which runs the same module once per process.
"""

import json
import logging
import os
import subprocess
import sys
from collections import deque
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from lib.core.process import VARIABLE, be_parent, collect_seldom, die_with_parent

if __name__ == "__main__":
    collect_seldom()  # before the imports that take seconds

from lib.core.store import REPOSITORY, Stopped, printable, tell, write_json, write_text

if TYPE_CHECKING:  # an agent starts in half the time without
    from lib.train.config import TrainConfig

JOB, HISTORY = "job.json", "history.json"


def deepspeed_config(config: "TrainConfig") -> dict[str, object]:
    """DeepSpeed's configuration in ZeRO-2 (Rajbhandari et al., 2020), saved with the model."""
    return {
        "train_batch_size": config.global_batch_size,
        "train_micro_batch_size_per_gpu": config.device_batch_size,
        "gradient_accumulation_steps": config.accumulation,
        "gradient_clipping": 1.0,
        "zero_optimization": {"stage": 2},
        # bf16 weights, of which the optimizer's shard keeps a float32 copy; a single process has
        # float32 weights and bf16 arithmetic.
        "bf16": {"enabled": config.arithmetic() == "bf16"},
        # sums of 8 passes in bf16 lose small gradients
        "data_types": {"grad_accum_dtype": config.grad_accum_dtype},
    }


def launch(work: Path, job: dict[str, object], processes: int) -> dict[str, object]:
    """Run `job`, the arguments of `fit`, in several processes; return the fields of its History.

    torchrun starts them. Raises Stopped, with the end of their log, if one fails.
    """
    work.chmod(0o700)  # whoever can write there decides what is trained
    write_text(work / JOB, json.dumps(job))
    torchrun = ["--standalone", "--nproc-per-node", str(processes)]
    child = subprocess.Popen(
        [sys.executable, "-m", __name__, *torchrun, "-m", __name__, str(work / JOB)],
        cwd=REPOSITORY,
        env=environment(processes),
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    last = deque(maxlen=20)  # shown in an error
    with child:
        for line in child.stdout:  # a progress bar's \r also ends a line
            if line.startswith("updates:"):
                sys.stderr.write("\r" + printable(line.rstrip("\n")))
            else:
                tell(line.rstrip("\n"))
            last.append(line)
    tell(file=sys.stderr)
    if child.returncode:
        raise Stopped(
            "a training process failed; the same command resumes from the last complete "
            f"checkpoint; the end of its log:\n{''.join(last)}"
        )
    return json.loads((work / HISTORY).read_bytes())


def environment(processes: int) -> dict[str, str]:
    """The environment of a training in several processes, which share the cores."""
    # all together get the cores that a single one would have
    cores = int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0)))
    return {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        "PYTHONWARNINGS": "ignore::FutureWarning",
        VARIABLE: str(os.getpid()),
        "OMP_NUM_THREADS": str(max(1, cores // processes)),
    }


def run_processes(arguments: list[str]) -> None:
    """Run torchrun so that it ends with its parent: a killed notebook leaves no training behind."""
    from torch.distributed.run import main as torchrun

    die_with_parent()
    be_parent()
    torchrun(arguments)


def run_process(path: Path) -> None:
    """Train this process's part of the job at `path`."""
    die_with_parent()
    import deepspeed  # takes seconds
    import torch
    from deepspeed.ops import __compatible_ops__  # this runs a compiler, so not in notebooks
    from transformers import AutoModelForCausalLM
    from transformers.utils.logging import set_verbosity_error

    from lib.train.config import TrainConfig
    from lib.train.corpus import PackedBlocks
    from lib.train.trainer import fit

    job, is_first = json.loads(path.read_bytes()), os.environ["RANK"] == "0"
    if not is_first:
        set_verbosity_error()  # the first process shows warnings
    logging.getLogger("accelerate").setLevel(logging.ERROR)  # Trainer accumulates, not accelerate
    __compatible_ops__["deepspeed_shm_comm"] = False  # inference only; compiling takes minutes
    config = TrainConfig(**job["config"])
    blocks = PackedBlocks(**job["blocks"])
    validation = job["validation"] and PackedBlocks(**job["validation"])

    # on a CPU, accelerate initializes only torch's
    deepspeed.init_distributed(auto_mpi_discovery=False, verbose=False)
    dtype = torch.bfloat16 if config.arithmetic() == "bf16" else torch.float32
    model = AutoModelForCausalLM.from_pretrained(job["source"], dtype=dtype)
    history = fit(model, blocks, validation, config, path.parent)
    if is_first:
        write_json(path.parent / HISTORY, asdict(history))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    if "RANK" not in os.environ:  # which torchrun sets for the processes that it starts
        run_processes(sys.argv[1:])
    else:
        run_process(Path(sys.argv[1]).resolve())
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # all is written; torch's threads can abort an interpreter that shuts down
