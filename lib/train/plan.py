"""The plan before training: what it takes in memory and time, and whether it fits (paper, 4.2: ZeRO-1, 8 x 80 GB)."""

import os
import statistics
import time
from dataclasses import dataclass, replace

import pandas as pd
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel

from lib.train.attention import MOST_TOKENS, ROWS, fastest_attention
from lib.train.packing import Blocks
from lib.train.recipe import Recipe, extent

_BUCKET = 5e8  # elements that DeepSpeed reduces at once (reduce_bucket_size)
_LIVE = 1e9  # parameters that ZeRO-3 holds gathered (stage3_max_live_parameters)
_GAPS = 0.45  # of the activations, freed and not given back; measured with glibc at 4 and 16 blocks of 320 tokens
_BYTES = {"fp32": 4, "bf16": 2}


@dataclass(frozen=True)
class TrainingPlan:
    """A training before it runs. `memory` is in bytes a device, by what takes it; 0 for an unknown device or speed."""

    parameters: int
    updates: int
    places: int  # tokens and padding that pass through the model, all updates together
    warmup_share: float  # of the schedule's updates
    memory: dict[str, float]
    device_bytes: float
    seconds: float

    @property
    def bytes_needed(self) -> float:
        """A device's peak: everything at once, in the backward pass of the last micro-batch of an update."""
        return sum(self.memory.values())

    @property
    def is_fitting(self) -> bool:
        """Whether 90% of the device hold it; the rest is the driver's, the collectives' buffers and the allocator's."""
        return self.bytes_needed <= 0.9 * self.device_bytes

    def table(self) -> pd.DataFrame:
        """One row a quantity, as text with its unit."""
        rows = {"parameters": f"{self.parameters:,}", "updates": f"{self.updates:,}",
                "tokens, with padding": f"{self.places:,}", "warm-up": f"{self.warmup_share:.1%} of the updates",
                **{f"memory: {name}": f"{n / 1e9:,.2f} GB" for name, n in self.memory.items()},
                "memory a device": f"{self.bytes_needed / 1e9:,.2f} GB"}
        if self.device_bytes:
            rows["fits"] = f"{'yes' if self.is_fitting else 'NO'}, a device has {self.device_bytes / 1e9:,.1f} GB"
        if self.seconds:
            rows["expected time"] = f"{self.seconds / 60:,.1f} minutes"
        return pd.DataFrame({"planned": rows})


def plan_here(source: str, blocks: Blocks, recipe: Recipe, *, processes: int = 1,
              zero_stage: int = 1) -> TrainingPlan:
    """The plan of training the model at `source` (a folder or hub id) on `blocks` by this machine's devices.

    The time is planned for one process only, and where it fits: then the model is loaded and a few passes are timed.
    """
    length, size, precision = extent(recipe, blocks), len(blocks.input_ids[0]), recipe.arithmetic()
    on_gpu = torch.cuda.is_available()
    held = torch.cuda.get_device_properties(0).total_memory if on_gpu else (
        os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / processes)
    planned = plan(AutoConfig.from_pretrained(source), recipe, updates=length.updates, block_size=size,
                   precision=precision, schedule_updates=length.schedule_updates, processes=processes,
                   zero_stage=zero_stage if processes > 1 else 0, on_cpu=not on_gpu, device_bytes=held)
    if processes > 1 or not planned.is_fitting:
        return planned
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32).to("cuda" if on_gpu else "cpu")
    return replace(planned, seconds=planned.places / throughput(model, blocks, recipe, precision))


def plan(config: PreTrainedConfig, recipe: Recipe, *, updates: int, block_size: int, precision: str,
         schedule_updates: int = 0, processes: int = 1, zero_stage: int = 0, accumulation: str = "fp32",
         checkpointing: bool = False, on_cpu: bool = False, device_bytes: float = 0,
         tokens_per_second: float = 0) -> TrainingPlan:
    """What training a model of `config` takes, in bf16 or fp32 `precision`, for `updates` updates of `recipe`.

    Stage 0 is one process without DeepSpeed; there bf16 is autocast over float32 weights. `accumulation` is the type
    in which DeepSpeed sums gradients. `tokens_per_second` is of all processes together (see `throughput`).
    Raises ValueError for a stage, type or precision that is none.
    """
    if zero_stage not in (0, 1, 2, 3) or precision not in _BYTES or accumulation not in _BYTES:
        raise ValueError(f"zero_stage {zero_stage}, precision {precision!r} or accumulation {accumulation!r} is wrong: "
                         f"give a stage of 0 to 3, and one of {', '.join(_BYTES)} for the others")
    parameters = count_parameters(config)
    tokens = recipe.device_batch_size * block_size
    places = updates * recipe.global_batch_size * block_size
    residual = 4 if zero_stage == 0 else _BYTES[precision]
    saved, working = _activations(config, tokens, block_size, _BYTES[precision], residual, checkpointing, on_cpu)
    memory = _states(parameters, processes, zero_stage, precision, accumulation)
    memory |= {"activations": saved, "logits": _logits(config, tokens, _BYTES[precision])}
    memory["temporary copies"] += max(0.0, working - memory["logits"])  # the logits are gone when a layer's turn comes
    if on_cpu:
        memory["gaps of malloc"] = _GAPS * saved
    return TrainingPlan(parameters, updates, places, recipe.warmup_steps / (schedule_updates or updates), memory,
                        device_bytes, places / tokens_per_second if tokens_per_second else 0.0)


