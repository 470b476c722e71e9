"""Measure the acquisition curve: accuracy by structure, between the epochs of a training run."""

import io
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path

from accelerate.utils import gather_object
from transformers import PreTrainedTokenizerBase, TrainerCallback

from lib.core.files import made_by, read_records, write_records
from lib.core.records import STRUCTURES, Query, Record
from lib.infer.answers import answer
from lib.judge.rules import by_rules
from lib.judge.verdicts import judge

FILE = "acquisition.jsonl"


class Acquired(Record):
    """The number of correct answers to a structure's queries after an epoch, judged by rules."""

    arm: str
    epoch: int
    structure: str
    correct: int
    n: int


@dataclass(frozen=True)
class Acquisition:
    """The queries to ask during a training run, and how often."""

    queries: list[Query]
    arm: str
    every: int  # epochs between two measurements
    max_answer_tokens: int
    batch_size: int = 64


def read_curve(folder: Path) -> list[Acquired]:
    """Return the rows in a model's folder. Raises BadInput if the file is missing."""
    return read_records(folder / FILE, Acquired, made_by("model"))


class AcquisitionCallback(TrainerCallback):
    """Ask the queries after every k-th epoch and after the last, and save the rows each time.

    Several processes share the queries. Answers are greedy and draw no random numbers, so they do
    not affect the weights. They are computed in the training precision: in bf16, a few differ from
    those of 04_infer in float32.
    """

    def __init__(self, asked: Acquisition, tokenizer: PreTrainedTokenizerBase) -> None:
        self.asked, self.tokenizer = asked, tokenizer
        if tokenizer.pad_token_id is None:  # padding is masked, so any token will do
            tokenizer.pad_token = tokenizer.eos_token

    def on_train_begin(self, args, state, control, **kwargs):
        """Keep the rows up to the checkpoint; repeated epochs get new rows."""
        folder = Path(args.output_dir)
        found = read_curve(folder) if (folder / FILE).exists() else []
        self.rows = [row for row in found if row.epoch <= round(state.epoch or 0)]

    def on_epoch_end(self, args, state, control, model, **kwargs):
        epoch = round(state.epoch)
        if epoch % self.asked.every and state.global_step < state.max_steps:
            return
        model.eval()
        share = self.asked.queries[args.process_index::args.world_size]
        with redirect_stderr(io.StringIO()):  # a second bar would break the training's
            answers = answer(model, self.tokenizer, share, self.asked.arm,
                             max_answer_tokens=self.asked.max_answer_tokens,
                             batch_size=self.asked.batch_size)
        verdicts = judge(share, answers, by_rules)
        found = [(query.structure, verdict.verdict == "correct")
                 for query, verdict in zip(share, verdicts, strict=True)]
        found = gather_object(found) if args.world_size > 1 else found
        for structure in STRUCTURES:
            outcomes = [is_correct for place, is_correct in found if place == structure]
            if outcomes:
                self.rows.append(Acquired(arm=self.asked.arm, epoch=epoch, structure=structure,
                                          correct=sum(outcomes), n=len(outcomes)))
        if args.process_index == 0:
            write_records(Path(args.output_dir) / FILE, self.rows)
