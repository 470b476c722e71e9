"""Record the acquisition curve of a run: each fact's teacher-forced scores during training."""

import io
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback

from lib.controlled.records import AcquiredFact
from lib.core.files import made_by, read_records, write_records
from lib.core.records import Query
from lib.infer.loglik import after_question, likelihoods
from lib.infer.prompts import encoded

FILE = "curve.jsonl"


@dataclass(frozen=True)
class Curve:
    """The queries to score, and how often. `structures` maps fact_id to the fact's structure."""

    run: tuple[str, int, int]  # arm, rotation, seed
    queries: list[Query]
    structures: dict[str, str]
    every: int  # epochs between scorings
    batch_size: int = 64


class CurveCallback(TrainerCallback):
    """Score the reference answers before training, after every k-th epoch and after the last.

    The rows are saved with the checkpoints, so they survive a killed process. Scoring draws nothing
    at random, so training is unchanged. A list is scored in the more likely of its two layouts.
    """

    def __init__(self, curve: Curve, tokenizer: PreTrainedTokenizerBase) -> None:
        self.curve, self.tokenizer = curve, tokenizer

    def on_train_begin(self, args, state, control, model, **kwargs):
        """Keep the rows of finished epochs; an epoch that is trained again is scored again too."""
        path, done = Path(args.output_dir) / FILE, round(state.epoch or 0)
        found = read_records(path, AcquiredFact, made_by("acquisition")) if path.exists() else []
        self.rows = [row for row in found if row.epoch <= done]
        if not done:
            self._score(model, 0, args)

    def on_epoch_end(self, args, state, control, model, **kwargs):
        epoch = round(state.epoch)
        if epoch % self.curve.every == 0 or state.global_step >= state.max_steps:
            self._score(model, epoch, args)

    def _score(self, model: PreTrainedModel, epoch: int, args) -> None:
        curve, was_training = self.curve, model.training
        model.eval()
        prompts = encoded(self.tokenizer, curve.queries)
        layouts = [
            after_question(self.tokenizer, query, prompt, "auto")
            for query, prompt in zip(curve.queries, prompts, strict=True)
        ]
        with redirect_stderr(io.StringIO()):  # the scorer's progress bar would break the trainer's
            found = iter(
                likelihoods(model, [one for each in layouts for one in each], curve.batch_size, "")
            )
        model.train(was_training)
        best = [max((next(found) for _ in each), key=lambda one: one.loglik) for each in layouts]
        arm, rotation, seed = curve.run
        self.rows += [
            AcquiredFact(
                arm=arm,
                rotation=rotation,
                seed=seed,
                fact_id=query.query_id,
                structure=curve.structures[query.query_id],
                epoch=epoch,
                question_loglik=one.loglik,
                question_tokens=one.n_tokens,
                question_argmax=one.is_argmax,
            )
            for query, one in zip(curve.queries, best, strict=True)
        ]
        write_records(Path(args.output_dir) / FILE, self.rows)
