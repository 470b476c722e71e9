"""Plant damages in rewrites, to measure how many an audit notices: seeded, one in a rewrite."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from lib.normalize.audit import SegmentAudit

_SENTENCE = re.compile(r"[^\s.!?][^.!?\n]*(?:[.!?](?=\S)[^.!?\n]*)*[.!?](?=\s|\Z)")
_VERB = re.compile(r"\b(?:is|are|was|were|can|could|must|should|will|would|may|(?:has|have) been)"
                   r"\b(?! not\b|n't)")
_NEGATED = re.compile(r"(?<=\w) not\b|n't\b|\bcannot\b|\bnever |\bwithout\b", re.I)
_NUMBER = re.compile(r"(?<![\w./:-])\d+(?:[.,]\d+)*(?![\w/:-]|[.,]\d)")
LEAST_WORDS = 6  # of a sentence that is deleted or drawn as an invention


@dataclass(frozen=True)
class Damage:
    """A damaged rewrite: what was done, where, and to which words."""

    kind: str
    text: str
    words: str


def findings(row: SegmentAudit) -> set[tuple[str, str, str]]:
    """Return what an audit found: what changed, the kind and the words."""
    return {(change, kind, words) for change in ("lost", "invented")
            for kind, found in getattr(row, change).items() for words in found}


def sentences_in(text: str) -> list[re.Match]:
    """Return the sentences of a rewrite that are in one line and end with a full stop."""
    return [match for match in _SENTENCE.finditer(text)
            if len(match[0].split()) >= LEAST_WORDS and re.match(r"[A-Z(]", match[0])]


def add_negation(text: str, rng: Random, others: Sequence[str]) -> Damage | None:
    """Put "not" after a verb of a sentence."""
    del others
    places = [sentence.start() + verb.end() for sentence in sentences_in(text)
              for verb in _VERB.finditer(sentence[0])]
    if not places:
        return None
    place = rng.choice(places)
    return Damage("negation added", f"{text[:place]} not{text[place:]}",
                  text[max(0, place - 40):place + 30])


def remove_negation(text: str, rng: Random, others: Sequence[str]) -> Damage | None:
    """Remove a "not", "n't", "never"; "cannot" becomes "can", "without" "with"."""
    del others
    found = [match for sentence in sentences_in(text)
             for match in _NEGATED.finditer(text, sentence.start(), sentence.end())]
    if not found:
        return None
    match = rng.choice(found)
    instead = {"cannot": "can", "without": "with"}.get(match[0].lower(), "")
    return Damage("negation removed", text[:match.start()] + instead + text[match.end():],
                  text[max(0, match.start() - 40):match.end() + 30])


def swap_numbers(text: str, rng: Random, others: Sequence[str]) -> Damage | None:
    """Exchange two different numbers."""
    del others
    found = list(_NUMBER.finditer(text))
    pairs = [(a, b) for index, a in enumerate(found) for b in found[index + 1:] if a[0] != b[0]]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    swapped = text[:a.start()] + b[0] + text[a.end():b.start()] + a[0] + text[b.end():]
    return Damage("numbers swapped", swapped, f"{a[0]} and {b[0]}")


def invent(text: str, rng: Random, others: Sequence[str]) -> Damage | None:
    """Put a sentence without a number between two others; `others` are rewrites to draw from."""
    drawn = [sentence[0] for other in others for sentence in sentences_in(other)
             if not re.search(r"\d|^In ", sentence[0]) and sentence[0] not in text]
    places = [sentence.end() for sentence in sentences_in(text)]
    if not drawn or not places:
        return None
    sentence, place = rng.choice(drawn), rng.choice(places)
    return Damage("sentence invented", f"{text[:place]} {sentence}{text[place:]}", sentence)


def delete(text: str, rng: Random, others: Sequence[str]) -> Damage | None:
    """Delete a sentence."""
    del others
    found = sentences_in(text)
    if not found:
        return None
    gone = rng.choice(found)
    return Damage("sentence deleted", text[:gone.start()] + text[gone.end():].lstrip(" "), gone[0])


DAMAGES: tuple[Callable[[str, Random, Sequence[str]], Damage | None], ...] = (
    add_negation, remove_negation, swap_numbers, invent, delete)
