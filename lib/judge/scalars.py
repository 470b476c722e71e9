"""Judge an answer that must give one value: where it states it, and what it says around it."""

import re
from collections.abc import Iterator
from itertools import islice

from lib.core.values import Token, solid
from lib.judge.matching import Wanted, sort_of
from lib.judge.wording import (
    CLAUSES,
    CONNECTORS,
    DENIALS,
    EXCLUDING,
    FILLERS,
    HEDGES,
    LIMITS,
    NAME_CLAUSES,
    NEGATIONS,
    RETRACTIONS,
    VERBS,
    Question,
    is_plain,
    stem,
)

_MOST_PLACES = 8  # of the value in an answer; the first that is not objected to decides
_SHORT = 3  # words of a second name: "Linux, QNX"
_LONGEST_ITEM = 5  # words of one on a line of its own
_UNTIL_NOW = frozenset("from than of formerly previously not".split())  # before what is not offered


def without_echo(reference: list[Token], question: Question) -> list[Token]:
    """Drop the question's words from "port 8443" and the like if a value or code remains."""
    wanted = solid(reference)
    is_echo = all(question.allows(token) for token in wanted[:-1])
    has_value = len(wanted) > 1 and sort_of(wanted[-1])[0] != "word"
    return wanted[-1:] if has_value and is_echo else wanted


def complaint(wanted: Wanted, found: list[Token], question: Question, *,
              is_item: bool = False) -> str:
    """Return the objection to an answer, the lines of one paragraph; "" if it gives the value.

    With `is_item`, the value is the only one of a list: any other item is an objection.
    """
    complaints = []
    starts = _sentence_starts(found)
    for start, end in islice(_occurrences(wanted, found), _MOST_PLACES):
        first = starts[start]
        said = _before(found, first, start, wanted, question) or _after(
            _behind(found, end), wanted, question, is_item=is_item)
        if not said:
            return ""
        complaints.append(said)
    shown = " ".join(token.text for token in solid(found)[:6])
    return complaints[0] if complaints else f"does not give the reference: {shown!r}"


def _occurrences(wanted: Wanted, found: list[Token]) -> Iterator[tuple[int, int]]:
    for start, token in enumerate(found):
        if token.is_solid and (end := wanted.end_in(found, start)) is not None:
            yield start, end


def _behind(found: list[Token], end: int) -> list[Token]:
    """Return the tokens after a value, without the full stop of an abbreviation."""
    rest = found[end:]
    is_short = str(found[end - 1].value) in ("ltd", "inc", "co", "corp") and len(rest) > 1
    goes_on = is_short and rest[0].text == "." and rest[1].text[0].islower()
    return rest[1:] if goes_on else rest


def _sentence_starts(found: list[Token]) -> list[int]:
    """Return for each token where its sentence or line begins."""
    starts, first = [], 0
    for place, token in enumerate(found):
        starts.append(first)
        if token.kind == "end":
            first = place + 1
    return starts


def _before(found: list[Token], first: int, start: int, wanted: Wanted,
            question: Question) -> str:
    """Return the objection to what precedes the value: earlier sentences, and its own."""
    for sentence in _sentences(found[:first]):
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
    last = own[-1] if own and found[start - 1].is_solid else None
    is_word = sort_of(wanted.tokens[0])[0] == "word"
    if last is not None and is_word and not wanted.is_phrase and not _opens(last, question):
        return f"part of another name: {shown}"
    if _is_from(found[first:], start - first):
        return f"the earlier of two values: {shown}"
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
    if not odd or (is_lead and not _has(own, NEGATIONS)):
        return ""
    return f"begins with something else: {' '.join(token.text for token in own[:6])!r}"


def _opens(token: Token, question: Question) -> bool:
    """Return whether a name can begin after this word: "uses Linux", but not "Arch Linux"."""
    word = str(token.value)
    is_inflected = stem(word) in question.allowed and word not in question.words
    return word in FILLERS or is_inflected or word == question.last or word in RETRACTIONS


