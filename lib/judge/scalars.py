"""Judge an answer that must give one value: where it states it, and what it says around it."""

import re

from lib.core.values import Token, solid
from lib.judge.matching import Wanted, has, sentences, sort_of, until_end
from lib.judge.surplus import objection_after, until_mark
from lib.judge.words.claims import are_verbs, conflict, swapped
from lib.judge.words.wording import (
    EXCLUDING,
    FILLERS,
    HEDGES,
    LIMITS,
    MODIFIERS,
    NEGATIONS,
    PAST,
    RETRACTIONS,
    Question,
    is_plain,
    stem,
)

_MOST_VERBS = 3
_ECHOED = frozenset("every each at in on to".split())


def without_echo(reference: list[Token], question: Question) -> list[Token]:
    """Drop the question's words from "port 8443" and the like if a value or code remains."""
    wanted = solid(reference)
    is_echo = all(str(token.value) in _ECHOED or (token.value not in FILLERS
                                                  and question.allows(token))
                  or token.value in question.words for token in wanted[:-1])
    has_value = len(wanted) > 1 and sort_of(wanted[-1])[0] != "word"
    return wanted[-1:] if has_value and is_echo else wanted


def complaint(wanted: Wanted, found: list[Token], question: Question, *,
              is_item: bool = False) -> str:
    """Return the objection to an answer, the lines of one paragraph; "" if it gives the value.

    With `is_item`, the value is the only one of a list: any other item is an objection.
    """
    first = 0
    for start, token in enumerate(found):
        if token.is_solid and (end := wanted.end_in(found, start)) is not None:
            return _before(found, first, start, wanted, question) or objection_after(
                _behind(found, end), wanted, question, is_item=is_item)
        first = start + 1 if token.kind == "end" else first
    shown = " ".join(token.text for token in solid(found)[:6])
    return f"does not give the reference: {shown!r}"


def _behind(found: list[Token], end: int) -> list[Token]:
    """Return the tokens after a value, without the full stop of an abbreviation."""
    rest = found[end:]
    is_short = str(found[end - 1].value) in ("ltd", "inc", "co", "corp") and len(rest) > 1
    goes_on = is_short and rest[0].text == "." and rest[1].text[0].islower()
    return rest[1:] if goes_on else rest


def _before(found: list[Token], first: int, start: int, wanted: Wanted,
            question: Question) -> str:
    """Return the objection to what precedes the value: earlier sentences, and its own."""
    for sentence in sentences(found[:first]):
        if said := _earlier(sentence, question):
            return said
    own = solid(_without_place(found[first:start]))
    shown = repr(" ".join(token.text for token in own[:6]))
    values = [str(token.value) for token in own]
    if any(value in NEGATIONS and value not in question.words for value in values):
        return f"denies or excludes it: {shown}"
    if any(value in HEDGES and value not in question.words for value in values):
        return f"hedges: {shown}"
    excluding = EXCLUDING | (LIMITS if wanted.tokens[0].kind == "number" else set())
    if any(value in excluding and value not in question.words for value in values[-2:]):
        return f"another amount or an earlier value: {shown}"
    is_event = len(own) > 1 and wanted.tokens[0].kind == "date" and str(own[-1].value) in (
        "on", "in")  # "was released on"
    modifiers = MODIFIERS | ({"was", "were"} if question.is_present and not is_event else set())
    if any(value in modifiers and value not in question.words and stem(value) not in question.topic
           for value in values):
        return f"another amount or an earlier value: {shown}"
    if wanted.is_time and values[-1:] == ["after"]:
        own = own[:-1]  # "times out after 30 s"
    last = own[-1] if own and found[start - 1].is_solid else None
    is_word = sort_of(wanted.tokens[0])[0] == "word"
    if last is not None and is_word and not wanted.is_phrase and not _opens(
            last, wanted, question):
        return f"part of another name: {shown}"
    if _is_from(found[first:], start - first):
        return f"the earlier of two values: {shown}"
    behind = until_mark(found[wanted.end_in(found, start) or start:])
    if set(values) & (PAST | question.opposites) - question.words or not wanted.is_phrase and (
            swapped(own, question, behind) or swapped(behind, question, own)):
        return f"about the opposite: {shown}"
    if all(question.allows(token) for token in own):
        return ""
    return _in_other_words(own, found[start:], wanted, question)


