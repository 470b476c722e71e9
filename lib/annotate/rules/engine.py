"""Propose questions by rules, deterministically and without a model (paper, 3.1)."""

from collections.abc import Iterator

from lib.annotate.constraints import Candidate
from lib.annotate.rules.lists import ask_list
from lib.annotate.rules.sentences import ask_prose
from lib.annotate.rules.tables import ask_table
from lib.core.records import Document, Rejected
from lib.documents.blocks import parse
from lib.documents.subject import subjects


def by_rules(documents: list[Document],
             max_queries: int) -> list[tuple[list[Candidate], list[Rejected]]]:
    """Return every question that a rule can ask of each document; the rules reject nothing."""
    return [(list(propose(document)), []) for document in documents]


def propose(document: Document) -> Iterator[Candidate]:
    """Yield every question that a rule can ask, unchecked, in the order of the blocks."""
    blocks = parse(document.text)
    for index, (block, about) in enumerate(zip(blocks, subjects(document, blocks), strict=True)):
        if block.kind == "table":
            yield from ask_table(block, about, document.text)
        elif block.kind == "list":
            yield from ask_list(blocks, index, about, document.text)
        elif block.kind == "prose":
            yield from ask_prose(blocks, index, about, document.text)
