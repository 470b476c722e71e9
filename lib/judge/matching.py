"""Compare tokens, and judge an answer that must give one value or phrase, or yes or no."""

import re
from collections.abc import Sequence
from fractions import Fraction

from lib.core.values import Token, solid
from lib.judge.words import TURNS, Question, key, sign_of, sort_of

HARD = ("number", "date", "code")
_LOOSE = frozenset(
    "a an the is are was were be been being has have had that which its their your "
    "our of for".split()
)
_CODE = re.compile(
    r"(?<![\w./-])([A-Za-z]{1,6})([ /-]?)(\d{1,9}(?:\.\d{1,9}){0,3}[A-Za-z]{0,2})"
    r"(?![\w]|[-./]\w)"
)
CONVERTIBLE = ({"celsius", "fahrenheit", "K"}, {"time", "month"})
_STEP = Fraction(1024, 1000)
Decision = tuple[str, str]
_MOST_WORDS = 4  # of an answer that is nothing but a name
_NUMBER_WORDS = frozenset(
    "dozen half quarter third hundred thousand double twice pair single none "
    "zero both noon midnight once no off never unlimited".split()
)
_UNKNOWING = (
    "not know",
    "not specified",
    "not mentioned",
    "not stated",
    "no information",
    "not provided",
    "no idea",
)


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
    if (
        one.kind != "number"
        or other.kind != "number"
        or not (one.value[0] == other.value[0] == "memory")
    ):
        return False
    ratio = Fraction(one.value[1]) / Fraction(other.value[1] or 1)
    return any(ratio in (_STEP**power, 1 / _STEP**power) for power in (1, 2, 3, 4))


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
            return (
                "" not in units
                and _digits(one) == _digits(other)
                and not any(units <= kind for kind in CONVERTIBLE)
            )
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


def find(
    phrase: Sequence[Token], found: Sequence[Token], start: int, ends: str = ".\n|;"
) -> int | None:
    """Return where `phrase` ends if it begins at found[start]; marks and articles may differ."""
    place = start
    for wanted in phrase:
        while (
            place > start
            and place < len(found)
            and not is_equal(wanted, found[place])
            and (
                found[place].word in _LOOSE
                or not found[place].is_solid
                and found[place].text not in ends
            )
        ):
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
    rest = [
        token
        for token in phrase
        if key(token) not in question.keys or sort_of(token) in ("number", "date")
    ]
    return rest if rest and any(sort_of(token) != "word" for token in rest) else phrase


def shown(found: Sequence[Token]) -> str:
    """Return the first words of a text, for a reason."""
    return repr(" ".join(token.text for token in list(found)[:8] if token.text != "\n"))


def judge_sign(wanted: bool, found: list[Token], question: Question) -> Decision:
    """Return the decision on an answer that must mean yes (True) or no, and nothing else."""
    own = solid(found)
    said = sign_of(own[0])
    rest = [token for token in own[1:] if not question.allows(token)]
    denials = [token for token in own[1:] if token.word in ("not", "no")]
    if (
        said is None
        or "?" in [token.text for token in found]
        or any(token not in denials for token in rest)
        or denials
        and (said or len(denials) > 1)
    ):
        return "unscored", f"says neither yes nor no clearly: {shown(found)}"
    verdict = "correct" if said == wanted else "incorrect"
    return verdict, f"means {'yes' if said else 'no'}: {shown(found)}"


def judge_value(reference: list[Token], found: list[Token], question: Question) -> Decision:
    """Return the decision on an answer that must give a value, name or phrase."""
    phrase = content(reference)
    known = {key(token) for token in phrase}
    own = solid(found)
    said = [token for token in own if key(token) in known or not question.allows(token)]
    new = [token for token in said if not any(is_equal(token, one) for one in phrase)]
    turn = question.turn(own, phrase)
    wanted = without_asked(phrase, question)
    is_whole = any(
        find(one, found, start) is not None
        for one in (phrase, wanted)
        for start in range(len(found))
    )
    if any(words in " ".join(token.word for token in own) for words in _UNKNOWING):
        verdict = "unscored" if is_whole else "incorrect"
        return verdict, f"does not answer: {shown(own)}"
    if turn:
        return "unscored", f"says more than can be judged: {turn.text!r}"
    if is_whole:
        return (
            ("unscored", f"says more than can be judged: {new[0].text!r}")
            if new
            else ("correct", "gives the reference")
        )
    lacking = [token for token in wanted if not any(is_equal(token, one) for one in own)]
    return _missed(wanted, lacking, new, said or own)


def _missed(
    wanted: list[Token], lacking: list[Token], new: list[Token], own: list[Token]
) -> Decision:
    is_bound = any(token.word in TURNS or token.text.startswith("±") for token in wanted)
    values = [token for token in new if sort_of(token) in HARD]
    if not is_bound and len(lacking) == len(values) == 1 and is_rival(lacking[0], values[0]):
        return "incorrect", f"gives {values[0].text!r}, not {lacking[0].text!r}"
    if len(wanted) == 1 and sort_of(wanted[0]) in ("number", "date") and _is_unlike(own, wanted[0]):
        return "incorrect", f"gives {own[0].text!r}, not {wanted[0].text!r}"
    are_names = (
        all(sort_of(token) in ("name", "code") for token in wanted + own)
        and len(own) <= _MOST_WORDS
    )
    initials = "".join(token.text[0].lower() for token in wanted)
    is_apart = not any(
        one.word[0] == other.word[0] or one.word == initials for one in new for other in lacking
    )
    is_whole = len(new) - len(lacking) == len(own) - len(wanted)
    if are_names and new and lacking and is_apart and is_whole:
        return "incorrect", f"gives {new[0].text!r}, not {lacking[0].text!r}"
    return "unscored", f"says it in other words, or another thing: {shown(own)}"


# A few words for an amount or a date, or one value of another kind
def _is_unlike(own: list[Token], wanted: Token) -> bool:
    kinds = {
        str(token.value[0]) if token.kind == "number" else token.kind for token in (*own, wanted)
    }
    is_other = len(own) == 1 and sort_of(own[0]) in HARD and "" not in kinds and len(kinds) == 2
    is_other &= not any(kinds <= each for each in CONVERTIBLE)
    return (
        is_other
        and not may_share(own[0], wanted)
        or len(own) <= _MOST_WORDS
        and not any(
            sort_of(token) == "code" or token.kind != "word" or token.word in _NUMBER_WORDS
            for token in own
        )
    )
