"""Training in several processes: torchrun (or srun, or another launcher) and DeepSpeed.

`python -m lib.train.distributed` runs torchrun on one node, which runs the same module once per
process.
"""

import json
import logging
import os
import re
import shlex
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from lib.core import process
from lib.core.process import VARIABLE, be_parent, collect_seldom, die_with_parent

if __name__ == "__main__":
    collect_seldom()  # before the imports that take seconds

from lib.core.store import REPOSITORY, Stopped, printable, tell, write_json, write_text

if TYPE_CHECKING:  # an agent starts in half the time without
    from lib.train.config import TrainConfig

JOB, HISTORY = "job.json", "history.json"
LAUNCHER = "TRAINING_LAUNCHER"  # `srun torchrun …` or similar, used to start the processes
_REASON = re.compile(
    r"process \d+ (?:stopped|was killed)|srun: error: .*: task \d+: "
    r"|torch\S*RendezvousConnectionError: "
)  # the node where all meet has ended


def deepspeed_config(config: "TrainConfig") -> dict[str, object]:
    """DeepSpeed's configuration, which is saved with the model (Rajbhandari et al., 2020).

    Stage 1 shards the optimizer's state, 2 also the gradients, 3 also the weights.
    """
    zero: dict[str, object] = {"stage": config.zero_stage}
    if config.zero_stage == 3:  # otherwise a checkpoint would not be a Hugging Face model
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    return {
        "train_batch_size": config.global_batch_size,
        "train_micro_batch_size_per_gpu": config.device_batch_size,
        "gradient_accumulation_steps": config.accumulation,
        "gradient_clipping": 1.0,
        "zero_optimization": zero,
        # bf16 weights, of which the optimizer's shard keeps a float32 copy; a single process has
        # float32 weights and bf16 arithmetic.
        "bf16": {"enabled": config.arithmetic() == "bf16"},
        # sums of 8 passes in the weights' type, bf16, would lose small gradients
        "data_types": {"grad_accum_dtype": "fp32"},
    }


