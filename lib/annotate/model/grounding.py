"""Where a quoted source reference stands in its document: exactly, with blanks folded, or nearly (paper, 3.1)."""

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from lib.core.records import Grounding

LEAST_SCORE = 0.9  # of a quotation with slips: similarity of the letters and digits of its words to the document's
LEAST_LIKENESS = 0.75  # of each single word; "minimum" and "maximum" have 0.71, "recieve" and "receive" 0.86

_TARGET = re.compile(r"(?<=\])\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)")  # of a Markdown link
_WORD = re.compile(r"(?:(?<![\w)\]])[-−–](?=\d))?[^\W\d_]*\d+(?:[.,:]\d+)*[^\W_]*|[^\W_]+")  # 1.2.3 and -20 are one
_MINUS = str.maketrans("−–", "--")

Word = tuple[str, int, int]  # folded, start, end


@dataclass(frozen=True)
class Place:
    """text[start:end] is what was quoted. `score` is 1 where all its words are those of the quotation, else below."""

    start: int
    end: int
    how: Grounding
    score: float = 1.0


def places(reference: str, text: str, start: int, end: int) -> list[Place]:
    """Where `reference` stands in text[start:end], best first: word for word if anywhere, else at most one near place.

    Neither begins or ends inside a word or a number: "2 V" does not stand in "12 V", nor "20 °C" in "-20 °C".
    """
    parts = reference.split()
    if not parts:
        return []
    pattern = re.compile(_before(parts[0]) + r"\s+".join(map(re.escape, parts)) + _after(parts[-1]))
    found = [Place(*match.span(), "exact" if match[0] == reference.strip() else "folded")
             for match in pattern.finditer(text, start, end)]
    if found:
        return sorted(found, key=lambda place: place.how != "exact")
    near = _near(reference, text[start:end])
    return [Place(start + near.start, start + near.end, near.how, near.score)] if near else []


def missing_number(answer: str, source: str) -> str:
    """The first word with a digit in `answer` that `source` lacks, sign and decimals compared; "" where all stand."""
    there = {word for word, _, _ in _words(source)}
    return next((word for word, _, _ in _words(answer) if _is_number(word) and word not in there), "")


def _before(first: str) -> str:
    number = r"(?<!\d[.,:])(?<!(?<![\w)\]])[-−–])" if first[0].isdigit() else ""
    return rf"(?<!\w){number}" if re.match(r"\w", first) else ""


def _after(last: str) -> str:
    return r"(?!\w)(?![.,:]\d)" if last[-1].isdigit() else r"(?!\w)" if re.search(r"\w\Z", last) else ""


def _near(reference: str, text: str) -> Place | None:
    """The stretch of `text` whose words are those of `reference`, markup and slips of the pen aside."""
    wanted, there = _words(reference), _words(text)
    (needle, _), (hay, starts) = _joined(wanted), _joined(there)
    if not needle or len(needle) > len(hay) / LEAST_SCORE:
        return None
    aligned = fuzz.partial_ratio_alignment(needle, hay, score_cutoff=100 * LEAST_SCORE)
    if not aligned:
        return None
    first, last = (bisect_right(starts, edge) - 1 for edge in (aligned.dest_start, max(aligned.dest_end - 1, 0)))
    runs = [there[left:right] for left in range(max(first - 2, 0), first + 3) for right in range(last - 1, last + 4)
            if left < right]  # the aligned stretch is as long as the quotation, the one that is meant may not be
    best = max(runs, key=lambda run: fuzz.ratio(needle, _joined(run)[0]))
    score = fuzz.ratio(needle, _joined(best)[0]) / 100
    if score < LEAST_SCORE or not _is_same(wanted, best):
        return None
    return Place(*_with_marks(text, best[0][1], best[-1][2]), "fuzzy", round(score, 4))


def _is_same(wanted: list[Word], found: list[Word]) -> bool:
    """Whether both have the same numbers and codes in the same order, and each word its like in the other."""
    numbers = [[word for word, _, _ in words if _is_number(word)] for words in (wanted, found)]
    plain = [{word for word, _, _ in words if not _is_number(word)} for words in (wanted, found)]
    return numbers[0] == numbers[1] and all(
        word in others or any(_is_like(word, other) for other in others)
        for some, others in (plain, plain[::-1]) for word in some)


def _is_like(word: str, other: str) -> bool:
    """A slip keeps the first letter; "supported" is not like "unsupported"."""
    return word[0] == other[0] and OSA.normalized_similarity(word, other) >= LEAST_LIKENESS


def _is_number(word: str) -> bool:
    return any(letter.isdigit() for letter in word)


@lru_cache(4)  # the part of a document is asked for once a pair
def _words(text: str) -> list[Word]:
    """Words and numbers of `text` with their places, link targets left out, case and compatible forms folded."""
    visible = _TARGET.sub(lambda target: " " * len(target[0]), text)
    return [(unicodedata.normalize("NFKC", match[0]).casefold().translate(_MINUS), *match.span())
            for match in _WORD.finditer(visible)]


def _joined(words: list[Word]) -> tuple[str, list[int]]:
    """The words with a blank between, and where each begins there."""
    starts = list(accumulate((len(word) + 1 for word, _, _ in words), initial=0))
    return " ".join(word for word, _, _ in words), starts[:-1]


def _with_marks(text: str, start: int, end: int) -> tuple[int, int]:
    """text[start:end] with the markup and punctuation that touch it: "**36** l" whole, a link with its target."""
    while start and not (text[start - 1].isspace() or text[start - 1].isalnum()):
        start -= 1
    while end < len(text) and not (text[end].isspace() or text[end].isalnum()):
        target = _TARGET.match(text, end)
        end = target.end() if target else end + 1
    return start, end
