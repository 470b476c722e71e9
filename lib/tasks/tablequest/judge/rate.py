"""TableQuest's tables: accuracy, word metrics, failures, lengths of prompts, grades, ratings.

Sequential ELO depends on the order of the matches, which the paper does not state: it is given in
the questions' order. Bradley–Terry has no order: strengths by
maximum likelihood, where a tie is half a win for each and every two arms that met have one virtual
tie, so that an arm that wins or loses every match has a finite rating.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from lib.analyze.agreement.sheet import Item
from lib.analyze.tables import by_group, counted
from lib.core.arms import ALL
from lib.core.errors import BadInput
from lib.core.records import Answer, Query, Verdict
from lib.tasks.tablequest.answer.prompts import form_of, question_id_of, read_reply
from lib.tasks.tablequest.judge.pairs import Grade, Match
from lib.tasks.tablequest.judge.score import WORD_METRICS, bert_scores, failure, word_scores
from lib.tasks.tablequest.records import LEVELS, Grid, TableQuestion, Texts, by_id

_KEYS = ["arm", "level", "form"]
START = 1000.0
K = 32.0  # most points that one match moves
_POINTS = 400 / np.log(10)  # per unit of log-strength: d points win with 1 / (1 + 10^(-d/400))
_SCORES = {"A": 1.0, "tie": 0.5, "B": 0.0}
_RESAMPLES, _ITERATIONS = 1000, 300
COLUMNS = ["level", "arm", "n", "elo", "bradley_terry", "low", "high"]


def scored(
    questions: Sequence[TableQuestion],
    answers: Mapping[str, list[Answer]],
    verdicts: Sequence[Verdict],
    texts: Texts,
    bertscore_model: str = "",
) -> pd.DataFrame:
    """Return one row per verdict: question, final answer, failure mode and word metrics (0 to 1).

    Without an answer row, the mode is "" and the metrics are NaN.
    """
    asked = by_id(questions)
    given = {(arm, row.query_id): row for arm, rows in answers.items() for row in rows}
    rows = []
    for verdict in verdicts:
        question = asked[question_id_of(verdict.query_id)]
        row = (
            verdict.model_dump()
            | question.place
            | {
                "form": form_of(verdict.query_id),
                "cluster": question.passage_id,
                "mode": "",
                "question": question.question,
                "reference": question.answer,
            }
        )
        if reply := given.get((verdict.arm, verdict.query_id)):
            final = read_reply(reply.answer)
            row |= word_scores(question.answer, final.text)
            row["answer"], row["reply"] = final.text, reply.answer[:600]
            row["mode"] = failure(question, final, texts, reply.truncated)
        rows.append(row)
    table = pd.DataFrame(rows)
    if bertscore_model and (known := table["mode"] != "").any():
        texts = table.loc[known, ["reference", "answer"]]
        table.loc[known, "bertscore"] = bert_scores(*texts.T.values.tolist(), bertscore_model)
    return table


def accuracy_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `counted` of easy and medium questions by arm, level and form, over passages."""
    return counted(rows[rows.level != "hard"], _KEYS)


