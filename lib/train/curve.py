"""What a model in training can be asked for after some epochs, by structure: the acquisition curve."""

import io
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path

from accelerate.utils import gather_object
from transformers import PreTrainedTokenizerBase, TrainerCallback

from lib.core.files import read_records, write_records
from lib.core.records import STRUCTURES, Query, Record
from lib.infer.answers import answer
from lib.judge.verdicts import judge

FILE = "acquisition.jsonl"


class Acquired(Record):
    """How many queries of a structure were answered correctly after an epoch, by the rules."""

    arm: str
    epoch: int
    structure: str
    correct: int
    n: int


@dataclass(frozen=True)
class Acquisition:
    """What is asked, and how often."""

    queries: list[Query]
    arm: str
    every: int  # epochs
    max_answer_tokens: int
    batch_size: int = 64


class AcquisitionCallback(TrainerCallback):
    """Asks after every k-th epoch and after the last; the rows lie beside the checkpoints and outlive a kill.

    Several processes share the queries. The answers are greedy and draw nothing at random, so that they change no
    weight. They are computed as training computes, so where that is bf16 a few differ from 04_infer's in float32.
    """

    def __init__(self, asked: Acquisition, tokenizer: PreTrainedTokenizerBase) -> None:
        self.asked, self.tokenizer = asked, tokenizer
        if tokenizer.pad_token_id is None:  # padding is masked, so any token serves
            tokenizer.pad_token = tokenizer.eos_token

    def on_train_begin(self, args, state, control, **kwargs):
        """Rows of an epoch that is trained again, because no checkpoint of it was complete, are written again."""
        path = Path(args.output_dir) / FILE
        found = read_records(path, Acquired, "03_train.ipynb") if path.exists() else []
        self.rows = [row for row in found if row.epoch <= round(state.epoch or 0)]

    def on_epoch_end(self, args, state, control, model, **kwargs):
        epoch = round(state.epoch)
        if epoch % self.asked.every and state.global_step < state.max_steps:
            return
        model.eval()
        share = self.asked.queries[args.process_index::args.world_size]
        partial = Path(args.output_dir) / f".answers-{args.process_index}.jsonl"
        partial.unlink(missing_ok=True)
        with redirect_stderr(io.StringIO()):  # its bar would break the updates'
            answers = answer(model, self.tokenizer, share, self.asked.arm, partial=partial,
                             max_answer_tokens=self.asked.max_answer_tokens, batch_size=self.asked.batch_size)
        partial.unlink()
        verdicts = {verdict.query_id: verdict.verdict for verdict in judge(share, answers)}
        correct = [(query.structure, verdicts[query.query_id] == "correct") for query in share]
        correct = gather_object(correct) if args.world_size > 1 else correct
        self.rows += [Acquired(arm=self.asked.arm, epoch=epoch, structure=structure, n=len(of_it), correct=sum(of_it))
                      for structure in STRUCTURES
                      if (of_it := [is_correct for place, is_correct in correct if place == structure])]
        if args.process_index == 0:
            write_records(Path(args.output_dir) / FILE, self.rows)
