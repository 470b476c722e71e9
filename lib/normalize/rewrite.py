"""Rewrite segments as narrative prose, and find the facts that a rewrite loses (paper, 3.2)."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from html import unescape

import pandas as pd

from lib.core.records import Document, Normalized, Segment
from lib.core.structures import STRUCTURES, structure_of
from lib.documents.markdown import parse, untagged

SHORT_WORDS = 8  # a cell or item of up to this many words counts as a name

# An engine: (segments, documents by id) -> one row per segment, in their order.
Rewrite = Callable[[list[Segment], dict[str, Document]], list[Normalized]]

_WORD = re.compile(r"[^\s()\[\]{}<>\"'`*|,;“”‘’]+")
_UNSEEN = re.compile(
    r"<!--.*?-->|\]\(#[^)\s]*\)|\]\[(?!\d+\])[^\]\n]*\]|^[ >]*\[[^\]\n]+\]:|"
    r"^[ \t]*#{1,6}[ \t]",
    re.M | re.S,
)
_ADDRESS = re.compile(r"<[a-z]+\s[^<>]*?\b(?:href|src)\s*=\s*[\"']([^\"'<>#][^\"'<>]*)[\"']", re.I)
_FACTUAL = re.compile(r"\d|\w[_/\\.@]\w|^/\w|[a-z][A-Z]|[A-Z]{2}")


def normalize(
    segments: list[Segment], documents: list[Document], rewrite: Rewrite
) -> list[Normalized]:
    """Return one row per segment, in order; one without a rewrite gives the reason.

    `rewrite` is `lib.normalize.model.by_model(…)` or `lib.lab.engines.rewrite_facts(…)`.
    Raises KeyError naming a document that is not in `documents`, and whatever `rewrite` raises.
    """
    by_id = {document.document_id: document for document in documents}
    missing = sorted({segment.document_id for segment in segments} - set(by_id))
    if missing:
        raise KeyError(
            f"segments of {missing[0]!r}, but no such document: segment these documents first"
        )
    return rewrite(segments, by_id)


def fact_words(source: str, items: Sequence[str] | None = None) -> dict[str, str]:
    """Return the words of Markdown that carry facts, in order: folded -> as first written.

    Such words are numbers, versions, paths, code names and capitals anywhere, and every word of
    short table cells and list items. They are compared without case, markup and surrounding
    punctuation. What a reader never sees does not count: targets within the page, labels of link
    definitions, HTML comments, and HTML tags except for the addresses of links and images.
    `items` are its short items and cells, where its document is parsed already.
    """
    short = [text for _, text in short_items(source)] if items is None else items
    named = {_folded(word) for text in short for word in _WORD.findall(text)}
    found: dict[str, str] = {}
    visible = untagged(_ADDRESS.sub(r"\1 \g<0>", _UNSEEN.sub(" ", source)))
    for word in dict.fromkeys(_WORD.findall(_bare(visible))):
        folded = _folded(word)
        if folded and (folded in named or _FACTUAL.search(word)):
            found.setdefault(folded, word)
    return found


def short_items(source: str) -> list[tuple[int, str]]:
    """Return the list items and table cells of up to SHORT_WORDS words, with their starts."""
    return [
        (span.start, span.text)
        for block in parse(source)
        for span in (*block.items, *(cell for row in block.rows for cell in row))
        if re.search(r"\w", span.text) and len(span.text.split()) <= SHORT_WORDS
    ]


def words_in(text: str) -> frozenset[str]:
    """Return all words of a text, folded for comparison."""
    return frozenset(map(_folded, set(_WORD.findall(_bare(text)))))


def _bare(text: str) -> str:
    return re.sub(r"`|\*\*|(?<=\S)\[\^[^\W_][\w-]*\]", "", unescape(text))


def _folded(word: str) -> str:
    word = re.sub(r"\\(?=[!-/:-@\[-`{-~])", "", word)
    return unicodedata.normalize("NFKC", word).casefold().strip(".:!?_-–—=~#\\")


def words_by_structure(segments: list[Segment], rewrites: list[Normalized]) -> pd.DataFrame:
    """Count the words of each structure that are kept as they are, rewritten, or in no rewrite."""
    counts = {name: dict.fromkeys(("kept", "rewritten", "lost"), 0) for name in STRUCTURES}
    for segment, rewrite in zip(segments, rewrites, strict=True):
        text = " ".join(rewrite.text.split())
        for block in parse(segment.text):
            if structure := structure_of(block.kind):
                words = segment.text[block.start : block.end].split()
                is_kept = " ".join(words) in text
                fate = "lost" if rewrite.dropped else "kept" if is_kept else "rewritten"
                counts[structure.name][fate] += len(words)
    return pd.DataFrame(counts).T.rename_axis("structure")
