"""Estimate the memory of a training run (paper, 4.2: ZeRO-1 on 8 x 80 GB)."""

from dataclasses import dataclass

import pandas as pd
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedConfig

from lib.train.recipe import Recipe

_BUCKET = 5e8  # elements that DeepSpeed reduces at once (reduce_bucket_size)
_LIVE = 1e9  # parameters that ZeRO-3 keeps gathered (stage3_max_live_parameters)
_BYTES = {"fp32": 4, "bf16": 2}


@dataclass(frozen=True)
class TrainingPlan:
    """Estimated memory of a training run; an unknown `device_bytes` is 0."""

    parameters: int
    memory: dict[str, float]  # bytes per device, by purpose
    device_bytes: float

    @property
    def bytes_needed(self) -> float:
        """Return a device's peak: the backward pass of the last micro-batch of an update."""
        return sum(self.memory.values())

    @property
    def is_fitting(self) -> bool:
        """True if 90% of a device suffices; driver, collectives and allocator need 10%."""
        return self.bytes_needed <= 0.9 * self.device_bytes

    def table(self) -> pd.DataFrame:
        """Return one row per quantity, as text with its unit."""
        rows = {
            "parameters": f"{self.parameters:,}",
            **{f"memory: {name}": f"{n / 1e9:,.2f} GB" for name, n in self.memory.items()},
            "memory per device": f"{self.bytes_needed / 1e9:,.2f} GB",
        }
        if self.device_bytes:
            rows["fits"] = (
                f"{'yes' if self.is_fitting else 'NO'}, a device has "
                f"{self.device_bytes / 1e9:,.1f} GB"
            )
        return pd.DataFrame({"planned": rows})


def plan_here(
    source: str, recipe: Recipe, block_size: int, *, processes: int = 1, zero_stage: int = 1
) -> TrainingPlan:
    """Plan the memory for training `source` (a folder or hub id) on this machine's devices.

    It is a GPU's: on a CPU, attention and malloc need more.
    """
    on_gpu = torch.cuda.is_available()
    return plan(
        AutoConfig.from_pretrained(source),
        recipe,
        block_size=block_size,
        precision=recipe.arithmetic(),
        processes=processes,
        zero_stage=zero_stage if processes > 1 else 0,
        device_bytes=torch.cuda.get_device_properties(0).total_memory if on_gpu else 0,
    )


def plan(
    config: PreTrainedConfig,
    recipe: Recipe,
    *,
    block_size: int,
    precision: str,
    processes: int = 1,
    zero_stage: int = 0,
    device_bytes: float = 0,
) -> TrainingPlan:
    """Plan the memory for training a model of `config` in bf16 or fp32.

    Stage 0 is one process without DeepSpeed; there bf16 is autocast over float32 weights.
    """
    with torch.device("meta"):  # no memory is used for the weights; tied ones count once
        parameters = AutoModelForCausalLM.from_config(config).num_parameters()
    size, tokens = _BYTES[precision], recipe.device_batch_size * block_size
    saved, working = _activations(
        config, tokens, size, 4 if zero_stage == 0 else size, recipe.gradient_checkpointing
    )
    # Log-probabilities and their gradient are float32; so is the logits' gradient of bf16 products.
    logits = tokens * config.vocab_size * (8 + (size if size != 4 else 0))
    memory = _states(parameters, processes, zero_stage, size)
    memory |= {"activations": saved, "logits": logits}
    more = max(0.0, working - logits)  # logits are freed before the layers
    if recipe.gradient_checkpointing and zero_stage == 0:  # and so are autocast's copies
        memory["temporary copies"] = max(memory["temporary copies"], more)
    else:
        memory["temporary copies"] += more
    return TrainingPlan(parameters, memory, device_bytes)


def _states(parameters: int, processes: int, stage: int, size: int) -> dict[str, float]:
    # Rajbhandari et al. 2020, sections 3 and 5, with K = 12 and gradients summed in float32. One
    # difference, read in the source of DeepSpeed 0.19.8: stage 1 with bf16 weights
    # (BF16_Optimizer) keeps the sums of all gradients on each device, in addition to the bf16
    # gradients of the pass; only stages 2 and 3 shard them.
    if stage == 0:
        cast = 2 * parameters if size == 2 else 0  # autocast's copies, kept until the pass ends
        return {
            "weights": 4 * parameters,
            "gradients": 4 * parameters,
            "optimizer": 8 * parameters,
            "temporary copies": cast,
        }
    shard = parameters / processes
    gradients = 4 * (parameters if stage == 1 else shard)
    gradients += size * parameters if stage == 1 and size != 4 else 0
    weights = size * (parameters if stage < 3 else shard + min(_LIVE, parameters))
    return {
        "weights": weights,
        "gradients": gradients,
        "optimizer": 12 * shard,
        "temporary copies": 0 if stage == 1 else size * min(_BUCKET, parameters),
    }


def _activations(
    config: PreTrainedConfig, tokens: int, size: int, residual: int, is_checkpointed: bool
) -> tuple[float, float]:
    # Counts what transformers' Llama layer saves, after Korthikanti et al. 2022 (4.1), with SDPA,
    # RMSNorm and a gated MLP in place of theirs. `size` and `residual` are the bytes per number
    # in matrix products and in the residual stream. With gradient checkpointing (their section 5,
    # full recomputation; Chen et al. 2016), a layer keeps its input alone, and what else it saves
    # exists for one layer at a time, while that is computed again.
    hidden, inner, heads = (
        config.hidden_size,
        config.intermediate_size,
        config.num_attention_heads,
    )
    head = getattr(config, "head_dim", None) or hidden // heads
    is_cast = residual != size  # autocast copies each product's input: query, key, value; gate, up
    norms = 2 * hidden * (4 + residual) + (5 if is_cast else 2) * size * hidden
    attention = 2 * size * head * (heads + config.num_key_value_heads)
    layer = tokens * (norms + attention + 4 * size * inner)
    last = tokens * hidden * (4 + residual + size)
    saved, working = config.num_hidden_layers * layer + last, tokens * 3 * size * inner
    if is_checkpointed:
        inputs = config.num_hidden_layers * tokens * hidden * residual
        return inputs + last, layer + working
    return saved, working
