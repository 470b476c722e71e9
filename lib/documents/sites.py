"""Blocks with what is needed to ask about them or to rewrite them: place and lead-in."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lib.core.records import Document
from lib.documents.markdown import Block, sentences, title_heading

MAX_KEY = 3  # columns that together name a row


@dataclass(frozen=True)
class Site:
    """A block in its document."""

    block: Block
    text: str  # of the document
    document: str  # its name in a question
    section: str  # the headings above
    lead: str = ""  # the paragraph that introduces a list, or the heading right above it
    lead_start: int = -1  # of that paragraph's last sentence; -1 if the lead-in is a heading
    names: frozenset[str] = frozenset()  # words that name things

    def place(self) -> str:
        """Return the beginning of a question: 'Under "Limits" in the document "X", '."""
        section = self.section.replace('"', "'")
        under = f'Under "{section}" in' if section else "In"
        return f'{under} the document "{self.document}", '


def sites(
    document: Document, blocks: Sequence[Block], names: frozenset[str] = frozenset()
) -> Iterator[Site]:
    """Yield the site of each block, in order; `blocks` and `names` are those of the document."""
    title = title_heading(blocks)
    name = (title.text if title else document.title).replace('"', "'").strip(" .:")
    above = None
    for block in blocks:
        path = ", ".join(text for text in block.headings if not title or text != title.text)
        lead, start = _lead(document.text, above, block)
        yield Site(block, document.text, name, path, lead, start, names)
        above = block


def row_key(block: Block) -> int:
    """Return how many columns, from the left, tell the rows of a table apart; 0 if none do."""
    for width in range(1, min(MAX_KEY, len(block.header) - 1) + 1):
        keys = [tuple(cell.text for cell in row[:width]) for row in block.rows]
        is_full = all(len(key) == width and key[0] for key in keys)
        if is_full and len(set(keys)) == len(keys) > 0:
            return width
    return 0


def _lead(text: str, above: Block | None, block: Block) -> tuple[str, int]:
    if block.kind != "list" or above is None or text[above.end : block.start].strip(" \t>\r\n"):
        return "", -1
    if above.kind == "heading":
        return above.text, -1
    if above.kind != "prose":
        return "", -1
    last = sentences(text, above.start, above.end)[-1]
    is_open = last.text.endswith(":") or not re.search(r"[.!?)\"']$", last.text)
    return (last.text, last.start) if is_open else ("", -1)
