"""Pairwise verdicts, ratings, grades (Appendix C) and the tables of 06_tablequest."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import jinja2
import numpy as np
import pandas as pd

from lib.analyze.agreement import Item
from lib.analyze.metrics import WORD_METRICS, f1, word_scores
from lib.analyze.stats import LEAST_CLUSTERS
from lib.analyze.tables import by_group, counted, in_words, percent
from lib.core.arms import ALL
from lib.core.prompts import BREAK_MARK, prompt_template
from lib.core.records import Answer, Query, Record, Verdict
from lib.core.store import package_file
from lib.judge.llm_judge import Both, Compared, ask_in_both_orders, compare_pairs
from lib.judge.scorer import Decision
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tablequest.answers import failure, form_of, judged, question_id_of, read_reply
from lib.tablequest.cells import folded
from lib.tablequest.questions import escape_slots, last_object, serialized
from lib.tablequest.records import LEVELS, Level, TableQuestion, Texts, by_id
from lib.tasks.task import Final

FAULTS = ("none", "empty", "misread number", "wrong calculation", "incomplete", "other")
_TAGS = "passage|question|reference|answer|first|second"
_EMPTY = {"grade": 1, "fault": "empty", "words": "no answer"}
_VERDICT = re.compile(r"(b|g)(etter|rade)(?=[\W_]{0,9}:)", re.I)  # an answer's own '"grade": 3'

Finals = Mapping[str, Mapping[str, Final]]  # arm -> question_id -> final answer
Round = tuple[TableQuestion, Final, Final]  # a question and the answers of two arms
Decide = Callable[[Sequence[Round]], list[Both]]


class Match(Compared):
    """A judge's verdict on two arms' answers to a question."""

    question_id: str
    passage_id: str
    level: Level


class Grade(Record):
    """A grader's judgement of one arm's answer."""

    question_id: str
    passage_id: str
    level: Level
    question: str
    arm: str
    grader: str
    grade: int | None  # 1 to 3; None if the reply could not be read
    fault: str  # one of FAULTS
    words: str  # the grader's, or why there is no grade


def finals_of(answers: Mapping[str, list[Answer]], form: str) -> Finals:
    """Return arm -> question_id -> the final answer with the tables in `form`."""
    return {
        arm: {
            question_id_of(row.query_id): read_reply(row.answer)
            for row in rows
            if form_of(row.query_id) == form
        }
        for arm, rows in answers.items()
    }


def matches(
    questions: Sequence[TableQuestion], finals: Finals, decide: Decide, judge: str
) -> list[Match]:
    """Return a match for every question and pair of arms.

    If an arm has no row for a question, the match is unscored; equal answers tie without a judge.
    """
    pairs = [(one, *pair) for pair in combinations(finals, 2) for one in questions]
    rounds = [(one, *(finals[arm].get(one.question_id) for arm in arms)) for one, *arms in pairs]
    texts = [tuple(one and as_text(one) for one in both) for _, *both in rounds]
    compared = compare_pairs(texts, lambda places: decide([rounds[at] for at in places]))
    return [
        Match(**question.place, first_arm=first, second_arm=second, judge=judge, **one)
        for (question, first, second), one in zip(pairs, compared, strict=True)
    ]


def by_rules(rounds: Sequence[Round]) -> list[Both]:
    """Decide without a model: a right answer wins, then that with more of the reference's words.

    The order plays no part; of hard answers only the words count, which says little.
    """
    found = []
    for question, *pair in rounds:
        one, other = (
            2.0 if judged(question, final.text)[0] == "correct" else f1(question.answer, final.text)
            for final in pair
        )
        choice = "tie" if one == other else "A" if one > other else "B"
        reason = f"right (2) or shared words (up to 1): A {one:.3g}, B {other:.3g}"
        found.append(((choice, reason),) * 2)
    return found


def by_model(model: str, calls: Calls, texts: Texts, form: str) -> Decide:
    """Return `model` as judge, which sees the whole passage. An unreadable reply is unscored."""

    def decide(rounds: Sequence[Round]) -> list[Both]:
        template = prompt_template("tablequest/judge_pair")
        prompts = [
            template.render(**_slots(question, texts, form, first=one, second=other))
            for question, *pair in rounds
            for one, other in (pair, pair[::-1])
        ]
        return ask_in_both_orders(prompts, model, calls, _decision, "preference")

    return decide


def _slots(one: TableQuestion, texts: Texts, form: str, **finals: Final) -> dict[str, str]:
    answers = {name: _VERDICT.sub(rf"\1{BREAK_MARK}\2", as_text(finals[name])) for name in finals}
    return escape_slots(
        _TAGS,
        question=one.question,
        **answers,
        reference=as_text(Final(one.answer, "", one.steps)),
        passage=serialized(texts.passages[one.passage_id], texts.grids, form),
    )


def as_text(final: Final) -> str:
    """Return an answer's steps, one a line, and the answer."""
    answer = f"Answer: {final.text}" if final.text else "(no answer)"
    return "\n".join([*(f"- {step}" for step in final.steps), answer])


