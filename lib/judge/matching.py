"""Compare tokens: what is equal, what could be equal, and what is another value of a kind."""

import re
from collections.abc import Sequence
from fractions import Fraction

from lib.core.values import Token, solid
from lib.judge.words import Question, key, sort_of

HARD = ("number", "date", "code")
_LOOSE = frozenset("a an the is are was were be been being has have had that which its their your "
                   "our of for".split())
_CODE = re.compile(r"(?<![\w./-])([A-Za-z]{1,6})([ /-]?)(\d{1,9}(?:\.\d{1,9}){0,3}[A-Za-z]{0,2})"
                   r"(?![\w]|[-./]\w)")
CONVERTIBLE = ({"celsius", "fahrenheit", "K"}, {"time", "month"})
_STEP = Fraction(1024, 1000)


def respelled(text: str, like: str) -> str:
    """Return `text` with its codes of letters and digits as in `like`: "IP54" for "IP 54"."""
    known = {_squeezed(match): match[0] for match in _CODE.finditer(like)}
    return _CODE.sub(lambda match: known.get(_squeezed(match), match[0]), text)


def _squeezed(match: re.Match) -> str:
    return match[1].casefold() + match[3].casefold()


def is_equal(one: Token, other: Token) -> bool:
    """Return whether two tokens mean the same; memory may be counted in steps of 1000 or 1024."""
    if key(one) == key(other) or one.kind == other.kind == "word" and one.word == other.word:
        return True
    if one.kind != "number" or other.kind != "number" or not (
            one.value[0] == other.value[0] == "memory"):
        return False
    ratio = Fraction(one.value[1]) / Fraction(other.value[1] or 1)
    return any(ratio in (_STEP ** power, 1 / _STEP ** power) for power in (1, 2, 3, 4))


def is_rival(one: Token, other: Token) -> bool:
    """Return whether two tokens are different values of one kind: dimension, date, form of code.

    Values that could be equal are no rivals: amounts within 2%, or without a unit, and parts.
    """
    if sort_of(one) != sort_of(other) or is_equal(one, other):
        return False
    if one.kind == "number":
        amounts = [token.value[1] for token in (one, other)]
        if one.value[0] != other.value[0]:
            units = {str(one.value[0]), str(other.value[0])}
            return "" not in units and _digits(one) == _digits(other) and not any(
                units <= kind for kind in CONVERTIBLE)
        are_plain = all(isinstance(amount, Fraction) for amount in amounts) and amounts[0] != 0
        is_near = are_plain and abs(amounts[1] / amounts[0] - 1) < Fraction(1, 50)
        return not is_near or re.sub(r"[\d.,]", "", one.text) == re.sub(r"[\d.,]", "", other.text)
    if one.kind == "date":
        return len(one.value) == len(other.value)
    shorter, longer = sorted((one.word, other.word), key=len)
    return shorter not in longer and (sort_of(one) != "code" or _form(one) == _form(other))


def _digits(token: Token) -> str:
    return re.sub(r"[^\d.]", "", token.text)


def _form(token: Token) -> str:
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", token.text))


def may_share(one: Token, other: Token) -> bool:
    """Return whether two words could name the same thing: they begin alike or share digits."""
    digits = _digits(one).strip(".")
    return one.word[:3] == other.word[:3] or bool(digits) and digits == _digits(other).strip(".")


def find(phrase: Sequence[Token], found: Sequence[Token], start: int,
         ends: str = ".\n|;") -> int | None:
    """Return where `phrase` ends if it begins at found[start]; marks and articles may differ."""
    place = start
    for wanted in phrase:
        while place > start and place < len(found) and not is_equal(wanted, found[place]) and (
                found[place].word in _LOOSE or not found[place].is_solid
                and found[place].text not in ends):
            place += 1
        if place >= len(found) or not is_equal(wanted, found[place]):
            return None
        place += 1
    return place


def content(found: Sequence[Token]) -> list[Token]:
    """Return the tokens of a reference that an answer must have."""
    own = solid(list(found))
    return [token for token in own if token.word not in _LOOSE or token.text == "A"] or own


def without_asked(phrase: list[Token], question: Question) -> list[Token]:
    """Return a reference without words of the question, if a value or name remains."""
    rest = [token for token in phrase if key(token) not in question.keys or sort_of(token) in (
        "number", "date")]
    return rest if rest and any(sort_of(token) != "word" for token in rest) else phrase
