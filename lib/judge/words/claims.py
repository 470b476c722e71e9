"""Whether ordinary words around a value leave it the answer: verbs do, other subjects do not."""

from collections.abc import Sequence

from lib.core.values import Token
from lib.judge.words import wording as w
from lib.judge.words.wording import Question, is_hard, is_plain, stem, words_of

_AUXILIARIES = words_of(  # a verb follows: "you will find it", "it lasts", "who stores"
    "to can may must should will would shall you we they he she it who which you'll then finally "
    "next first so please")
# Verbs that say only that something has a value, or where it is found
_PLAIN_VERBS = frozenset(map(stem, (
    "reach make take hold keep stay go travel last run need draw consume weigh measure cost amount "
    "carry contain allow permit accept seat fit pay charge find store set see look choose pick add "
    "use get have lie remain stand show state list receive serve work expect place enter put lead "
    "do done make made locate situate take held kept found come happen switch follow begin start "
    "mean denote refer call name put").split()))

_NOUNS = words_of("value period amount number figure document section list")


def swapped(own: list[Token], question: Question, others: Sequence[Token] = ()) -> bool:
    """Return whether a word has another one before it than in the question: "drinking water"."""
    stems = {stem(token.word) for token in (*own, *others)}
    pairs = ((one, question.before.get(stem(other.word)))
             for one, other in zip(own, own[1:], strict=False))
    return any(asked and asked not in stems and not question.allows(one) and one.kind == "word"
               for one, asked in pairs)


def conflict(own: list[Token], question: Question) -> bool:
    """Return whether the words before a value make it another subject's."""
    stems = {stem(token.word) for token in own}
    for place, token in enumerate(own):
        if token.kind != "word" or question.allows(token) or token.word.endswith("ly"):
            continue
        before = own[place - 1].word if place else ""
        after = own[place + 1].word if place + 1 < len(own) else ""
        is_subject = after in w.BE and not _is_kind(token, question) and not is_verb(
            own, place, question)
        asked = question.after.get(stem(before))  # not "Tarn client" for "Tarn server"
        is_other = asked and asked not in stems and not is_verb(own, place, question)
        is_complement = before in w.BE and not is_verb(own, place, question)
        if is_subject or is_other or is_complement:
            return True
    return swapped(own, question)


def are_verbs(own: list[Token], question: Question, *, is_any: bool = False) -> bool:
    """Return whether all words that are not the question's are adverbs and harmless verbs."""
    return all(question.allows(token) or token.word.endswith("ly")
               or is_verb(own, place, question, is_any=is_any)
               or is_any and (token.word in w.LINKING or _is_kind(token, question))
               for place, token in enumerate(own))


# Whether a word is a kind of what is asked: "counterstain"
def _is_kind(token: Token, question: Question) -> bool:
    return any(token.word.endswith(word) for word in question.topic if len(word) > 3)


def opens_remark(words: list[Token]) -> bool:
    """Return whether words behind a name may remark on it: "receives mail", not "gaskets for"."""
    word = words[0].word
    if word in w.REMARKING or len(words) == 1 or not is_plain(words[0]):
        return word in w.REMARKING
    is_active = word.endswith("s") and not word.endswith("ss")
    return is_active and words[1].word not in w.PREPOSITIONS | w.BE or word.endswith(("ed", "ing"))


def is_verb(own: list[Token], place: int, question: Question, *, is_any: bool = False) -> bool:
    """Return whether the word at `place` is a verb that says only that something has a value.

    If the question names an act ("melting point"), another verb is another act ("boils").
    """
    token = own[place]
    if not is_plain(token) and (place or is_hard(token)):
        return False
    word = token.word
    before = own[place - 1] if place else None
    is_harmless = stem(word) in _PLAIN_VERBS or before is not None and (
        is_any or question.is_attribute and not question.has_act)
    after = own[place + 1].word if place + 1 < len(own) else ""
    is_active = before is None or before.word in _AUXILIARIES or (
        (word.endswith("s") and not word.endswith("ss") or before.word.endswith("s"))
        and question.allows(before) and before.word not in w.FILLERS - question.words - _NOUNS)
    is_passive = before is not None and before.word in w.BE and (stem(
        word) in _PLAIN_VERBS or word.endswith(("ed", "ld", "pt", "nd", "en")))
    return is_harmless and after not in w.BE and (is_active or is_passive)