def count_parameters(config: PreTrainedConfig) -> int:
    """Parameters of the causal model of `config`, tied ones once; no memory is used for them."""
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config).num_parameters()


def throughput(model: PreTrainedModel, blocks: Blocks, recipe: Recipe, precision: str, steps: int = 3) -> float:
    """Tokens a second that this process trains, from the median of `steps` forward and backward passes after one.

    The weights stay as they are. Updates, validation and saving are not in it.
    """
    size, chosen = len(blocks.input_ids[0]), range(min(recipe.device_batch_size, len(blocks)))
    batch = {name: torch.tensor([blocks[index][name] for index in chosen], device=model.device) for name in blocks[0]}
    seconds = []
    with fastest_attention(model, size):
        for _ in range(steps + 1):
            start = time.perf_counter()
            with torch.autocast(model.device.type, torch.bfloat16, enabled=precision == "bf16"):
                loss = model(**batch, use_cache=False).loss
            loss.backward()
            model.zero_grad()
            loss.item()  # waits for a GPU
            seconds.append(time.perf_counter() - start)
    return len(chosen) * size / statistics.median(seconds[1:])


def _states(parameters: int, processes: int, stage: int, precision: str, accumulation: str) -> dict[str, float]:
    """Weights, gradients, optimizer and DeepSpeed's buffers (Rajbhandari et al. 2020, sections 3 and 5, with K = 12).

    Departures, read in DeepSpeed 0.19.8: stage 1 with bf16 weights and float32 sums (BF16_Optimizer) keeps the sums of
    all gradients on each device beside the bf16 gradients of the pass; only stages 2 and 3 shard them.
    """
    weight, total = _BYTES[precision], _BYTES[accumulation]
    shard, bucket = parameters / processes, min(_BUCKET, parameters)
    if stage == 0:
        cast = 2 * parameters if precision == "bf16" else 0  # autocast's bf16 weights, held until the pass has ended
        return {"weights": 4 * parameters, "gradients": 4 * parameters, "optimizer": 8 * parameters,
                "temporary copies": cast}
    held = {1: parameters, 2: shard, 3: shard}[stage]
    gradients = total * held + (weight * parameters if stage == 1 and total != weight else 0)
    weights = weight * (parameters if stage < 3 else shard + min(_LIVE, parameters))
    return {"weights": weights, "gradients": gradients, "optimizer": 12 * shard,
            "temporary copies": 0 if stage == 1 else weight * bucket}


def _activations(config: PreTrainedConfig, tokens: int, block_size: int, size: int, residual: int,
                 checkpointing: bool, on_cpu: bool) -> tuple[float, float]:
    """Bytes kept for the backward pass, and what one layer's backward pass holds besides.

    Counted over what transformers' Llama layer saves, after Korthikanti et al. 2022 (4.1), with SDPA in place of
    their attention and RMSNorm and a gated MLP in place of theirs. `size` and `residual` are the bytes of a number in
    matrix products and in the residual stream.
    """
    hidden, inner, heads = config.hidden_size, config.intermediate_size, config.num_attention_heads
    head = getattr(config, "head_dim", None) or hidden // heads
    queries, keys = heads * head, config.num_key_value_heads * head
    is_cast = residual != size  # autocast makes each product's input anew: query, key, value; gate, up
    norms = 2 * hidden * (4 + residual) + (5 if is_cast else 2) * size * hidden
    attention = size * (2 * queries + 2 * keys)
    if on_cpu and block_size <= MOST_TOKENS:
        attention += size * heads * (block_size + ROWS) / 2  # probabilities, none of keys that all its rows hide
    layer = tokens * (norms + attention + 4 * size * inner)
    kept = tokens * residual * hidden if checkpointing else layer
    last = tokens * hidden * (4 + residual + size)
    return config.num_hidden_layers * kept + last, (layer if checkpointing else 0) + tokens * 3 * size * inner


def _logits(config: PreTrainedConfig, tokens: int, size: int) -> float:
    """Log-probabilities and their gradient in float32, and where products are bf16 the logits' gradient in it."""
    return tokens * config.vocab_size * (8 + (size if size != 4 else 0))
