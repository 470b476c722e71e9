"""Which queries ask for a number; the paper's rules for its Table 5 are not published, so here is ours."""

import re

from lib.records import Query
from lib.units import unit_of
from lib.values import Token, solid, tokens

_RANGE = re.compile(r"[-+±]?\d+(?:[.,]\d+)*-[-+]?\d+(?:[.,]\d+)*")
_COMPARATORS = frozenset({"about", "around", "approximately", "approx", "up", "to", "at", "least", "most", "over",
                          "under", "below", "above", "max", "min", "maximum", "minimum"})


def is_numeric(query: Query) -> bool:
    """Whether the reference answer is a number; in an entity list, whether every entity is one.

    A number is digits (or a word from zero to twelve) with, as they come, a sign, a comparator ("at least"), a
    currency, a percent sign, thousands separators, a unit or one lower-case noun ("12 pumps"), or a range of two
    such. A dotted number (3.10, 3.2.1) counts: a version cannot be told from a decimal by its form. Not numbers:
    dates, times of day, and digits inside a name, path or code (P-417, 8443/tcp).
    """
    entities = query.answer.splitlines() if query.structure == "entity-list" else [query.answer]
    entities = [entity for entity in entities if entity.strip()]
    return bool(entities) and all(is_number(entity) for entity in entities)


def is_number(text: str) -> bool:
    """Whether `text` is one number by the rule of `is_numeric`."""
    found = solid(tokens(text.strip().lstrip("~≈<>≤≥= ")))
    while found and found[0].value in _COMPARATORS:
        found = found[1:]
    return bool(found) and _is_amount(found[0]) and (len(found) == 1 or (len(found) == 2 and _is_counted(found[1])))


def _is_amount(token: Token) -> bool:
    return token.kind == "number" or (token.kind == "word" and _RANGE.fullmatch(str(token.value)) is not None)


def _is_counted(token: Token) -> bool:
    is_noun = token.text.isalpha() and token.text.islower()
    return token.kind == "word" and (is_noun or unit_of(token.text) is not None)
