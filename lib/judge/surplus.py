"""Judge what follows a value in an answer: surplus, a denial, or another value."""

from lib.core.values import Token, solid
from lib.judge.matching import Wanted, has, sentences, shown_of, sort_of, until_end
from lib.judge.words import wording as w
from lib.judge.words.claims import conflict
from lib.judge.words.wording import Question, is_plain, stem, words_of

_OTHER = w.MODIFIERS | w.FORMER | w.LIMITS
_VOID = frozenset("wrong incorrect outdated obsolete invalid superseded".split())
_EXTENTS = frozenset("high wide long deep thick tall broad heavy".split())  # if not asked for
_SAME = ("in other words", "that is", "that means", "this means", "in short", "put differently",
         "more precisely", "to be precise")
_SHORT = 3  # words of a second name: "Linux, QNX"
_LONGEST_ITEM = 5  # words of one on a line of its own
_ELSEWHERE = w.MODIFIERS | w.FORMER | words_of(  # "8443 and can be set to 9000", "not 9000"
    "can may could from version release not instead rather than unlike since page section chapter "
    "table step up")


def objection_after(rest: list[Token], wanted: Wanted, question: Question, *, is_item: bool) -> str:
    """Return the objection to a value followed by `rest`, "" if `rest` is only surplus.

    Examples are for the value "8443".
    """
    said = (_directly_after(rest, wanted, question, is_item=is_item)
            or _rival(until_end(rest), wanted, question) or _by_case(until_end(rest)))
    if said:
        return said
    for sentence in sentences(rest[len(until_end(rest)):]):
        if said := _later(sentence, wanted, question, is_item=is_item):
            return said
    return ""


def _directly_after(rest: list[Token], wanted: Wanted, question: Question, *, is_item: bool) -> str:
    following = solid(rest)
    if not following or rest[0].kind == "end":
        is_asked = bool(rest) and rest[0].text == "?"
        return "asks instead of answering" if is_asked else ""
    if following[0].text.startswith("±"):  # "25 mm ±0.1 mm"
        return ""
    first, word = rest[0], following[0].word
    second = following[1].word if len(following) > 1 else ""
    shown = shown_of(following)
    if word == "and":  # against: "8443 and 9000"; surplus: "8443 and it can …"
        sort = sort_of(wanted.tokens[-1])
        is_value = sort_of(wanted.tokens[0])[0] != "word" and not is_item
        continues = second in w.VERBS or (is_value and second and sort_of(following[1]) != sort)
        return "" if continues else f"offers another value: {shown}"
    if word in w.HEDGES or word in w.RETRACTIONS or (
            word in ("to", "through") and len(following) > 1
            and sort_of(following[1])[0] != "word"):
        is_or_other = word == "but" and second in w.NEGATIONS
        return "" if is_or_other else f"offers another value: {shown}"
    if not first.is_solid:  # surplus: "8443 (TCP)", "8443, TCP"; against: "Linux, QNX"
        return _after_mark(first, rest, wanted, question, is_item=is_item)
    # surplus: "8443 for TLS", "8443 is the default port"; against: "8443 9000", "8443 is wrong"
    clause = until_mark(rest)
    if any(token.word in w.DENIALS and not question.allows(token) for token in clause):
        return f"denies it: {shown}"
    is_name = sort_of(wanted.tokens[-1])[0] == "word" and not wanted.is_phrase
    is_amount = wanted.tokens[-1].kind == "number" and bool(wanted.tokens[-1].value[0])
    is_more = is_amount and is_plain(first) and not has(clause, _OTHER) and (
        word not in _EXTENTS or question.allows(first))
    is_clause = word in (w.NAME_CLAUSES if is_name else w.CLAUSES) or is_more
    goes_on = is_name and first.text[0].isupper() and word not in question.words  # "Ek Holding"
    is_restated = not goes_on and all(map(question.allows, clause))
    return "" if is_clause or is_restated else f"continues with something else: {shown}"


