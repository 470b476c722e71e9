"""Propose questions by rules, deterministically and without a model (paper, 3.1)."""

from collections import Counter
from collections.abc import Iterator

from lib.annotate.constraints import Candidate
from lib.annotate.rules.places import Names, Site, outline_of
from lib.core.records import Document, Rejected
from lib.core.structures import structure_of
from lib.documents.blocks import parse
from lib.documents.language import ENGLISH
from lib.documents.reader import Block
from lib.documents.subject import subjects


def by_rules(documents: list[Document],
             max_queries: int) -> list[tuple[list[Candidate], list[Rejected]]]:
    """Return every question that a rule can ask of each document, and why blocks are passed over.

    A document that is mostly not in English is not asked about, nor are the tables of one whose
    structure is in doubt.
    """
    names = Names(documents)
    return [_proposals(document, names) for document in documents]


def _proposals(document: Document, names: Names) -> tuple[list[Candidate], list[Rejected]]:
    if document.language not in ENGLISH:
        reason = f"the rules ask in English only: the document is in {document.language}"
        return [], [Rejected(document_id=document.document_id, item=document.title, reason=reason)]
    candidates: list[Candidate] = []
    passed: Counter[str] = Counter()
    for found in propose(document, names):
        if isinstance(found, str):
            passed[found] += 1
        else:
            candidates.append(found)
    return candidates, [
        Rejected(document_id=document.document_id, item=f"blocks: {count}", reason=reason)
        for reason, count in passed.items()]


def propose(document: Document, names: Names) -> Iterator[Candidate | str]:
    """Yield every question that a rule can ask, unchecked, and why a block is passed over."""
    blocks = parse(document.text)
    outline = outline_of(blocks)
    labels = Counter((where, row[0].text) for block in blocks for row in block.rows if row
                     for where in ((), block.headings))
    before = (Block("", 0, 0, ""), *blocks)
    for above, block, about in zip(before, blocks, subjects(document, blocks), strict=False):
        structure = structure_of(block.kind)
        if structure is None:
            continue
        place = names.place(document, about, block.headings, outline)
        if not place.name:
            yield "neither title nor product says what the document is about"
        elif place.is_example:
            yield "the section is an example"
        elif block.kind == "table" and document.doubt:
            yield f"the tables are in doubt: {document.doubt}"
        else:
            yield from structure.ask(Site(block, above, place, document.text, labels))
