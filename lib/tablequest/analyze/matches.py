"""Which of two arms answers a question better, asked in both orders; a flip is a tie and counted (the ratings' data).

A judge sees passage, question, reference and both answers and weighs accurate, logical and clear, in JSON. The judge
"rules" needs no model: accuracy first, then how near a figure is, then shared words.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import pandas as pd

from lib.analyze.tables import accuracy
from lib.core.prompts import prompt_template
from lib.core.records import Record
from lib.core.untrusted import SPLIT, defused, folded
from lib.judge.model import Decision
from lib.judge.pairs import Choice
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tablequest.analyze.accuracy import TOLERANCE, asserted, assess, f1, is_figure, readings
from lib.tablequest.ask.replies import Final, objects
from lib.tablequest.records import LEVELS, Grid, Level, TableQuestion

TAGS = "passage|question|reference|first|second"
_VERDICT = re.compile(r"better(?=[\W_]{0,9}:)")
_AS_FIRST = {"first": "A", "second": "B", "tie": "tie"}  # what a word says where the first arm's answer stands first
_AS_SECOND = {"first": "B", "second": "A", "tie": "tie"}


class Match(Record):
    """One judge's word on two arms' answers to one question; A is the first arm, in either order."""

    question_id: str
    passage_id: str
    level: Level
    first_arm: str
    second_arm: str
    judge: str
    verdict: Choice  # unscored where either order is; a flip is a tie
    is_flipped: bool  # both orders were scored, and differently
    is_asked: bool  # False: two equal answers, or a missing one, need no judge
    as_first: Choice  # where the first arm's answer is shown first
    as_second: Choice
    reason: str
    reason_as_second: str


class Shown(NamedTuple):
    """What a judge sees of a question beside the two answers."""

    passage: str
    source: str


def matches(questions: Sequence[TableQuestion], finals: Mapping[str, Mapping[str, Final]], grids: Mapping[str, Grid],
            judge: str = "rules", calls: Calls | None = None, shown: Mapping[str, Shown] | None = None,
            tolerance: float = TOLERANCE) -> list[Match]:
    """A match for every question and pair of arms, by `judge`: "rules", or a model asked with `calls`.

    `finals` is arm -> question_id -> its final answer, the steps with it; `shown`, for a model, is question_id -> what
    it sees. An arm without a row for a question leaves the match unscored, two equal answers tie without a judge.
    Raises ValueError for fewer than two arms and for a model without `calls` or `shown`; CallsStopped as complete does.
    """
    if len(finals) < 2:
        raise ValueError(f"{len(finals)} arms have answers here: name two or more to compare")
    rounds = [(question, *pair) for pair in combinations(finals, 2) for question in questions]
    settled = [_settled(finals[first].get(question.question_id), finals[second].get(question.question_id))
               for question, first, second in rounds]
    open_rounds = [(question, finals[first][question.question_id], finals[second][question.question_id])
                   for (question, first, second), decision in zip(rounds, settled, strict=True) if not decision]
    if judge == "rules":
        decided = iter([(decision, decision) for decision in (
            by_rules(*played, grids, tolerance) for played in open_rounds)])
    else:
        decided = iter(by_model(open_rounds, shown, judge, calls))
    return [_match(*played, judge, *((decision, decision) if decision else next(decided)), is_asked=not decision)
            for played, decision in zip(rounds, settled, strict=True)]


def by_rules(question: TableQuestion, first: Final, second: Final, grids: Mapping[str, Grid],
             tolerance: float = TOLERANCE) -> Decision:
    """A, B or tie, and why: the right one; of two wrong figures the nearer; else the one with more of the words.

    Order cannot matter, since both are seen at once. Rationale and clarity are not judged; of hard answers only shared
    words are, which is a weak stand-in for a judge that can read.
    """
    measures: list[tuple[str, Callable[[str], Fraction | float | bool]]] = []
    if question.level != "hard":
        measures.append(("right", lambda text: assess(question, text, grids, tolerance).is_correct))
        if is_figure(question):
            measures.append(("near", lambda text: _nearness(question, text, grids)))
    measures.append(("shared words", lambda text: round(f1(question.answer, text), 6)))
    for name, measure in measures:
        one, other = measure(first.text), measure(second.text)
        if one != other:
            return "A" if one > other else "B", f"{name}: A {float(one):.3g}, B {float(other):.3g}"
        if name == "right" and one:
            return "tie", "both are right"
    return "tie", "equal by every rule"


def by_model(rounds: Sequence[tuple[TableQuestion, Final, Final]], shown: Mapping[str, Shown] | None, model: str,
             calls: Calls | None) -> list[tuple[Decision, Decision]]:
    """Each round's two decisions: with the first answer shown first, and shown second; an unreadable one is unscored.

    Everything is asked at once, so that a batch is one. Raises ValueError as `matches` does.
    """
    if calls is None or shown is None:
        raise ValueError(f"the judge {model!r} is a model: give `calls`, a lib.llm.Calls with the cache of the study "
                         "and what may be spent, and `shown`, what it sees of each question")
    requests = [_request(question, shown[question.question_id], pair, order)
                for question, *pair in rounds for order in (1, -1)]
    replies = complete(requests, model, calls)
    return [(_decision(as_first, _AS_FIRST), _decision(as_second, _AS_SECOND))
            for as_first, as_second in zip(replies[::2], replies[1::2], strict=True)]


def flips(rows: Sequence[Match]) -> pd.DataFrame:
    """How often the verdict turned with the order, by level: asked, unscored, both_orders, flipped, rate, low, high.

    low and high are Wilson's 95%. The rules see both answers at once: their 0 is by construction and has no interval.
    """
    cells = []
    for level in (*LEVELS, "all"):
        asked = [row for row in rows if row.is_asked and level in (row.level, "all")]
        states = pd.Series(["unscored" if row.verdict == "unscored" else "correct" if row.is_flipped else "incorrect"
                            for row in asked], dtype=object)
        found = accuracy(states)
        is_rules = all(row.judge == "rules" for row in asked)
        cells.append({"level": level, "asked": len(asked), "unscored": found["unscored"],
                      "both_orders": len(asked) - found["unscored"], "flipped": found["correct"],
                      "rate": found["accuracy"], "low": float("nan") if is_rules else found["low"],
                      "high": float("nan") if is_rules else found["high"],
                      "first_shown": sum((row.as_first, row.as_second) == ("A", "B") for row in asked),
                      "second_shown": sum((row.as_first, row.as_second) == ("B", "A") for row in asked)})
    return pd.DataFrame(cells)


def _settled(first: Final | None, second: Final | None) -> Decision | None:
    if first is None or second is None:
        return "unscored", "no answer row of an arm: run 04_infer.ipynb for this question"
    if not (first.text or second.text):
        return "tie", "neither has an answer"
    return ("tie", "both answers are the same") if (first.text.split(), first.steps) == (
        second.text.split(), second.steps) else None


def _match(question: TableQuestion, first_arm: str, second_arm: str, judge: str, as_first: Decision,
           as_second: Decision, *, is_asked: bool) -> Match:
    choices = {as_first[0], as_second[0]}
    is_flipped = len(choices) > 1 and "unscored" not in choices
    return Match(question_id=question.question_id, passage_id=question.passage_id, level=question.level,
                 first_arm=first_arm, second_arm=second_arm, judge=judge,
                 verdict="unscored" if "unscored" in choices else "tie" if is_flipped else as_first[0],
                 is_flipped=is_flipped, is_asked=is_asked, as_first=as_first[0], as_second=as_second[0],
                 reason=as_first[1], reason_as_second=as_second[1])


def _nearness(question: TableQuestion, text: str, grids: Mapping[str, Grid]) -> Fraction:
    """Minus the distance of the nearest asserted figure, as a share of the reference; -10 where there is none or more.

    A wrong unit is as far as a missing figure.
    """
    reference = Fraction(str(question.value)) * Fraction(str(question.scale))
    away = [abs(value - reference) / (abs(reference) or 1) for amount in asserted(question, text, grids)
            for value in readings(question, amount)]
    return -min([*away, Fraction(10)])


def _request(question: TableQuestion, shown: Shown, pair: Sequence[Final], order: int) -> Request:
    texts = [_whole(final) for final in pair][::order]
    slots = dict(zip(("question", "reference", "first", "second", "passage", "source"),
                     (_defused(text) for text in (question.question, _reference(question), *texts, shown.passage,
                                                       shown.source)), strict=True))
    return Request.ask(prompt_template("tablequest/judge_pair").render(**slots))


def _defused(text: str) -> str:
    """`text` that can leave none of TAGS, nor hold a verdict in the form that is looked for in a reply."""
    split = defused(text, TAGS)
    letters, ends = folded(split)
    cuts = [0, *(ends[match.start()] for match in _VERDICT.finditer(letters)), len(split)]
    return SPLIT.join(split[start:end] for start, end in zip(cuts, cuts[1:], strict=False))


def _whole(final: Final) -> str:
    steps = "\n".join(f"- {step}" for step in final.steps)
    return f"{steps}\nAnswer: {final.text}".strip() if final.text else f"{steps}\n(no answer)".strip()


def _reference(question: TableQuestion) -> str:
    return "\n".join((*(f"- {step}" for step in question.steps), f"Answer: {question.answer}"))


def _decision(reply: Reply, words: dict[str, str]) -> Decision:
    """A, B, tie or unscored; the last object with a known "better" counts, and none that offers another word."""
    if reply.reason:
        return "unscored", f"no whole reply, {reply.reason}"
    offered = [found for found in objects(reply.text) if "better" in found]
    if not offered:
        return "unscored", f"no JSON with \"better\" in the reply: {reply.text[-200:]!r}"
    word = str(offered[-1]["better"]).strip().lower()
    if word not in words:
        return "unscored", f"\"better\" is neither first, second nor tie: {word[:100]!r}"
    return words[word], " ".join(str(offered[-1].get("rationale", "")).split()) or "no rationale is given"
