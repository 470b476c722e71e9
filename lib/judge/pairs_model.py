"""A model as judge of two answers: each pair in both orders, replies read strictly (paper, 4.4)."""

from lib.core.prompts import prompt_template
from lib.core.records import Query
from lib.core.untrusted import defused
from lib.judge.model import decision_in
from lib.judge.pairs import CRITERIA, Decide, Decisions
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request

_TAGS = "question|reference|first|second"
_AS_FIRST = {"first": "A", "second": "B", "tie": "tie"}  # the first arm's answer is shown first
_AS_SECOND = {"first": "B", "second": "A", "tie": "tie"}


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