def _said(reply: Reply, name: str) -> tuple[str, dict]:
    # a field of the last object that has it, in lower case, and the object
    found = {} if reply.reason else last_object(reply.text, name)
    return str(found.get(name)).strip().lower(), found


def _decision(reply: Reply, words: dict) -> Decision:
    word, found = _said(reply, "better")
    if word in words:
        return words[word], folded(str(found.get("rationale", ""))) or "no rationale"
    fault = f'"better" is neither first, second nor tie: {reply.text[-200:]!r}'
    return "unscored", f"no complete reply, {reply.reason}" if reply.reason else fault


def graded(
    questions: Sequence[TableQuestion],
    finals: Finals,
    grader: str,
    calls: Calls,
    texts: Texts,
    form: str,
) -> list[Grade]:
    """Return a grade and fault of each answer to the questions that every arm has a row for.

    An empty answer has grade 1 without a call.
    """
    common = set.intersection(*map(set, finals.values()))
    pairs = [
        (one, arm, given[one.question_id])
        for one in questions
        if one.question_id in common
        for arm, given in finals.items()
    ]
    template = prompt_template("tablequest/grade")
    prompts = [
        template.render(**_slots(one, texts, form, answer=final))
        for one, _, final in pairs
        if final.text
    ]
    asked = [Request.ask(prompt, max_tokens=16_384, shape="grade") for prompt in prompts]
    found = map(_grade, complete(asked, grader, calls))
    return [
        Grade(
            **one.place,
            question=one.question,
            arm=arm,
            grader=grader,
            **(next(found) if final.text else _EMPTY),
        )
        for one, arm, final in pairs
    ]


def _grade(reply: Reply) -> dict[str, object]:
    grade, found = _said(reply, "grade")
    if grade not in ("1", "2", "3"):
        why = reply.reason or f"the grade is neither 1, 2 nor 3: {reply.text[-200:]!r}"
        return {"grade": None, "fault": "other", "words": why}
    fault = str(found.get("fault")).strip().lower()
    words = folded(str(found.get("words", "")))
    return {"grade": int(grade), "fault": fault if fault in FAULTS else "other", "words": words}


_KEYS = ["arm", "level", "form"]
START = 1000.0
K = 32.0  # most points that one match moves
_POINTS = 400 / np.log(10)  # per unit of log-strength: d points win with 1 / (1 + 10^(-d/400))
_SCORES = {"A": 1.0, "tie": 0.5, "B": 0.0}
_RESAMPLES, _ITERATIONS = 1000, 300


