"""lm-evaluation-harness around a model that is already loaded: one BOS a prompt, its tasks, its results as rows."""

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

from lib.infer.prompts import beginning

METRIC, ERROR = "acc,none", "acc_stderr,none"  # the paper's HellaSwag, 60.06, is acc and not acc_norm
RESAMPLES = 100  # of lm-eval's bootstrap, for LAMBADA's perplexity alone; the error of an accuracy has a formula
MISSED, SHOWN = 2, 300  # missed items of a task to read, and the characters that are shown of one


class OneBos(HFLM):
    """HFLM that refuses prompts without exactly one BOS, where the tokenizer has one, and keeps it when it cuts.

    `n_cut` counts the prompts that lost words at their start because the model reads no more.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, batch_size: int) -> None:
        super().__init__(pretrained=model, tokenizer=tokenizer, batch_size=batch_size, softmax_dtype="float32")
        self.begin, self.n_cut = beginning(tokenizer), 0

    def tok_encode(self, string, add_special_tokens=None, **_):
        """The tokens of `string`; a control token that it spells out, such as <s>, is read as the letters it is."""
        return self.tokenizer.encode(string, add_special_tokens=add_special_tokens is not False,
                                     split_special_tokens=True)

    def _loglikelihood_tokens(self, requests, disable_tqdm=False, **kwargs):
        """`requests` are (texts, tokens of the context, tokens of the continuation), all checked before any runs."""
        checked = []
        for texts, context, continuation in requests:
            over = len(context) + len(continuation) - self.max_length - 1
            if over > 0:
                self.n_cut += 1
                context = context[:len(self.begin)] + context[len(self.begin) + over:]
            if self.begin and (context[:1] != self.begin or (context + continuation).count(self.begin[0]) != 1):
                raise ValueError(f"a prompt of {self.tokenizer.name_or_path!r} has not exactly one BOS at its start: "
                                 f"{texts[0][:80]!r}")
            checked.append((texts, context, continuation))
        return super()._loglikelihood_tokens(checked, disable_tqdm=disable_tqdm, **kwargs)


def evaluated(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str, folder: Path | None, *,
              limit: int, batch_size: int) -> tuple[dict, list[dict]]:
    """The task or group `name` of lm-eval, or of task files in `folder`, zero-shot, its first `limit` items (0: all).

    Returns its summary (task, n, accuracy and lm-eval's stderr as fractions of 1, chance, n_cut, some missed items word
    for word, and a hash of what was asked) and a row an item (task, item, is_correct, loglik: natural, of the right
    answer). A group's limit is spread evenly over its subtasks, two items or more each: one has no standard error.
    """
    if folder:
        disable_progress_bars()  # of `datasets`, where it reads a small local file
    loaded = _loaded(TaskManager(include_path=folder, include_defaults=False) if folder else _own_tasks(), name)
    wrapped = OneBos(model, tokenizer, batch_size)
    for task in loaded["tasks"].values():
        task.set_config(key="num_fewshot", value=0)
    results = lm_eval.evaluate(wrapped, loaded, bootstrap_iters=RESAMPLES, log_samples=True,
                               limit=max(2, math.ceil(limit / len(loaded["tasks"]))) if limit else None)
    items, missed, chances, digest = [], [], [], hashlib.sha256()
    for subtask, samples in sorted(results["samples"].items()):
        for sample in sorted(samples, key=lambda sample: sample["doc_id"]):
            logs = [float(loglik) for loglik, _ in sample["filtered_resps"]]
            right = int(sample["target"]) if len(logs) > 1 else 0
            chances.append(1 / len(logs))
            digest.update(sample["doc_hash"].encode())  # the hub's data may change under their name
            items.append({"task": name, "item": f"{subtask}/{sample['doc_id']}", "is_correct": bool(sample["acc"]),
                          "loglik": round(logs[right], 6)})
            if not sample["acc"] and len(missed) < MISSED:
                missed.append(_missed(sample["arguments"], right, logs))
    whole = results["results"][name]
    return {"task": name, "n": len(items), "accuracy": float(whole[METRIC]), "stderr": float(whole[ERROR]),
            "chance": sum(chances) / len(chances) if min(chances) < 1 else None, "n_cut": wrapped.n_cut,
            "missed": missed, "asked": digest.hexdigest()[:16]}, items


def _missed(asked: list[tuple[str, str]], right: int, logs: list[float]) -> dict[str, str]:
    """An item that was missed, word for word: the end of the text, what is right, and what was found likeliest."""
    chosen = asked[logs.index(max(logs))][1] if len(logs) > 1 else "another word"
    return {"text": asked[right][0][-SHOWN:], "right": asked[right][1], "chosen": chosen}


@cache
def _own_tasks() -> TaskManager:
    """All tasks of lm-eval; thousands of files, so read once."""
    return TaskManager()


def _loaded(manager: TaskManager, name: str) -> dict:
    """The task objects of `name`, their data read.

    Raises RuntimeError where data on the hub cannot be had.
    """
    try:
        return manager.load([name])
    except (OSError, DatasetsError) as error:
        raise RuntimeError(
            f"the items of {name} could not be fetched from the hub ({type(error).__name__}: {str(error)[:200]}). Run "
            "00_retention.ipynb once where there is a network and copy ~/.cache/huggingface here, or set its tasks to "
            "'lab' (a laboratory's base) or 'none'; in a study's file, notebooks: {00_retention: {tasks: none}}"
        ) from error
