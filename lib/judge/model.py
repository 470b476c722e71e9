"""A model as judge: its prompt, and the strict reading of its replies (paper, 4.4)."""

import re

from lib.core.prompts import prompt_template
from lib.core.records import Query
from lib.core.untrusted import defused
from lib.judge.verdicts import Decide, Decision
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request

# [[True]], [ [True] ], \[\[True\]\] (escaped Markdown), and marks not offered, such as [[Maybe]]
_MARK = re.compile(r"\[\s*\\?\[\s*([^\[\]\n]{1,40}?)\s*\]\s*\\?\]")
_VERDICTS = {"true": "correct", "false": "incorrect"}
_TAGS = "question|reference|answer"


def by_model(model: str, calls: Calls) -> Decide:
    """Return a judge for `lib.judge.verdicts.judge` that sends one prompt per answer to `model`.

    All texts in a prompt are defused. A reply that is incomplete or has no clear verdict is
    unscored. The judge raises CallsStopped as `lib.llm.complete` does.
    """
    def decide(queries: list[Query], answers: list[str]) -> list[Decision]:
        requests = [_request(query, answer) for query, answer in zip(queries, answers, strict=True)]
        return [decision_in(reply, _VERDICTS) for reply in complete(requests, model, calls)]

    return decide


def _request(query: Query, answer: str) -> Request:
    question, reference, shown = (defused(text, _TAGS)
                                  for text in (query.question, query.answer, answer))
    return Request.ask(prompt_template("judge").render(question=question, reference=reference,
                                                       answer=shown))


def decision_in(reply: Reply, offered_marks: dict[str, str]) -> Decision:
    """Return the decision of a judge's reply as `verdict_in` reads it; unscored if incomplete."""
    if reply.reason:
        return "unscored", f"no complete reply, {reply.reason}"
    return verdict_in(reply.text, offered_marks)


def verdict_in(reply: str, offered_marks: dict[str, str] = _VERDICTS) -> Decision:
    """Return the verdict and the reason in a judge's complete reply.

    The last [[True]] or [[False]] counts, in any case and spacing; `offered_marks` maps each mark
    that the prompt offers, in lower case, to its verdict. The reason is the text before the mark,
    else the text after it. Unscored: a reply without a mark, with a last mark that was not offered,
    or with two different marks at its end (the last mark's line, and everything before it that is
    only whitespace, punctuation and marks).
    """
    marks = [(match, match[1].strip(" \\*_`\"'.!").lower()) for match in _MARK.finditer(reply)]
    offered = [(match, name) for match, name in marks if name in offered_marks]
    if not offered:
        names = " or ".join(f"[[{name.title()}]]" for name in offered_marks)
        return "unscored", f"no {names} in the reply: {reply[-200:]!r}"
    if offered[-1] != marks[-1]:
        return "unscored", f"the last mark was not offered: {marks[-1][0][0]}"
    last, name = offered[-1]
    start = last.start()
    for match, other in reversed(offered[:-1]):
        between = reply[match.end():start]
        if "\n" in between and re.search(r"[^\W_]", between):
            break
        if other != name:
            end = reply[match.start():last.end()][-200:]
            return "unscored", f"two different marks at the end: {end!r}"
        start = match.start()
    around = (" ".join(text.split()) for text in (reply[:last.start()], reply[last.end():]))
    return offered_marks[name], next(filter(None, around), "the mark alone")
