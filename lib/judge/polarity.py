"""Judge yes or no, on or off: "disabled", "not enabled" and "turned off" are the same."""

from lib.core.values import Token, solid
from lib.judge.matching import shown_of, until_end
from lib.judge.words import wording as w
from lib.judge.words.wording import Question, stem

_SIGNS = dict.fromkeys("yes true enabled enable active activated on".split(), True) | dict.fromkeys(
    "no false disabled disable inactive deactivated off unsupported".split(), False)
_DENIALS = (w.NEGATIONS - _SIGNS.keys()) | {"no"}
_UNSURE = (w.HEDGES | w.RETRACTIONS | {"unless", "if", "idea"}) - {"/", "&", "+"}
_POSSIBLE = frozenset(("can", "could", "may"))
_SWITCHED = frozenset("is are be was been turned switched set state status default it remains "
                      "stays currently kept left not".split())  # before "on": not "runs on Linux"


def sign_of(reference: list[Token], question: Question) -> bool | None:
    """Return whether a reference means yes; None if it is not only a yes or no, on or off."""
    words = [token.word for token in solid(reference)]
    if words and words[0] in ("yes", "no") and question.is_polar:
        return _SIGNS[words[0]]  # "no, it is applied live"
    signs = [_SIGNS[word] for word in words if word in _SIGNS]
    others = [word for word in words if word not in _SIGNS and word not in w.FILLERS
              and word not in question.words]
    if not words or words[0] not in (*_SIGNS, "not") or others not in ([], ["not"]):
        return None
    if signs:
        return signs[0] != bool(others) if len(signs) == 1 else None
    is_denied = others == ["not"] and len(words) == 2
    return False if is_denied else None


def complaint(sign: bool, found: list[Token], question: Question) -> str:
    """Return the objection to an answer, "" if its first sentence means `sign`."""
    sentence: list[Token] = []
    own: list[Token] = []
    for token in found:
        sentence.append(token)
        own += [token] if token.is_solid else []
        if token.kind == "end" and own:
            break
    shown = shown_of(own)
    is_state = bool(question.words & {"is", "are"}) and not (
        question.words & {*_POSSIBLE, "possible"})
    unsure = _UNSURE | _POSSIBLE if is_state else _UNSURE  # "can be switched off"
    if any(token.word in unsure for token in own) or sentence[-1:] and (sentence[-1].text == "?"):
        return f"hedges: {shown}"
    signs = _signs(sentence, question) or _restated(own, question)
    if len(signs) != 1:
        return f"does not say yes or no: {shown}" if not signs else f"says both: {shown}"
    after = _after_sign(found, sentence, question)
    if after is not None and after != sign:
        return f"takes it back: {shown}"
    return "" if signs == {sign} else f"means {'yes' if True in signs else 'no'}: {shown}"


# What the words of a sentence mean, "not enabled" being no
def _signs(sentence: list[Token], question: Question) -> set[bool]:
    own, signs, last = solid(sentence), set(), None
    for place, token in enumerate(own):
        word = token.word
        if word not in _SIGNS or (word in ("on", "off") and not _is_state(own, place)):
            continue
        if word in ("yes", "no") and place and last != 0:
            continue  # "has no …"
        if last is None and not all(question.allows(one) or one.word in _SWITCHED | _DENIALS
                                    for one in own[:place]):
            return set()
        before = [one.word for one in own[max(0, place - 3):place]]
        is_denied = sum(one in _DENIALS - {"no"} for one in before) % 2 == 1
        signs.add(_SIGNS[word] != is_denied)
        last = place
    return signs


def denies(found: list[Token], question: Question) -> bool:
    """Return whether an answer only says that there is none: "No fault code was logged."."""
    own = [token for token in solid(found) if not question.allows(token)]
    return len(own) == 1 and own[0].word in ("no", "none", "nothing", "nobody")


# Whether "on" or "off" is a state and not a preposition
def _is_state(own: list[Token], place: int) -> bool:
    before = own[place - 1].word if place else ""
    after = own[place + 1].word if place + 1 < len(own) else ""
    is_last = after in ("", "by", "per", "in", "for", "at", "when", "until")
    return (not before or before in _SWITCHED or before.endswith("ed")) and is_last


# What a restatement of the question means: "It supports QNX." is yes
def _restated(own: list[Token], question: Question) -> set[bool]:
    denials = [token for token in own if token.word in w.NEGATIONS | question.opposites]
    others = [token for token in own if token not in denials]
    words = {stem(token.word) for token in others}
    is_opposite = any(token.word in question.opposites for token in denials)
    is_restated = all(map(question.allows, others)) and bool(is_opposite or words & question.needed)
    return {len(denials) % 2 == 0} if is_restated and len(denials) < 2 else set()


def _after_sign(found: list[Token], sentence: list[Token], question: Question) -> bool | None:
    line = until_end(found[len(sentence):])
    signs = _signs(line, question) if len(solid(line)) < 3 else set()
    return next(iter(signs)) if len(signs) == 1 else None
