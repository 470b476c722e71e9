"""Compare a rewrite with its segment by sentences: lost, invented, negated, with numbers swapped.

All is done with words, in time linear in both texts but for the sentences of one segment: a unit of
the source (a sentence, an item, a cell with its row's label) is looked for where most of its words
are close together. A paraphrase that keeps the terms is found, a free one is reported as lost.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from lib.normalize.words import Words, folded_words, is_content, sentences_of, words_of

FOUND_SHARE = 0.4  # of a sentence's weight that must be in one place of the other text
MOVED_SHARE = 0.9  # the same of a unit in the rewrite of a neighbouring segment
GONE_SHARE = 0.7  # of a unit's weight in words that are written less often than said: it is lost
ALIKE_SHARE = 0.5  # of the words around two negations that they must have in common
LEAST_WEIGHT = 1.5  # of a sentence whose words are enough to look for

_OPENING = re.compile(r"In (?P<path>.{1,300}?):(?:\s+|\Z)")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*[^\W\d_]{0,3}")
_NEGATORS = frozenset("not no never neither nor cannot without nothing nobody nowhere".split())
_NEGATIVE = re.compile(  # words that can replace a negator: "not enabled" is "disabled"
    r"(?:un(?!i|der|til|less)|dis(?!k|play|t|c|p|h)|in(?:valid|capable|active|correct|dependent)|"
    r"im(?:possible|mutable)|ir(?:relevant|reversible)|non)\w{2,}|lack\w*|fail\w*|miss\w*|absent|"
    r"absence|prevent\w*|avoid\w*|refus\w*|reject\w*|forbid\w*|prohibit\w*|exclud\w*|except|omit\w*|"
    r"ignor\w*|skip\w*|unless|instead|rather|only|hardly|stop\w*|empty|optional")
# what the rules write of their own accord
_GLUE = re.compile(r"No value is given for|has no text\.|In a row with no|Where nothing is given|"
                   r"\(not done\)|The lines (?:given here read|go on):|There is an image:|"
                   r"The metadata of the document give")


@dataclass(frozen=True)
class Required:
    """What the rewrite of a segment must say and may say."""

    units: list[str]  # must: the units of the segment, up to its end
    own: list[str]  # the same, without the labels that cells of one row share
    whole: list[str]  # may: the same, to their own ends
    path: list[str]  # may, any number of times: title and headings
    above: list[str]  # may, any number of times: the lead-in of a list, the items above an item
    raw: str  # may: what is in no unit, such as titles of code, or right next to the segment


@dataclass(frozen=True)
class Findings:
    """What a comparison found, and out of how many."""

    lost: list[str]  # sentences, items and cells of the source
    invented: list[str]  # sentences of the rewrite
    affirmed: list[str]  # units with a negation that the rewrite has lost
    negated: list[str]  # written sentences with a negation of their own
    swapped: list[str]  # written sentences with a number where the source has another one
    n_units: int
    n_written: int  # sentences
    n_negations: int  # of the source
    n_numbers: int  # of the rewrite


def compare(required: Required, rewrite: str, near: str = "") -> Findings:
    """Compare a rewrite with what it must say and what it may say.

    `near` are the rewrites of the neighbours, in which a unit may be instead.
    """
    known = {word for text in required.path for word in folded_words(text)}
    written = [_without_path(text, known) for text in sentences_of(_GLUE.sub(" ", rewrite))]
    units, target = words_of(required.units), words_of(written)
    repeated = [*required.path, *required.above]
    source = words_of([*repeated, *required.whole])
    others = words_of(sentences_of(_GLUE.sub(" ", near)))
    weights = _weights([*source.words, *target.words])
    n_repeated = bisect_left(source.units, len(repeated))
    titles = {word for text in required.path[:1] for word in folded_words(text)}
    whole = words_of([*repeated, *required.whole, required.raw])
    return Findings(
        lost=[required.units[unit]
              for unit in _lost(units, words_of(required.own), target, others, weights)],
        invented=[written[unit] for unit, words in _grouped(target)
                  if _is_missing(words, whole, weights, titles)],
        affirmed=[required.units[units.units[place]] for place in _unmatched(units, target)],
        negated=[written[target.units[place]]
                 for place in _unmatched(target, source, n_repeated)],
        swapped=[written[target.units[place]] for place in _swapped(source, target, weights)],
        n_units=len(required.units), n_written=len(written), n_negations=len(_negations(units)),
        n_numbers=len(_numbers(target)))


def _without_path(sentence: str, known: set[str]) -> str:
    """Remove "In Corvane P-417, Network: " if all its words are of headings or of the title."""
    opening = _OPENING.match(sentence)
    is_path = opening and known.issuperset(folded_words(opening["path"]))
    return sentence[opening.end():] if is_path else sentence


def _grouped(words: Words) -> Iterator[tuple[int, list[str]]]:
    pairs = zip(words.units, words.words, strict=True)
    return ((unit, [word for _, word in own]) for unit, own in groupby(pairs, key=itemgetter(0)))


def _weights(words: Iterable[str]) -> dict[str, float]:
    """Return the weight of each content word: frequent ones tell sentences apart less."""
    return {word: count ** -0.5 for word, count in Counter(words).items() if is_content(word)}


def _lost(units: Words, own: Words, target: Words, others: Words,
          weights: dict[str, float]) -> Iterator[int]:
    """Yield the units most of whose words are written less often than said, or in no one place.

    The first or last unit, which a cut may divide, has only moved if it is in one place of
    `others`, the neighbours' rewrites.
    """
    fewer = Counter(own.words)
    fewer.subtract(target.words)
    words_of_own = dict(_grouped(own))
    for unit, words in _grouped(units):
        mine = {word: weights[word] for word in words_of_own.get(unit, ()) if word in weights}
        gone = sum(weight for word, weight in mine.items() if fewer[word] > 0)
        is_gone = mine and gone >= GONE_SHARE * sum(mine.values())
        if is_gone or _is_missing(words, target, weights, set()):
            is_at_edge = unit in (units.units[0], units.units[-1])
            if is_at_edge and not _is_missing(words, others, weights, set(), MOVED_SHARE):
                continue
            fewer.subtract(mine)
            yield unit


def _is_missing(words: list[str], other: Words, weights: dict[str, float], known: set[str],
                share: float = FOUND_SHARE) -> bool:
    """Return whether no place of `other` has enough of the weight of `words`.

    Numbers do not count, because an amount may be written in another unit.
    """
    wanted = {word: weights[word] for word in words
              if word in weights and word not in known and not _NUMBER.fullmatch(word)}
    total = sum(wanted.values())
    if total < LEAST_WEIGHT and len(wanted) < 3:
        return any(word not in other.places for word in wanted)
    places = sorted((place, word) for word in wanted for place in other.places.get(word, ()))
    room, best, inside = 2 * len(words) + 12, 0.0, Counter()
    covered, first = 0.0, 0
    for place, word in places:
        covered += wanted[word] if not inside[word] else 0.0
        inside[word] += 1
        while place - places[first][0] > room:
            gone = places[first][1]
            inside[gone] -= 1
            covered -= wanted[gone] if not inside[gone] else 0.0
            first += 1
        best = max(best, covered)
    return best < share * total


def _unmatched(text: Words, other: Words, n_repeated: int = 0) -> list[int]:
    """Return the negations of `text` that have no counterpart with common words in `other`.

    Each counterpart is used once, except the first `n_repeated` words of `other`. A word such as
    "disabled" can be one for "not enabled".
    """
    mine, theirs = _negations(text), _negations(other)
    near_mine = {a: text.around(a) for a in mine}
    near_theirs = {b: other.around(b) for b in theirs}
    pairs = sorted(((_alike(near_mine[a], near_theirs[b]), -a, -b) for a in mine for b in theirs),
                   reverse=True)
    left, free = set(mine), set(theirs)
    for likeness, a, b in pairs:
        if likeness >= ALIKE_SHARE and -a in left and -b in free:
            left.discard(-a)
            free -= {-b} if -b >= n_repeated else set()
    return [a for a in sorted(left) if not _is_replaced(text, a, other)]


def _alike(some: set[str], others: set[str]) -> float:
    size = min(len(some), len(others))
    return len(some & others) / size if size else float(some == others)


def _is_replaced(text: Words, place: int, other: Words) -> bool:
    """Return whether a negative word stands for this negation: "disabled" for "not enabled"."""
    near = text.around(place)
    return any(_NEGATIVE.fullmatch(word) and len(places) > len(text.places.get(word, ()))
               and any(_alike(near, other.around(b)) >= ALIKE_SHARE for b in places)
               for word, places in other.places.items())


def _negations(text: Words) -> list[int]:
    return [place for place, word in enumerate(text.words)
            if word in _NEGATORS or word.endswith("n't")]


def _swapped(source: Words, target: Words, weights: dict[str, float]) -> list[int]:
    """Return the numbers of `target` that are where `source` has another number, pairwise.

    a is swapped with b if all numbers are the same in the same order except these two, or if the
    words around a are more like those around b in the source than like those around any a there,
    and the other way round.
    """
    here, there = _numbers(target), _numbers(source)
    unlike = [index for index, (mine, theirs) in enumerate(zip(here, there, strict=False))
              if mine[1] != theirs[1]]
    if len(here) == len(there) and len(unlike) == 2:
        a, b = unlike
        if here[a][1] == there[b][1] and here[b][1] == there[a][1]:
            return [here[a][0], here[b][0]]
    near = {place: source.around(place, is_within=False) for place, _ in there}
    liked: dict[int, set[str]] = {}
    for place, word in here:
        around = target.around(place, is_within=False)
        likeness: dict[str, float] = defaultdict(float)
        for other, value in there:
            like = sum(weights.get(each, 0.0) for each in around & near[other])
            likeness[value] = max(likeness[value], like)
        own = likeness.get(word, 0.0)
        liked[place] = {value for value, like in likeness.items() if like > own and value != word}
    wanted = {(word, value) for place, word in here for value in liked[place]}
    return [place for place, word in here
            if any((value, word) in wanted for value in liked[place])]


def _numbers(text: Words) -> list[tuple[int, str]]:
    return [(place, word) for place, word in enumerate(text.words) if _NUMBER.fullmatch(word)]