def scored(
    questions: Sequence[TableQuestion],
    answers: Mapping[str, list[Answer]],
    verdicts: Sequence[Verdict],
    texts: Texts,
) -> pd.DataFrame:
    """Return one row per verdict: question, final answer, failure mode and word metrics (0 to 1).

    Without an answer row, mode and metrics are NaN.
    """
    asked, rows = by_id(questions), []
    given = {(row.arm, row.query_id): row for own in answers.values() for row in own}
    for verdict in verdicts:
        question = asked[question_id_of(verdict.query_id)]
        row = {
            **vars(verdict),
            **question.place,
            "form": form_of(verdict.query_id),
            "cluster": question.passage_id,
            "question": question.question,
            "reference": question.answer,
        }
        if reply := given.get((verdict.arm, verdict.query_id)):
            final = read_reply(reply.answer)
            row |= word_scores(question.answer, final.text)
            row["answer"], row["reply"] = final.text, reply.answer[:600]
            row["mode"] = failure(question, final, texts, reply.truncated)
        rows.append(row)
    return pd.DataFrame(rows)


def accuracy_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `counted` of easy and medium questions by arm, level and form, over passages."""
    return counted(rows[rows.level != "hard"], _KEYS)


def found(accuracy: pd.DataFrame, failing: pd.DataFrame) -> str:
    """Return what the tables of one form say, and what to do next, in Markdown."""
    modes = failing.pivot_table("share", "arm", "failure").to_dict("index")
    text = package_file("tablequest/found.md.j2").read_text("utf-8")
    return jinja2.Template(text).render(
        accuracy=accuracy,
        modes={arm: Counter(shares) for arm, shares in modes.items()},
        name=in_words,
        percent=percent,
        least=LEAST_CLUSTERS,
    )


def word_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean word metrics by arm, level and form; n counts the answers."""
    names = list(WORD_METRICS)
    groups = rows.groupby(_KEYS, sort=False)
    return groups[names].mean().assign(n=groups.f1.count()).reset_index()


def failure_table(rows: pd.DataFrame, form: str) -> pd.DataFrame:
    """Return the share of each mode by arm and level among the answers in one form."""
    shown = rows[rows.form == form].dropna(subset="mode")
    modes = shown["mode"].drop_duplicates().to_frame("failure")
    cells = modes.merge(shown, "cross").assign(value=lambda rows: rows.failure == rows["mode"])
    return by_group(cells, ["arm", "level", "failure"], "value", "cluster").rename(
        columns={"mean": "share"}
    )


def length_table(
    rows: pd.DataFrame, lengths: Mapping[str, int], cut: Mapping[str, Sequence[Query]]
) -> pd.DataFrame:
    """Return the `lengths` of the complete prompts by level and form, and how many each arm cut.

    `rows` are those of `scored`; `cut` has the truncated queries of each arm.
    """
    short = {
        f"truncated_{arm}": rows.query_id.isin([one.query_id for one in own])
        for arm, own in cut.items()
    }
    rows = rows.assign(length=rows.query_id.map(lengths), **short).drop_duplicates("query_id")
    groups = rows.groupby(["level", "form"], sort=False)
    table = groups.length.agg(n="size", median="median", longest="max")
    return table.join(groups[[*short]].sum()).reset_index()


def grade_table(grades: Sequence[Grade]) -> pd.DataFrame:
    """Return mean grades by arm, with the faults that the grader named."""
    rows = pd.DataFrame(map(vars, grades)).astype({"grade": float})
    table = rows.groupby("arm", sort=False).grade.agg(asked="size", n="count", grade="mean")
    return table.join(pd.crosstab(rows.arm, rows.fault)).reset_index()


def grade_gaps(grades: Sequence[Grade]) -> pd.DataFrame:
    """Return grade, fault and words of both arms by question, the largest `gap` first."""
    rows, names = pd.DataFrame(map(vars, grades)), ["grade", "fault", "words"]
    table = rows.pivot(index=["question_id", "question"], columns="arm", values=names)
    table["gap", ""] = np.ptp(table["grade"].astype(float).to_numpy(), axis=1)
    return table.sort_values(("gap", ""), ascending=False, kind="stable")


def drawn(questions: Sequence[TableQuestion], per_level: int, seed: int) -> list[TableQuestion]:
    """Return at most `per_level` questions of each level, by lot."""
    chance, found = random.Random(seed), []
    for level in LEVELS:
        pool = [one for one in questions if one.level == level]
        found += chance.sample(pool, min(per_level, len(pool)))
    return found