def _after_mark(mark: Token, rest: list[Token], wanted: Wanted, question: Question, *,
                is_item: bool) -> str:
    part = until_mark(rest[1:])
    shown = shown_of(part)
    if mark.text in ("(", "["):
        is_bad = bool(part) and part[0].word in w.HEDGES | w.NEGATIONS - {"not"}
        is_denied = bool(part) and part[0].value == "not" and len(part) < 3 and (
            sort_of(part[-1])[0] == "word")
        return f"takes it back: {shown}" if is_bad or is_denied else ""
    is_name = is_item or sort_of(wanted.tokens[0])[0] == "word"
    if not part or mark.text not in (",", ";", "/", "|") or not is_name:
        return ""
    opening = w.NAME_CLAUSES | w.VERBS | w.CONNECTORS | w.EXCLUDING
    goes_on = part[0].word.endswith(("ed", "ing")) and len(part) > 1 or part[0].word in opening or (
        part[0].kind != "word" and not is_item) or all(map(question.allows, part))
    is_listed = len(part) <= _SHORT and not goes_on
    return f"offers another value: {shown}" if is_listed else ""


# The objection to a value for each case: "green when active, off when idle"
def _by_case(rest: list[Token]) -> str:
    if not rest or rest[0].value not in w.CLAUSES:
        return ""
    marks = [place for place, token in enumerate(rest) if token.text in (",", ";", "and")]
    others = [place for place, token in enumerate(rest) if place and token.value == rest[0].value]
    is_second = any(place - 1 not in marks and marks and marks[0] < place for place in others)
    return "another value in another case" if is_second else ""


# A clause that says what can be set or what was, or names a maximum, is about something else,
# unless the sentence says that it is about the same
def _rival(sentence: list[Token], wanted: Wanted, question: Question, *,
           is_same: bool = False) -> str:
    sorts = {sort_of(token) for token in wanted.tokens} - {("word", "")}
    worth = {token.value for token in wanted.tokens}
    clause: list[str] = []
    depth = 0
    for place, token in enumerate(sentence):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0)
        clause = [] if token.text in (",", ";", "and", "but", "(") else [*clause, token.word]
        is_rival = (token.is_solid and sort_of(token) in sorts and token.value not in worth
                    and not token.text.startswith("±") and not question.allows(token))
        is_other = (_ELSEWHERE - question.words).intersection(clause)
        if is_rival and (is_same or not is_other) and _is_offered(sentence, place, depth, question):
            return f"offers another value: {token.text!r}"
    return ""


# Whether a value answers too: not in "(2 on request)", "2 inputs" and "2 of them"
def _is_offered(sentence: list[Token], place: int, depth: int, question: Question) -> bool:
    before, after = sentence[place - 1] if place else None, sentence[place + 1:place + 2]
    if depth:
        word = before.word if before is not None and before.is_solid else ""
        return word in ("and", "to", "then", "now", "but", "is", "are", *w.HEDGES) or (
            before is not None and before.is_solid and stem(word) in question.topic)
    is_counted = sort_of(sentence[place])[1] == "whole" and after and after[0].kind == "word" and (
        after[0].value == "of" or not question.allows(after[0]) and is_plain(after[0]))
    return not is_counted


# Against: "No, 9000." "Wait, 9000." "9000" "The default port is 9000."; surplus: "No other port."
def _later(sentence: list[Token], wanted: Wanted, question: Question, *, is_item: bool) -> str:
    own = solid(sentence)
    word, shown = own[0].word, shown_of(own)
    is_no = word == "no" and any(not token.is_solid for token in sentence[1:3])
    if is_no or word in w.RETRACTIONS - {"but", "however"}:
        return f"takes it back: {shown}"
    odd = [token for token in own if not question.allows(token)]
    is_same = any(wanted.end_in(own, place) is not None for place in range(len(own)))
    if is_same or not odd or any(token.text == ":" for token in sentence[:-1]):
        return ""
    is_same = " ".join(token.word for token in own[:3]).startswith(_SAME)
    rival = "" if is_item or not is_same and conflict(own, question) else _rival(
        sentence, wanted, question, is_same=is_same)
    if rival or has(own, _VOID) and not has(own, w.NEGATIONS):
        return rival or f"takes it back: {shown}"
    is_bare = len(own) <= _LONGEST_ITEM and not has(own, w.VERBS) and not question.allows(own[0])
    is_restated = odd[-1] is own[-1] and own[:-len(odd)] + odd == own and any(
        token.word in question.words for token in own) and len(odd) <= _SHORT
    is_name = is_item or sort_of(wanted.tokens[-1])[0] in ("word", "code")
    return f"offers another value: {shown}" if is_name and (is_bare or is_restated) else ""


def until_mark(rest: list[Token]) -> list[Token]:
    end = next((place for place, token in enumerate(rest) if not token.is_solid), len(rest))
    return rest[:end]
