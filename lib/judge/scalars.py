"""Judge an answer that must give one value or phrase, or yes or no."""

import re
from collections import Counter
from collections.abc import Sequence

from lib.core.values import Token, solid
from lib.judge.matching import content, find, is_equal, is_rival, may_equal, without_asked
from lib.judge.words import (
    _DIRECTED,
    BOUNDS,
    CONNECTORS,
    HEDGES,
    NEGATIONS,
    REMARKING,
    TURNS,
    Question,
    key,
    opposites,
    sign_of,
    sort_of,
)

Decision = tuple[str, str]
_HARD = ("number", "date", "code", "name")
_NUMBER_WORDS = frozenset("dozen half quarter third hundred thousand double twice pair single none "
                          "zero both noon midnight once".split())
_UNSURE = frozenset("but however wait unless idea only may can".split())
_UNKNOWING = ("not know", "not specified", "not mentioned", "not stated", "no information",
              "not provided", "not sure", "no idea")


def shown(found: Sequence[Token]) -> str:
    """Return the first words of a text, for a reason."""
    return repr(" ".join(token.text for token in list(found)[:8] if token.text != "\n"))


def judge_sign(wanted: bool, reference: list[Token], found: list[Token],
               question: Question) -> Decision:
    """Return the decision on an answer that must mean yes (True) or no."""
    said = _sign_in(found, question)
    if said is None:
        return "unscored", f"says neither yes nor no clearly: {shown(found)}"
    known = set(map(key, reference)) | question.keys | {("word", "not")}
    turns = [token for token in solid(found) if token.word in TURNS and key(token) not in known]
    if said == wanted and turns and sign_of(solid(found)[0]) is not None:
        return "unscored", f"says more than can be judged: {turns[0].text!r}"
    word = "yes" if said else "no"
    return ("correct" if said == wanted else "incorrect"), f"means {word}: {shown(found)}"


def _sign_in(found: list[Token], question: Question) -> bool | None:
    own = solid(found)
    if not own or any(token.text == "?" for token in found):
        return None
    rest, first = own[1:], sign_of(own[0])
    new = [token for token in own if key(token) not in question.keys]
    is_unsure = any(token.word in HEDGES | _UNSURE for token in new)
    is_both = any(token.word in ("yes", "no") and sign_of(token) != first and (
        place + 1 == len(found) or not found[place + 1].is_solid or token.word == "yes")
        for place, token in enumerate(found) if place)
    if is_unsure or is_both and first is not None:
        return None
    turned = question.turned(own)
    if first is not None:
        is_denied = any(token.word == "not" for token in rest) or turned is not None
        return None if first and is_denied else first
    by = [token for token in own if token.word == "by"][:1]
    signs = [sign_of(token) for token in own if sign_of(token) is not None
             and (token.word not in ("on", "off") or own[own.index(token) + 1:][:1] in ([], by))]
    denials = sum(token.word in NEGATIONS for token in new
                  if sign_of(token) is None and token is not turned)
    others = [token for token in new if not question.allows(token) and token.word not in NEGATIONS
              and sign_of(token) is None and token is not turned]
    if others or len(signs) > 1 or denials > 1:
        return None
    if signs:
        return signs[0] != bool(denials)
    has_topic = any(key(token) in question.keys for token in own) or turned is not None or denials
    return (denials + (turned is not None)) % 2 == 0 if has_topic else None


def judge_value(reference: list[Token], found: list[Token], question: Question) -> Decision:
    """Return the decision on an answer that must give a value, name or phrase."""
    phrase = content(reference)
    wanted = without_asked(phrase, question)
    for one in (phrase, wanted, _asked_value(phrase, question)):
        if one and (spans := _spans(one, found)):
            return _matched(one, spans, phrase, found, question)
    return _missed(wanted, phrase, found, question)


# The value in a sentence that answers "How long …?" or "When …?"
def _asked_value(phrase: list[Token], question: Question) -> list[Token]:
    hard = [token for token in phrase if sort_of(token) in ("number", "date")]
    asks = question.text.lower()
    is_asked = asks.startswith(("how long", "how many", "how much", "how far", "how often", "when"))
    is_asked |= asks.startswith(("what temperature", "at what", "in which year", "by how much"))
    return hard if is_asked and len(hard) == 1 and not any(
        token.word in TURNS for token in phrase) else []


