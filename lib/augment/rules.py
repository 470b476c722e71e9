"""Vary segments by rules, deterministically and without a model."""

import random
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from lib.annotate.queries import annotate
from lib.annotate.rules.engine import by_rules as ask_by_rules
from lib.augment.drafts import Draft, Strategy, pair_text
from lib.augment.facts import facts_of
from lib.augment.wordings import PLAIN, paraphrases
from lib.core.records import Document, Segment
from lib.documents.blocks import Block, line_start, parse
from lib.documents.tables import tables_of

NO_FACT = "no fact that a rule can state in other words"
NO_QUESTION = "no question that a rule can ask"
NO_ORDER = "no complete table or flat list whose order is free"
_EVERY = 1_000_000  # questions per document: all that a rule can ask
_TRIES = 9  # orders drawn for each that is wanted, in case some are drawn twice


def by_rules() -> dict[str, Strategy]:
    """Return what rules can do: paraphrase and ask about facts, and reorder rows and items."""
    return {"paraphrase": paraphrase, "pairs": pairs, "permuted": permuted}


def paraphrase(segments: list[Segment], documents: dict[str, Document], k: int) -> list[Draft]:
    """Return up to `k` texts per segment, each with all its facts, in other words and order.

    A fact belongs to the segment where it starts. Raises ValueError if there are fewer than `k`
    wordings.
    """
    drafts: list[Draft] = []
    for document, own in _by_document(segments, documents):
        facts = defaultdict(list)
        for fact in facts_of(document):
            facts[_holder(own, fact.start)].append(fact)
        for segment in own:
            rng = random.Random(f"paraphrase {segment.segment_id}")
            said = [paraphrases(fact.name, fact.label, fact.value, k, rng, PLAIN)
                    for fact in facts[segment.segment_id]]
            texts = [" ".join(rng.sample(each, len(each))) for each in zip(*said, strict=True)]
            drafts += _drafts(segment, texts, NO_FACT)
    return drafts


def pairs(segments: list[Segment], documents: dict[str, Document], k: int) -> list[Draft]:
    """Return every question that the annotator's rules can ask, with its answer; `k` is not used.

    A question belongs to the segment that holds its complete source reference.
    """
    asked = defaultdict(list)
    for query in annotate(list(documents.values()), ask_by_rules, _EVERY)[0]:
        asked[query.document_id].append(query)
    drafts: list[Draft] = []
    for document, own in _by_document(segments, documents):
        for segment in own:
            inside = [query for query in asked[document.document_id]
                      if segment.start <= query.start and query.end <= segment.end]
            drafts += [Draft(segment.segment_id, pair_text(query.question, query.answer),
                             asks=(query.start, query.end)) for query in inside] or [
                Draft(segment.segment_id, "", NO_QUESTION)]
    return drafts


def permuted(segments: list[Segment], documents: dict[str, Document], k: int) -> list[Draft]:
    """Return up to `k` texts per segment: its tables and flat lists with rows in other orders.

    Each is below its title and headings. Numbered lists keep their order, and so do tables in which
    a row has no first cell, since it may continue the row above.
    """
    drafts: list[Draft] = []
    for document, own in _by_document(segments, documents):
        found = list(_lines_of(document))
        for segment in own:
            rng = random.Random(f"permuted {segment.segment_id}")
            inside = [(above, lines) for start, end, above, lines in found
                      if segment.start <= start and end <= segment.end]
            orders = [list(_orders(lines, k, rng)) for _, lines in inside]
            texts = ["\n\n".join(above + "".join(order[number]) for (above, _), order in zip(
                inside, orders, strict=True) if number < len(order)) for number in range(k)]
            drafts += _drafts(segment, [text.strip() for text in texts if text], NO_ORDER)
    return drafts


def _by_document(segments: list[Segment], documents: dict[str, Document]) -> Iterator[
        tuple[Document, list[Segment]]]:
    for document_id, own in groupby(segments, key=lambda segment: segment.document_id):
        yield documents[document_id], list(own)


def _holder(segments: Sequence[Segment], start: int) -> str:
    """Return the segment that holds the character at `start`."""
    return segments[bisect_right(segments, start, key=lambda one: one.start) - 1].segment_id


def _drafts(segment: Segment, texts: list[str], reason: str) -> list[Draft]:
    return ([Draft(segment.segment_id, text) for text in texts]
            or [Draft(segment.segment_id, "", reason)])


def _lines_of(document: Document) -> Iterator[tuple[int, int, str, list[str]]]:
    """Yield (start, end, what stays above, lines) of each table and list whose order is free."""
    text, blocks = document.text, parse(document.text)
    tables = {} if document.doubt else {table.begin: table for table in tables_of(text)}
    for block in blocks:
        start = line_start(text, block.start)
        path = dict.fromkeys(name for name in (document.title, *block.headings) if name)
        above = "".join(f"{'#' * level} {name}\n\n" for level, name in enumerate(path, 1))
        if start in tables and _is_free(block):
            table = tables[start]
            edges = [*table.rows, table.rows_end]
            lines = [text[a:b] for a, b in zip(edges, edges[1:], strict=False)]
            yield start, block.end, above + table.header, lines
        elif block.kind == "list" and block.inside < 0:
            lines = re.findall(r"[^\n]*\S[^\n]*\n?", text[start:block.end])
            is_flat = len(lines) == len(block.items) and not any(
                item.depth or item.ordered for item in block.items)
            if is_flat:
                yield start, block.end, above, lines


def _is_free(block: Block) -> bool:
    """Return whether the rows of a Markdown table name themselves: each first cell is filled."""
    return all(row and row[0].text for row in block.rows)


def _orders(lines: list[str], k: int, rng: random.Random) -> Iterator[list[str]]:
    """Yield up to `k` different orders of the lines, none the given one."""
    whole = [line if line.endswith("\n") else line + "\n" for line in lines]
    seen = {tuple(whole)}
    for _ in range(_TRIES * k):
        order = tuple(rng.sample(whole, len(whole)))
        if order not in seen and len(seen) <= k:
            seen.add(order)
            yield list(order)
