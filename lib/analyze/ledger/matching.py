"""Where the words of an answer stand in a text: as they are, folded, or with a unit changed (the ledger)."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from lib.core.records import Query
from lib.core.values import solid, tokens
from lib.judge.rules import match_list

Form = Literal["exact", "folded", "unit", "absent"]  # as written; but for blanks, case, marks; same quantity; not there
FORMS: tuple[Form, ...] = ("exact", "folded", "unit", "absent")  # from the best to the worst

# Targets of links, in Markdown and in brackets as the rules write them, tags, and underscores that emphasize.
_UNREAD = re.compile(r"(?<=\])\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|</?[A-Za-z][^>\n]*>|"
                     r"(?<=\S) \((?:https?://[^()\s]*|[#./][^()\s]*|[\w./-]+\.(?:md|html?|txt|rst)(?:#[^()\s]*)?)\)|"
                     r"(?<![^\W_])_+|_+(?![^\W_])")
_WORD = re.compile(r"(?:(?<![\w)\]])[-−–](?=\d))?[^\W\d_]*\d+(?:[.,:]\d+)*[^\W_]*|[^\W_]+")  # 1.2.3 and -20 are one
_SYMBOL = re.compile(r"[+#%°=≥≤±$€£¥]|(?<![\w>])[<>](?=\s*\d)")  # C++ is not C, and ≥ 5 is not 5
_BETWEEN = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+")  # items of a list inside a sentence or cell


@dataclass(frozen=True)
class Place:
    """text[start:end] is what was looked for."""

    start: int
    end: int
    form: Form


def items_of(query: Query) -> list[str]:
    """What the answer consists of: the lines of an entity list, the parts of "a, b and c", else the answer itself."""
    lines = [line.strip() for line in query.answer.splitlines() if line.strip()]
    if len(lines) > 1 or query.entity_count is not None:
        return lines
    match = match_list(query.question, query.answer, query.answer)
    parts = [part.strip() for part in _BETWEEN.split(query.answer) if part.strip()]
    return parts if match and match.n_wanted == len(parts) else lines


def places(item: str, text: str) -> list[Place]:
    """Where `item` stands in `text`, all of the best form that there is; empty where it is absent.

    No place begins or ends inside a word, a number or a code: 80 does not stand in 8080, P-80, 80.5 or 80-90. A unit
    is changed where numbers, dates and words are worth the same (`lib.core.values`): 30 s is 0.5 min.
    """
    end = r"(?![+#])" if re.search(r"\w\s*\Z", item) else ""  # C is not C++
    exact = [Place(*match.span(), "exact") for match in re.finditer(re.escape(item.strip()) + end, text)]
    return ([place for place in exact if item.strip() and _is_apart(text, place.start, place.end)]
            or [Place(*span, "folded") for span in _folded(item, text)]
            or [Place(*span, "unit") for span in _same_quantity(item, text)])


def nearest(found: list[Place], text: str, question: str) -> Place | None:
    """Of several places the one whose sentence shares most words with `question`; the first of equals; None of none."""
    asked = {word for word, _, _ in words(question)}
    return max(found, key=lambda place: len(asked & {word for word, _, _ in words(around(text, place))}), default=None)


def worst(forms: list[Form]) -> Form:
    """The worst of several forms; absent where there is none."""
    return max(forms, key=FORMS.index, default="absent")


@lru_cache(512)  # a text is asked for once a query
def words(text: str) -> list[tuple[str, int, int]]:
    """Words and numbers of `text`, folded, with their places; link targets and tags left out."""
    visible = _blanked(text)
    return [(unicodedata.normalize("NFKC", match[0]).casefold().replace("−", "-").replace("–", "-"), *match.span())
            for match in _WORD.finditer(visible)]


@lru_cache(512)
def _blanked(text: str) -> str:
    return _UNREAD.sub(lambda match: " " * len(match[0]), text)


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is glued to no word, number or code around it."""
    visible, first, last = _blanked(text), text[start], text[end - 1]
    before, after = visible[max(0, start - 2):start], visible[end:end + 2]
    if re.match(r"\w", first) and re.search(r"\w\Z", before) or re.match(r"\w", last) and re.match(r"\w", after):
        return False
    if first.isdigit() and re.search(r"\d[.,:]\Z|\w[-_]\Z|(?:\A|[^\w)\]])[-−–]\Z", before):
        return False
    is_amount = re.search(r"\d\s?[^\W\d_]+\Z", text[start:end])  # 5 m is not 5 m/s
    return not (last.isdigit() and re.match(r"[.,:]\d|[-_]\w", after) or is_amount and re.match(r"/\w", after))


def _folded(item: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the words of `item` follow each other, with the same symbols between and around them."""
    wanted, there = words(item), words(text)
    names, symbols = [word for word, _, _ in wanted], _symbols(item, wanted)
    for index in range(len(there) - len(names) + 1 if names else 0):
        if there[index][0] != names[0]:
            continue
        run = there[index:index + len(names)]
        if [word for word, _, _ in run] != names or not _is_apart(text, run[0][1], run[-1][2]):
            continue
        left = there[index - 1][2] if index else 0
        right = there[index + len(names)][1] if index + len(names) < len(there) else len(text)
        around = _symbols(text[left:right], [(word, start - left, end - left) for word, start, end in run])
        if around[1:-1] == symbols[1:-1] and around[0].endswith(symbols[0]) and around[-1].startswith(symbols[-1]) \
                and not (around[-1] != symbols[-1] and around[-1][:1] in "+#"):
            yield run[0][1], run[-1][2]


def _symbols(text: str, found: list[tuple[str, int, int]]) -> list[str]:
    """The symbols before, between and behind the words `found` of `text`."""
    visible = _blanked(text)
    edges = [0, *(edge for _, start, end in found for edge in (start, end)), len(text)]
    return ["".join(_SYMBOL.findall(visible[start:end]))
            for start, end in zip(edges[::2], edges[1::2], strict=True)]


def _same_quantity(item: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a number, amount or date of the same worth stands, with the same words beside it."""
    wanted = _worth(item)
    if not any(kind != "word" for kind, _ in wanted):
        return
    there = words(text)
    for index, (_, start, _) in enumerate(there):
        for _, _, end in there[index:index + len(words(item)) + 3]:
            stops = [end + 1, end] if text[end:end + 1] in ("%", "°") else [end]
            stop = next((stop for stop in stops if _worth(text[start:stop]) == wanted), None)
            if stop and "\n" not in text[start:stop] and _is_apart(text, start, stop):
                yield start, stop
                break


@lru_cache(65536)
def _worth(text: str) -> tuple[tuple[str, object], ...]:
    return tuple((token.kind, token.value) for token in solid(tokens(text)))


def around(text: str, place: Place) -> str:
    """The sentence or line that `place` stands in, at most 300 characters on either side."""
    begin = max(text.rfind(mark, 0, place.start) for mark in (". ", "\n", "? ", "! ")) + 1
    ends = [end for mark in (". ", "\n") if (end := text.find(mark, place.end)) >= 0]
    return text[max(begin, place.start - 300):min([*ends, len(text), place.end + 300])].strip()
