"""Train a reader on lessons in phases, and measure what it reads."""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.core.digest import module_digest
from lib.core.records import Query
from lib.infer.answers import answer, load
from lib.infer.prompts import beginning
from lib.reader.grids import Labels
from lib.reader.lessons import (
    Lesson,
    Turn,
    grid_lessons,
    report_lessons,
    rewriting_lessons,
    structext_lessons,
)
from lib.tasks.structext.records import Sample
from lib.train.checkpoints import fingerprint, weights_hash
from lib.train.packing import PackedBlocks, pack_replies
from lib.train.recipe import Recipe, training_length
from lib.train.trainer import train


class Phase(NamedTuple):
    """One step of the curriculum: an epoch over lessons that no other phase has."""

    most_rows: int  # of its tables
    most_columns: int
    n_tables: int
    n_reports: int  # made-up annual reports
    n_draws: int  # of StrucText-Eval's training split, each with other texts
    block_size: int  # tokens
    batch_size: int  # blocks per update
    learning_rate: float  # peak of a linear schedule
    labels: Labels = "full"  # of its tables


def lessons_of(
    phase: Phase,
    number: int,
    seed: int,
    tested: Sequence[Sample],
    *,
    rewriting: float,
    n_questions: int,
    per_task: int = 0,
) -> Iterator[Lesson]:
    """Yield the lessons of phase `number` of the reader `seed`, each text in one form.

    They are its tables, `rewriting` times as many to write anew, reports, and StrucText-Eval's
    texts, `per_task` of each task and dials (0: all), without those of `tested`.
    """
    sizes = {
        "most_rows": phase.most_rows,
        "most_columns": phase.most_columns,
        "labels": phase.labels,
    }
    name, own = f"{seed}-{number}", 10_000 * seed + 100 * number
    yield from grid_lessons(phase.n_tables, name, n_questions=n_questions, in_turn=True, **sizes)
    yield from rewriting_lessons(round(rewriting * phase.n_tables), name, **sizes)
    if phase.n_reports:
        yield from report_lessons(phase.n_reports, own, n_questions=n_questions, in_turn=True)
    for draw in range(phase.n_draws):
        yield from structext_lessons(tested, seed=own + draw, per_task=per_task)


def blocks_of(
    lessons: Iterable[Lesson], tokenizer: PreTrainedTokenizerBase, block_size: int
) -> tuple[PackedBlocks, int]:
    """Return the lessons as blocks, and how many were left out as too long.

    Everything after a lesson's first prompt carries loss: the replies, each with EOS, and the
    questions. A lesson that is longer than a block loses its last questions.
    """
    begin, prompts, replies, n_left_out = beginning(tokenizer), [], [], 0
    for lesson in lessons:
        parts = tokenizer(
            [text for turn in lesson.turns for text in turn],
            add_special_tokens=False,
            split_special_tokens=True,
        )["input_ids"]
        prompt, following = [*begin, *parts[0]], []
        for asked, reply in zip([[], *parts[2::2]], parts[1::2], strict=True):
            new = [*asked, *reply, tokenizer.eos_token_id]
            if len(prompt) + len(following) + len(new) > block_size:
                break
            following += new
        n_left_out += not following
        if following:
            prompts.append(prompt)
            replies.append(following)
    return pack_replies(prompts, replies, block_size, tokenizer.eos_token_id), n_left_out


def are_right(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    turns: Sequence[Turn],
    max_read_tokens: int,
    batch_size: int = 64,
) -> list[bool]:
    """Ask each complete prompt, and return whether its answer equals the reply word for word."""
    queries = [
        Query(
            query_id=str(number),
            document_id=str(number),
            question=turn.prompt,
            answer=turn.reply,
            source_reference="",
            start=0,
            end=0,
            entity_count=None,
            block_type="table",
            context=turn.prompt,
        )
        for number, turn in enumerate(turns)
    ]
    with redirect_stderr(io.StringIO()):  # a second bar would break the training's
        answers = answer(
            model,
            tokenizer,
            queries,
            "reader",
            max_read_tokens=max_read_tokens,
            batch_size=batch_size,
        )
    return [
        row.answer.split() == turn.reply.split() for row, turn in zip(answers, turns, strict=True)
    ]


def read(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    lessons: Sequence[Lesson],
    max_read_tokens: int,
) -> list[dict[str, object]]:
    """Ask each lesson's first question; return kind, form and correct of each."""
    right = are_right(
        model.eval(), tokenizer, [lesson.turns[0] for lesson in lessons], max_read_tokens
    )
    return [
        {"kind": lesson.kind, "form": lesson.form, "correct": is_right}
        for lesson, is_right in zip(lessons, right, strict=True)
    ]


def train_phase(
    phase: Phase,
    lessons: Iterable[Lesson],
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    recipe: Recipe,
    output: Path,
) -> tuple[PreTrainedModel, int]:
    """Train `model` on a phase's lessons into `output`; return it as saved, and tokens.

    A phase that is complete there, with the same fingerprint, is only loaded, so that an
    interrupted run goes on with the phase that it was in.
    """
    blocks, n_left_out = blocks_of(lessons, tokenizer, phase.block_size)
    recipe = replace(
        recipe,
        global_batch_size=phase.batch_size,
        device_batch_size=phase.batch_size,
        learning_rate=phase.learning_rate,
    )
    fields = fingerprint(recipe, blocks, None, weights_hash(model), module_digest(train.__module__))
    done = output / "training.json"
    if not done.exists() or json.loads(done.read_text("utf-8"))["fingerprint"] != fields:
        train(model, tokenizer, blocks, None, recipe, output, {"phase": phase._asdict()})
    print(f"{output.name}: {len(blocks):,} blocks, {n_left_out} lessons were longer than one")
    tokens = training_length(recipe, blocks).updates * phase.block_size * phase.batch_size
    return load(str(output), training=True)[0], tokens
