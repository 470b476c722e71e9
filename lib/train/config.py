"""Training settings, the length of a run, and the memory that it needs (paper, 4.2)."""

import time
import warnings
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import pandas as pd
from pydantic import NonNegativeInt, PositiveFloat, PositiveInt
from pydantic.dataclasses import dataclass

from lib.train.corpus import PackedBlocks

if TYPE_CHECKING:  # slow to import, and only named here
    from peft import PeftModel
    from transformers import PreTrainedConfig, PreTrainedModel

# Fields that are no part of a fingerprint.
NEUTRAL = ("stop_after_epoch", "keep_checkpoints", "logging_dir", "logging_steps", "report_to")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Training settings, named as in transformers' TrainingArguments if possible."""

    epochs: PositiveInt  # length of the schedule
    global_batch_size: PositiveInt  # sequences per update
    device_batch_size: PositiveInt  # sequences per forward pass; the rest is accumulated
    learning_rate: PositiveFloat  # peak
    warmup_steps: int
    weight_decay: float
    seed: int
    precision: Literal["auto", "bf16", "fp32"] = "auto"  # auto: bf16 if that is faster
    stop_after_epoch: int | None = None  # the last epoch to train, if the schedule is longer
    max_steps: int | None = None  # replaces epochs, so that arms of unequal texts train equally
    gradient_checkpointing: bool = False  # keep only layers' inputs, compute the rest again
    save_every_epochs: PositiveInt = 1  # epochs between two checkpoints
    adam_beta2: PositiveFloat = 0.999
    lr_scheduler_type: Literal[
        "linear", "constant_with_warmup", "warmup_stable_decay"  # 80% constant, then to a tenth
    ] = "linear"
    shuffle: bool = True  # False: blocks are read in their order, the same in each epoch
    processes: PositiveInt = 1  # above 1, with DeepSpeed: ZeRO-2 shards optimizer and gradients
    grad_accum_dtype: Literal["fp32", "bf16"] = "fp32"  # of DeepSpeed's sums of gradients
    lora_rank: NonNegativeInt = 0  # 0: all weights are trained
    frozen_layers: NonNegativeInt = 0  # the lowest, which with the embedding are not trained
    # What follows and stop_after_epoch change no weight of an epoch: NEUTRAL
    keep_checkpoints: bool = False  # all of them, so that stop_after_epoch takes one in seconds
    logging_dir: str = ""  # for log.jsonl and trackers; emptied when a training begins anew
    logging_steps: NonNegativeInt = 0  # updates between two rows, beside one per epoch
    report_to: tuple[str, ...] = ()  # trackers, by transformers' names

    def __post_init__(self) -> None:
        if self.lora_rank and not find_spec("peft"):
            raise ValueError("lora_rank needs peft: .venv/bin/python -m pip install -e '.[lora]'")
        if self.lora_rank and self.frozen_layers:
            raise ValueError("lora_rank freezes all layers: leave out frozen_layers")
        at_once = self.device_batch_size * self.processes
        if self.global_batch_size % at_once:
            raise ValueError(
                f"global_batch_size {self.global_batch_size} is not a multiple of device_batch_size"
                f" {self.device_batch_size} x processes {self.processes}: change one"
            )
        most = self.max_steps or self.epochs  # an epoch has at least one update
        if self.stop_after_epoch is not None and not 0 < self.stop_after_epoch <= most:
            raise ValueError(
                f"stop_after_epoch is {self.stop_after_epoch}: give 1 to {most}, or leave it out"
            )

    @property
    def accumulation(self) -> int:
        """Forward passes per update of a process."""
        return self.global_batch_size // (self.device_batch_size * self.processes)

    def arithmetic(self) -> str:
        """bf16 or fp32, with `auto` resolved for this machine."""
        return self.precision if self.precision != "auto" else "bf16" if computes_bf16() else "fp32"


def with_adapter(model: "PreTrainedModel", config: TrainConfig) -> "PeftModel":
    """Freeze a model and add a trained adapter to each linear layer but the last (LoRA)."""
    import torch
    from peft import LoraConfig, get_peft_model

    warnings.filterwarnings("ignore", "`is_gradient_checkpointing`")  # peft's, in transformers 5.23
    torch.manual_seed(config.seed)  # half of an adapter's matrices begin at random
    rank = config.lora_rank
    lora = LoraConfig(
        task_type="CAUSAL_LM",
        r=rank,
        lora_alpha=rank,
        use_rslora=rank > 64,
        target_modules="all-linear",
    )
    return get_peft_model(model, lora)


def freeze(model: "PreTrainedModel", n_layers: int) -> None:
    """Exclude the embedding and the lowest layers from training."""
    layers = getattr(model.base_model, "layers", ())
    if n_layers > len(layers):
        raise ValueError(f"frozen_layers is {n_layers}: {len(layers)} layers can be frozen")
    for part in (model.get_input_embeddings(), *layers[:n_layers]):
        part.requires_grad_(False)


@dataclass(frozen=True)
class TrainingLength:
    """The length of training; `tokens` counts targets, proportionally for an incomplete epoch."""

    updates_an_epoch: int
    schedule_updates: int
    updates: int
    epochs: float
    tokens: int

    def points(self, epochs: Iterable[int]) -> dict[int, int]:
        """The update after which each of `epochs` ends: {update: epoch}.

        An incomplete last epoch ends with training; those after it are left out.
        """
        each, n = self.updates_an_epoch, self.updates
        return {min(one * each, n): one for one in epochs if one > 0 and (one - 1) * each < n}