def to_check(questions: Sequence[TableQuestion], per_level: int, seed: int) -> list[Item]:
    """Return at most `per_level` questions of each level as rows of the sheet TABLE_QUESTIONS.

    The column "source" says where the answer is, as the first steps do.
    """
    items = []
    for one in drawn(questions, per_level, seed):
        shown = {
            "structure": one.level,
            "question": one.question,
            "answer": one.answer,
            "source": "\n".join(one.steps),
        }
        name = one.question_id
        items.append(Item(name, name, "", one.level, "", shown))
    return items


def check_table(
    questions: Sequence[TableQuestion], sheets: Mapping[str, Mapping[str, str]]
) -> pd.DataFrame:
    """Return how many questions of each level that all `sheets` label are right, by each sheet.

    `equal` counts those that have the same label on all sheets, `refused` those right on none.
    """
    labels = pd.DataFrame(sheets).dropna()
    right = labels == "right"
    table = right.assign(equal=labels.nunique(axis=1) == 1, refused=~right.any(axis=1), n=1)
    levels = {one.question_id: one.level for one in questions}
    counts = table.groupby(levels).sum().astype(int)
    return counts.reindex(dict.fromkeys(levels.values()), fill_value=0).reset_index(names="level")


def rating_table(matches: Sequence[Match], arms: list[str], seed: int = 1) -> pd.DataFrame:
    """Return a row per level ("all" last) and arm, the first at START, in points of ELO's scale.

    ELO takes the matches in the order given; low to high is Bradley–Terry's 95% interval over
    passages, each drawn with all its matches.
    """
    rows, random = [], np.random.default_rng(seed)
    for level in (*LEVELS, ALL):
        cell = [one for one in matches if level in (one.level, ALL) and one.verdict in _SCORES]
        if not cell:
            continue
        wins, elo = _played(cell, arms)
        total, n = wins.sum(0), len(wins)
        weights = random.multinomial(n, np.full(n, 1 / n), _RESAMPLES)
        resampled = bradley_terry(np.tensordot(weights, wins, 1))
        ends = np.quantile(resampled, (0.025, 0.975), axis=0)  # of one value in all, none is known
        low, high = np.where(np.ptp(ends, axis=0) > 1e-6, ends, np.nan)
        times = (total + total.T).sum(0).astype(int)
        columns = arms, times, elo, bradley_terry(total), low, high
        rows += [(level, *row) for row in zip(*columns, strict=True)]
    return pd.DataFrame(rows, columns=["level", "arm", "n", "elo", "bradley_terry", "low", "high"])


def _played(matches: Sequence[Match], arms: list[str]) -> tuple[np.ndarray, list[float]]:
    # wins of arm i over j by passage, and ELO after the matches in order; the first stays at START
    wins = defaultdict(lambda: np.zeros((len(arms), len(arms))))
    elo = [START] * len(arms)
    for match in matches:
        one, other = arms.index(match.first_arm), arms.index(match.second_arm)
        score, own = _SCORES[match.verdict], wins[match.passage_id]
        own[one, other] += score
        own[other, one] += 1 - score
        change = K * (score - 1 / (1 + 10 ** ((elo[other] - elo[one]) / 400)))
        elo[one] += change * bool(one)
        elo[other] -= change * bool(other)
    return np.array([*wins.values()]), elo


def bradley_terry(wins: np.ndarray) -> np.ndarray:
    """Return ratings (..., A) from wins (..., A, A) of arm i over j, with START for arm 0.

    The iteration is Hunter's (2004, Annals of Statistics 32:384-406).
    """
    games = wins + np.swapaxes(wins, -1, -2)
    met = games > 0
    wins, games = wins + 0.5 * met, games + met
    strength = np.ones(wins.shape[:-1])
    for _ in range(_ITERATIONS):
        pairs = games / (strength[..., :, None] + strength[..., None, :])
        strength = wins.sum(-1) / np.maximum(pairs.sum(-1), 1e-300)
        strength = strength / np.maximum(strength[..., :1], 1e-300)
    return START + _POINTS * np.log(np.maximum(strength, 1e-300))