def launch(work: Path, job: dict[str, object], processes: int) -> dict[str, object]:
    """Run `job`, the arguments of `fit`, in several processes; return the fields of its History.

    torchrun starts them, or for several nodes $TRAINING_LAUNCHER with the appended command. Raises
    Stopped, with the reasons, if one fails.
    """
    work.chmod(0o700)  # whoever can write there decides what is trained
    write_text(work / JOB, json.dumps(job))
    child = subprocess.Popen(
        _command(work / JOB, processes),
        cwd=REPOSITORY,
        env=_environment(processes),
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    reasons = []
    with child:
        for line in child.stdout:  # a progress bar's \r also ends a line
            is_progress = line.startswith("updates:")
            if is_progress:
                sys.stderr.write("\r" + printable(line.rstrip("\n")))
            else:
                tell(line.rstrip("\n"))
            reasons += [line.strip()] if _REASON.match(line) else []
    tell(file=sys.stderr)
    if child.returncode:
        failed = (
            "a training process failed; the same command resumes from the last complete "
            "checkpoint; its log is above"
        )
        raise Stopped("\n".join([failed, *reasons]))
    return json.loads((work / HISTORY).read_text(encoding="utf-8"))


def _command(job: Path, processes: int) -> list[str]:
    launcher = shlex.split(os.environ.get(LAUNCHER, ""))
    launcher = (
        [process.__name__, *launcher]
        if launcher
        else [__name__, "--standalone", "--nproc-per-node", str(processes)]
    )
    return [sys.executable, "-m", *launcher, "-m", __name__, str(job)]


def _environment(processes: int) -> dict[str, str]:
    import torch

    paths = filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
        "PYTHONWARNINGS": "ignore::FutureWarning",
        VARIABLE: str(os.getpid()),
    }
    if not torch.cuda.is_available():
        environment["DS_ACCELERATOR"] = "cpu"  # otherwise each process would warn about its choice
    if not os.environ.get(LAUNCHER):  # all together get the cores that a single one would have
        cores = int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0)))
        environment["OMP_NUM_THREADS"] = str(max(1, cores // processes))
    return environment


def rendezvous(environment: Mapping[str, str]) -> list[str]:
    """torchrun's options for meeting on the node where srun was called, [] without srun."""
    address, job = (
        environment.get(f"SLURM_{name}", "") for name in ("LAUNCH_NODE_IPADDR", "JOB_ID")
    )
    if not address:
        return []
    run = f"{job}.{environment.get('SLURM_STEP_ID', 0)}"  # a second step never joins the first
    port = 20_000 + int(job) % 10_000  # below the ports that systems give to clients
    return ["--rdzv-backend", "c10d", "--rdzv-id", run, "--rdzv-endpoint", f"{address}:{port}"]


def run_node(arguments: list[str]) -> None:
    """Run torchrun so that it ends with its parent: a killed notebook leaves no training behind.

    Under srun, one such process per node joins them; it needs --nnodes and --nproc-per-node.
    """
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import main as torchrun

    die_with_parent()
    be_parent()
    if "--nnodes" in arguments and "--rdzv-endpoint" not in arguments:
        arguments = [*rendezvous(os.environ), *arguments]
    try:
        torchrun(arguments)
    except ChildFailedError as error:
        # a killed process is the cause of what its partners report, perhaps before it is noticed
        killed = [one for one in error.failures.values() if one.exitcode == -signal.SIGKILL]
        failure = killed[0] if killed else error.get_first_failure()[1]
        code = failure.exitcode
        how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
        sys.exit(f"process {failure.local_rank} {how}")


def run_process(path: Path) -> int:
    """Train this process's part of a job; return 0, or 1 after printing why, for `launch`."""
    import torch

    die_with_parent()
    try:
        _fit(path.parent, json.loads(path.read_bytes()), os.environ["RANK"] == "0")
    except Exception as error:  # any error: the notebook must show it
        traceback.print_exc(file=sys.stdout)
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
        tell(f"process {os.environ['RANK']} stopped: {message}")
        return 1
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
    return 0


def _fit(work: Path, job: dict, is_first: bool) -> None:
    import deepspeed  # takes seconds
    import torch
    from deepspeed.ops import __compatible_ops__  # this runs a compiler, so not in notebooks
    from transformers import AutoModelForCausalLM
    from transformers.utils.logging import set_verbosity_error

    from lib.train.config import TrainConfig
    from lib.train.corpus import PackedBlocks
    from lib.train.trainer import fit

    if not is_first:
        set_verbosity_error()  # the first process shows warnings
    logging.getLogger("accelerate").setLevel(logging.ERROR)  # Trainer accumulates, not accelerate
    __compatible_ops__["deepspeed_shm_comm"] = False  # inference only; compiling takes minutes
    config = TrainConfig(**job["config"])
    blocks, validation = (
        PackedBlocks(**one) if one else None for one in (job["blocks"], job["validation"])
    )

    def load_model():  # once torch.distributed has started
        if not deepspeed.comm.is_initialized():  # on a CPU, accelerate initializes only torch's
            deepspeed.init_distributed(auto_mpi_discovery=False, verbose=False)
        dtype = torch.bfloat16 if config.arithmetic() == "bf16" else torch.float32
        return AutoModelForCausalLM.from_pretrained(job["source"], dtype=dtype)

    history = fit(load_model, blocks, validation, config, work)
    if is_first:
        write_json(work / HISTORY, asdict(history))


if __name__ == "__main__":
    if "RANK" not in os.environ:  # which torchrun sets for the processes that it starts
        run_node(sys.argv[1:])
    else:
        status = run_process(Path(sys.argv[1]).resolve())
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)  # all is written; torch's threads can abort an interpreter that shuts down
