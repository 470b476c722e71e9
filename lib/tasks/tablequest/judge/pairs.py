"""Judges that compare: pairs of answers in both orders, and grades from 1 to 3 (Appendix C)."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from lib.analyze.metrics import f1
from lib.core.prompts import SPLIT, prompt_template
from lib.core.records import Answer, Record
from lib.judge.pairs import Choice, combined, settled_by_rule
from lib.judge.verdicts import Decision
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tasks.tablequest.answer.prompts import (
    Final,
    defused_slots,
    form_of,
    last_object,
    question_id_of,
    read_reply,
    serialized,
)
from lib.tasks.tablequest.judge.score import judged
from lib.tasks.tablequest.records import Level, TableQuestion, Texts

FAULTS = ("none", "empty", "misread number", "wrong calculation", "incomplete", "other")
_TAGS = "passage|question|reference|answer|first|second"
_EMPTY = {"grade": 1, "fault": "empty", "words": "no answer"}
_VERDICT = re.compile(r"(better|grade)(?=[\W_]{0,9}:)", re.I)  # an answer's own '"grade": 3'

Finals = Mapping[str, Mapping[str, Final]]  # arm -> question_id -> final answer
Round = tuple[TableQuestion, Final, Final]  # a question and the answers of two arms
# For each round, the decision with the first arm's answer shown first, and shown second
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
    reason: str  # in both orders


class Grade(Record):
    """A grader's judgement of one arm's answer."""

    question_id: str
    passage_id: str
    level: Level
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


def texts_of(questions: Sequence[TableQuestion], texts: Texts, form: str) -> dict[str, str]:
    """Return question_id -> the complete passage, which a judge sees too."""
    return {
        one.question_id: serialized(texts.passages[one.passage_id], texts.grids, form)
        for one in questions
    }


def matches(
    questions: Sequence[TableQuestion], finals: Finals, decide: Decide, judge: str
) -> list[Match]:
    """Return a match for every question and pair of arms.

    If an arm has no row for a question, the match is unscored; equal answers tie without a judge.
    """
    pairs = [(one, *pair) for pair in combinations(finals, 2) for one in questions]
    rounds = [(one, *(finals[arm].get(one.question_id) for arm in arms)) for one, *arms in pairs]
    settled = [
        settled_by_rule(*(final and as_text(final.steps, final.text) for final in finals))
        for _, *finals in rounds
    ]
    decided = iter(decide([one for one, known in zip(rounds, settled, strict=True) if not known]))
    found = []
    for (question, first, second), known in zip(pairs, settled, strict=True):
        as_first, as_second = (known, known) if known else next(decided)
        verdict, is_flipped = combined(as_first[0], as_second[0])
        found.append(
            Match(
                **question.place,
                first_arm=first,
                second_arm=second,
                judge=judge,
                verdict=verdict,
                is_flipped=is_flipped,
                is_asked=not known,
                reason=" / ".join({as_first[1]: 0, as_second[1]: 0}),
            )
        )
    return found


def by_rules(rounds: Sequence[Round]) -> list[tuple[Decision, Decision]]:
    """Decide without a model: a right answer wins, then that with more of the reference's words.

    The order plays no part; of hard answers only the words count, which says little.
    """
    return [(_better(*one),) * 2 for one in rounds]


def _better(question: TableQuestion, first: Final, second: Final) -> Decision:
    one, other = (
        2.0 if judged(question, final.text)[0] == "correct" else f1(question.answer, final.text)
        for final in (first, second)
    )
    said = f"right (2) or shared words (up to 1): A {one:.3g}, B {other:.3g}"
    return "tie" if one == other else "A" if one > other else "B", said


def by_model(model: str, calls: Calls, texts: Mapping[str, str]) -> Decide:
    """Return `model` as judge; see `texts_of`. An unreadable reply is unscored."""

    def decide(rounds: Sequence[Round]) -> list[tuple[Decision, Decision]]:
        prompt = prompt_template("tablequest/judge_pair")
        requests = [
            Request.ask(prompt.render(**_slots(question, texts, first=one, second=other)))
            for question, first, second in rounds
            for one, other in ((first, second), (second, first))
        ]
        replies = complete(requests, model, calls)
        return [
            (_decision(one, "AB"), _decision(other, "BA"))
            for one, other in zip(replies[::2], replies[1::2], strict=True)
        ]

    return decide


def _slots(question: TableQuestion, texts: Mapping[str, str], **finals: Final) -> dict[str, str]:
    answers = {name: as_text(final.steps, final.text) for name, final in finals.items()}
    slots = defused_slots(
        _TAGS,
        question=question.question,
        **answers,
        reference=as_text(question.steps, question.answer),
        passage=texts[question.question_id],
    )
    return slots | {
        name: _VERDICT.sub(lambda found: found[0][0] + SPLIT + found[0][1:], slots[name])
        for name in answers
    }


def as_text(steps: Sequence[str], answer: str) -> str:
    """Return an answer's steps, one a line, and the answer."""
    return "\n".join(
        [*(f"- {step}" for step in steps), f"Answer: {answer}" if answer else "(no answer)"]
    )


def _decision(reply: Reply, shown: str) -> Decision:
    # `shown` has the arms in the order of their answers
    if reply.reason:
        return "unscored", f"no complete reply, {reply.reason}"
    found = last_object(reply.text, "better")
    word = str(found.get("better")).strip().lower()
    words = {"first": shown[0], "second": shown[1], "tie": "tie"}
    if word not in words:
        return "unscored", f'"better" is neither first, second nor tie: {reply.text[-200:]!r}'
    return words[word], " ".join(str(found.get("rationale", "")).split()) or "no rationale"


def graded(
    questions: Sequence[TableQuestion],
    finals: Finals,
    grader: str,
    calls: Calls,
    texts: Mapping[str, str],
) -> list[Grade]:
    """Return a grade and fault of each answer to the questions that every arm has a row for.

    An empty answer has grade 1 without a call.
    """
    pairs = [
        (one, arm, given[one.question_id])
        for one in questions
        for arm, given in finals.items()
        if all(one.question_id in others for others in finals.values())
    ]
    asked = [
        Request.ask(
            prompt_template("tablequest/grade").render(**_slots(one, texts, answer=final)),
            max_tokens=16_384,
        )
        for one, _, final in pairs
        if final.text
    ]
    replies = iter(complete(asked, grader, calls))
    return [
        Grade(
            **one.place, arm=arm, grader=grader, **(_grade(next(replies)) if final.text else _EMPTY)
        )
        for one, arm, final in pairs
    ]


def _grade(reply: Reply) -> dict[str, object]:
    found = {} if reply.reason else last_object(reply.text, "grade")
    grade, fault = str(found.get("grade")).strip(), str(found.get("fault")).strip().lower()
    if grade not in ("1", "2", "3"):
        why = reply.reason or f"the grade is neither 1, 2 nor 3: {reply.text[-200:]!r}"
        return {"grade": None, "fault": "other", "words": why}
    words = " ".join(str(found.get("words", "")).split())
    return {"grade": int(grade), "fault": fault if fault in FAULTS else "other", "words": words}
