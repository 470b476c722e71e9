"""Train a run in one or two phases, for as many epochs or updates as the arm is to have."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback

from lib.controlled.records import Rendered
from lib.train.packing import PackedBlocks, pack
from lib.train.recipe import Recipe, training_length
from lib.train.trainer import History, train

MATCHES = ("epochs", "updates")


@dataclass(frozen=True)
class Phase:
    """The blocks of a phase, and how to train on them."""

    blocks: PackedBlocks
    recipe: Recipe

    @property
    def tokens(self) -> int:
        """Return the number of tokens that are read in the entire phase."""
        each = training_length(self.recipe, self.blocks)
        return round(self.blocks.n_tokens * each.updates / each.updates_an_epoch)


def phases_of(
    rendered: Sequence[Rendered],
    tokenizer: PreTrainedTokenizerBase,
    block_size: int,
    recipe: Recipe,
    match: str,
    match_times: int = 1,
) -> list[Phase]:
    """Return the phases of a run: the texts marked `is_first`, if there are any, then the others.

    With `match` "updates", the phases together have as many updates as the raw text alone in
    match_times * epochs, shared by their tokens. Raises ValueError for an unknown `match`.
    """
    if match not in MATCHES:
        raise ValueError(f"match {match!r} is not one of {', '.join(MATCHES)}")
    sides = [
        [one.text for one in rendered if one.is_first is is_first] for is_first in (True, False)
    ]
    packed = [pack(texts, tokenizer, block_size, "document") for texts in sides if texts]
    if match == "epochs":
        return [Phase(blocks, recipe) for blocks in packed]
    raw = {one.document_id: one.raw for one in rendered}
    longer = replace(recipe, epochs=match_times * recipe.epochs)
    total = training_length(
        longer, pack(list(raw.values()), tokenizer, block_size, "document")
    ).updates
    tokens = sum(blocks.n_tokens for blocks in packed)
    shares = [max(1, round(total * blocks.n_tokens / tokens)) for blocks in packed[:-1]]
    updates = [*shares, max(1, total - sum(shares))]
    return [
        Phase(blocks, replace(longer, updates=n))
        for blocks, n in zip(packed, updates, strict=True)
    ]


def train_phases(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    phases: Sequence[Phase],
    output: Path,
    facts: dict[str, object],
    callbacks: Sequence[TrainerCallback] = (),
) -> list[History]:
    """Train `model` in each phase in turn; `output` gets the last one's model and its callbacks.

    Raises what `lib.train.trainer.train` does.
    """
    histories = []
    for number, phase in enumerate(phases, 1):
        is_last = number == len(phases)
        place = output if is_last else output.with_name(f"{output.name}-phase-{number}")
        histories.append(
            train(
                model,
                tokenizer,
                phase.blocks,
                None,
                phase.recipe,
                place,
                facts,
                callbacks if is_last else (),
            )
        )
        if not is_last:
            shutil.rmtree(place)
    return histories
