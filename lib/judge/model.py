"""A model as judge: its prompt, and the strict reading of its replies (paper, 4.4)."""

import re

from lib.core.prompts import defused, prompt_template
from lib.core.records import Query
from lib.judge.verdicts import Decide, Decision
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request

# A line with one mark and nothing else: any case, spaces inside the brackets, bold or italic type.
_MARK_ALONE = re.compile(r"[*\s]*\[\[\s*([a-z]+)\s*\]\][*\s]*", re.I)
_MARK_ABOVE = re.compile(r"[\W_]*\[\[\s*([a-z]+)\s*\]\][\W_]*", re.I)  # no other word on its line
_VERDICTS = {"true": "correct", "false": "incorrect"}
_TAGS = "question|reference|answer"


def by_model(model: str, calls: Calls) -> Decide:
    """Return a judge for `lib.judge.verdicts.judge` that sends one prompt per answer to `model`.

    All texts in a prompt are defused. A reply that is incomplete, or whose last line is
    not a verdict alone, is unscored. The judge raises Stopped as `lib.llm.complete` does.
    """

    def decide(queries: list[Query], answers: list[str]) -> list[Decision]:
        requests = [_request(query, answer) for query, answer in zip(queries, answers, strict=True)]
        return [decision_in(reply, _VERDICTS) for reply in complete(requests, model, calls)]

    return decide


def _request(query: Query, answer: str) -> Request:
    question, reference, shown = (
        defused(text, _TAGS) for text in (query.question, query.answer, answer)
    )
    return Request.ask(
        prompt_template("judge").render(question=question, reference=reference, answer=shown)
    )


def decision_in(reply: Reply, offered_marks: dict[str, str]) -> Decision:
    """Return the decision of a judge's reply as `verdict_in` reads it; unscored if incomplete."""
    if reply.reason:
        return "unscored", f"no complete reply, {reply.reason}"
    return verdict_in(reply.text, offered_marks)


def verdict_in(reply: str, offered_marks: dict[str, str] = _VERDICTS) -> Decision:
    """Return the verdict and the reason in a judge's complete reply.

    The prompt demands it, so only a mark alone on the last line with any text counts (see
    _MARK_ALONE); marks above it may be quotations, or a change of mind. `offered_marks` maps each
    mark that the prompt offers, in lower case, to its verdict. The reason is the text above. A
    reply with any other last line is unscored, as is one in which the last words above are a
    different mark.
    """
    *above, last = [line.strip() for line in reply.split("\n") if line.strip()] or [""]
    mark = _MARK_ALONE.fullmatch(last)
    worded = [line for line in above if re.search(r"[^\W_]", line)]
    before = _MARK_ABOVE.fullmatch(worded[-1]) if worded else None
    if not mark or mark[1].lower() not in offered_marks:
        names = " or ".join(f"[[{name.title()}]]" for name in offered_marks)
        return "unscored", f"the last line is not {names} alone: {last[-200:]!r}"
    if before and before[1].lower() != mark[1].lower():
        return "unscored", f"two different verdicts at the end: {worded[-1]} and {last}"
    return offered_marks[mark[1].lower()], " ".join(" ".join(above).split()) or "the mark alone"