def _spans(phrase: list[Token], found: list[Token]) -> list[tuple[int, int]]:
    ends = ((start, find(phrase, found, start)) for start in range(len(found)))
    spans: list[tuple[int, int]] = []
    for start, end in ends:
        if end is not None and (not spans or start >= spans[-1][1]):
            spans.append((start, end))
    return spans


def _sentences(found: list[Token]) -> list[tuple[int, int]]:
    ends = [place for place, token in enumerate(found) if token.kind == "end"] + [len(found)]
    starts = [0, *(end + 1 for end in ends[:-1])]
    return [span for span in zip(starts, ends, strict=True) if solid(found[slice(*span)])]


def _matched(phrase: list[Token], spans: list[tuple[int, int]], whole: list[Token],
             found: list[Token], question: Question) -> Decision:
    inside = {place for start, end in spans for place in range(start, end)}
    known = {key(token) for token in whole}
    new = {place: token for place, token in enumerate(found)
           if token.is_solid and place not in inside and key(token) not in known}
    start, end = spans[0]
    first, last = next(one for one in _sentences(found) if one[0] <= start < one[1])
    before = [new[place] for place in range(first, start) if place in new]
    before_new = [token for token in before if key(token) not in question.keys]
    rivals = _rivals(phrase, new, question)
    if any(token.word in NEGATIONS for token in before_new):
        verdict = "unscored" if rivals else "incorrect"
        return verdict, f"denies or excludes it: {shown(found[first:last])}"
    is_time = phrase[0].kind == "number" and phrase[0].value[0] == "time"
    bounds = BOUNDS | (set() if is_time else {"before", "after"})
    if any(token.word in bounds for token in before_new[-1:]):
        is_amount = phrase[0].kind in ("number", "date") and not question.is_open
        verdict = "incorrect" if is_amount else "unscored"
        return verdict, f"gives a bound: {shown(found[start - 1:end])}"
    if decision := _with_rivals(rivals, spans, found):
        return decision
    if (word := question.turned([new[place] for place in range(first, last) if place in new])):
        return "incorrect", f"about the opposite, {word.text!r}: {shown(found[first:last])}"
    strange = _strange(new, found, spans, (first, last), question)
    return ("unscored", f"says more than can be judged: {strange}") if strange else (
        "correct", "gives the reference")


# Values of the kinds in the reference that neither it nor the question has
def _rivals(phrase: list[Token], new: dict[int, Token], question: Question) -> list[int]:
    sorts = {sort_of(token) for token in phrase} - {"word"}
    units = {token.value[0] for token in phrase if token.kind == "number"}
    return [place for place, token in new.items() if sort_of(token) in sorts
            and not question.allows(token) and token.word not in TURNS
            and (token.kind != "number" or token.value[0] in units) and token.text[0] != "±"
            and not any(may_equal(token, one) for one in phrase)]


def _with_rivals(rivals: list[int], spans: list[tuple[int, int]],
                 found: list[Token]) -> Decision | None:
    start, end = spans[0]
    for place in rivals:
        between = found[end:place] if place >= end else found[place + 1:start]
        if all(token.word in CONNECTORS for token in between):
            return "incorrect", f"offers another value: {found[place].text!r}"
    after = [token.word for token in found[end:] if token.word not in (",", "\n")][:1]
    if after in (["or"], ["and/or"]) and not rivals:
        return "incorrect", f"offers another value: {shown(found[end:])}"
    return ("unscored", f"has another value too: {found[rivals[0]].text!r}") if rivals else None


