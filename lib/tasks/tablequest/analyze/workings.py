"""Tell the result of a calculation that an answer shows from the numbers that lead to it."""

import re
from collections.abc import Sequence

from lib.tasks.tablequest.analyze.amounts import Amount, amounts, plain

_OPEN, _CLOSE = r"[ \t([{$]*", r"[ \t)\]}]*"
_TIMES = r"[+×÷/]|\b(?:plus|minus|less|times|multiplied by|divided by|over)\b"
_NAME = r"(?:[^\W\d]+[\s'’]+){0,5}?"  # "÷ net sales of 5", and "4 in rail + 5"
# "5 - 3", "5) / (3", "5; divided by 3"; a dash with words beside it may separate two thoughts
_OPERATOR = re.compile(rf"{_CLOSE}(?:[-^]{_OPEN}"
                       rf"|(?:[,;]\s*)?{_NAME}(?:{_TIMES}){_OPEN}{_NAME}{_OPEN})", re.I)
# "5 = 3", "5 years ≈ about 3", "5 → 3"; not "5; sales = 3"
_EQUALS = re.compile(rf"{_CLOSE}(?!and\b|or\b){_NAME}{_CLOSE}"
                     r"(?:[=≈≃→⇒]+|\b(?:equals|is equal to)\b)"
                     r"[^\d;\n]{0,60}", re.I)
# after a calculation also "5, which is 3", "5 gives us 3"
_GIVES = re.compile(rf"{_CLOSE}[,;:]?\s*{_NAME}(?:is|gives|yields|makes|comes to|results in)\b"
                    r"[^\d;.\n]{0,60}", re.I)
_TIMES_BEFORE = re.compile(r"(?:×|\btimes|\bmultiplied by|\bdivided by|÷)[\s(]*\Z", re.I)
_MOST_APART = 150  # characters between two numbers of a calculation
_SIGN = re.compile(r"[-+]|minus\b|", re.I)  # read as the amount's, though it may be an operator
_PLACE = re.compile(r"\b(?:notes?|items?|pages?|tables?|parts?|sections?|exhibits?|steps?|rows?"
                    r"|columns?|lines?|levels?|tiers?|T)\s?(?:no\.\s?)?\Z", re.I)  # "Note 7"
_LABEL = re.compile(r"[(\[][^\d()\[\]]*[)\]]")  # "(rail)", and what is left of "(2023)"


def results(text: str) -> list[Amount]:
    """Return the amounts of `text` that are not merely operands or steps of a calculation in it.

    A calculation is a chain of numbers with operators and signs of equality. Its result is the last
    number that stands alone between signs of equality: 2.0% in "(5 − 4) / 50 = 0.02 = 2.0%" and in
    "2.0% = 1 / 50". A result that a later calculation uses is a step. A calculation without a
    result has none. Years count only where nothing else does.
    """
    text, found = plain(text), amounts(text)
    found = [amount for amount in found if not amount.is_year
             and not _PLACE.search(text[max(0, amount.start - 20):amount.start])] or found
    kept: list[Amount] = []
    used: set = set()  # what is written as an operand
    for chain in reversed(_chains(text, found)):
        own = [amount for part in chain if len(chain) > 1 or len(part) > 1
               for amount in part if len(part) > 1]
        if own:  # the chain has an operator
            used |= {abs(amount.value) for amount in own}
            alone = [part[0] for part in chain if len(part) == 1][-1:]
            kept += [amount for amount in alone if not _is_step(amount, used, own)]
        else:
            kept += [part[0] for part in chain
                     if abs(part[0].value) not in used or part[0].unit == "%"]
    return sorted(kept, key=lambda amount: amount.start)


def _is_step(amount: Amount, used: set, own: Sequence[Amount]) -> bool:
    """Return whether a later calculation, not its own, uses this result."""
    return abs(amount.value) in used - {abs(one.value) for one in own}


def _chains(text: str, found: Sequence[Amount]) -> list[list[list[Amount]]]:
    """Return chains of parts that are joined by equality, each of amounts joined by operators."""
    chains: list[list[list[Amount]]] = []
    for number, amount in enumerate(found):
        before = found[number - 1] if number else None
        gap = text[before.end:amount.start] if before else text[:amount.start]
        gap = _LABEL.sub(" ", re.sub(r"(?<!\d)(?:19|20)\d\d(?!\d)", "", gap))
        gap += _SIGN.match(amount.text)[0]
        if not before or len(gap) > _MOST_APART:
            chains.append([[amount]])
        elif _OPERATOR.fullmatch(gap):
            chains[-1][-1].append(amount)
        elif _EQUALS.fullmatch(gap) or len(chains[-1][-1]) > 1 and _GIVES.fullmatch(gap):
            chains[-1].append([amount])
        elif _TIMES_BEFORE.search(gap):  # "0.02; × 100 = 2%"
            chains.append([[before, amount]])
        else:
            chains.append([[amount]])
    return chains
