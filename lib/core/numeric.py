"""Decide which queries ask for a number (Table 5) by our own rule; the paper's is not published."""

import re
from itertools import takewhile

from lib.core.records import Query
from lib.core.units import unit_of
from lib.core.values import Token, solid, tokens

_RANGE = re.compile(r"[-+±]?\d+(?:[.,]\d+)*-[-+]?\d+(?:[.,]\d+)*")
_COMPARATORS = frozenset(
    (
        "about around approximately approx up to at least most over under below above max "
        "min maximum "
        "minimum less more fewer no not than between exactly"
    ).split()
)
# Numbers in form, but dates, addresses and codes in use: 20241203, 192.168.0.1, 0042
_CODE = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|\d+(?:\.\d+){3,}|0\d+")


def is_numeric(query: Query) -> bool:
    """Return whether the reference answer is a number; for an entity list, whether every entity is.

    A number is digits (or a word from zero to ninety-nine), optionally with a sign, a comparator
    ("at least"), a currency, a percent sign, thousands separators, and a unit or one lower-case
    noun ("12 pumps"); a range of two numbers; a quantity "of" something ("16 GB of RAM"); or
    several quantities that add up ("3 h 20 min"). Whitespace is ignored, and so is a unit's case if
    only one unit can be meant (lib.core.units). A dotted number (3.10, 3.2.1) counts: its form does
    not distinguish a version from a decimal. Not numbers: dates (including 20241203), times of day,
    addresses (192.168.0.1), codes with leading zeros, and digits inside a name, path or code
    (P-417, 8443/tcp).
    """
    entities = query.answer.splitlines() if query.entity_count is not None else [query.answer]
    entities = [entity for entity in entities if entity.strip()]
    return bool(entities) and all(is_number(entity) for entity in entities)


def is_number(text: str) -> bool:
    """Return whether `text` is one number, by the rule of `is_numeric`."""
    found = solid(tokens(text.strip().lstrip("~≈<>≤≥= ")))
    opening = list(takewhile(lambda token: token.value in _COMPARATORS, found))
    found = found[len(opening) :]
    is_between = any(token.value == "between" for token in opening)
    if is_between and len(found) > 1 and found[1].value == "and":
        return _is_amount(found[0]) and _is_one(found[2:])
    return _is_one(found)


def _is_one(found: list[Token]) -> bool:
    if not found or not _is_amount(found[0]) or len(found) == 1:
        return bool(found) and _is_amount(found[0])
    if not _dimension(found[0]):
        return len(found) == 2 and _is_counted(found[1])
    sum_of = [token for token in found if token.value != "and"]
    dimensions = {_dimension(token) for token in sum_of}
    is_sum = found[-1].value != "and" and dimensions == {_dimension(found[0])}
    is_of = len(found) == 3 and found[1].value == "of" and found[2].kind == "word"
    return is_sum or is_of or (len(found) == 2 and _is_counted(found[1]))


def _is_amount(token: Token) -> bool:
    if token.kind == "number":
        return not _CODE.fullmatch(token.text)
    return token.kind == "word" and _RANGE.fullmatch(str(token.value)) is not None


def _dimension(token: Token) -> str:
    return str(token.value[0]) if token.kind == "number" else ""


def _is_counted(token: Token) -> bool:
    is_noun = token.text.isalpha() and token.text.islower()
    return token.kind == "word" and (is_noun or unit_of(token.text) is not None)