def _strange(new: dict[int, Token], found: list[Token], spans: list[tuple[int, int]],
             sentence: tuple[int, int], question: Question) -> str:
    start, end = spans[0]
    depth, is_remark = 0, False
    if found[end:end + 1] and found[end].text.istitle() and end in new and (
            found[end].word not in {token.word for token in question.tokens}):
        return repr(found[end].text)
    is_present = not question.keys & {("word", "was"), ("word", "were"), ("word", "did")}
    if is_present and any(token.word in ("was", "were", "had") for token in found[:start]):
        return "what was"
    known = {key(token) for token in found[start:end]}
    is_hard = any(sort_of(token) in ("number", "date", "code") for token in found[start:end]
                  ) and question.is_restated(found)
    if any(key(token) in known and token.is_solid and len(known) > 1 for token in found[end:]
           ) and len(spans) == 1 and any(place > sentence[1] for place in new):
        return "a second line"
    for place, token in enumerate(found):
        depth = max(0, depth + {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0))
        if place >= sentence[1] or place == end and token.word in REMARKING | {",", "("}:
            is_remark = True
        if place not in new:
            continue
        is_turn = token.word in TURNS and key(token) not in question.keys
        is_soft = sort_of(token) == "word" and (is_remark or is_hard)
        if is_turn or not (question.allows(token) or depth or is_soft):
            return repr(token.text)
    return ""


def _missed(wanted: list[Token], phrase: list[Token], found: list[Token],
            question: Question) -> Decision:
    own = solid(found)
    known = {key(token) for token in phrase}
    words = [token.word for token in own]
    if any(one in " ".join(words) for one in _UNKNOWING):
        return "incorrect", f"does not answer: {shown(own)}"
    new = [token for token in own if key(token) not in known and not question.allows(token)]
    lacking = [token for token in wanted if not any(is_equal(token, one) for one in own)]
    odd = new or lacking
    if odd and not (new and lacking) and all(token.word in ("not", "never") for token in odd):
        return "incorrect", f"turns {odd[0].text!r} around: {shown(own)}"
    if not lacking:
        return _rearranged(wanted, own, new)
    is_vague = any(token.word in _NUMBER_WORDS for token in new)
    is_figured = any(token.kind != "word" or re.search(r"\d|/", token.text) for token in new)
    if len(wanted) == len(own) == 1 and lacking and _is_other_kind(own[0], wanted[0]):
        return "incorrect", f"gives {own[0].text!r}, not {wanted[0].text!r}"
    for token in () if is_vague else lacking:
        sort = sort_of(token)
        rivals = [one for one in new if sort != "word" and is_rival(one, token)]
        if any(may_equal(token, one) for one in own) or sort == "name" and _may_be(rivals, wanted):
            continue
        if rivals:
            return "incorrect", f"gives {rivals[0].text!r}, not {token.text!r}"
        is_figure = sort in ("number", "date") or sort == "code" and re.search(r"[/\d]", token.text)
        if is_figure and len(wanted) < 5 and not is_figured and not TURNS.intersection(words):
            return "incorrect", f"lacks {token.text!r}: {shown(own)}"
    if len(lacking) == len(wanted) > 1 and not _may_be(own, wanted) and all(
            sort_of(token) == "name" for token in wanted):
        return "incorrect", f"has no word of the name: {shown(own)}"
    return _other_words(lacking, new, own)


# A bare date for a size, a path for a date
def _is_other_kind(one: Token, other: Token) -> bool:
    sorts = {sort_of(one), sort_of(other)}
    units = {str(token.value[0]) for token in (one, other) if token.kind == "number"}
    is_amount = "" not in units and not may_equal(one, other)
    return is_amount and sorts <= {"number", "date", "code"} and len(sorts) + len(units) > 2


def _may_be(found: list[Token], wanted: list[Token]) -> bool:
    initials = "".join(token.text[0].lower() for token in wanted)
    starts = {token.word[:3] for token in wanted}
    return any(one.word == initials or one.word[:3] in starts for one in found)


# The same words in another order, which may mean another thing
def _rearranged(wanted: list[Token], own: list[Token], new: list[Token]) -> Decision:
    is_directed = any(token.word in _DIRECTED for token in wanted)
    hard = [key(token) for token in wanted if sort_of(token) in _HARD]
    order = [key(token) for token in own if key(token) in hard]
    if new or is_directed or order[:len(hard)] != hard or Counter(hard) - Counter(order):
        return "unscored", f"has the words in another order: {shown(own)}"
    return "correct", "gives the words of the reference"


def _other_words(lacking: list[Token], new: list[Token], own: list[Token]) -> Decision:
    for token in lacking:
        other = next((one for one in new if key(one) in opposites(key(token))), None)
        if other is not None:
            return "incorrect", f"gives {other.text!r}, not {token.text!r}"
    return "unscored", f"says it in other words, or another thing: {shown(own)}"
