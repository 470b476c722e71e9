"""Preferences: which of two arms' answers is better, by rules or by a model (paper, 4.4)."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Literal, get_args

from lib.core.files import made_by
from lib.core.prompts import defused, prompt_template
from lib.core.records import Answer, Document, Query, Record
from lib.core.values import Value, solid, tokens
from lib.judge.model import decision_in
from lib.judge.rules import compare
from lib.judge.verdicts import Decision, answers_of_one_arm
from lib.judge.words import FILLERS, TURNS
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request

Criterion = Literal["correctness", "domain relevance"]
Choice = Literal["A", "B", "tie", "unscored"]  # A: the first arm's answer is better
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
OUTCOMES: tuple[Choice, ...] = ("A", "B", "tie")
# For each criterion and pair of answers: the decisions with the first arm's answer shown first and
# shown second.
Decisions = dict[Criterion, list[tuple[Decision, Decision]]]
Decide = Callable[[list[Query], list[tuple[str, str]]], Decisions]
Word = tuple[str, Value]  # kind and value of a token
_TAGS = "question|reference|first|second"
_AS_FIRST = {"first": "A", "second": "B", "tie": "tie"}  # the first arm's answer is shown first
_AS_SECOND = {"first": "B", "second": "A", "tie": "tie"}


class Preference(Record):
    """One judge's preference between two arms' answers to one query, by one criterion."""

    query_id: str
    first_arm: str
    second_arm: str
    judge: str
    criterion: Criterion
    verdict: Choice  # unscored if either order is; a tie if the orders differ
    is_flipped: bool  # both orders were scored, and differently
    is_asked: bool  # False: no judge was needed, `reason` says why
    as_first: Choice  # with the first arm's answer shown first; A is that arm in either order
    as_second: Choice  # with it shown second
    reason: str
    reason_as_second: str


def prefer(queries: list[Query], first: list[Answer], second: list[Answer], decide: Decide,
           judge: str = "rules") -> list[Preference]:
    """Return one preference per query and criterion, in the queries' order.

    `decide` is `by_rules(…)` or `by_model(…)`, and `judge` its name in the rows. A query that an
    arm has no answer row for is unscored, and two equal answers are a tie; neither needs a judge.
    Raises ValueError as `lib.judge.verdicts.answers_of_one_arm` does or if both are of one arm.
    """
    arm, given = answers_of_one_arm(queries, first)
    other, given_other = answers_of_one_arm(queries, second)
    if arm == other:
        raise ValueError(f"both sets of answers belong to arm {arm}: first_arm and second_arm must "
                         "differ")
    pairs = {query.query_id: (given.get(query.query_id), given_other.get(query.query_id))
             for query in queries}
    settled = {query_id: _settled(*pair) for query_id, pair in pairs.items()}
    waiting = [query for query in queries if settled[query.query_id] is None]
    decisions = decide(waiting, [pairs[query.query_id] for query in waiting])
    decided = {(query.query_id, criterion): both for criterion, found in decisions.items()
               for query, both in zip(waiting, found, strict=True)}
    rows = []
    for query in queries:
        known = settled[query.query_id]
        for criterion in CRITERIA:
            as_first, as_second = (known, known) if known else decided[query.query_id, criterion]
            verdict, is_flipped = combined(as_first[0], as_second[0])
            rows.append(Preference(
                query_id=query.query_id, first_arm=arm, second_arm=other, judge=judge,
                criterion=criterion, verdict=verdict, is_flipped=is_flipped, is_asked=not known,
                as_first=as_first[0], as_second=as_second[0], reason=as_first[1],
                reason_as_second=as_second[1]))
    return rows


def combined(as_first: Choice, as_second: Choice) -> tuple[Choice, bool]:
    """Return the verdict of both orders, and whether it flipped: a flip is a tie."""
    if "unscored" in (as_first, as_second):
        return "unscored", False
    return (as_first, False) if as_first == as_second else ("tie", True)


def _settled(answer: str | None, other: str | None) -> Decision | None:
    if answer is None or other is None:
        return "unscored", f"no answer row of an arm: run {made_by('answers')} for this query"
    return ("tie", "both answers are the same") if answer.split() == other.split() else None


def by_rules(documents: Iterable[Document]) -> Decide:
    """Return a judge for `lib.judge.pairs.prefer`; the words of `documents` are the domain's."""
    vocabulary = frozenset(word for document in documents for word in _words(document.text))

    def decide(queries: list[Query], pairs: list[tuple[str, str]]) -> dict:
        by_criterion = {"correctness": [_correctness(query, pair)
                            for query, pair in zip(queries, pairs, strict=True)],
            "domain relevance": [_relevance(query, pair, vocabulary)
                                 for query, pair in zip(queries, pairs, strict=True)]}
        return {criterion: [(decision, decision) for decision in decisions]
                for criterion, decisions in by_criterion.items()}

    return decide


