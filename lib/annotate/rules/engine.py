"""A floor without a model: ask only what a plain pattern makes safe, else abstain (paper, 3.1)."""

from collections import Counter
from collections.abc import Iterator

from lib.annotate.constraints import Candidate
from lib.annotate.rules.names import is_named, names_of
from lib.core.records import Document, Rejected
from lib.core.structures import structure_of
from lib.documents.language import ENGLISH
from lib.documents.markdown import Block, parse
from lib.documents.sites import sites


def by_rules(
    documents: list[Document], max_queries: int
) -> list[tuple[list[Candidate], list[Rejected]]]:
    """Return every question that a rule can ask of each document, and why blocks are passed over.

    A document that is mostly not in English is not asked about, nor are the tables of one whose
    structure is in doubt.
    """
    seen: dict[str, str] = {}
    parsed = [parse(document.text) for document in documents]
    names = names_of(documents, parsed)
    return [
        _proposals(document, blocks, seen, names)
        for document, blocks in zip(documents, parsed, strict=True)
    ]


def _proposals(
    document: Document, blocks: tuple[Block, ...], seen: dict[str, str], names: frozenset[str]
) -> tuple[list[Candidate], list[Rejected]]:
    if document.language not in ENGLISH:
        reason = f"the rules ask in English only: the document is in {document.language}"
        return [], [Rejected(document_id=document.document_id, item=document.title, reason=reason)]
    candidates: list[Candidate] = []
    passed: Counter[tuple[str, str]] = Counter()
    for structure, found in _proposed(document, blocks, seen, names):
        if isinstance(found, str):
            passed[structure, found] += 1
        else:
            candidates.append(found)
    return candidates, [
        Rejected(
            document_id=document.document_id,
            item=f"blocks: {count}",
            reason=reason,
            structure=structure,
        )
        for (structure, reason), count in passed.items()
    ]


def _proposed(
    document: Document, blocks: tuple[Block, ...], seen: dict[str, str], names: frozenset[str]
) -> Iterator[tuple[str, Candidate | str]]:
    for site in sites(document, blocks, names):
        structure = structure_of(site.block.kind)
        if structure is None:
            continue
        first = seen.setdefault(site.block.text, document.document_id)
        if first != document.document_id:  # what several documents say is asked of the first
            reason = "another document has the same text"
        elif site.block.kind in ("list", "table") and not is_named(
            f"{site.document} {site.section}", site.names
        ):
            reason = "neither the title nor a heading names the thing"
        elif "example" in site.section.lower():
            reason = "the section is an example"
        elif site.block.kind == "table" and document.doubt:
            reason = f"the tables are in doubt: {document.doubt}"
        else:
            asked = list(structure.ask(site))
            yield from ((structure.name, one) for one in asked)
            reason = "" if asked else "no safe pattern fits"
        if reason:
            yield structure.name, reason
