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
from lib.judge.verdicts import judge
from lib.tasks.structext.analyze.scores import LEAST_ROUGE
from lib.tasks.structext.analyze.tables import summary
from lib.tasks.structext.ask.prompts import REASONING, Prompted, as_queries
from lib.tasks.structext.ask.replies import judged
from lib.tasks.structext.records import BLIND, Sample

MOST_VALUES = 10  # with more different answers, a task has no chance level
COLUMNS = ["task", "depth", "n", "values", "answer", "score", "chance"]


def learned(training: Iterable[Sample]) -> pd.DataFrame:
    """Return the best constant answer of each task and depth in `training`, with COLUMNS.

    `answer` is the one of the cell's n answers with the best mean `score` (the paper's, a fraction
    of 1) over them; of equals, the most frequent. `chance` is the mean score of a uniform guess
    among the cell's different answers, of which there are `values`; NaN if they are more than
    MOST_VALUES, or more than half of n, so that others are possible.
    """
    cells: dict[tuple[str, int], Counter] = {}
    for sample in training:
        cells.setdefault((sample.task, sample.depth), Counter())[sample.answer] += 1
    return pd.DataFrame([(*cell, *_best(counts)) for cell, counts in cells.items()],
                        columns=COLUMNS)


def _best(counts: Counter[str]) -> tuple[int, int, str, float, float]:
    answers = sorted(counts, key=lambda answer: (-counts[answer], answer))
    n, words = counts.total(), [_words(answer) for answer in answers]
    matrix = np.array([[_score(answer, response, known, given)
                        for answer, known in zip(answers, words, strict=True)]
                       for response, given in zip(answers, words, strict=True)])
    means = matrix @ [counts[answer] for answer in answers] / n
    is_few = len(answers) <= min(MOST_VALUES, n / 2)
    return (n, len(answers), answers[means.argmax()], float(means.max()),
            float(means.mean()) if is_few else np.nan)


def _words(text: str) -> set[str]:
    return set(text.replace(".", " ").split())


def _score(answer: str, response: str, known: set[str], given: set[str]) -> float:
    if not known or not given or 2 * len(known & given) < LEAST_ROUGE * (len(known) + len(given)):
        return 0.0
    rouge = rouge_l(answer, response)
    return rouge if rouge >= LEAST_ROUGE else 0.0


def cells_of(samples: Iterable[Sample], constants: pd.DataFrame) -> pd.DataFrame:
    """Return, for each sample in order, the row of `constants` of its task and nearest depth.

    Of two equally near depths the smaller one counts. A sample of a task that `constants` lack has
    an empty answer, and no score or chance.
    """
    known = constants.sort_values("depth")
    rows = {}
    for task, depth in (keys := [(one.task, one.depth) for one in samples]):
        if (task, depth) not in rows:
            far = (known.depth[known.task == task] - depth).abs()
            rows[task, depth] = (known.loc[far.idxmin()].to_dict() if len(far) else
                                 {"task": task, "answer": ""})
    return pd.DataFrame([rows[key] for key in keys], columns=COLUMNS)


def blind(asked: Sequence[Prompted],
          constants: pd.DataFrame) -> tuple[list[Answer], list[Verdict]]:
    """Return the replies and verdicts (by the rules) of the arm BLIND, one per question, in order.

    It has no context window, so it answers every question.
    """
    finals = [Answer(query_id=one.query_id, arm=BLIND, answer=answer, n_tokens=0, truncated=False)
              for one, answer in zip(asked, cells_of((one.sample for one in asked),
                                                     constants).answer, strict=True)]
    replies = [final.model_copy(update={"answer": f"<answer>\n{final.answer}\n</answer>"})
               if one.setting in REASONING else final
               for one, final in zip(asked, finals, strict=True)]
    return replies, judge(as_queries(asked), finals, judged)


def by_depth(rows: pd.DataFrame, asked: Sequence[Prompted],
             constants: pd.DataFrame) -> pd.DataFrame:
    """Return `summary` of BLIND by suite, task and depth, with its answer and chance.

    `rows` are from `rows_of`, for one prompt; scores and chance are fractions of 1.
    """
    by = ["suite", "task", "depth"]
    cells = cells_of((one.sample for one in asked), constants)[["answer", "chance"]]
    own = rows[rows.arm == BLIND].merge(cells.assign(query_id=[one.query_id for one in asked]))
    given = own.groupby(by, observed=True)[["answer", "chance"]].first().reset_index()
    return summary(own, by).merge(given, on=by)
