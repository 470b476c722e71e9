"""Write what an answer says in other words as the reference writes it.

A phrase has the same content if the same stems, amounts and codes are close together, in any order
and form: "the battery is running low" for "low battery". A word that turns a meaning around
("without", "above") must stand before the same word.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from lib.core.units import unit_of
from lib.core.values import Token, in_unit
from lib.judge.matching import Key, Wanted, first_key, key
from lib.judge.words import wording as w
from lib.judge.words.wording import Question, is_hard, stem

_LOOSE = (w.PREPOSITIONS | w.LINKING) - w.TURNING
_SPLIT = re.compile(r"(?:\d{1,4}|[a-z]{2,})(?:-[a-z]{2,})+")  # write-through, 8-pin
_MOST_BETWEEN = 2  # other words inside a phrase


@dataclass(frozen=True)
class _Part:
    key: Key
    raw: str
    first: int  # of its tokens
    last: int


def canonical(found: list[Token], wanted: list[Wanted], question: Question) -> list[Token]:
    """Return `found` with each of `wanted` that it has only in other words as `wanted` has it."""
    found = [_as_wanted(token, wanted) for token in found]
    parts = _parts(found)
    for one in wanted:
        is_verbatim = any(first_key(token) == one.first and one.end_in(found, place) is not None
                          for place, token in enumerate(found))
        if is_verbatim or one.is_name and not one.shared:
            continue
        phrase = [part for part in _parts(one.tokens) if part.raw not in _LOOSE]
        for segment in _segments(parts, in_list=one.in_list):
            if window := _window(phrase, segment, question, one):
                first, last = window
                marks = [token.text for token in found[first:last + 1]]
                last += marks.count("(") > marks.count(")") and found[last + 1:last + 2] != [] and (
                    found[last + 1].text == ")")
                found = [*found[:first], *one.tokens, *found[last + 1:]]
                parts = _parts(found)
                break
    return found


def _as_wanted(token: Token, wanted: list[Wanted]) -> Token:
    if token.kind != "number" or not str(token.value[0]).startswith("memory"):
        return token
    return next((one for value in wanted for one in value.tokens if one.kind == "number"
                 and one.value[0] == token.value[0] and _worths(one) & _worths(token)), token)


# The words of compounds apart, and "500 operating hours" as "500 hours operating"
def _parts(found: list[Token]) -> list[_Part]:
    parts: list[_Part] = []
    for place, token in enumerate(found):
        word = token.word
        if not token.is_solid:
            parts.append(_Part((token.kind, ""), token.text, place, place))
        elif token.kind != "word":
            parts.append(_Part(key(token), token.text, place, place))
        else:
            is_compound = _SPLIT.fullmatch(token.text) or (
                _SPLIT.fullmatch(word) and token.text.istitle())
            parts += [_Part(_key_of(piece), piece, place, place)
                      for piece in (word.split("-") if is_compound else [word])]
            amount = found[place - 2] if place > 1 and len(word) > 2 and unit_of(word) else token
            if amount.kind == "number" and parts[-2].key[0] == "word" and (
                    in_unit(amount, word) != amount):
                parts[-3:] = [_Part(key(in_unit(amount, word)), amount.text, place - 2, place),
                              parts[-2]]
    return parts


def _key_of(word: str) -> Key:
    if word.isdecimal() and len(word) < 10:
        return "number", ("", Fraction(word))
    return "word", stem(word[:-2] if len(word) > 5 and word.endswith("ly") else word)


def _segments(parts: list[_Part], *, in_list: bool) -> Iterator[list[_Part]]:
    segment: list[_Part] = []
    for part in parts:
        is_mark = part.key[0] == "separator" or (in_list and part.raw == "and")
        if part.key[0] == "end" or (in_list and is_mark and part.raw not in "()"):
            yield segment
            segment = []
        elif not is_mark:
            segment.append(part)
    yield segment


def _window(phrase: list[_Part], segment: list[_Part], question: Question,
            wanted: Wanted) -> tuple[int, int] | None:
    needed = Counter(part.key for part in phrase)
    own = list(_joined(segment, phrase))
    if needed.keys() - {part.key for part in own}:
        needed = _without_asked(phrase, question, wanted)
    best, start, seen, shortest = None, 0, Counter(), 3 * len(phrase) + 9
    for end, part in enumerate(own):
        seen[part.key] += part.key in needed
        while seen >= needed:
            stretch = own[start:end + 1]
            if len(stretch) < shortest and _says(stretch, phrase, needed, question):
                best, shortest = stretch, len(stretch)
            seen[own[start].key] -= own[start].key in needed
            start += 1
    return (best[0].first, max(part.last for part in best)) if best else None


# What is needed without the question's words: "P1" for "buffer P1"
def _without_asked(phrase: list[_Part], question: Question, wanted: Wanted) -> Counter:
    rest = [part for part in phrase if part.key[0] != "word" or (
        part.key[1] not in question.allowed)]
    is_enough = bool(rest) and rest in (phrase[:len(rest)], phrase[-len(rest):]) and (
        len(rest) > 1 or is_hard(wanted.tokens[rest[0].first]))
    rest = rest if is_enough else [part for part in phrase if part.key not in wanted.shared]
    return Counter(part.key for part in rest or phrase)


# Yield the parts with compounds as in the phrase: "over temperature", "timeout"
def _joined(segment: list[_Part], phrase: list[_Part]) -> Iterator[_Part]:
    raws = {part.raw for part in phrase}
    pairs = {one.raw + other.raw: (one, other)
             for one, other in zip(phrase, phrase[1:], strict=False)}
    place = 0
    while place < len(segment):
        part, after = segment[place], segment[place + 1:place + 2]
        if after and part.raw + after[0].raw in raws:
            word = part.raw + after[0].raw
            yield _Part(_key_of(word), word, part.first, after[0].last)
            place += 1
        elif part.raw in pairs:
            for one in pairs[part.raw]:
                yield _Part(one.key, one.raw, part.first, part.last)
        else:
            yield part
        place += 1


def _says(stretch: list[_Part], phrase: list[_Part], needed: Counter, question: Question) -> bool:
    odd = [part for part in stretch if part.key not in needed and part.raw not in _LOOSE
           and not question.restates(part.raw)]
    is_plain = all(part.key[0] == "word" and part.raw.endswith(("ing", "ed", "ly", "hand"))
                   for part in odd)
    return (is_plain and len(odd) <= _MOST_BETWEEN and _turns(stretch) == _turns(phrase)
            and _in_order(_values(stretch, needed), _values(phrase, needed)))


def _turns(parts: list[_Part]) -> set[tuple[str, Key]]:
    own = [part for part in parts if part.raw not in _LOOSE]
    after = [*(part.key for part in own[1:]), ("", "")]
    return {(part.raw, ("", "") if part.raw == "only" else behind)
            for part, behind in zip(own, after, strict=False) if part.raw in w.TURNING}


def _in_order(values: list[Key], wanted: list[Key]) -> bool:
    dimensions = [value[1][0] if value[0] == "number" else value[0] for value in wanted]
    is_free = len(set(dimensions)) == len(dimensions)
    return values == wanted or is_free and Counter(values) == Counter(wanted)


def _values(parts: list[_Part], needed: Counter) -> list[Key]:
    return [part.key for part in parts if part.key[0] != "word" and part.key in needed]


def mark_shared(wanted: list[Wanted], question: Question) -> None:
    """Let the items of a list leave out a word that all have and the question has: "sensor"."""
    stems = [{part.key for part in _parts(one.tokens)} for one in wanted]
    shared = set.intersection(*stems) if len(stems) > 1 else set()
    for one in wanted:
        one.shared = {part for part in shared if part[1] in question.allowed}


def _worths(token: Token) -> set[Fraction]:
    prefix = re.search(r"[\d ]([kmgt])[bilmaei]", token.text.lower())
    steps = "kmgt".index(prefix[1]) + 1 if prefix and "ib" not in token.text.lower() else 0
    return {token.value[1], token.value[1] * Fraction(1000, 1024) ** steps}
