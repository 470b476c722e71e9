"""Find page headers, footers and page numbers: they must not cut a sentence in two (3.2)."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

_PAGE = re.compile(r"\W*\d{1,4}(?:\s*(?:of|/)\s*\d{1,4})?\W*|.*\b[Pp]age\s+\d{1,4}\b.*")
_PAGE_LINE = re.compile(r"\W*P(?:age|AGE)\s+\d{1,4}(?:\s*(?:of|/)\s*\d{1,4})?\W*")
_LINE = re.compile(r"[^\n]+")
_WORDS = 12  # of a page header, at most
_MOST = 4  # lines of furniture between two pages, at most
_OPEN_END = re.compile(r"[\w,)\-–—]\Z")
_CONTINUES = re.compile(r"[a-z]")


@dataclass(frozen=True)
class Furniture:
    """The lines of a document that are repeated as page headers are; digits do not count."""

    repeated: frozenset[str]

    def is_paragraph(self, text: str) -> bool:
        """Return whether a paragraph can be furniture; it is if it also cuts a sentence."""
        is_page = len(text.split()) <= _WORDS and _PAGE.fullmatch(text.strip())
        return bool(is_page) or _masked(text) in self.repeated

    def is_line(self, line: str) -> bool:
        """Return whether a line of a paragraph can be furniture; a bare number cannot."""
        return bool(_PAGE_LINE.fullmatch(line.strip())) or _masked(line) in self.repeated

    def blanked(self, text: str, start: int, end: int) -> tuple[str, list[tuple[int, int]]]:
        """Return text[start:end] with such lines blanked where they cut a sentence; their spans."""
        lines = [(match.start(), match.end())
                 for match in _LINE.finditer(text, start, end) if match[0].strip()]
        cut: list[tuple[int, int]] = []
        first = 1
        while first < len(lines) - 1:
            last = first
            while last < len(lines) - 1 and self.is_line(text[slice(*lines[last])]):
                last += 1
            if last > first and continues(text[slice(*lines[first - 1])],
                                          text[slice(*lines[last])]):
                cut += lines[first:last]
            first = last + 1
        raw = text[start:end]
        for begin, until in cut:
            raw = raw[:begin - start] + " " * (until - begin) + raw[until - start:]
        return raw, cut


def furniture_of(text: str) -> Furniture:
    """Return the furniture of a document: short lines that it repeats, each time between others.

    A line of a repeated paragraph has the same neighbours each time.
    """
    lines = [_masked(line[0]) for line in _LINE.finditer(text) if line[0].strip()]
    around: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
        if re.search(r"[^\W\d]", line) and len(line.split()) <= _WORDS:
            around[line][0].add(before)
            around[line][1].add(after)
    return Furniture(frozenset(
        line for line, sides in around.items() if all(len(side) > 1 for side in sides)))


def continues(before: str, after: str) -> bool:
    """Return whether `after` goes on with the sentence of `before`."""
    return bool(_OPEN_END.search(before.rstrip()) and _CONTINUES.match(after.lstrip()))


def rejoined(parts: list, furniture: Furniture) -> Iterator:
    """Yield parts, with sentences joined that furniture divides; it follows its sentence."""
    index = 0
    while index < len(parts):
        part = parts[index]
        end = index + 1
        while end < min(len(parts), index + 1 + _MOST) and _is_between(parts[end], furniture):
            end += 1
        after = parts[end] if index + 1 < end < len(parts) else None
        if part.kind == "sentence" and after and after.kind == "sentence" and continues(
                part.text, after.text):
            yield replace(part, text=f"{part.text} {after.text}")
            yield from parts[index + 1:end]
            index = end + 1
        else:
            yield part
            index += 1


def _is_between(part, furniture: Furniture) -> bool:
    return part.kind == "sentence" and furniture.is_paragraph(part.text)


def _masked(line: str) -> str:
    return re.sub(r"\d+", "#", line.strip())