def word_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean word metrics by arm, level and form; n counts the answers."""
    names = [name for name in (*WORD_METRICS, "bertscore") if name in rows]
    groups = rows.groupby(_KEYS, sort=False)
    return groups[names].mean().assign(n=groups.f1.count()).reset_index()


def failure_table(rows: pd.DataFrame, form: str) -> pd.DataFrame:
    """Return the share of each mode by arm and level among the answers in one form."""
    shown = rows[(rows.form == form) & (rows["mode"] != "")]
    cells = pd.concat(
        [shown.assign(failure=mode, value=shown["mode"] == mode) for mode in shown["mode"].unique()]
    )
    return by_group(cells, ["arm", "level", "failure"], "value", "cluster").rename(
        columns={"mean": "share"}
    )


def length_table(
    queries: Sequence[Query],
    questions: Sequence[TableQuestion],
    count: Callable,
    cut: Mapping[str, Sequence[Query]],
) -> pd.DataFrame:
    """Return the length of the complete prompts by level and form, and how many each arm cut.

    `count` maps texts to lengths; `cut` has the truncated queries of each arm.
    """
    levels = {one.question_id: one.level for one in questions}
    names = pd.Series([one.query_id for one in queries])
    lengths = pd.Series(count([one.context for one in queries]))
    by = [names.map(question_id_of).map(levels).rename("level"), names.map(form_of).rename("form")]
    short = pd.DataFrame(
        {
            f"truncated_{arm}": names.isin([one.query_id for one in queries])
            for arm, queries in cut.items()
        }
    )
    table = lengths.groupby(by, sort=False).agg(n="size", median="median", longest="max")
    return table.join(short.groupby(by, sort=False).sum()).reset_index()


def grade_table(grades: Sequence[Grade]) -> pd.DataFrame:
    """Return mean grades by level ("all" last) and arm, with the faults that the grader named."""
    rows = pd.DataFrame(map(vars, grades)).astype({"grade": float})
    rows = pd.concat([rows, rows.assign(level=ALL)])
    keys = ["level", "arm"]
    table = rows.groupby(keys, sort=False).grade.agg(asked="size", n="count", grade="mean")
    return table.join(pd.crosstab([rows.level, rows.arm], rows.fault)).reset_index()


def to_check(
    questions: Sequence[TableQuestion], grids: Mapping[str, Grid], per_level: int, seed: int
) -> list[Item]:
    """Return at most `per_level` questions of each level as rows of the sheet TABLE_QUESTIONS.

    The column "source" says where the answer is.
    """
    chance, items = random.Random(seed), []
    for level in LEVELS:
        pool = [one for one in questions if one.level == level]
        for one in chance.sample(pool, min(per_level, len(pool))):
            places = [
                f"{grid.caption or grid.section}: {grid.rows[ref.row]} | "
                f"{grid.columns[ref.column]} = {grid.cell(ref).text}"
                for ref in one.cells.values()
                for grid in [grids[ref.grid_id]]
            ]
            name, source = one.question_id, "\n".join([*places, *one.steps])
            shown = (level, one.kind, one.question, one.answer, source)
            items.append(Item(name, name, "", level, one.kind, one.passage_id, shown))
    return items


def check_table(items: Sequence[Item], labels: Mapping[str, str]) -> pd.DataFrame:
    """Return how many questions of each level have each label, "unlabelled" if none."""
    found = Counter((one.structure, labels.get(one.item, "unlabelled")) for one in items)
    return pd.DataFrame([(*key, n) for key, n in found.items()], columns=["level", "label", "n"])


def ratings(matches: Sequence[Match], baseline: str, seed: int = 1) -> pd.DataFrame:
    """Return COLUMNS, a row per level ("all" last) and arm, in points of ELO's scale.

    ELO takes the matches in the order given; low to high is Bradley–Terry's 95% interval over
    passages, each drawn with all its matches. Raises BadInput if `baseline` has no match.
    """
    arms = list(dict.fromkeys(arm for one in matches for arm in (one.first_arm, one.second_arm)))
    if arms and baseline not in arms:
        raise BadInput(f"the baseline {baseline!r} has no match; there are {', '.join(arms)}")
    rows, random = [], np.random.default_rng(seed)
    for level in (*LEVELS, ALL):
        cell = [one for one in matches if level in (one.level, ALL) and one.verdict != "unscored"]
        if not cell:
            continue
        wins = _wins(cell, arms)
        weights = random.multinomial(len(wins), np.full(len(wins), 1 / len(wins)), _RESAMPLES)
        base = arms.index(baseline)
        table = pd.DataFrame(
            {
                "level": level,
                "arm": arms,
                "elo": elo(cell, arms, baseline),
                "bradley_terry": bradley_terry(wins.sum(0), base),
            }
        )
        resampled = bradley_terry(np.tensordot(weights, wins, 1), base)
        ends = np.quantile(resampled, (0.025, 0.975), axis=0)  # of one value in all, none is known
        table["low"], table["high"] = np.where(np.ptp(ends, axis=0) > 1e-6, ends, np.nan)
        table["n"] = (wins + wins.swapaxes(1, 2)).sum((0, 2)).astype(int)
        rows.append(table)
    return pd.concat(rows)[COLUMNS] if rows else pd.DataFrame(columns=COLUMNS)


def elo(matches: Sequence[Match], arms: Sequence[str], baseline: str) -> np.ndarray:
    """Return the ratings of `arms` after the matches in order; the baseline's stays at START."""
    rating = dict.fromkeys(arms, START)
    for match in matches:
        one, other = match.first_arm, match.second_arm
        expected = 1 / (1 + 10 ** ((rating[other] - rating[one]) / 400))
        change = K * (_SCORES[match.verdict] - expected)
        rating[one] += change * (one != baseline)
        rating[other] -= change * (other != baseline)
    return np.array([*rating.values()])


def bradley_terry(wins: np.ndarray, base: int) -> np.ndarray:
    """Return ratings (..., A) from wins (..., A, A) of arm i over j, with START for arm `base`.

    The iteration is Hunter's (2004, Annals of Statistics 32:384-406).
    """
    met = (wins + np.swapaxes(wins, -1, -2)) > 0
    wins = wins + 0.5 * met
    games = wins + np.swapaxes(wins, -1, -2)
    strength = np.ones(wins.shape[:-1])
    for _ in range(_ITERATIONS):
        pairs = games / (strength[..., :, None] + strength[..., None, :])
        strength = wins.sum(-1) / np.maximum(pairs.sum(-1), 1e-300)
        strength = strength / np.maximum(strength[..., [base]], 1e-300)
    return START + _POINTS * np.log(np.maximum(strength, 1e-300))


def _wins(matches: Sequence[Match], arms: Sequence[str]) -> np.ndarray:
    places = pd.factorize(pd.Series([one.passage_id for one in matches]))[0]
    wins = np.zeros((places.max() + 1, len(arms), len(arms)))
    for place, one in zip(places, matches, strict=True):
        pair = arms.index(one.first_arm), arms.index(one.second_arm)
        wins[place][pair] += _SCORES[one.verdict]
        wins[place][pair[::-1]] += 1 - _SCORES[one.verdict]
    return wins
