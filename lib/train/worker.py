"""Run one process of a distributed training run: torchrun calls it with the job's file."""

import json
import logging
import os
import sys
import traceback
from dataclasses import asdict
from pathlib import Path

from lib.core.process import collect_seldom, die_with_parent

if __name__ == "__main__":
    collect_seldom()  # before the imports that take seconds

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel
from transformers.utils.logging import set_verbosity_error

from lib.core.store import write_json
from lib.train.packing import PackedBlocks
from lib.train.recipe import Recipe
from lib.train.trainer import fit

JOB, HISTORY = "job.json", "history.json"


def deepspeed_config(recipe: Recipe, processes: int, zero_stage: int) -> dict[str, object]:
    """Return DeepSpeed's configuration, which is saved with the model.

    ZeRO stage 1 shards the optimizer's state, 2 also the gradients, 3 also the weights (Rajbhandari
    et al., 2020). With bf16, the weights are bf16 and the optimizer's shard keeps a float32 copy,
    while a single process has float32 weights and bf16 arithmetic. Gradients are summed in float32,
    because 8 steps of accumulation in the weights' type, bf16, would lose small gradients.
    Raises ValueError for any other stage, or if processes cannot share the global batch evenly.
    """
    if zero_stage not in (1, 2, 3):
        raise ValueError(f"zero_stage is {zero_stage}: give 1, 2 or 3")
    zero = {"stage": zero_stage}
    if zero_stage == 3:  # otherwise a checkpoint would not be a Hugging Face model
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    return {
        "train_batch_size": recipe.global_batch_size,
        "train_micro_batch_size_per_gpu": recipe.device_batch_size,
        "gradient_accumulation_steps": recipe.accumulation(processes),
        "gradient_clipping": 1.0,
        "zero_optimization": zero,
        "bf16": {"enabled": recipe.arithmetic() == "bf16"},
        "data_types": {"grad_accum_dtype": "fp32"},
    }


def run_job(path: Path) -> None:
    """Train this process's part of the job at `path`; the first process writes history.json."""
    import deepspeed  # takes seconds
    from deepspeed.ops import __compatible_ops__  # this runs a compiler, so not in notebooks

    work, job, is_first = path.parent, json.loads(path.read_bytes()), os.environ["RANK"] == "0"
    if not is_first:
        set_verbosity_error()  # the first process shows warnings
    logging.getLogger("accelerate").setLevel(logging.ERROR)  # Trainer accumulates, not accelerate
    __compatible_ops__["deepspeed_shm_comm"] = False  # inference only; compiling takes minutes
    recipe, source = Recipe(**job["recipe"]), job["source"]
    blocks, validation = (
        PackedBlocks(**one) if one else None for one in (job["blocks"], job["validation"])
    )

    def load() -> PreTrainedModel:  # once torch.distributed has started
        if not deepspeed.comm.is_initialized():  # on a CPU, accelerate initializes only torch's
            deepspeed.init_distributed(auto_mpi_discovery=False, verbose=False)
        dtype = torch.bfloat16 if recipe.arithmetic() == "bf16" else torch.float32
        return AutoModelForCausalLM.from_pretrained(source, dtype=dtype)  # bf16 without float32

    history = fit(
        load,
        blocks,
        validation,
        recipe,
        work,
        processes=job["processes"],
        deepspeed=job["deepspeed"],
    )
    if is_first:
        write_json(work / HISTORY, asdict(history))


def main(arguments: list[str]) -> int:
    """Return 0, or 1 after printing the error on a line of its own for the launcher to find."""
    die_with_parent()
    try:
        run_job(Path(arguments[0]).resolve())
    except Exception as error:  # any error: the notebook must show it
        traceback.print_exc(file=sys.stdout)
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
        print(f"process {os.environ['RANK']} stopped: {message}", flush=True)
        return 1
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # all is written; torch's threads can abort an interpreter that shuts down
