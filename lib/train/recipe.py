"""Hold training settings, and compute a run's length (paper, 4.2)."""

from typing import Literal

from pydantic import PositiveFloat, PositiveInt
from pydantic.dataclasses import dataclass

from lib.train.packing import PackedBlocks


@dataclass(frozen=True)
class Recipe:
    """Training settings, named as in transformers' TrainingArguments if possible."""

    epochs: PositiveInt  # length of the schedule
    global_batch_size: PositiveInt  # sequences per update
    device_batch_size: PositiveInt  # sequences per forward pass; the rest is accumulated
    learning_rate: PositiveFloat  # peak
    warmup_steps: int
    weight_decay: float
    seed: int
    precision: Literal["auto", "bf16", "fp32"] = "auto"  # auto: bf16 if the device has bf16 units
    stop_epoch: int | None = None  # the last epoch to train, if the schedule is longer
    updates: int | None = None  # replaces epochs, so that arms of unequal texts train equally
    gradient_checkpointing: bool = False  # keep only layers' inputs, compute the rest again
    checkpoint_epochs: PositiveInt = 1  # epochs between two checkpoints
    lr_scheduler_type: Literal["linear", "constant_with_warmup"] = "linear"

    def __post_init__(self) -> None:
        self.accumulation(1)
        if self.stop_epoch is not None and not 0 < self.stop_epoch <= self.epochs:
            raise ValueError(
                f"stop_epoch is {self.stop_epoch}: give 1 to epochs ({self.epochs}), "
                "or leave it out"
            )

    def accumulation(self, processes: int) -> int:
        """Return a process's forward passes per update; raise ValueError if not an integer."""
        at_once = self.device_batch_size * processes
        if processes < 1 or self.global_batch_size % at_once:
            raise ValueError(
                f"global_batch_size {self.global_batch_size} is not a multiple of "
                f"device_batch_size {self.device_batch_size} x processes {processes}: change one"
            )
        return self.global_batch_size // at_once

    def arithmetic(self) -> str:
        """Return bf16 or fp32, with `auto` resolved for this machine."""
        return self.precision if self.precision != "auto" else "bf16" if computes_bf16() else "fp32"


@dataclass(frozen=True)
class TrainingLength:
    """The length of training; `tokens` counts targets, proportionally for an incomplete epoch."""

    updates_an_epoch: int
    schedule_updates: int
    updates: int
    epochs: float
    tokens: int


def training_length(recipe: Recipe, blocks: PackedBlocks) -> TrainingLength:
    """Return how long `recipe` trains on `blocks`; an epoch's last update may be smaller."""
    each = -(-len(blocks) // recipe.global_batch_size)
    schedule = recipe.updates or recipe.epochs * each
    updates = recipe.updates or (recipe.stop_epoch or recipe.epochs) * each
    return TrainingLength(
        each, schedule, updates, updates / each, round(blocks.n_targets * updates / each)
    )


def computes_bf16() -> bool:
    """Return whether the device has bf16 units; on a CPU without them, bf16 is slower than fp32."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported()
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
