"""Compare two arms' answers to each question; the arms' ratings are computed from these matches.

A model as judge sees passage, question, reference and both answers, in both orders, and weighs
accuracy, logic and clarity; it replies in JSON. If its verdict flips with the order, the match is a
tie, and the flip is counted. The judge "rules" needs no model: accuracy decides, then how close a
figure is, then shared words.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import pandas as pd

from lib.analyze.win_rates import flip_counts
from lib.core.files import made_by
from lib.core.prompts import SPLIT, defused, folded, prompt_template
from lib.core.records import Record
from lib.judge.pairs import Choice, combined
from lib.judge.verdicts import Decision
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tasks.tablequest.analyze.accuracy import TOLERANCE, assess, is_figure
from lib.tasks.tablequest.analyze.asserted import asserted, readings
from lib.tasks.tablequest.analyze.overlap import f1
from lib.tasks.tablequest.ask.replies import Final, last_object
from lib.tasks.tablequest.records import LEVELS, Grid, Level, TableQuestion

TAGS = "passage|question|reference|first|second"
_VERDICT = re.compile(r"better(?=[\W_]{0,9}:)")  # 'better": '; not "better,"
_AS_FIRST = {"first": "A", "second": "B", "tie": "tie"}  # with the first arm's answer shown first
_AS_SECOND = {"first": "B", "second": "A", "tie": "tie"}

Round = tuple[TableQuestion, Final, Final]  # a question and the answers of two arms
# Gives, for each round, the decision with the first arm's answer shown first, and shown second.
Decide = Callable[[Sequence[Round]], list[tuple[Decision, Decision]]]


class Match(Record):
    """A judge's verdict on two arms' answers to a question."""

    question_id: str
    passage_id: str
    level: Level
    first_arm: str
    second_arm: str
    judge: str
    verdict: Choice  # unscored if it is in either order; a tie if the orders differ
    is_flipped: bool  # both orders were scored, and differently
    is_asked: bool  # False if no judge is needed, as answers are equal or one is missing
    as_first: Choice  # with the first arm's answer shown first; A is that arm in either order
    as_second: Choice  # with the first arm's answer shown second
    reason: str
    reason_as_second: str


class Shown(NamedTuple):
    """What a judge sees of a question in addition to the two answers."""

    passage: str
    source: str


def matches(questions: Sequence[TableQuestion], finals: Mapping[str, Mapping[str, Final]],
            decide: Decide, judge: str = "rules") -> list[Match]:
    """Return a match for every question and pair of arms.

    `finals` is arm -> question_id -> final answer with its steps. `decide` is `by_rules(…)` or
    `by_model(…)`, and `judge` is its name in the matches. If an arm has no row for a question, the
    match is unscored; two equal answers tie without a judge. Raises ValueError for fewer than two
    arms, and as `decide` does.
    """
    if len(finals) < 2:
        raise ValueError(f"{len(finals)} arms have answers here: name two or more to compare")
    pairs = [(question, *pair) for pair in combinations(finals, 2) for question in questions]
    rounds = [(question, finals[first].get(question.question_id),
               finals[second].get(question.question_id)) for question, first, second in pairs]
    settled = [_settled(first, second) for _, first, second in rounds]
    decided = iter(decide([one for one, known in zip(rounds, settled, strict=True) if not known]))
    return [_match(*pair, judge, *((known, known) if known else next(decided)),
                   is_asked=not known) for pair, known in zip(pairs, settled, strict=True)]


def by_rules(grids: Mapping[str, Grid], tolerance: float = TOLERANCE) -> Decide:
    """Return the judge that needs no model; its decisions do not depend on the order.

    A right answer wins over a wrong one, then the nearer figure, then the answer with more of the
    reference's words. Rationale and clarity are not judged. For hard answers only shared words
    count, which is a weak substitute for a judge that can read.
    """
    def decide(rounds: Sequence[Round]) -> list[tuple[Decision, Decision]]:
        return [(_better(*one, grids, tolerance),) * 2 for one in rounds]
    return decide


def by_model(model: str, calls: Calls, shown: Mapping[str, Shown]) -> Decide:
    """Return `model` as judge; `shown` maps question_id to what the model sees.

    All rounds are sent at once, so they form one batch. An unreadable reply is unscored. The judge
    raises Stopped as `complete` does.
    """
    def decide(rounds: Sequence[Round]) -> list[tuple[Decision, Decision]]:
        requests = [_request(question, shown[question.question_id], answers)
                    for question, first, second in rounds
                    for answers in ((first, second), (second, first))]
        replies = complete(requests, model, calls)
        return [(_decision(as_first, _AS_FIRST), _decision(as_second, _AS_SECOND))
                for as_first, as_second in zip(replies[::2], replies[1::2], strict=True)]
    return decide


def flips(rows: Sequence[Match]) -> pd.DataFrame:
    """Return, by level, how often the verdict changed with the order, as `flip_counts` does."""
    return pd.DataFrame([{"level": level, **flip_counts(
        [row for row in rows if level in (row.level, "all")],
        lambda row: row.passage_id)} for level in (*LEVELS, "all")])


def _settled(first: Final | None, second: Final | None) -> Decision | None:
    if first is None or second is None:
        return "unscored", f"no answer row of an arm: run {made_by('answers')} for this question"
    if not (first.text or second.text):
        return "tie", "neither has an answer"
    is_same = (first.text.split(), first.steps) == (second.text.split(), second.steps)
    return ("tie", "both answers are the same") if is_same else None


def _match(question: TableQuestion, first_arm: str, second_arm: str, judge: str, as_first: Decision,
           as_second: Decision, *, is_asked: bool) -> Match:
    verdict, is_flipped = combined(as_first[0], as_second[0])
    return Match(question_id=question.question_id, passage_id=question.passage_id,
                 level=question.level, first_arm=first_arm, second_arm=second_arm, judge=judge,
                 verdict=verdict, is_flipped=is_flipped, is_asked=is_asked, as_first=as_first[0],
                 as_second=as_second[0], reason=as_first[1], reason_as_second=as_second[1])


def _better(question: TableQuestion, first: Final, second: Final, grids: Mapping[str, Grid],
            tolerance: float) -> Decision:
    measures: list[tuple[str, Callable[[str], Fraction | float | bool]]] = []
    if question.level != "hard":
        measures.append(
            ("right", lambda text: assess(question, text, grids, tolerance).is_correct))
        if is_figure(question):
            measures.append(("near", lambda text: _nearness(question, text, grids)))
    measures.append(("shared words", lambda text: round(f1(question.answer, text), 6)))
    for name, measure in measures:
        one, other = measure(first.text), measure(second.text)
        if one != other:
            reason = f"{name}: A {float(one):.3g}, B {float(other):.3g}"
            return "A" if one > other else "B", reason
        if name == "right" and one:
            return "tie", "both are right"
    return "tie", "equal by every rule"


def _nearness(question: TableQuestion, text: str, grids: Mapping[str, Grid]) -> Fraction:
    reference = question.exact
    distances = [abs(value - reference) / (abs(reference) or 1)
                 for amount in asserted(question, text, grids)
                 for value in readings(question, amount)]
    return -min([*distances, Fraction(10)])


def _request(question: TableQuestion, shown: Shown, answers: Sequence[Final]) -> Request:
    first, second = (as_text(final.steps, final.text) for final in answers)
    slots = {"question": question.question, "first": first, "second": second,
             "reference": as_text(question.steps, question.answer), "passage": shown.passage,
             "source": shown.source}
    return Request.ask(prompt_template("tablequest/judge_pair").render(
        **{name: _defused(text) for name, text in slots.items()}))


def as_text(steps: Sequence[str], answer: str) -> str:
    """Return an answer's steps, one a line, and the answer."""
    lines = [*(f"- {step}" for step in steps), f"Answer: {answer}" if answer else "(no answer)"]
    return "\n".join(lines)


def _defused(text: str) -> str:
    split = defused(text, TAGS)
    letters, ends = folded(split)
    cuts = [0, *(ends[match.start()] for match in _VERDICT.finditer(letters)), len(split)]
    return SPLIT.join(split[start:end] for start, end in zip(cuts, cuts[1:], strict=False))


def _decision(reply: Reply, words: dict[str, str]) -> Decision:
    if reply.reason:
        return "unscored", f"no complete reply, {reply.reason}"
    if not (found := last_object(reply.text, "better")):
        return "unscored", f"no JSON with \"better\" in the reply: {reply.text[-200:]!r}"
    word = str(found["better"]).strip().lower()
    if word not in words:
        return "unscored", f"\"better\" is neither first, second nor tie: {word[:100]!r}"
    rationale = " ".join(str(found.get("rationale", "")).split())
    return words[word], rationale or "no rationale is given"
