"""Judges of two answers for `lib.judge.pairs.prefer`: by rules, or a model (paper, 4.4)."""

from collections.abc import Iterable
from fractions import Fraction

from lib.core.prompts import defused, prompt_template
from lib.core.records import Document, Query
from lib.core.values import Value, solid, tokens
from lib.judge.model import decision_in
from lib.judge.pairs import CRITERIA, Decide, Decisions
from lib.judge.rules import compare
from lib.judge.verdicts import Decision
from lib.judge.words import FILLERS, TURNS
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request

Word = tuple[str, Value]  # kind and value of a token
_TAGS = "question|reference|first|second"
_AS_FIRST = {"first": "A", "second": "B", "tie": "tie"}  # the first arm's answer is shown first
_AS_SECOND = {"first": "B", "second": "A", "tie": "tie"}


def by_rules(documents: Iterable[Document]) -> Decide:
    """Return a judge for `lib.judge.pairs.prefer`; the words of `documents` are the domain's."""
    vocabulary = frozenset(word for document in documents for word in _words(document.text))

    def decide(queries: list[Query], pairs: list[tuple[str, str]]) -> dict:
        by_criterion = {
            "correctness": [
                _correctness(query, pair) for query, pair in zip(queries, pairs, strict=True)
            ],
            "domain relevance": [
                _relevance(query, pair, vocabulary)
                for query, pair in zip(queries, pairs, strict=True)
            ],
        }
        return {
            criterion: [(decision, decision) for decision in decisions]
            for criterion, decisions in by_criterion.items()
        }

    return decide


# Two wrong answers are a tie, however far off each is; the paper's judge might prefer one
def _correctness(query: Query, answers: tuple[str, str]) -> Decision:
    outcomes = [
        compare(query.question, query.answer, answer, query.entity_count) for answer in answers
    ]
    reason = "; ".join(
        f"{name}: {outcome.reason}" for name, outcome in zip("AB", outcomes, strict=True)
    )
    if any(outcome.verdict == "unscored" for outcome in outcomes):
        return "unscored", reason
    return _better(*(outcome.verdict == "correct" for outcome in outcomes)), reason


# Limits: it compares words, not meaning, so any product's words count equally; a wrong number
# counts if it is in some document, so memorized values look relevant; and a single domain word
# beats a long answer of which a tenth is not from the domain
def _relevance(query: Query, answers: tuple[str, str], vocabulary: frozenset[Word]) -> Decision:
    known = [relevance(query.question, answer, vocabulary) for answer in answers]
    shares = [Fraction(hits, n) if n else Fraction(0) for hits, n in known]
    reason = "; ".join(
        f"{name}: {hits} of {n} words are the domain's"
        for name, (hits, n) in zip("AB", known, strict=True)
    )
    return _better(*shares), reason


def relevance(question: str, answer: str, vocabulary: frozenset[Word]) -> tuple[int, int]:
    """Return how many words of `answer` are in `vocabulary`, and how many it has: (hits, words).

    Each distinct word, number or date counts once, folded as in lib.judge.rules. Words of the
    question, which any model can repeat, and words such as "is" and "and" do not count.
    """
    words = _words(answer) - _words(question)
    return len(words & vocabulary), len(words)


def _words(text: str) -> set[Word]:
    return {
        (token.kind, token.value)
        for token in solid(tokens(text))
        if token.value not in FILLERS | TURNS
    }


def _better(first: bool | Fraction, second: bool | Fraction) -> str:
    return "A" if first > second else "B" if second > first else "tie"


def by_model(model: str, calls: Calls) -> Decide:
    """Return a judge for `lib.judge.pairs.prefer` that sends each pair to `model` in both orders.

    All prompts are sent at once, as one batch. A reply that is incomplete or has no clear mark is
    unscored. The judge raises Stopped as `lib.llm.complete` does.
    """

    def decide(queries: list[Query], pairs: list[tuple[str, str]]) -> Decisions:
        requests = [
            _request(query, shown, criterion)
            for criterion in CRITERIA
            for query, (first, second) in zip(queries, pairs, strict=True)
            for shown in ((first, second), (second, first))
        ]
        replies = iter(complete(requests, model, calls))
        return {
            criterion: [
                (decision_in(next(replies), _AS_FIRST), decision_in(next(replies), _AS_SECOND))
                for _ in queries
            ]
            for criterion in CRITERIA
        }

    return decide


def _request(query: Query, shown: tuple[str, str], criterion: str) -> Request:
    question, reference, first, second = (
        defused(text, _TAGS) for text in (query.question, query.answer, *shown)
    )
    return Request.ask(
        prompt_template("judge_pairwise").render(
            criterion=criterion, question=question, reference=reference, first=first, second=second
        )
    )
