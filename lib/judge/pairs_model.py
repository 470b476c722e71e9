"""A model as judge of two answers: each pair in both orders, its replies read as strictly as verdicts (paper, 4.4)."""

from collections.abc import Sequence

from lib.core.prompts import prompt_template
from lib.core.records import Query
from lib.core.untrusted import defused
from lib.judge.model import Decision, verdict_in
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request

_TAGS = "question|reference|first|second"
_AS_FIRST = {"first": "A", "second": "B", "tie": "tie"}  # what a mark says where the first arm's answer is shown first
_AS_SECOND = {"first": "B", "second": "A", "tie": "tie"}


def prefer_by_model(queries: list[Query], pairs: list[tuple[str, str]], criteria: Sequence[str], model: str,
                    calls: Calls | None) -> dict[str, list[tuple[Decision, Decision]]]:
    """criterion -> for each query two decisions (A, B, tie or unscored; reason).

    The first with the pair's first answer shown first, the second with it shown second; A is that answer in both.
    Everything is asked at once, so that a batch is one. A reply that is no whole answer or holds no clear mark is
    unscored. Raises ValueError without `calls`, CallsStopped as `lib.llm.complete` does.
    """
    if calls is None:
        raise ValueError(f"the judge {model!r} is a model: give `calls`, a lib.llm.Calls with the cache of the study "
                         "and what may be spent")
    requests = [_request(query, shown, criterion) for criterion in criteria
                for query, (answer, other) in zip(queries, pairs, strict=True)
                for shown in ((answer, other), (other, answer))]
    replies = complete(requests, model, calls)
    decisions = [(_decision(as_first, _AS_FIRST), _decision(as_second, _AS_SECOND))
                 for as_first, as_second in zip(replies[::2], replies[1::2], strict=True)]
    return {criterion: decisions[place * len(queries):(place + 1) * len(queries)]
            for place, criterion in enumerate(criteria)}


def _request(query: Query, shown: tuple[str, str], criterion: str) -> Request:
    question, reference, first, second = (defused(text, _TAGS) for text in (query.question, query.answer, *shown))
    return Request.ask(prompt_template("judge_pairwise").render(criterion=criterion, question=question, reference=reference,
                                first=first, second=second))


def _decision(reply: Reply, marks: dict[str, str]) -> Decision:
    return ("unscored", f"no whole reply, {reply.reason}") if reply.reason else verdict_in(reply.text, marks)
