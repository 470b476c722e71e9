"""Find the words of an answer in a text: exactly, approximately, or in another unit."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from lib.core.records import Query
from lib.core.values import solid, tokens
from lib.judge.rules import match_list

# equal; equal except for whitespace, case and markup; the same quantity in another unit; missing
Form = Literal["exact", "folded", "unit", "absent"]
FORMS: tuple[Form, ...] = get_args(Form)  # from the best to the worst

# Ignored: emphasis, tags, and the targets of links, in Markdown or as the rules write them.
_UNREAD = re.compile(
    r"(?<=\])\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|</?[A-Za-z][^>\n]*>|"
    r"(?<=\S) \((?:https?://[^()\s]*|[#./][^()\s]*"
    r"|[\w./-]+\.(?:md|html?|txt|rst)(?:#[^()\s]*)?)\)|"
    r"(?<![^\W_])_+|_+(?![^\W_])")
_WORD = re.compile(r"(?:(?<![\w)\]])[-−–](?=\d))?[^\W\d_]*\d+(?:[.,:]\d+)*[^\W_]*"  # 1.2.3, -20
                   r"|[^\W_]+")
_SYMBOL = re.compile(r"[+#%°=≥≤±$€£¥]|(?<![\w>])[<>](?=\s*\d)")  # C++ is not C, ≥ 5 is not 5
_BETWEEN = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+")  # items of a list in a sentence or cell


@dataclass(frozen=True)
class Place:
    """A match: text[start:end], and how closely it agrees with what was looked for."""

    start: int
    end: int
    form: Form


def items_of(query: Query) -> list[str]:
    """Return an answer's parts: a list's lines, the items of "a, b and c", or the answer itself."""
    lines = [line.strip() for line in query.answer.splitlines() if line.strip()]
    if len(lines) > 1 or query.entity_count is not None:
        return lines
    match = match_list(query.question, query.answer, query.answer)
    parts = [part.strip() for part in _BETWEEN.split(query.answer) if part.strip()]
    return parts if match and match.n_wanted == len(parts) else lines


def places(item: str, text: str) -> list[Place]:
    """Return where `item` occurs in `text`, in the best form that occurs at all.

    No place begins or ends inside a word, a number or a code: 80 does not occur in 8080, P-80, 80.5
    or 80-90. The form is "unit" if numbers, dates and words have the same value
    (`lib.core.values`): 30 s is 0.5 min.
    """
    item_end = r"(?![+#])" if re.search(r"\w\s*\Z", item) else ""  # C is not C++
    exact = [match.span() for match in re.finditer(re.escape(item.strip()) + item_end, text)
             if item.strip() and _is_apart(text, *match.span())]
    for form, spans in (("exact", exact), ("folded", _folded(item, text)),
                        ("unit", _same_quantity(item, text))):
        if found := [Place(*span, form) for span in spans]:
            return found
    return []


def nearest(found: list[Place], text: str, question: str) -> Place | None:
    """Return the first place whose sentence shares the most words with `question`, or None."""
    asked = {word for word, _, _ in words(question)}
    return max(found, default=None, key=lambda place: len(
        asked & {word for word, _, _ in words(around(text, place))}))


def worst(forms: list[Form]) -> Form:
    """Return the worst form; absent if there is none."""
    return max(forms, key=FORMS.index, default="absent")


def around(text: str, place: Place) -> str:
    """Return the sentence or line of `place`, at most 300 characters on either side."""
    begin = max(text.rfind(mark, 0, place.start) for mark in (". ", "\n", "? ", "! ")) + 1
    ends = [end for mark in (". ", "\n") if (end := text.find(mark, place.end)) >= 0]
    return text[max(begin, place.start - 300):min([*ends, len(text), place.end + 300])].strip()


@lru_cache(512)  # every query searches the same texts
def words(text: str) -> list[tuple[str, int, int]]:
    """Return the folded words and numbers of `text` with their places, without links and tags."""
    return [(unicodedata.normalize("NFKC", match[0]).casefold().replace("−", "-").replace("–", "-"),
             *match.span()) for match in _WORD.finditer(_visible(text))]


@lru_cache(512)
def _visible(text: str) -> str:
    """Replace what is ignored with spaces, so that offsets stay the same."""
    return _UNREAD.sub(lambda match: " " * len(match[0]), text)


def _is_apart(text: str, start: int, end: int) -> bool:
    """Return whether no word, number or code continues text[start:end] on either side."""
    visible, first, last = _visible(text), text[start], text[end - 1]
    before, after = visible[max(0, start - 2):start], visible[end:end + 2]
    if re.match(r"\w", first) and re.search(r"\w\Z", before):
        return False
    if re.match(r"\w", last) and re.match(r"\w", after):
        return False
    if first.isdigit() and re.search(r"\d[.,:]\Z|\w[-_]\Z|(?:\A|[^\w)\]])[-−–]\Z", before):
        return False
    if last.isdigit() and re.match(r"[.,:]\d|[-_]\w", after):
        return False
    is_amount = re.search(r"\d\s?[^\W\d_]+\Z", text[start:end])
    return not (is_amount and re.match(r"/\w", after))  # 5 m is not 5 m/s


def _folded(item: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where the words of `item` follow each other, with the same symbols around them."""
    wanted, there = words(item), words(text)
    names, symbols = [word for word, _, _ in wanted], _symbols(item, wanted)
    for index in range(len(there) - len(names) + 1 if names else 0):
        if there[index][0] != names[0]:
            continue
        run = there[index:index + len(names)]
        if [word for word, _, _ in run] != names or not _is_apart(text, run[0][1], run[-1][2]):
            continue
        left = there[index - 1][2] if index else 0
        behind = there[index + len(names):index + len(names) + 1]
        right = behind[0][1] if behind else len(text)
        shifted = [(word, start - left, end - left) for word, start, end in run]
        first, *between, last = _symbols(text[left:right], shifted)
        is_longer = last != symbols[-1] and last[:1] in "+#"  # "C" in "C++"
        if between == symbols[1:-1] and first.endswith(symbols[0]) \
                and last.startswith(symbols[-1]) and not is_longer:
            yield run[0][1], run[-1][2]


def _symbols(text: str, found: list[tuple[str, int, int]]) -> list[str]:
    """Return the symbols before, between and after the words `found` in `text`."""
    edges = [0, *(edge for _, start, end in found for edge in (start, end)), len(text)]
    return ["".join(_SYMBOL.findall(_visible(text)[start:end]))
            for start, end in zip(edges[::2], edges[1::2], strict=True)]


def _same_quantity(item: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where a number, amount or date of the same value occurs, with the same words."""
    wanted = _value(item)
    if all(kind == "word" for kind, _ in wanted):
        return
    there = words(text)
    for index, (_, start, _) in enumerate(there):
        for _, _, end in there[index:index + len(words(item)) + 3]:
            stops = [end + 1, end] if text[end:end + 1] in ("%", "°") else [end]
            stop = next((stop for stop in stops if _value(text[start:stop]) == wanted), None)
            if stop and "\n" not in text[start:stop] and _is_apart(text, start, stop):
                yield start, stop
                break


@lru_cache(65536)
def _value(text: str) -> tuple[tuple[str, object], ...]:
    return tuple((token.kind, token.value) for token in solid(tokens(text)))