def _in_other_words(own: list[Token], rest: list[Token], wanted: Wanted,
                    question: Question) -> str:
    """Return the objection to a sentence that is more than a restatement of the question.

    It must contain all that the question asks about, and no other name, value or opposite.
    """
    sentence = own + _sentence(rest)
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
    if sort_of(wanted.tokens[0])[0] == "word" and not _is_before_topic(odd, own, question):
        return f"another value first: {shown}"
    stems = {stem(word) for word in words}
    if not question.needed or not question.needed <= stems:
        return f"not about what is asked: {shown}"
    return "" if len(odd) <= 6 else f"too much before it: {shown}"


def _is_before_topic(odd: list[Token], own: list[Token], question: Question) -> bool:
    """Return whether words not in the question are adverbs, or all before its last word."""
    places = [place for place, token in enumerate(own) if stem(str(token.value)) in question.topic]
    late = own[max(places, default=0):]
    return not any(token in late and not str(token.value).endswith("ly") for token in odd)


def _after(rest: list[Token], wanted: Wanted, question: Question, *, is_item: bool) -> str:
    """Return the objection to a value followed by `rest`, "" if `rest` is only surplus.

    Examples are for the value "8443".
    """
    said = (_directly_after(rest, wanted, question, is_item=is_item)
            or _rival(_until_end(rest), wanted, question))
    if said:
        return said
    for sentence in _sentences(rest[len(_until_end(rest)):]):
        if said := _later(sentence, wanted, question, is_item=is_item):
            return said
    return ""


def _directly_after(rest: list[Token], wanted: Wanted, question: Question, *,
                    is_item: bool) -> str:
    following = solid(rest)
    if not following or rest[0].kind == "end":
        is_asked = bool(rest) and rest[0].text == "?"
        return "asks instead of answering" if is_asked else ""
    first, word = rest[0], str(following[0].value)
    second = str(following[1].value) if len(following) > 1 else ""
    shown = repr(" ".join(token.text for token in following[:4]))
    if word == "and":  # against: "8443 and 9000"; surplus: "8443 and it can …"
        sort = sort_of(wanted.tokens[-1])
        is_value = sort[0] != "word" and not is_item
        continues = second in VERBS or (is_value and second and sort_of(following[1]) != sort)
        return "" if continues else f"offers another value: {shown}"
    if word in HEDGES or word in RETRACTIONS or (word == "to" and len(following) > 1
                                                 and sort_of(following[1])[0] != "word"):
        is_or_other = word == "but" and second in NEGATIONS
        return "" if is_or_other else f"offers another value: {shown}"
    if not first.is_solid:  # surplus: "8443 (TCP)", "8443, TCP"; against: "Linux, QNX"
        return _after_mark(first, rest, wanted, question, is_item=is_item)
    # surplus: "8443 for TLS", "8443 is the default port"; against: "8443 9000", "8443 is wrong"
    clause = _until_mark(rest)
    if any(str(token.value) in DENIALS for token in clause):
        return f"denies it: {shown}"
    is_name = sort_of(wanted.tokens[-1])[0] == "word" and not wanted.is_phrase
    is_clause = word in (NAME_CLAUSES if is_name else CLAUSES)
    is_restated = question.allows(first) and (
        all(map(question.allows, clause)) or len(clause) > 1 and _is_verb(first, question))
    return "" if is_clause or is_restated else f"continues with something else: {shown}"


def _is_verb(token: Token, question: Question) -> bool:
    """Return whether "Halvorsen manufactures the valve" may go on after this word."""
    word = str(token.value)
    return word in VERBS or word in CONNECTORS or (
        stem(word) in question.allowed and word.endswith(("s", "ed")))


