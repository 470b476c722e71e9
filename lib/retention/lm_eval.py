"""Run lm-evaluation-harness on a loaded model, with one BOS per prompt, and return rows."""

import hashlib
import math
from functools import cache
from pathlib import Path

import lm_eval
from datasets import disable_progress_bars
from datasets.exceptions import DatasetsError
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.core.store import BadInput
from lib.infer.prompts import beginning

METRIC, ERROR = "acc,none", "acc_stderr,none"  # the paper's HellaSwag, 60.06, is not acc_norm
_MISSING: dict[str, str] = {}  # tasks that the hub did not give to this process, with the reason
RESAMPLES = 100  # lm-eval's bootstrap, only for LAMBADA's perplexity; accuracies have a formula


class OneBos(HFLM):
    """HFLM that rejects prompts without exactly one BOS, if the tokenizer has one.

    `n_cut` counts the prompts truncated at their start, after BOS, to the model's context window.
    """

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, batch_size: int
    ) -> None:
        super().__init__(
            pretrained=model, tokenizer=tokenizer, batch_size=batch_size, softmax_dtype="float32"
        )
        self.begin, self.n_cut = beginning(tokenizer), 0

    def tok_encode(self, string, add_special_tokens=None, **_):
        """Return the tokens of `string`; a control token spelled out in it (<s>) is plain text."""
        return self.tokenizer.encode(
            string, add_special_tokens=add_special_tokens is not False, split_special_tokens=True
        )

    def _loglikelihood_tokens(self, requests, disable_tqdm=False, **kwargs):
        checked = []
        for texts, context, continuation in requests:
            over = len(context) + len(continuation) - self.max_length - 1
            if over > 0:
                self.n_cut += 1
                context = context[: len(self.begin)] + context[len(self.begin) + over :]
            if self.begin and (
                context[:1] != self.begin or (context + continuation).count(self.begin[0]) != 1
            ):
                raise BadInput(
                    f"a prompt of {self.tokenizer.name_or_path!r} does not have "
                    f"exactly one BOS at its start: {texts[0][:80]!r}"
                )
            checked.append((texts, context, continuation))
        return super()._loglikelihood_tokens(checked, disable_tqdm=disable_tqdm, **kwargs)


def evaluated(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    name: str,
    folder: Path | None,
    *,
    limit: int,
    batch_size: int,
) -> tuple[dict, list[dict]]:
    """Run lm-eval's task or group `name` zero-shot; with `folder`, one from its task files.

    `limit` takes the first items (0: all); for a group it is spread evenly over the subtasks, with
    at least two items each, because one alone has no standard error. Returns a summary (accuracies
    are fractions of 1) and a row per item (natural loglik of the correct answer). Items that the
    hub does not give are none: the summary has `missing`, the reason and what to do.
    """
    loaded = _loaded(name, folder)
    if isinstance(loaded, str):
        return {
            "task": name,
            "n": 0,
            "accuracy": None,
            "stderr": None,
            "chance": None,
            "n_cut": 0,
            "asked": "",
            "missing": loaded,
        }, []
    wrapped, tasks = OneBos(model, tokenizer, batch_size), loaded["tasks"]
    for task in tasks.values():
        task.set_config(key="num_fewshot", value=0)
    results = lm_eval.evaluate(
        wrapped,
        loaded,
        bootstrap_iters=RESAMPLES,
        log_samples=True,
        limit=max(2, math.ceil(limit / len(tasks))) if limit else None,
    )
    items, chances, digest = [], [], hashlib.sha256()
    for subtask, samples in sorted(results["samples"].items()):
        for sample in sorted(samples, key=lambda sample: sample["doc_id"]):
            logs = [float(loglik) for loglik, _ in sample["filtered_resps"]]
            right = int(sample["target"]) if len(logs) > 1 else 0
            chances.append(1 / len(logs))
            digest.update(sample["doc_hash"].encode())  # the hub's data may change
            items.append(
                {
                    "task": name,
                    "item": f"{subtask}/{sample['doc_id']}",
                    "is_correct": bool(sample["acc"]),
                    "loglik": round(logs[right], 6),
                }
            )
    total = results["results"][name]
    return {
        "task": name,
        "n": len(items),
        "accuracy": float(total[METRIC]),
        "stderr": float(total[ERROR]),
        "chance": sum(chances) / len(chances) if min(chances) < 1 else None,
        "n_cut": wrapped.n_cut,
        "asked": digest.hexdigest()[:16],
    }, items


@cache
def _own_tasks() -> TaskManager:
    return TaskManager()  # reads thousands of files


def _loaded(name: str, folder: Path | None) -> dict | str:
    if folder:
        disable_progress_bars()  # those of `datasets`, which reads a small local file
        return TaskManager(include_path=folder, include_defaults=False).load([name])
    if name in _MISSING:  # each try waits for half a minute
        return _MISSING[name]
    try:
        return _own_tasks().load([name])
    except (OSError, DatasetsError) as error:
        _MISSING[name] = (
            f"its items could not be fetched from the hub ({type(error).__name__}: "
            f"{' '.join(str(error).split())[:200]}). Run extra/retention.ipynb once on a "
            "networked computer, copy its ~/.cache/huggingface here and delete this study's "
            "folder retention; or say notebooks: {retention: {tasks: none}} in its file"
        )
        return _MISSING[name]
