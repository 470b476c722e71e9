"""Blocks with what is needed to ask about them or to rewrite them: place and lead-in."""

import re
from collections import Counter, defaultdict
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
    document: str  # its name in a question; "" if neither title nor product names it
    section: str  # the heading above; with those above it if several have its name
    lead: str = ""  # the paragraph that introduces a list, or the heading right above it
    lead_start: int = -1  # of that paragraph's last sentence; -1 if the lead-in is a heading

    def place(self, without: str = "") -> str:
        """Return the beginning of a question: 'Under "Limits" in the document "X", '.

        A question whose words are the heading `without` does not repeat it.
        """
        section = self.section.removesuffix(without).rstrip(", ").replace('"', "'")
        return (f'Under "{section}" in ' if section else "In ") + f"{self.document}, "


def sites(document: Document, blocks: Sequence[Block], product: str = "") -> Iterator[Site]:
    """Yield the site of each block, in order; `blocks` are those of the document."""
    title = title_heading(blocks)
    counts = Counter(block.text for block in blocks if block.kind == "heading")
    is_own = folded(product) in folded(document.text)
    name = _document_name(title.text if title else document.title, product if is_own else "")
    above = None
    for block in blocks:
        path = [text for text in block.headings if not title or text != title.text]
        first = len(path) - 1
        while first > 0 and (counts[path[first]] > 1 or _is_generic(path[first])):
            first -= 1
        lead, start = _lead(document.text, above, block)
        yield Site(block, document.text, name, ", ".join(path[max(first, 0):]), lead, start)
        above = block


def products(documents: Sequence[Document]) -> dict[str, str]:
    """Return folder -> the product that its documents are about, "" if none is clear.

    It is what their folder is called after, as most of them write it.
    """
    folders = defaultdict(list)
    for document in documents:
        folders[folder_of(document)].append(document.text)
    return {folder: _product(folder, texts) for folder, texts in folders.items()}


def folder_of(document: Document) -> str:
    """Return the first folder of a document's id, "" if it has none."""
    return document.document_id.partition("/")[0] if "/" in document.document_id else ""


def row_key(block: Block) -> int:
    """Return how many columns, from the left, tell the rows of a table apart; 0 if none do."""
    for width in range(1, min(MAX_KEY, len(block.header) - 1) + 1):
        keys = [tuple(cell.text for cell in row[:width]) for row in block.rows]
        is_full = all(len(key) == width and key[0] for key in keys)
        if is_full and len(set(keys)) == len(keys) > 0:
            return width
    return 0


def _product(folder: str, texts: list[str]) -> str:
    joined = "\n".join(texts)
    parts = [part for part in re.split(r"[-_. ]+", folder) if part]
    for length in range(len(parts), 0, -1):
        called = re.compile(rf"(?<![\w/.-]){'[-_. ]?'.join(map(re.escape, parts[:length]))}"
                            r"(?![\w/-]|\.\w)", re.I)
        if sum(len(called.findall(text)) > 1 for text in texts) >= len(texts) / 2:
            forms = Counter(called.findall(joined))
            return max(forms, key=lambda form: (
                form != form.lower() and 5 * forms[form] > forms.total(), forms[form]))
    return ""


def _is_generic(name: str) -> bool:
    return all(word in _GENERIC or word.isdigit() for word in folded(name).split())


def _document_name(title: str, product: str) -> str:
    title = title.replace('"', "'").strip(" .:")
    if not title or _is_generic(title) and not product:
        return ""
    own = "" if folded(product) in folded(title) else f"{product} "
    return f'the {own}document "{title}"'


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
