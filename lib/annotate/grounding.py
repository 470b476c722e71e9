"""Locate a quoted source reference in its document: exactly, up to whitespace, or nearly (3.1)."""

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from lib.core.records import Grounding

LEAST_SCORE = 0.9  # similarity of a quotation's words (letters and digits) to the document's
LEAST_LIKENESS = 0.75  # of each word: "minimum" and "maximum" 0.71, "recieve" and "receive" 0.86

# of a Markdown link
_TARGET = re.compile(r"(?<=\])\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)")
_WORD = re.compile(  # 1.2.3 and -20 are one word each
    r"(?:(?<![\w)\]])[-−–](?=\d))?[^\W\d_]*\d+(?:[.,:]\d+)*[^\W_]*|[^\W_]+"
)
_MINUS = str.maketrans("−–", "--")

Word = tuple[str, int, int]  # folded, start, end


@dataclass(frozen=True)
class Place:
    """text[start:end] is the quoted text; `score` is 1 if all words agree, else lower."""

    start: int
    end: int
    how: Grounding
    score: float = 1.0


def places(reference: str, text: str, start: int, end: int) -> list[Place]:
    """Return the places of `reference` in text[start:end]: verbatim, else one near match.

    A match does not begin or end inside a word or a number: "2 V" is not in "12 V", and "20 °C"
    is not in "-20 °C".
    """
    parts = reference.split()
    if not parts:
        return []
    before = r"(?<!\w)" if re.match(r"\w", parts[0]) else ""
    if parts[0][0].isdigit():
        before += r"(?<!\d[.,:])(?<!(?<![\w)\]])[-−–])"
    after = r"(?!\w)" if re.search(r"\w\Z", parts[-1]) else ""
    if parts[-1][-1].isdigit():
        after += r"(?![.,:]\d)"
    pattern = re.compile(before + r"\s+".join(map(re.escape, parts)) + after)
    found = [
        Place(*match.span(), "exact" if match[0] == reference.strip() else "folded")
        for match in pattern.finditer(text, start, end)
    ]
    if found:
        return sorted(found, key=lambda place: place.how != "exact")
    near = _near(reference, text[start:end])
    return [Place(start + near.start, start + near.end, near.how, near.score)] if near else []


def missing_number(answer: str, source: str) -> str:
    """Return the first word with a digit in `answer` that is not in `source`, "" if none.

    Signs and decimals are compared.
    """
    there = {word for word, _, _ in _words(source)}
    return next(
        (word for word, _, _ in _words(answer) if _is_number(word) and word not in there), ""
    )


def _near(reference: str, text: str) -> Place | None:
    wanted, there = _words(reference), _words(text)
    (needle, _), (hay, starts) = _joined(wanted), _joined(there)
    if not needle or len(needle) > len(hay) / LEAST_SCORE:
        return None
    aligned = fuzz.partial_ratio_alignment(needle, hay, score_cutoff=100 * LEAST_SCORE)
    if not aligned:
        return None
    first = bisect_right(starts, aligned.dest_start) - 1
    last = bisect_right(starts, max(aligned.dest_end - 1, 0)) - 1
    # the alignment is as long as the quotation, but what it quotes may be longer or shorter
    runs = [
        there[left:right]
        for left in range(max(first - 2, 0), first + 3)
        for right in range(last - 1, last + 4)
        if left < right
    ]
    best = max(runs, key=lambda run: fuzz.ratio(needle, _joined(run)[0]))
    score = fuzz.ratio(needle, _joined(best)[0]) / 100
    if score < LEAST_SCORE or not _is_same(wanted, best):
        return None
    return Place(*_with_marks(text, best[0][1], best[-1][2]), "fuzzy", round(score, 4))


def _is_same(wanted: list[Word], found: list[Word]) -> bool:
    numbers, others = [], []
    for words in (wanted, found):
        numbers.append([word for word, _, _ in words if _is_number(word)])
        others.append({word for word, _, _ in words if not _is_number(word)})
    return numbers[0] == numbers[1] and all(
        word in theirs or any(_is_like(word, other) for other in theirs)
        for ours, theirs in (others, others[::-1])
        for word in ours
    )


# Distinguish a typo, which keeps the first letter, from another word ("unsupported")
def _is_like(word: str, other: str) -> bool:
    return word[0] == other[0] and OSA.normalized_similarity(word, other) >= LEAST_LIKENESS


def _is_number(word: str) -> bool:
    return any(letter.isdigit() for letter in word)


@lru_cache(4)  # the part of a document is needed for each of its pairs
def _words(text: str) -> list[Word]:
    visible = _TARGET.sub(lambda target: " " * len(target[0]), text)
    return [
        (unicodedata.normalize("NFKC", match[0]).casefold().translate(_MINUS), *match.span())
        for match in _WORD.finditer(visible)
    ]


def _joined(words: list[Word]) -> tuple[str, list[int]]:
    starts = list(accumulate((len(word) + 1 for word, _, _ in words), initial=0))
    return " ".join(word for word, _, _ in words), starts[:-1]


# Extend text[start:end] over adjacent markup, such as "**36** l" or a link's target
def _with_marks(text: str, start: int, end: int) -> tuple[int, int]:
    while start and not (text[start - 1].isspace() or text[start - 1].isalnum()):
        start -= 1
    while end < len(text) and not (text[end].isspace() or text[end].isalnum()):
        target = _TARGET.match(text, end)
        end = target.end() if target else end + 1
    return start, end
