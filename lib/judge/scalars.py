"""Judge an answer that must give one value or phrase, or yes or no."""

from collections.abc import Sequence

from lib.core.values import Token, solid
from lib.judge.matching import (
    CONVERTIBLE,
    HARD,
    content,
    find,
    is_equal,
    is_rival,
    may_share,
    without_asked,
)
from lib.judge.words import TURNS, Question, key, sign_of, sort_of

Decision = tuple[str, str]
_MOST_WORDS = 4  # of an answer that is nothing but a name
_NUMBER_WORDS = frozenset("dozen half quarter third hundred thousand double twice pair single none "
                          "zero both noon midnight once no off never unlimited".split())
_UNKNOWING = ("not know", "not specified", "not mentioned", "not stated", "no information",
              "not provided", "no idea")


def shown(found: Sequence[Token]) -> str:
    """Return the first words of a text, for a reason."""
    return repr(" ".join(token.text for token in list(found)[:8] if token.text != "\n"))


def judge_sign(wanted: bool, found: list[Token], question: Question) -> Decision:
    """Return the decision on an answer that must mean yes (True) or no, and nothing else."""
    own = solid(found)
    said = sign_of(own[0])
    rest = [token for token in own[1:] if not question.allows(token)]
    denials = [token for token in own[1:] if token.word in ("not", "no")]
    if said is None or "?" in [token.text for token in found] or any(
            token not in denials for token in rest) or denials and (said or len(denials) > 1):
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
    is_whole = any(find(one, found, start) is not None for one in (phrase, wanted)
                   for start in range(len(found)))
    if any(words in " ".join(token.word for token in own) for words in _UNKNOWING):
        verdict = "unscored" if is_whole else "incorrect"
        return verdict, f"does not answer: {shown(own)}"
    if turn:
        return "unscored", f"says more than can be judged: {turn.text!r}"
    if is_whole:
        strange = new or _repeated(wanted, found)
        return ("unscored", f"says more than can be judged: {strange[0].text!r}") if strange else (
            "correct", "gives the reference")
    lacking = [token for token in wanted if not any(is_equal(token, one) for one in own)]
    return _missed(wanted, lacking, new, said or own)


# A value that comes again, in another sentence, may be of another thing
def _repeated(phrase: list[Token], found: list[Token]) -> list[Token]:
    hard = [token for token in phrase if sort_of(token) in HARD]
    return [token for token in hard if len(phrase) > 1
            and sum(is_equal(token, one) for one in found) > sum(
                is_equal(token, one) for one in phrase)]


def _missed(wanted: list[Token], lacking: list[Token], new: list[Token],
            own: list[Token]) -> Decision:
    is_bound = any(token.word in TURNS or token.text.startswith("±") for token in wanted)
    values = [token for token in new if sort_of(token) in HARD]
    if not is_bound and len(lacking) == len(values) == 1 and is_rival(lacking[0], values[0]):
        return "incorrect", f"gives {values[0].text!r}, not {lacking[0].text!r}"
    if len(wanted) == 1 and sort_of(wanted[0]) in ("number", "date") and _is_unlike(own, wanted[0]):
        return "incorrect", f"gives {own[0].text!r}, not {wanted[0].text!r}"
    are_names = all(sort_of(token) in ("name", "code") for token in wanted + own) and len(
        own) <= _MOST_WORDS
    initials = "".join(token.text[0].lower() for token in wanted)
    is_apart = not any(one.word[0] == other.word[0] or one.word == initials
                       for one in new for other in lacking)
    is_whole = len(new) - len(lacking) == len(own) - len(wanted)
    if are_names and new and lacking and is_apart and is_whole:
        return "incorrect", f"gives {new[0].text!r}, not {lacking[0].text!r}"
    return "unscored", f"says it in other words, or another thing: {shown(own)}"


# A few words for an amount or a date, or one value of another kind
def _is_unlike(own: list[Token], wanted: Token) -> bool:
    kinds = {str(token.value[0]) if token.kind == "number" else token.kind
             for token in (*own, wanted)}
    is_other = len(own) == 1 and sort_of(own[0]) in HARD and "" not in kinds and len(kinds) == 2
    is_other &= not any(kinds <= each for each in CONVERTIBLE)
    return is_other and not may_share(own[0], wanted) or len(own) <= _MOST_WORDS and not any(
        sort_of(token) == "code" or token.kind != "word" or token.word in _NUMBER_WORDS
        for token in own)
