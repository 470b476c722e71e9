"""Find what can be scored without reading: the best constant answer to each task, and chance.

Many labels of StrucText-Eval are degenerate (v2's data: almost every text is well-formed), so a
constant answer scores. An arm must be above this floor before its score says that it reads. The
constants are learned from the training split alone, by task and depth, which a prompt shows; the
arm BLIND then gives them to every question, whatever its text.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from lib.analyze.metrics import rouge_l
from lib.core.records import Answer, Verdict
from lib.judge.scorer import judge
from lib.tasks.structext.analyze.tables import summary
from lib.tasks.structext.ask.prompts import REASONING, Prompted, as_queries
from lib.tasks.structext.ask.replies import LEAST_ROUGE, judged
from lib.tasks.structext.records import BLIND, Sample

MOST_VALUES = 10  # with more different answers, a task has no chance level
Constants = dict[tuple[str, int], tuple[str, float]]  # (task, depth) -> answer and chance


def learned(training: Iterable[Sample]) -> Constants:
    """Return the best constant answer of each task and depth in `training`, and chance.

    It is the one of the cell's answers with the best mean score (the paper's) over them; of equals,
    the most frequent. Chance is the mean score of a uniform guess among the different answers; NaN
    if they are more than MOST_VALUES, or more than half, so that others are possible.
    """
    cells: dict[tuple[str, int], Counter] = {}
    for sample in training:
        cells.setdefault((sample.task, sample.depth), Counter())[sample.answer] += 1
    return {cell: _best(counts) for cell, counts in cells.items()}


def _best(counts: Counter[str]) -> tuple[str, float]:
    answers = sorted(counts, key=lambda answer: (-counts[answer], answer))
    n, words = counts.total(), [_words(answer) for answer in answers]
    matrix = np.array(
        [
            [
                _score(answer, response, known, given)
                for answer, known in zip(answers, words, strict=True)
            ]
            for response, given in zip(answers, words, strict=True)
        ]
    )
    means = matrix @ [counts[answer] for answer in answers] / n
    is_few = len(answers) <= min(MOST_VALUES, n / 2)
    return answers[means.argmax()], float(means.mean()) if is_few else np.nan


def _words(text: str) -> set[str]:
    return set(text.replace(".", " ").split())


def _score(answer: str, response: str, known: set[str], given: set[str]) -> float:
    if not known or not given or 2 * len(known & given) < LEAST_ROUGE * (len(known) + len(given)):
        return 0.0
    rouge = rouge_l(answer, response)
    return rouge if rouge >= LEAST_ROUGE else 0.0


def constant(sample: Sample, constants: Constants) -> tuple[str, float]:
    """Return answer and chance of a sample's task at the nearest depth, the smaller of two."""
    depths = [depth for task, depth in constants if task == sample.task]
    if not depths:
        return "", np.nan
    nearest = min(depths, key=lambda depth: (abs(depth - sample.depth), depth))
    return constants[sample.task, nearest]


def blind(asked: Sequence[Prompted], constants: Constants) -> tuple[list[Answer], list[Verdict]]:
    """Return the replies and verdicts (by the rules) of the arm BLIND, one per question, in order.

    It has no context window, so it answers every question.
    """
    finals = [
        Answer(
            query_id=one.query_id,
            arm=BLIND,
            answer=constant(one.sample, constants)[0],
            n_tokens=0,
            truncated=False,
        )
        for one in asked
    ]
    replies = [
        final.model_copy(update={"answer": f"<answer>\n{final.answer}\n</answer>"})
        if one.setting in REASONING
        else final
        for one, final in zip(asked, finals, strict=True)
    ]
    return replies, judge(as_queries(asked), finals, judged)


def by_depth(rows: pd.DataFrame, asked: Sequence[Prompted], constants: Constants) -> pd.DataFrame:
    """Return `summary` of BLIND by suite, task and depth, with its answer and chance.

    `rows` are from `rows_of`, for one prompt; scores and chance are fractions of 1.
    """
    by = ["suite", "task", "depth"]
    given = pd.DataFrame(
        [
            (one.suite, one.sample.task, one.sample.depth, *constant(one.sample, constants))
            for one in asked
        ],
        columns=[*by, "answer", "chance"],
    ).drop_duplicates(by)
    return summary(rows[rows.arm == BLIND], by).merge(given, on=by)
