"""Train a run at a constant learning rate, and score it after 1, 2, 4, … exposures."""

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from torch.utils.data import Sampler, SequentialSampler
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
)

from lib.train.attention import fastest_attention
from lib.train.packing import PackedBlocks, pack
from lib.train.recipe import computes_bf16


@dataclass(frozen=True)
class Regime:
    """How every run of a study trains; the learning rate stays constant after the warm-up."""

    exposures: tuple[int, ...]  # after which the facts are scored, ascending
    learning_rate: float
    replay_share: float  # of the tokens read in each exposure that are public text
    warmup_steps: int
    batch_size: int  # blocks per update
    block_size: int  # tokens
    weight_decay: float = 0.1


def blocks_of(
    texts_at: Callable[[int], list[str]],
    public: Sequence[str],
    tokenizer: PreTrainedTokenizerBase,
    regime: Regime,
    seed: int,
) -> tuple[PackedBlocks, list[int]]:
    """Return all blocks in the order of training, and the number of updates up to each exposure.

    `texts_at` gives the texts of an exposure, counted from 0; public texts are drawn anew for each.
    """
    rng = random.Random(f"order {seed}")
    sizes = [len(ids) for ids in tokenizer(list(public))["input_ids"]] if public else []
    ids, labels, positions, updates, n_tokens, n_targets = [], [], [], [], 0, 0
    for exposure in range(regime.exposures[-1]):
        own = texts_at(exposure)
        wanted = (
            regime.replay_share
            / (1 - regime.replay_share)
            * sum(map(len, tokenizer(own)["input_ids"]))
        )
        drawn = rng.sample(range(len(public)), len(public)) if wanted else []
        read = [
            total - sizes[one]
            for one, total in zip(drawn, accumulate(sizes[one] for one in drawn), strict=True)
        ]
        added = [public[one] for one, before in zip(drawn, read, strict=True) if before < wanted]
        packed = pack(own + added, tokenizer, regime.block_size, "document")
        n_tokens, n_targets = n_tokens + packed.n_tokens, n_targets + packed.n_targets
        packed = packed.padded_to(regime.batch_size)
        order = rng.sample(range(len(packed)), len(packed))
        for whole, part in (
            (ids, packed.input_ids),
            (labels, packed.labels),
            (positions, packed.position_ids),
        ):
            whole += [part[place] for place in order]
        updates.append(len(packed) // regime.batch_size)
    return PackedBlocks(ids, labels, positions, n_tokens, n_targets), list(accumulate(updates))


def train_run(
    model: PreTrainedModel,
    blocks: PackedBlocks,
    updates: list[int],
    regime: Regime,
    seed: int,
    work: Path,
    score: Callable[[int], None],
) -> None:
    """Train `model` on `blocks` in their order; call `score` with each of regime.exposures."""
    points = {updates[exposure - 1]: exposure for exposure in regime.exposures}
    arguments = TrainingArguments(
        output_dir=str(work),
        max_steps=updates[-1],
        learning_rate=regime.learning_rate,
        per_device_train_batch_size=regime.batch_size,
        weight_decay=regime.weight_decay,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=regime.warmup_steps,
        bf16=computes_bf16(),
        use_cpu=model.device.type == "cpu",
        seed=seed,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=model.device.type != "cpu",
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # or Trainer would use all visible GPUs
    model.config.use_cache = False
    trainer = _InOrder(
        model=model,
        args=arguments,
        train_dataset=blocks,
        data_collator=default_data_collator,
        callbacks=[_Scoring(points, score)],
    )
    trainer.remove_callback(PrinterCallback)
    with fastest_attention(model, regime.block_size, arguments.device):
        trainer.train()
    shutil.rmtree(work, ignore_errors=True)


class _InOrder(Trainer):
    def _get_train_sampler(self, train_dataset=None) -> Sampler[int]:
        return SequentialSampler(self.train_dataset)


class _Scoring(TrainerCallback):
    def __init__(self, points: dict[int, int], score: Callable[[int], None]) -> None:
        self.points, self.score = points, score

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step in self.points:
            self.score(self.points[state.global_step])
