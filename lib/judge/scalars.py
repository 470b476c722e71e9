"""Judge an answer that must give one value: where it states it, and what it says around it."""

import re

from lib.core.values import Token, solid
from lib.judge.matching import Wanted, has, sentences, shown_of, sort_of, until_end
from lib.judge.surplus import objection_after, until_mark
from lib.judge.words import wording as w
from lib.judge.words.claims import are_verbs, conflict, swapped
from lib.judge.words.wording import Question, is_plain, stem

_MOST_VERBS = 3
_ECHOED = frozenset("every each at in on to".split())


def without_echo(reference: list[Token], question: Question) -> list[Token]:
    """Drop the question's words from "port 8443" and the like if a value or code remains."""
    wanted = solid(reference)
    is_echo = all(token.word in _ECHOED or (token.value not in w.FILLERS and question.allows(token))
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
    return f"does not give the reference: {shown_of(solid(found))}"


def _behind(found: list[Token], end: int) -> list[Token]:
    rest = found[end:]
    is_short = found[end - 1].word in ("ltd", "inc", "co", "corp") and len(rest) > 1
    goes_on = is_short and rest[0].text == "." and rest[1].text[0].islower()
    return rest[1:] if goes_on else rest


def _before(found: list[Token], first: int, start: int, wanted: Wanted, question: Question) -> str:
    for sentence in sentences(found[:first]):
        if said := _earlier(sentence, question):
            return said
    own = solid(_without_place(found[first:start]))
    if wanted.is_time and own and own[-1].value == "after":
        own = own[:-1]  # "times out after 30 s"
    shown = shown_of(own)
    new = {token.word for token in own} - question.words
    if new & w.NEGATIONS:
        return f"denies or excludes it: {shown}"
    if new & w.HEDGES:
        return f"hedges: {shown}"
    excluding = w.EXCLUDING | (w.LIMITS if wanted.tokens[0].kind == "number" else set())
    is_event = len(own) > 1 and wanted.tokens[0].kind == "date" and own[-1].word in (
        "on", "in")  # "was released on"
    modifiers = w.MODIFIERS | ({"was", "were"} if question.is_present and not is_event else set())
    if new & excluding & {token.word for token in own[-2:]} or any(
            stem(word) not in question.topic for word in new & modifiers):
        return f"another amount or an earlier value: {shown}"
    behind = until_mark(found[wanted.end_in(found, start) or start:])
    if new & (w.PAST | question.opposites) or not wanted.is_phrase and (
            swapped(own, question, behind) or swapped(behind, question, own)):
        return f"about the opposite: {shown}"
    if all(question.allows(token) for token in own):
        return ""
    return _in_other_words(own, found[start:], wanted, question)


# What follows "In Data sheet, Network: ", unless it names another model or version
def _without_place(sentence: list[Token]) -> list[Token]:
    texts = [token.text for token in sentence]
    place = texts.index(":") if ":" in texts and texts[0] in ("In", "Under") else 0
    is_model = re.search(r"\d", "".join(texts[:place]))
    return sentence[place + 1:] if place and not is_model else sentence


def _earlier(sentence: list[Token], question: Question) -> str:
    own = solid(sentence)
    odd = [token for token in own if not question.allows(token)]
    is_lead = bool(sentence) and any(token.text == ":" for token in sentence[-2:])
    if not odd or (is_lead and not has(own, w.NEGATIONS)):
        return ""
    return f"begins with something else: {shown_of(own)}"


# It must contain all that the question asks about, or only have another verb, and no other name,
# value, subject or opposite
def _in_other_words(own: list[Token], rest: list[Token], wanted: Wanted, question: Question) -> str:
    sentence = own + solid(until_end(rest))
    shown = shown_of(own)
    odd = [token for token in own if not question.allows(token)]
    if own[-1].value == "and":
        return f"a second value: {shown}"
    if any(not is_plain(token) for token in odd if token is not own[0]) or (
            odd and odd[0] is own[0] and sort_of(own[0])[0] != "word"):
        return f"about something else: {shown}"
    words = {token.word for token in sentence}
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
    stems = {stem(word) for word in words}
    if not question.needed or not question.needed <= stems:
        return f"not about what is asked: {shown}"
    return "" if len(odd) <= 6 else f"too much before it: {shown}"


# Whether words are about "the admin port" or "the port of Sorrel"
def _is_of_another(own: list[Token], odd: list[Token], question: Question) -> bool:
    return any((one in odd and stem(other.word) in question.needed)
               or (one.value in ("of", "for") and other in odd)
               for one, other in zip(own, own[1:], strict=False))
