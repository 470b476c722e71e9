"""An LLM as judge: pointwise verdicts, and pairwise preferences in both orders (paper, 3.1)."""

import re
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from lib.core.prompts import escape_prompt_markup, prompt_template
from lib.core.records import Answer, Query, Record
from lib.core.store import made_by
from lib.judge.scorer import Decide, Decision, check_single_arm, score
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request

Criterion = Literal["correctness", "domain relevance"]
Choice = Literal["A", "B", "tie", "unscored"]  # A: the first arm's answer is better
Case = tuple[Query, Criterion, str, str]  # with both arms' answers
Both = tuple[Decision, Decision]  # with the first arm's answer shown first, and shown second
DecidePairs = Callable[[list[Case]], list[Both]]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
# A line with one mark and nothing else: any case, spaces inside the brackets, bold or italic type.
_MARK_ALONE = re.compile(r"[*\s]*\[\[\s*([a-z]+)\s*\]\][*\s]*", re.I)
_MARK_ABOVE = re.compile(r"[\W_]*\[\[\s*([a-z]+)\s*\]\][\W_]*", re.I)  # no other word on its line
_VERDICTS = {"true": "correct", "false": "incorrect"}
_AB, _BA = ({"first": one, "second": other, "tie": "tie"} for one, other in ("AB", "BA"))


class Compared(Record):
    """One judge's preference between two arms' answers to a question."""

    first_arm: str
    second_arm: str
    judge: str
    verdict: Choice  # unscored if either order is; a tie if the orders differ
    is_flipped: bool  # both orders were scored, and differently
    is_asked: bool  # False: no judge was needed, `reason` says why
    as_first: Choice  # with the first arm's answer shown first; A is that arm in either order
    as_second: Choice  # with it shown second
    reason: str
    reason_as_second: str


class Preference(Compared):
    """A preference by one criterion."""

    query_id: str
    criterion: Criterion


def judge_with_llm(model: str, calls: Calls) -> Decide:
    """Pointwise judge for `lib.judge.scorer.judge`: one prompt per answer.

    A reply that is incomplete, or whose last line is no verdict alone, is unscored. Raises Stopped.
    """

    def decide(queries: list[Query], answers: list[str]) -> list[Decision]:
        template = prompt_template("judge")
        prompts = [
            template.render(**_slots(query, answer=answer))
            for query, answer in zip(queries, answers, strict=True)
        ]
        return [*map(parse_reply, complete([*map(Request.ask, prompts)], model, calls))]

    return decide


def prefer_with_llm(model: str, calls: Calls) -> DecidePairs:
    """Pairwise judge for `prefer`: each pair in both orders, all as one batch. Raises Stopped."""

    def decide(cases: list[Case]) -> list[Both]:
        template = prompt_template("judge_pairwise")
        prompts = [
            template.render(criterion=criterion, **_slots(query, first=one, second=other))
            for query, criterion, *pair in cases
            for one, other in (pair, pair[::-1])
        ]
        return ask_in_both_orders(prompts, model, calls, parse_reply)

    return decide


def ask_in_both_orders(
    prompts: list[str],
    model: str,
    calls: Calls,
    parse: Callable[[Reply, dict], Decision],
    shape: str = "",
) -> list[Both]:
    """Decisions on pairs, two prompts each; `parse` gets a reply and what its words mean."""
    replies = complete([Request.ask(one, shape=shape) for one in prompts], model, calls)
    orders = zip(replies[::2], replies[1::2], strict=True)
    return [(parse(one, _AB), parse(other, _BA)) for one, other in orders]


def prefer_with_scorer(cases: list[Case]) -> list[Both]:
    """Prefer the only correct answer; domain relevance needs a model and is unscored."""
    found = []
    for query, criterion, *answers in cases:
        (first, why), (second, other) = score([query, query], answers)
        if criterion != "correctness" or "unscored" in (first, second):
            choice = "unscored"
        else:
            choice = "tie" if first == second else "A" if first == "correct" else "B"
        found.append(((choice, f"{criterion} by the scorer: A: {why}; B: {other}"),) * 2)
    return found


