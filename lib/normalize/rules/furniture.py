"""Find page headers, footers and page numbers: they must not cut a sentence in two (3.2)."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

_PAGE = re.compile(r"\W*\d{1,4}(?:\s*(?:of|/)\s*\d{1,4})?\W*|.*\b[Pp]age\s+\d{1,4}\b.*")
_PAGE_LINE = re.compile(  # between the lines of a paragraph
    r"(?<=[\w,)-])\n(?P<line>[ \t]*Page[ \t]+\d{1,4}(?:[ \t]*(?:of|/)[ \t]*\d{1,4})?)[ \t]*"
    r"(?=\n[ \t]*[a-z])")
_OPEN_END = re.compile(r"[\w,)\-–—]\Z")
_WORDS = 12  # of a page header, at most
_MOST = 4  # paragraphs of furniture between two pages, at most


def without_pages(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a paragraph with the lines blanked that are page numbers, and where they are."""
    found = [match.span("line") for match in _PAGE_LINE.finditer(text)]
    for start, end in found:
        text = text[:start] + " " * (end - start) + text[end:]
    return text, found


def rejoined(parts: list) -> Iterator:
    """Yield parts, with sentences joined that furniture divides; it follows its sentence.

    Furniture is a short paragraph that names a page or is repeated, between a sentence without an
    end and one that begins in lower case.
    """
    counts = Counter(_masked(part.text) for part in parts if part.kind == "sentence")
    index = 0
    while index < len(parts):
        part, end = parts[index], index + 1
        while end < min(len(parts), index + 1 + _MOST) and _is_furniture(parts[end], counts):
            end += 1
        after = parts[end] if index + 1 < end < len(parts) else None
        is_cut = after and part.kind == after.kind == "sentence" and (
            _OPEN_END.search(part.text) and after.text[:1].islower())
        yield replace(part, text=f"{part.text} {after.text}") if is_cut else part
        if is_cut:
            yield from parts[index + 1:end]
        index = end + 1 if is_cut else index + 1


def _is_furniture(part, counts: Counter[str]) -> bool:
    return part.kind == "sentence" and len(part.text.split()) <= _WORDS and bool(
        _PAGE.fullmatch(part.text) or counts[_masked(part.text)] > 1)


def _masked(text: str) -> str:
    return re.sub(r"\d+", "#", text)