def _without_place(sentence: list[Token]) -> list[Token]:
    """Return what follows "In Data sheet, Network: ", unless it names another model or version."""
    colon = next((place for place, token in enumerate(sentence) if token.text == ":"), None)
    if colon is None or sentence[0].value not in ("in", "under") or any(
            re.search(r"\d", token.text) for token in sentence[:colon]):
        return sentence
    return sentence[colon + 1:]


def _is_from(sentence: list[Token], place: int) -> bool:
    """Return whether the value is the first of "from 8443 to 9000"."""
    after = solid(sentence[place + 1:])[:1]
    return (place > 0 and sentence[place - 1].value == "from" and bool(after)
            and after[0].value == "to")


def _earlier(sentence: list[Token], question: Question) -> str:
    """Return the objection to a sentence before the one with the value."""
    own = solid(sentence)
    odd = [token for token in own if not question.allows(token)]
    is_lead = bool(sentence) and any(token.text == ":" for token in sentence[-2:])
    if not odd or (is_lead and not has(own, NEGATIONS)):
        return ""
    return f"begins with something else: {' '.join(token.text for token in own[:6])!r}"


def _opens(token: Token, wanted: Wanted, question: Question) -> bool:
    """Return whether a name can begin after this word: "uses Linux", but not "Arch Linux"."""
    word = str(token.value)
    is_asked = question.allows(token) and (
        is_plain(token) or is_plain(wanted.tokens[0])) or stem(word) in question.topic
    return word in FILLERS or word in RETRACTIONS or is_asked


def _in_other_words(own: list[Token], rest: list[Token], wanted: Wanted,
                    question: Question) -> str:
    """Return the objection to a sentence that is more than a restatement of the question.

    It must contain all that the question asks about, or only have another verb, and no other name,
    value, subject or opposite.
    """
    sentence = own + solid(until_end(rest))
    shown = repr(" ".join(token.text for token in own[:6]))
    odd = [token for token in own if not question.allows(token)]
    if own[-1].value == "and":
        return f"a second value: {shown}"
    if any(not is_plain(token) for token in odd if token is not own[0]) or (
            odd and odd[0] is own[0] and sort_of(own[0])[0] != "word"):
        return f"about something else: {shown}"
    words = {str(token.value) for token in sentence}
    if words & question.opposites:
        return f"about the opposite: {shown}"
    if conflict(own, question):
        return f"not about what is asked: {shown}"
    is_word = sort_of(wanted.tokens[0])[0] == "word"
    is_thing = question.is_attribute and not question.has_act and not is_word
    if len(odd) <= _MOST_VERBS and (is_thing and not _is_of_another(own, odd, question)
                                    or are_verbs(own, question)):
        return ""
    if _is_of_another(own, odd, question):
        return f"about something else: {shown}"
    if sort_of(wanted.tokens[0])[0] == "word" and not _is_before_topic(odd, own, question):
        return f"another value first: {shown}"
    stems = {stem(word) for word in words}
    if not question.needed or not question.needed <= stems:
        return f"not about what is asked: {shown}"
    return "" if len(odd) <= 6 else f"too much before it: {shown}"


def _is_of_another(own: list[Token], odd: list[Token], question: Question) -> bool:
    """Return whether words are about "the admin port" or "the port of Sorrel"."""
    return any((one in odd and stem(str(other.value)) in question.needed)
               or (one.value in ("of", "for") and other in odd)
               for one, other in zip(own, own[1:], strict=False))


def _is_before_topic(odd: list[Token], own: list[Token], question: Question) -> bool:
    """Return whether words not in the question are adverbs, or all before its last word."""
    places = [place for place, token in enumerate(own) if stem(str(token.value)) in question.topic]
    late = own[max(places, default=0):]
    return not any(token in late and not str(token.value).endswith("ly") for token in odd)
