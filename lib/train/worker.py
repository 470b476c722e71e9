"""What torchrun runs in each process of a training on several: `-m lib.train.worker work/job.json`."""

import json
import logging
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from transformers.utils.logging import set_verbosity_error

from lib.core.files import write_json
from lib.core.process import die_with_parent
from lib.core.records import Query
from lib.train.curve import Acquisition, AcquisitionCallback
from lib.train.deepspeed_config import deepspeed_config
from lib.train.packing import Blocks
from lib.train.recipe import Recipe
from lib.train.trainer import fit

JOB, BLOCKS, HISTORY = "job.json", "blocks.npz", "history.json"


def write_job(work: Path, source: str, blocks: Blocks, validation: Blocks | None, recipe: Recipe, processes: int,
              zero_stage: int, acquisition: Acquisition | None) -> Path:
    """Leave in `work` what every process reads; returns the path of job.json."""
    sides = {"training": blocks, **({"validation": validation} if validation else {})}
    arrays = {f"{side}.{name}": np.asarray(getattr(part, name), dtype=np.int32) for side, part in sides.items()
              for name in ("input_ids", "labels", "position_ids")}
    np.savez(work / BLOCKS, **arrays)
    return write_json(work / JOB, {
        "source": source, "recipe": asdict(recipe), "processes": processes, "zero_stage": zero_stage,
        "acquisition": acquisition and {**vars(acquisition), "queries": [
            query.model_dump() for query in acquisition.queries]},
        "counts": {side: [part.n_tokens, part.n_targets] for side, part in sides.items()}})


def run_job(path: Path) -> None:
    """This process's part of the training that `path` describes; the first one leaves history.json in its folder."""
    from deepspeed.ops import __compatible_ops__  # importing DeepSpeed tries a compiler out: not in the notebook

    work, job = path.parent, json.loads(path.read_text(encoding="utf-8"))
    if os.environ["RANK"] != "0":
        set_verbosity_error()  # the first process says it
    logging.getLogger("accelerate").setLevel(logging.ERROR)  # it warns that Trainer, not it, accumulates gradients
    __compatible_ops__["deepspeed_shm_comm"] = False  # for inference; on a CPU it would be compiled, for minutes
    recipe = Recipe(**job["recipe"])
    blocks, validation = (_blocks(work, side, job["counts"]) for side in ("training", "validation"))
    config = deepspeed_config(recipe, job["processes"], job["zero_stage"])
    if os.environ["RANK"] == "0":
        write_json(work / "deepspeed.json", config)
    history = fit(_loading(job["source"], recipe), blocks, validation, recipe, work, _callbacks(job),
                  processes=job["processes"], deepspeed=config)
    if os.environ["RANK"] == "0":
        write_json(work / HISTORY, asdict(history))


def _loading(source: str, recipe: Recipe) -> Callable[[], PreTrainedModel]:
    """How this process loads the model, once torch.distributed is there.

    bf16 where DeepSpeed trains bf16 weights: it would round them itself, after float32 had filled the memory.
    """
    import deepspeed

    def load() -> PreTrainedModel:
        if not deepspeed.comm.is_initialized():  # on a CPU accelerate starts torch's alone, and ZeRO-3 asks DeepSpeed's
            deepspeed.init_distributed(auto_mpi_discovery=False, verbose=False)
        dtype = torch.bfloat16 if recipe.arithmetic() == "bf16" else torch.float32
        return AutoModelForCausalLM.from_pretrained(source, dtype=dtype)
    return load


def _callbacks(job: dict) -> list[AcquisitionCallback]:
    if not job["acquisition"]:
        return []
    queries = [Query(**query) for query in job["acquisition"]["queries"]]
    tokenizer = AutoTokenizer.from_pretrained(job["source"], padding_side="left")
    return [AcquisitionCallback(Acquisition(**{**job["acquisition"], "queries": queries}), tokenizer)]


def _blocks(work: Path, side: str, counts: dict[str, list[int]]) -> Blocks | None:
    if side not in counts:
        return None
    with np.load(work / BLOCKS) as arrays:
        parts = [arrays[f"{side}.{name}"].tolist() for name in ("input_ids", "labels", "position_ids")]
    return Blocks(*parts, *counts[side])


def main(arguments: list[str]) -> int:
    """0, or 1 with the error's message in a line of its own, which the launcher looks for."""
    die_with_parent()
    try:
        run_job(Path(arguments[0]).resolve())
    except Exception as error:  # whatever it was, the notebook must say it
        traceback.print_exc(file=sys.stdout)
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        print(f"process {os.environ['RANK']} stopped: {said}", flush=True)
        return 1
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