def prefer(
    queries: list[Query], first: list[Answer], second: list[Answer], decide: DecidePairs, judge: str
) -> list[Preference]:
    """Preferences by query and criterion, in the queries' order; `judge` is the name in the rows.

    Raises ValueError as `check_single_arm` does, or if both sets of answers are of one arm.
    """
    (arm, given), (other, given_other) = (check_single_arm(queries, one) for one in (first, second))
    if arm == other:
        raise ValueError(
            f"both sets of answers belong to arm {arm}: first_arm and second_arm must differ"
        )
    cases = [(query, criterion) for query in queries for criterion in CRITERIA]
    pairs = [(given.get(one.query_id), given_other.get(one.query_id)) for one, _ in cases]
    found = compare_pairs(pairs, lambda places: decide([cases[at] + pairs[at] for at in places]))
    return [
        Preference(
            query_id=query.query_id,
            criterion=criterion,
            first_arm=arm,
            second_arm=other,
            judge=judge,
            **one,
        )
        for (query, criterion), one in zip(cases, found, strict=True)
    ]


def compare_pairs(
    pairs: Sequence[tuple[str | None, str | None]], decide: Callable[[list[int]], list[Both]]
) -> list[dict]:
    """The last seven fields of a Preference for each pair of answers; None: no row of an arm.

    Equal answers tie without a judge; `decide` gets the places in `pairs` of those it must judge.
    """
    settled = [_settled(*pair) for pair in pairs]
    places = [place for place, known in enumerate(settled) if not known]
    decided = dict(zip(places, decide(places), strict=True))
    found = []
    for place, known in enumerate(settled):
        as_first, as_second = decided.get(place, (known, known))
        choices = {as_first[0], as_second[0]}
        is_open = "unscored" in choices
        is_flipped = len(choices) > 1 and not is_open
        found.append(
            {
                "verdict": "unscored" if is_open else "tie" if is_flipped else as_first[0],
                "is_flipped": is_flipped,
                "is_asked": not known,
                "as_first": as_first[0],
                "as_second": as_second[0],
                "reason": as_first[1],
                "reason_as_second": as_second[1],
            }
        )
    return found


def _settled(answer: str | None, other: str | None) -> Decision | None:
    if answer is None or other is None:
        return "unscored", f"no answer row of an arm: run {made_by('answers')} for this query"
    return ("tie", "both answers are the same") if answer.split() == other.split() else None


def _slots(query: Query, **answers: str) -> dict[str, str]:
    slots = {"question": query.question, "reference": query.answer, **answers}
    return {name: escape_prompt_markup(text, "|".join(slots)) for name, text in slots.items()}


def parse_reply(reply: Reply, marks: dict[str, str] = _VERDICTS) -> Decision:
    """Decision and reason in a judge's reply; `marks` maps those offered to decisions.

    A mark counts only alone on the last line: above it, it may be a quotation or a change of mind.
    """
    if reply.reason:
        return "unscored", f"no complete reply, {reply.reason}"
    *above, last = [line.strip() for line in reply.text.split("\n") if line.strip()] or [""]
    mark = _MARK_ALONE.fullmatch(last)
    worded = [line for line in above if re.search(r"[^\W_]", line)]
    before = _MARK_ABOVE.fullmatch(worded[-1]) if worded else None
    if not mark or mark[1].lower() not in marks:
        names = " or ".join(f"[[{name.title()}]]" for name in marks)
        return "unscored", f"the last line is not {names} alone: {last[-200:]!r}"
    if before and before[1].lower() != mark[1].lower():
        return "unscored", f"two different verdicts at the end: {worded[-1]} and {last}"
    return marks[mark[1].lower()], " ".join(" ".join(above).split()) or "the mark alone"
