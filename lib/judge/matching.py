"""Find phrases in the tokens of an answer: any inflection, unit or spelling of a code."""

import re
from collections.abc import Sequence
from fractions import Fraction

from lib.core.values import Token, solid
from lib.judge.words import Question, key, sort_of

_LOOSE = frozenset("a an the is are was were be been being has have had that which its their your "
                   "our of for".split())
_CODE = re.compile(r"(?<![\w./-])([A-Za-z]{1,6})([ /-]?)(\d{1,9}(?:\.\d{1,9}){0,3}[A-Za-z]{0,2})"
                   r"(?![\w]|[-./]\w)")
_CONVERTIBLE = ({"celsius", "fahrenheit", "K"}, {"time", "month"})


def respelled(text: str, like: str) -> str:
    """Return `text` with its codes of letters and digits as in `like`: "IP54" for "IP 54"."""
    known = {_squeezed(match): match[0] for match in _CODE.finditer(like)}
    return _CODE.sub(lambda match: known.get(_squeezed(match), match[0]), text)


def _squeezed(match: re.Match) -> str:
    letters = match[1].casefold()
    return (letters.removesuffix("v") if len(letters) > 1 else letters) + match[3].casefold()


def is_equal(one: Token, other: Token) -> bool:
    """Return whether two tokens mean the same; memory may be counted in steps of 1000 or 1024."""
    if key(one) == key(other) or one.kind == other.kind == "word" and one.word == other.word:
        return True
    if one.kind != "number" or other.kind != "number" or one.value[0] != other.value[0] or (
            one.value[0] != "memory"):
        return False
    ratio = Fraction(one.value[1]) / Fraction(other.value[1] or 1)
    return any(ratio in (step ** power, 1 / step ** power) for power in (1, 2, 3, 4)
               for step in (Fraction(1024, 1000),))


def may_equal(one: Token, other: Token) -> bool:
    """Return whether two amounts could mean the same: without a unit, or in one of another kind."""
    if is_equal(one, other):
        return True
    dates = {token.kind: token for token in (one, other)}
    if "date" in dates and "number" in dates:
        return dates["number"].text in map(str, dates["date"].value)
    if one.kind != "number" or other.kind != "number":
        texts = sorted((one.text.lower(), other.text.lower()), key=len)
        return len(texts[0]) > 2 and texts[0] in texts[1]
    units = {str(one.value[0]), str(other.value[0])}
    digits = [re.sub(r"[^\d.]", "", token.text) or str(token.value[1]) for token in (one, other)]
    if len(units) == 1:
        amounts = [token.value[1] for token in (one, other)]
        return all(isinstance(amount, Fraction) for amount in amounts) and amounts[0] != 0 and (
            one.text.strip("-0123456789.,") != other.text.strip("-0123456789.,")
            and abs(amounts[1] / amounts[0] - 1) < Fraction(1, 50))
    return "" in units and digits[0] == digits[1] or any(units <= kind for kind in _CONVERTIBLE)


def is_rival(one: Token, other: Token) -> bool:
    """Return whether an answer's token is of a reference's kind: dimension, date, form of code."""
    if one.kind == "number" and not one.value[0] and one.text.isdigit():
        return other.kind != "word" or sort_of(other) == "code" and not re.search(r"\d", other.text)
    if sort_of(one) != sort_of(other):
        return False
    forms = [re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", token.text)) for token in (one, other)]
    if one.kind == "number":
        units = {str(one.value[0]), str(other.value[0])}
        numbers = {re.sub(r"[^\d.]", "", token.text) for token in (one, other)}
        return len(units) == 1 or "" not in units and len(numbers) == 1 and not any(
            units <= kind for kind in _CONVERTIBLE)
    return sort_of(one) != "code" or forms[0] == forms[1]


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
