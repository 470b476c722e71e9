"""Train a reader on lessons, and measure what it reads between the epochs."""

import io
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback

from lib.core.files import made_by, read_records, write_records
from lib.core.records import Query, Record
from lib.infer.answers import answer
from lib.infer.prompts import beginning
from lib.reader.lessons import Lesson
from lib.train.packing import PackedBlocks, pack_turns

FILE = "reading.jsonl"


class Read(Record):
    """The number of first questions of held-out lessons that were answered word for word."""

    epoch: int
    kind: str  # kind, form and size of the lessons
    form: str
    size: str
    correct: int
    n: int


def read_curve(folder: Path) -> list[Read]:
    """Return the rows in a reader's folder. Raises MissingInput if the file is missing."""
    return read_records(folder / FILE, Read, made_by("reader"))


def blocks_of(lessons: Iterable[Lesson], tokenizer: PreTrainedTokenizerBase,
              block_size: int) -> tuple[PackedBlocks, int]:
    """Return the lessons as blocks in which only replies carry loss, and how many were left out.

    A reply ends with EOS. A lesson that is longer than a block loses its last questions; it is left
    out if the first does not fit. Raises ValueError as `pack_turns` does.
    """
    begin, kept, n_left_out = beginning(tokenizer), [], 0
    for lesson in lessons:
        parts = tokenizer([text for turn in lesson.turns for text in turn],
                          add_special_tokens=False, split_special_tokens=True)["input_ids"]
        pairs, room = [], block_size - len(begin)
        for prompt, reply in zip(parts[::2], parts[1::2], strict=True):
            room -= len(prompt) + len(reply) + 1
            if room < 0:
                break
            pairs.append((prompt if pairs else begin + prompt, [*reply, tokenizer.eos_token_id]))
        n_left_out += not pairs
        kept += [pairs] if pairs else []
    return pack_turns(kept, block_size, tokenizer.eos_token_id), n_left_out


def first_questions(lessons: Sequence[Lesson]) -> list[Query]:
    """Return each lesson's first question as a query whose context is the complete prompt."""
    return [Query(query_id=str(number), document_id=str(number), question=lesson.turns[0].prompt,
                  answer=lesson.turns[0].reply, structure="tabular", source_reference="", start=0,
                  end=0, entity_count=None, block_type=lesson.form, context=lesson.turns[0].prompt)
            for number, lesson in enumerate(lessons)]


def read(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, lessons: Sequence[Lesson],
         epoch: int, max_read_tokens: int, batch_size: int = 64) -> list[Read]:
    """Ask the first question of each lesson; return a row per kind, form and size, in that order.

    An answer is correct if it equals the reference word for word.
    """
    queries = first_questions(lessons)
    with redirect_stderr(io.StringIO()):  # a second bar would break the training's
        answers = answer(model, tokenizer, queries, "reader", is_ready=True,
                         max_read_tokens=max_read_tokens, batch_size=batch_size)
    found: dict[tuple[str, str, str], list[bool]] = {}
    for lesson, query, row in zip(lessons, queries, answers, strict=True):
        found.setdefault((lesson.kind, lesson.form, lesson.size), []).append(
            row.answer.split() == query.answer.split())
    return [Read(epoch=epoch, kind=kind, form=form, size=size, correct=sum(each), n=len(each))
            for (kind, form, size), each in sorted(found.items())]


class ReadingCallback(TrainerCallback):
    """Ask the lessons after every epoch, and save the rows in the work folder each time.

    Answers are greedy and draw no random numbers, so they do not affect the weights.
    """

    def __init__(self, lessons: Sequence[Lesson], tokenizer: PreTrainedTokenizerBase,
                 max_read_tokens: int) -> None:
        self.lessons, self.tokenizer = lessons, tokenizer
        self.max_read_tokens = max_read_tokens

    def on_train_begin(self, args, state, control, **kwargs):
        """Keep the rows up to the checkpoint; repeated epochs get new rows."""
        folder = Path(args.output_dir)
        found = read_curve(folder) if (folder / FILE).exists() else []
        self.rows = [row for row in found if row.epoch <= round(state.epoch or 0)]

    def on_epoch_end(self, args, state, control, model, **kwargs):
        model.eval()
        self.rows += read(model, self.tokenizer, self.lessons, round(state.epoch),
                          self.max_read_tokens)
        write_records(Path(args.output_dir) / FILE, self.rows)