def _after_mark(mark: Token, rest: list[Token], wanted: Wanted, question: Question, *,
                is_item: bool) -> str:
    """Return the objection to words after a comma or bracket: another name, a denial."""
    part = _until_mark(rest[1:])
    shown = repr(" ".join(token.text for token in part[:4]))
    if mark.text in ("(", "["):
        is_bad = bool(part) and str(part[0].value) in HEDGES | NEGATIONS - {"not"}
        is_denied = bool(part) and part[0].value == "not" and len(part) < 3 and (
            sort_of(part[-1])[0] == "word")
        return f"takes it back: {shown}" if is_bad or is_denied else ""
    is_name = is_item or sort_of(wanted.tokens[-1])[0] == "word"
    if not part or mark.text not in (",", ";", "/", "|") or not is_name:
        return ""
    goes_on = str(part[0].value) in NAME_CLAUSES | VERBS | CONNECTORS | EXCLUDING or (
        part[0].kind != "word" and not is_item) or all(map(question.allows, part))
    is_listed = len(part) <= _SHORT and not goes_on
    return f"offers another value: {shown}" if is_listed else ""


def _rival(sentence: list[Token], wanted: Wanted, question: Question) -> str:
    """Return the objection to another value of the same sort in the rest of the sentence."""
    sorts = {sort_of(token) for token in wanted.tokens} - {("word", "")}
    worth = {token.value for token in wanted.tokens}
    before: Token | None = None
    for place, token in enumerate(sentence):
        if token.is_solid and sort_of(token) in sorts and token.value not in worth and not (
                question.allows(token)) and _is_offered(before, sentence[:place], question):
            return f"offers another value: {token.text!r}"
        before = token
    return ""


def _is_offered(before: Token | None, sentence: list[Token], question: Question) -> bool:
    """Return whether a value after `before` answers too: not in "version 2", "not 9000"."""
    if before is None or not before.is_solid:
        is_bracket = before is not None and before.text in ("(", "[")
        return not (is_bracket and len(sentence) < 2)
    word = str(before.value)
    if word in EXCLUDING or word in _UNTIL_NOW:
        return False
    return word in ("and", "to", "then", "now", "but", "is", "are", "be", "uses", *HEDGES) or (
        word in question.words)


def _later(sentence: list[Token], wanted: Wanted, question: Question, *, is_item: bool) -> str:
    """Return the objection to a sentence or line after the value: it takes it back or rivals it.

    Against: "No, 9000." "Wait, 9000." "9000" "The default port is 9000."; surplus: "No other port."
    """
    own = solid(sentence)
    if not own:
        return ""
    word, shown = str(own[0].value), repr(" ".join(token.text for token in own[:4]))
    is_no = word == "no" and any(not token.is_solid for token in sentence[1:3])
    if is_no or word in RETRACTIONS - {"but", "however"}:
        return f"takes it back: {shown}"
    odd = [token for token in own if not question.allows(token)]
    starts = wanted.end_in(odd, 0) is not None or not odd
    if starts or any(token.text == ":" for token in sentence[:-1]):
        return ""
    sorts = set() if is_item else {sort_of(token) for token in wanted.tokens} - {("word", "")}
    if len(odd) == 1 and sort_of(odd[0]) in sorts:
        return f"offers another value: {shown}"
    is_bare = len(own) <= _LONGEST_ITEM and not _has(own, VERBS) and not question.allows(own[0])
    is_restated = own[:-len(odd)] + odd == own and any(
        str(token.value) in question.words for token in own) and len(odd) <= _SHORT
    is_name = odd[-1] is own[-1] and (
        is_item or sort_of(wanted.tokens[-1])[0] in ("word", "code"))
    return f"offers another value: {shown}" if is_name and (is_bare or is_restated) else ""


def _sentences(found: list[Token]) -> Iterator[list[Token]]:
    sentence: list[Token] = []
    for token in found:
        if token.kind == "end":
            if solid(sentence):
                yield sentence
            sentence = []
        else:
            sentence.append(token)
    if solid(sentence):
        yield sentence


def _until_end(rest: list[Token]) -> list[Token]:
    end = next((place for place, token in enumerate(rest) if token.kind == "end"), len(rest))
    return rest[:end]


def _sentence(rest: list[Token]) -> list[Token]:
    return solid(_until_end(rest))


def _until_mark(rest: list[Token]) -> list[Token]:
    end = next((place for place, token in enumerate(rest) if not token.is_solid), len(rest))
    return rest[:end]


def _has(found: list[Token], words: frozenset[str]) -> bool:
    return any(str(token.value) in words for token in found)
