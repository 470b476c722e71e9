"""Blocks with what is needed to ask about them or to rewrite them: place and lead-in."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lib.core.records import Document
from lib.documents.blocks import Block, sentences, title_heading
from lib.documents.phrases import folded

MAX_KEY = 3  # columns that together name a row
_GENERIC = frozenset("""
about and api changelog changes config configuration docs documentation faq features general getting
guide home index information installation introduction manual notes of options overview readme
reference release releases requirements setup started summary the to troubleshooting tutorial
usage""".split())


@dataclass(frozen=True)
class Site:
    """A block in its document."""

    block: Block
    text: str  # of the document
    document: str  # its name in a question; "" if its title is generic
    section: str  # the heading above; with those above it if several have its name
    lead: str = ""  # the paragraph that introduces a list, or the heading right above it
    lead_start: int = -1  # of that paragraph's last sentence; -1 if the lead-in is a heading

    def place(self, without: str = "") -> str:
        """Return the beginning of a question: 'Under "Limits" in the document "X", '.

        A question whose words are the heading `without` does not repeat it.
        """
        section = self.section.removesuffix(without).rstrip(", ").replace('"', "'")
        return (f'Under "{section}" in ' if section else "In ") + f"{self.document}, "


def sites(document: Document, blocks: Sequence[Block]) -> Iterator[Site]:
    """Yield the site of each block, in order; `blocks` are those of the document."""
    title = title_heading(blocks)
    counts = Counter(block.text for block in blocks if block.kind == "heading")
    name = _document_name(title.text if title else document.title)
    above = None
    for block in blocks:
        path = [text for text in block.headings if not title or text != title.text]
        first = len(path) - 1
        while first > 0 and (counts[path[first]] > 1 or _is_generic(path[first])):
            first -= 1
        lead, start = _lead(document.text, above, block)
        yield Site(block, document.text, name, ", ".join(path[max(first, 0):]), lead, start)
        above = block


def row_key(block: Block) -> int:
    """Return how many columns, from the left, tell the rows of a table apart; 0 if none do."""
    for width in range(1, min(MAX_KEY, len(block.header) - 1) + 1):
        keys = [tuple(cell.text for cell in row[:width]) for row in block.rows]
        is_full = all(len(key) == width and key[0] for key in keys)
        if is_full and len(set(keys)) == len(keys) > 0:
            return width
    return 0


def _is_generic(name: str) -> bool:
    return all(word in _GENERIC or word.isdigit() for word in folded(name).split())


def _document_name(title: str) -> str:
    title = title.replace('"', "'").strip(" .:")
    return "" if _is_generic(title) else f'the document "{title}"'


def _lead(text: str, above: Block | None, block: Block) -> tuple[str, int]:
    if block.kind != "list" or above is None or text[above.end:block.start].strip(" \t>\r\n"):
        return "", -1
    if above.kind == "heading":
        return above.text, -1
    if above.kind != "prose":
        return "", -1
    last = sentences(text, above.start, above.end)[-1]
    is_open = last.text.endswith(":") or not re.search(r"[.!?)\"']$", last.text)
    return (last.text, last.start) if is_open else ("", -1)
