"""What is stored of each fact while a run trains: the acquisition curve, fact by fact, teacher-forced."""

import io
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback

from lib.controlled.records import AcquiredFact
from lib.core.files import read_records, write_records
from lib.core.records import Query
from lib.infer.loglik import after_question, likelihoods
from lib.infer.prompts import encoded

FILE = "curve.jsonl"


@dataclass(frozen=True)
class Curve:
    """What is scored, and how often. `structures` has where each fact stands, by fact_id."""

    run: tuple[str, int, int]  # arm, rotation, seed
    queries: list[Query]
    structures: dict[str, str]
    every: int  # epochs
    batch_size: int = 64


class CurveCallback(TrainerCallback):
    """Scores the reference answers before training, after every k-th epoch and after the last one.

    The rows lie beside the checkpoints and outlive a kill. Nothing is drawn at random, so that no weight changes.
    A list counts in the likelier of its two layouts, as in lib.infer.loglik.
    """

    def __init__(self, curve: Curve, tokenizer: PreTrainedTokenizerBase) -> None:
        self.curve, self.tokenizer = curve, tokenizer

    def on_train_begin(self, args, state, control, model, **kwargs):
        """Rows of an epoch that is trained again, because no checkpoint of it was complete, are written again."""
        path, done = Path(args.output_dir) / FILE, round(state.epoch or 0)
        found = read_records(path, AcquiredFact, "02_run.ipynb") if path.exists() else []
        self.rows = [row for row in found if row.epoch <= done]
        if not done:
            self._score(model, 0, args)

    def on_epoch_end(self, args, state, control, model, **kwargs):
        epoch = round(state.epoch)
        if epoch % self.curve.every == 0 or state.global_step >= state.max_steps:
            self._score(model, epoch, args)

    def _score(self, model: PreTrainedModel, epoch: int, args) -> None:
        was_training = model.training
        model.eval()
        prompts = encoded(self.tokenizer, self.curve.queries)
        layouts = [after_question(self.tokenizer, query, prompt, "auto")
                   for query, prompt in zip(self.curve.queries, prompts, strict=True)]
        with redirect_stderr(io.StringIO()):  # its bar would break the updates'
            found = iter(likelihoods(model, [one for each in layouts for one in each], self.curve.batch_size, ""))
        model.train(was_training)
        best = [max((next(found) for _ in each), key=lambda one: one.loglik) for each in layouts]
        arm, rotation, seed = self.curve.run
        self.rows += [AcquiredFact(arm=arm, rotation=rotation, seed=seed, fact_id=query.query_id,
                                   structure=self.curve.structures[query.query_id], epoch=epoch,
                                   question_loglik=one.loglik, question_tokens=one.n_tokens,
                                   question_argmax=one.is_argmax)
                      for query, one in zip(self.curve.queries, best, strict=True)]
        write_records(Path(args.output_dir) / FILE, self.rows)
