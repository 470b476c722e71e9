"""A model as judge: the prompt, with all that it holds defused, and the strict reading of its replies (paper, 4.4)."""

import re

from lib.core.prompts import prompt_template
from lib.core.records import Query
from lib.core.untrusted import defused
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request

_MARK = re.compile(r"\[\s*\\?\[\s*([^\[\]\n]{1,40}?)\s*\]\s*\\?\]")  # offered or not; a backslash: escaped Markdown
_OFFERED = {"true": "correct", "false": "incorrect"}
_TAGS = "question|reference|answer"

Decision = tuple[str, str]  # verdict, reason


def decide_by_model(queries: list[Query], answers: list[str], model: str, calls: Calls | None) -> list[Decision]:
    """One decision a query, in order; a reply that is no whole answer or holds no clear verdict is unscored.

    Raises ValueError without `calls`, CallsStopped as `lib.llm.complete` does.
    """
    if calls is None:
        raise ValueError(f"the judge {model!r} is a model: give `calls`, a lib.llm.Calls with the cache of the study "
                         "and what may be spent")
    requests = [Request.ask(prompt_template("judge").render(question=defused(query.question, _TAGS), answer=defused(answer, _TAGS),
                                     reference=defused(query.answer, _TAGS)))
                for query, answer in zip(queries, answers, strict=True)]
    return [("unscored", f"no whole reply, {reply.reason}") if reply.reason else verdict_in(reply.text)
            for reply in complete(requests, model, calls)]


def verdict_in(reply: str, offered_marks: dict[str, str] = _OFFERED) -> Decision:
    """(verdict, reason) of a judge's whole reply: its last [[True]] or [[False]] counts, in any case and spacing.

    `offered_marks` gives each mark that the prompt offers, in lower case, the verdict that it stands for.

    The reason is what stands before the mark, else what stands after it, else that the mark stands alone.
    Unscored where there is none, where a mark that was not offered comes last, and where two different ones stand at
    the end: in the line of the last one, or with only blanks and punctuation between.
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
            return "unscored", f"two different marks at the end: {reply[match.start():last.end()][-200:]!r}"
        start = match.start()
    around = (" ".join(text.split()) for text in (reply[:last.start()], reply[last.end():]))
    return offered_marks[name], next(filter(None, around), "the mark alone")