# Two wrong answers are a tie, however far off each is; the paper's judge might prefer one
def _correctness(query: Query, answers: tuple[str, str]) -> Decision:
    outcomes = [compare(query.question, query.answer, answer, query.entity_count)
                for answer in answers]
    reason = "; ".join(f"{name}: {outcome.reason}"
                       for name, outcome in zip("AB", outcomes, strict=True))
    if any(outcome.verdict == "unscored" for outcome in outcomes):
        return "unscored", reason
    return _better(*(outcome.verdict == "correct" for outcome in outcomes)), reason


# Limits: it compares words, not meaning, so any product's words count equally; a wrong number
# counts if it is in some document, so memorized values look relevant; and a single domain word
# beats a long answer of which a tenth is not from the domain
def _relevance(query: Query, answers: tuple[str, str], vocabulary: frozenset[Word]) -> Decision:
    known = [relevance(query.question, answer, vocabulary) for answer in answers]
    shares = [Fraction(hits, n) if n else Fraction(0) for hits, n in known]
    reason = "; ".join(f"{name}: {hits} of {n} words are the domain's"
                       for name, (hits, n) in zip("AB", known, strict=True))
    return _better(*shares), reason


def relevance(question: str, answer: str, vocabulary: frozenset[Word]) -> tuple[int, int]:
    """Return how many words of `answer` are in `vocabulary`, and how many it has: (hits, words).

    Each distinct word, number or date counts once, folded as in lib.judge.rules. Words of the
    question, which any model can repeat, and words such as "is" and "and" do not count.
    """
    words = _words(answer) - _words(question)
    return len(words & vocabulary), len(words)


def _words(text: str) -> set[Word]:
    return {(token.kind, token.value) for token in solid(tokens(text))
            if token.value not in FILLERS | TURNS}


def _better(first: bool | Fraction, second: bool | Fraction) -> str:
    return "A" if first > second else "B" if second > first else "tie"


def by_model(model: str, calls: Calls) -> Decide:
    """Return a judge for `lib.judge.pairs.prefer` that sends each pair to `model` in both orders.

    All prompts are sent at once, as one batch. A reply that is incomplete or has no clear mark is
    unscored. The judge raises Stopped as `lib.llm.complete` does.
    """
    def decide(queries: list[Query], pairs: list[tuple[str, str]]) -> Decisions:
        requests = [_request(query, shown, criterion) for criterion in CRITERIA
                    for query, (first, second) in zip(queries, pairs, strict=True)
                    for shown in ((first, second), (second, first))]
        replies = iter(complete(requests, model, calls))
        return {criterion: [(decision_in(next(replies), _AS_FIRST),
                             decision_in(next(replies), _AS_SECOND)) for _ in queries]
                for criterion in CRITERIA}

    return decide


def _request(query: Query, shown: tuple[str, str], criterion: str) -> Request:
    question, reference, first, second = (
        defused(text, _TAGS) for text in (query.question, query.answer, *shown))
    return Request.ask(prompt_template("judge_pairwise").render(
        criterion=criterion, question=question, reference=reference, first=first, second=second))
