"""Fold a text into words that can be compared, each with its sentence and its neighbours (3.2)."""

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

NEAR = 4  # words on each side that tell two numbers, or two negations, apart

_TOKEN = re.compile(r"[^\W_]+(?:[._@:+'-]+[^\W_]+)*")
_TARGET = re.compile(r"\S*/\S*")  # paths and link targets, which are compared as words elsewhere
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\.\.\.)[\"')\]]*\s+|\n+")
_ENDING = re.compile(r"(?<=\w{4})(?:ies|ied|ing|ed|es|ly|s|e|y)$")
_FLAG = re.compile(r"\bno\b(?!\s+\w)", re.I)  # "Required: no" has no verb to negate
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
class Words:
    """A text as comparable words, with the number of the sentence or unit of each."""

    words: tuple[str, ...]  # folded and stemmed, in order
    units: tuple[int, ...]  # of each word; does not decrease

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Return where each word is."""
        found: dict[str, list[int]] = defaultdict(list)
        for place, word in enumerate(self.words):
            found[word].append(place)
        return found

    def around(self, place: int, *, is_within: bool = True) -> set[str]:
        """Return the content words near a word, by default within its sentence."""
        first, last = max(0, place - 2 * NEAR), place + 2 * NEAR + 1
        if is_within:
            first = max(first, bisect_left(self.units, self.units[place]))
            last = min(last, bisect_left(self.units, self.units[place] + 1))
        before = [word for word in self.words[first:place] if is_content(word)][-NEAR:]
        after = [word for word in self.words[place + 1:last] if is_content(word)][:NEAR]
        return {*before, *after}


def words_of(units: Sequence[str]) -> Words:
    """Return the words of texts, each of which is a unit."""
    pairs = [(word, number) for number, text in enumerate(units) for word in folded_words(text)]
    return Words(tuple(word for word, _ in pairs), tuple(number for _, number in pairs))


def folded_words(text: str) -> list[str]:
    """Return the words of a text, folded and without endings; what has a digit stays whole."""
    plain = _FLAG.sub("no-flag", unicodedata.normalize("NFKC", text).replace("’", "'"))
    found = _TOKEN.findall(_TARGET.sub(" ", plain.casefold()))
    return [word if re.search(r"\d", word) or word in _STOP else _ENDING.sub("", word)
            for word in found]


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a rewrite, roughly; lines of code are sentences, too."""
    return [piece.strip() for piece in _SENTENCE.split(text) if re.search(r"\w", piece)]


def is_content(word: str) -> bool:
    """Return whether a folded word has a meaning of its own."""
    return word not in _STOP
