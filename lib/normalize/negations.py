"""Find the negations of a text, and those that another text does not have."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

NEAR = 4  # content words on each side by which two negations are compared
ALIKE_SHARE = 0.5  # of these words that two negations must have in common

_TOKEN = re.compile(r"[^\W_]+(?:[._@:+'-]+[^\W_]+)*")
_TARGET = re.compile(r"\S*/\S*")  # paths and link targets, which are compared as words elsewhere
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\.\.\.)[\"')\]]*\s+|\n+|(?<!\\)\|")
_ENDING = re.compile(r"(?<=\w{4})(?:ies|ied|ing|ed|es|ly|s|e|y)$")
_FLAG = re.compile(r"\bno\b(?!\s+\w)", re.I)  # "Required: no" has no verb to negate
_NEGATORS = frozenset("not no never neither nor cannot without nothing nobody nowhere".split())
_NEGATIVE = re.compile(  # words that can replace a negator: "not enabled" is "disabled"
    r"(?:un(?!i|der|til|less)|dis(?!k|play|t|c|p|h)|in(?:valid|capable|active|correct|dependent)|"
    r"im(?:possible|mutable)|ir(?:relevant|reversible)|non)\w{2,}|lack\w*|fail\w*|miss\w*|absent|"
    r"absence|prevent\w*|avoid\w*|refus\w*|reject\w*|forbid\w*|prohibit\w*|exclud\w*|except|omit\w*|"
    r"ignor\w*|skip\w*|unless|instead|rather|only|hardly|stop\w*|empty|optional")
_STOP = frozenset("""
a an the this that these those and or but if then else so as of for in on at by to from with into
than is are was were be been being am has have had do does did can could may might must should
shall will would it its they them their there here you your we our he she which who whom whose what
when where while how all any each every some such only also just more most other both either one two
about above after before below between during over under up out off again further once same own too
very not no nor never cannot without reads read given gives go goes lines line section
text continued ends end list row label value document metadata following follows include includes
comprise comprises image done""".split())


@dataclass(frozen=True)
class Negation:
    """A negator, or a negative word such as "disabled", in its sentence."""

    sentence: str
    word: str  # without its ending; "" for a negator
    near: frozenset[str]  # content words around it


def negations_of(text: str) -> list[Negation]:
    """Return the negators and negative words of Markdown, in order."""
    found = []
    for sentence in filter(None, map(str.strip, _SENTENCE.split(text))):
        words = _folded_words(sentence)
        for place, word in enumerate(words):
            is_negator = word in _NEGATORS or word.endswith("n't")
            if is_negator or _NEGATIVE.fullmatch(word):
                before = [one for one in words[:place] if one not in _STOP][-NEAR:]
                after = [one for one in words[place + 1:] if one not in _STOP][:NEAR]
                found.append(Negation(sentence, "" if is_negator else word,
                                      frozenset([*before, *after])))
    return found


def unmatched(mine: Sequence[Negation], theirs: Sequence[Negation]) -> list[str]:
    """Return the sentences of the negators in `mine` without a counterpart near the same words.

    Each counterpart in `theirs` is used once: a negator, or a negative word that `mine` lacks.
    """
    n_words = Counter(one.word for one in mine)
    n_words.subtract(one.word for one in theirs)
    negators = [one for one in mine if not one.word]
    others = [one for one in theirs if not one.word or n_words[one.word] < 0]
    pairs = sorted(((-_alike(a.near, b.near), bool(b.word), i, j) for i, a in enumerate(negators)
                    for j, b in enumerate(others)))
    left, free = set(range(len(negators))), set(range(len(others)))
    for unlike, _, i, j in pairs:
        if -unlike >= ALIKE_SHARE and i in left and j in free:
            left.discard(i)
            free.discard(j)
    return [negators[i].sentence for i in sorted(left)]


def _alike(some: frozenset[str], others: frozenset[str]) -> float:
    size = min(len(some), len(others))
    return len(some & others) / size if size else float(some == others)


def _folded_words(text: str) -> list[str]:
    plain = _FLAG.sub("no-flag", unicodedata.normalize("NFKC", text).replace("’", "'"))
    found = _TOKEN.findall(_TARGET.sub(" ", plain.casefold()))
    return [word if re.search(r"\d", word) or word in _STOP else _ENDING.sub("", word)
            for word in found]
