"""Judge by rules whether an answer states what the reference states (paper, 4.4).

Values are compared in any spelling, unit or layout; lists are sets; restatements of the question
are allowed, hedges and denials are not.
"""

import re
from dataclasses import dataclass

from lib.core.records import Query
from lib.core.values import folded
from lib.judge import polarity, scalars
from lib.judge.layout import MOST_READ, from_table, joined, paragraphs, plain, without_courtesy
from lib.judge.lists import ListMatch, entities_of, match
from lib.judge.matching import Wanted
from lib.judge.phrases import canonical
from lib.judge.words.spellings import codes_in, respelled, spelled_out, unified
from lib.judge.words.wording import question_of

_MAXIMUM = re.compile(r"\b(?:max|maximum|most|limit|up to|largest|longest|highest)\b|"
                      r"\bhow (?:many|much|long|far)\b.* (?:may|can|allow)\b", re.I)
_PERSONS = re.compile(r"\b(?:who(?:m|se)?|(?:author|engineer|manager|person|name)s?)\b", re.I)
_NONE = frozenset(("none", "none.", "nothing", "nobody", "no one"))
_MINIMUM = re.compile(r"\b(?:min|minimum|least|smallest|shortest|lowest)\b", re.I)


@dataclass(frozen=True)
class Outcome:
    """Whether an answer is correct, and a short reason."""

    is_correct: bool
    reason: str


def by_rules(queries: list[Query], answers: list[str]) -> list[tuple[str, str]]:
    """Return the verdict and reason for each answer, as `lib.judge.verdicts.judge` needs them."""
    outcomes = (compare(query.question, query.answer, answer, query.entity_count)
                for query, answer in zip(queries, answers, strict=True))
    return [("correct" if one.is_correct else "incorrect", one.reason) for one in outcomes]


def compare(question: str, reference: str, answer: str, entity_count: int | None = None) -> Outcome:
    """Return whether `answer` gives `reference` and nothing that contradicts it.

    The layout does not matter: bullets, numbers, commas, a sentence for each item and a Markdown
    table are read alike. The answer must give the reference in a restatement of the question, or in
    a sentence about all that the question asks for and nothing else. Text after it is surplus and
    ignored, unless it offers another value. A reference with several items is a set: any order,
    duplicates folded, all of them and only them. Partly correct is incorrect (paper, 4.4).
    `entity_count` is the query's: a list has one entity per line; a scalar (None) is also a list
    if it reads as "a, b and c", or if the question asks for several.
    """
    if _is_verbatim(reference, answer):
        return Outcome(True, "the reference verbatim")
    found = match_list(question, reference, answer, entity_count)
    if found and found.n_wanted > 1:
        outcome = _outcome(found)
        if outcome.is_correct or entity_count or len(reference.splitlines()) > 1:
            return outcome
    said = _scalar_complaint(question, reference, answer, is_item=entity_count == 1,
                             is_list=bool(found and found.n_wanted > 1))
    return Outcome(not said, said or "gives the reference")


def match_list(question: str, reference: str, answer: str,
               entity_count: int | None = None) -> ListMatch | None:
    """Return how `answer` matches a reference that is a list; None if the reference is a scalar.

    If the answer may end at several places, the end with the most entities minus surplus items
    counts.
    """
    read = question_of(unified(question))
    entities = entities_of(unified(reference), read, entity_count)
    if not entities:
        return None
    if _is_verbatim(reference, answer):
        return ListMatch(len(entities), len(entities), [], [])
    if len(entities) == 1:
        is_given = not _scalar_complaint(question, reference, answer, is_item=True)
        return ListMatch(1, int(is_given), [], [] if is_given else entities)
    return match(entities, _readable(question, reference, answer), read)


def _is_verbatim(reference: str, answer: str) -> bool:
    may_be = len(answer) < MOST_READ + 10 * len(reference)
    return may_be and folded(reference).strip() == folded(answer).strip()


def _outcome(found: ListMatch) -> Outcome:
    if not found.missing and not found.surplus:
        return Outcome(True, f"all entities of the list ({found.n_wanted}) and no other")
    missing = f"; missing {found.missing[0]!r}" if found.missing else ""
    surplus = f"; surplus {found.surplus[0][:60]!r}" if found.surplus else ""
    return Outcome(False, f"{found.n_named} of {found.n_wanted} entities{missing}{surplus}")


def _readable(question: str, reference: str, answer: str) -> str:
    most = MOST_READ + 10 * len(reference)
    text = spelled_out(without_courtesy(unified(answer[:most])), question, reference)
    text = joined(respelled(text, codes_in(unified(f"{question}\n{reference}"))),
                  unified(reference).splitlines(), has_names=bool(_PERSONS.search(question)))
    return _unbounded(text, question)


# `text` without "at most" if the question asks for a maximum, and the like
def _unbounded(text: str, question: str) -> str:
    for bound, pattern in (("most", _MAXIMUM), ("least", _MINIMUM)):
        text = re.sub(rf"[Aa]t {bound} ", "", text) if pattern.search(question) else text
    return text


def _scalar_complaint(question: str, reference: str, answer: str, *, is_item: bool,
                      is_list: bool = False) -> str:
    read = question_of(unified(question))
    wanted = scalars.without_echo(read.read(_unbounded(unified(reference), question)), read)
    if not wanted:
        return "does not give the reference verbatim"
    lines = paragraphs(_readable(question, reference, answer))[0]
    found = read.read("\n".join(map(plain, from_table(lines, read))))
    sign = polarity.sign_of(read.read(unified(reference)), read)
    if sign is not None and (len(wanted) == 1 or not polarity.complaint(sign, found, read)):
        return polarity.complaint(sign, found, read)
    if reference.strip().casefold() in _NONE and polarity.denies(found, read):
        return ""
    value = Wanted(wanted)
    found = found if is_list else canonical(found, [value], read)
    return scalars.complaint(value, found, read, is_item=is_item)