def training_length(config: TrainConfig, blocks: PackedBlocks) -> TrainingLength:
    """Length of training on `blocks`; an epoch's last update may be smaller."""
    each = -(-len(blocks) // config.global_batch_size)
    schedule = config.max_steps or config.epochs * each
    updates = min(schedule, (config.stop_after_epoch or schedule) * each)
    tokens = round(blocks.n_targets * updates / each)
    return TrainingLength(each, schedule, updates, updates / each, tokens)


def proposed_epoch(epochs: pd.DataFrame) -> int:
    """The epoch of the least gradient norm, of those within 1% of the lowest validation loss."""
    near = epochs[epochs.validation_loss <= 1.01 * epochs.validation_loss.min()]
    return int(near.set_index("epoch").gradient_norm.idxmin())


@cache
def computes_bf16() -> bool:
    """True if bf16 products take less time; some CPUs with bf16 instructions need twice as long."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported()
    return 1.2 * seconds_of_product(512, "bfloat16") < seconds_of_product(512, "float32")


def seconds_of_product(size: int, dtype: str) -> float:
    """Return the least seconds in which this device multiplies two square matrices."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    one = torch.ones(size, size, dtype=getattr(torch, dtype), device=device)
    times = []
    for _ in range(4):  # the first is slower
        start = time.perf_counter()
        float((one @ one)[0, 0])
        times.append(time.perf_counter() - start)
    return min(times)


@dataclass(frozen=True)
class TrainingPlan:
    """Estimated memory of a training run; an unknown `device_bytes` is 0."""

    parameters: int
    memory: dict[str, float]  # bytes per device, by purpose
    device_bytes: float

    @property
    def bytes_needed(self) -> float:
        """A device's peak: the backward pass of the last micro-batch of an update."""
        return sum(self.memory.values())

    def table(self) -> pd.DataFrame:
        """One row per quantity, as text with its unit.

        90% of a device must suffice; driver, collectives and allocator need 10%.
        """
        rows = {
            "parameters": f"{self.parameters:,}",
            **{f"memory: {name}": f"{n / 1e9:,.2f} GB" for name, n in self.memory.items()},
            "memory per device": f"{self.bytes_needed / 1e9:,.2f} GB",
        }
        if self.device_bytes:
            fits = "yes" if self.bytes_needed <= 0.9 * self.device_bytes else "NO"
            rows["fits"] = f"{fits}, a device has {self.device_bytes / 1e9:,.1f} GB"
        return pd.DataFrame({"planned": rows})


def plan(model: "PreTrainedConfig | str", config: TrainConfig, block_size: int) -> TrainingPlan:
    """Memory of training `model` (its configuration, a folder or a hub id) on GPUs like this one's.

    One process trains without DeepSpeed, in bf16 by autocast over float32 weights; those that LoRA
    freezes are bf16. A CPU needs more for attention and malloc.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    if isinstance(model, str):
        model = AutoConfig.from_pretrained(model)
    on_gpu = torch.cuda.is_available()
    device_bytes = torch.cuda.get_device_properties(0).total_memory if on_gpu else 0
    with torch.device("meta"):  # no memory is used for the weights; tied ones count once
        empty = AutoModelForCausalLM.from_config(model)
        parameters = trained = empty.num_parameters()
        if config.lora_rank:
            trained = with_adapter(empty, config).num_parameters(only_trainable=True)
    size, tokens = 2 if config.arithmetic() == "bf16" else 4, config.device_batch_size * block_size
    n, summed = config.processes, 2 if config.grad_accum_dtype == "bf16" else 4
    # Rajbhandari et al. 2020, sections 3 and 5, with K = 12. Autocast's copies are kept until the
    # pass ends.
    own, kept, copies = size, 12, size * min(5e8, trained)  # reduce_bucket_size of DeepSpeed
    if n == 1:
        own, summed, kept, copies = 4, 4, 8, trained * 2 * (size == 2)
    # Log-probabilities and their gradient are float32; so is the logits' gradient of bf16 products.
    # They are freed before a layer's own temporary numbers are needed, which are fewer.
    logits = model.vocab_size * (8 if size == 4 else 10)
    memory = {
        "weights": own * trained + size * parameters * bool(config.lora_rank),
        "gradients": summed * trained / n,
        "optimizer": kept * trained / n,
        "temporary copies": copies,
        "activations": tokens * _saved(model, size, config),
        "logits": tokens * logits,
    }
    return TrainingPlan(parameters, memory, device_bytes)


def _saved(model: "PreTrainedConfig", size: int, config: TrainConfig) -> int:
    # Bytes that transformers' Llama saves per token, after Korthikanti et al. 2022 (4.1), with
    # SDPA, RMSNorm and a gated MLP in place of theirs. `size` and `residual` are the bytes per
    # number in matrix products and in the residual stream. With gradient checkpointing (their
    # section 5, full recomputation; Chen et al. 2016), a layer keeps its input alone.
    hidden, heads, rank = model.hidden_size, model.num_attention_heads, config.lora_rank
    head = getattr(model, "head_dim", None) or hidden // heads
    is_autocast = size == 2 and config.processes == 1
    residual = 4 if is_autocast and not rank else size
    # autocast copies each product's input: query, key, value; gate, up; an adapter's output too
    scaled = 0 if rank else residual  # kept for the gradient of a norm's weights
    norms = hidden * (2 * (4 + scaled) + (5 if is_autocast else 2) * size)
    wide = getattr(model, "intermediate_size", 4 * hidden)
    attention = 2 * size * head * (heads + getattr(model, "num_key_value_heads", heads))
    adapters = size * (7 * rank + head * heads * bool(rank and is_autocast))
    layer = norms + attention + adapters + 4 * size * wide
    last = hidden * (4 + (0 if rank else residual + size))
    is_checkpointed = config.gradient_checkpointing
    return model.num_hidden_layers * (hidden * residual if is_checkpointed else layer) + last
