"""Write lists and tables as sentences that say no more than they do (paper, 3.2)."""

import re
from collections.abc import Iterator

from lib.core.text import listed
from lib.documents.inline import ended, plain, unquoted
from lib.documents.phrases import in_sentence, is_attribute, is_value
from lib.documents.sites import Site, row_key

SHORT_WORDS = 8  # of an item that can share a sentence
# a lead-in whose condition or negation each item needs
_CONDITIONAL = re.compile(r"\b(?:not|no|never|none|without|avoid|only|except|if|unless|when|before|"
                          r"after|until|must|should|may|either|one of|any of|\w+n['’]t)\b", re.I)

Sentences = Iterator[tuple[int, str]]  # each with the place where its source begins


def keep(site: Site) -> Sentences:
    """Yield nothing: the block stays as it is."""
    yield from ()


def rewrite_list(site: Site) -> Sentences:
    """Yield the items of a flat list below their lead-in; a nested list stays as it is.

    A lead-in with a condition or a negation is said with each item. Short items share a sentence.
    """
    items, lead = site.block.items, site.lead.strip().rstrip(":").strip()
    if not lead or any(item.depth or item.goes_on for item in items):
        return
    start = site.lead_start if site.lead_start >= 0 else items[0].start
    texts = [_words(site, item.start, item.end).strip(" ,;") for item in items]
    is_short = all(len(text.split()) <= SHORT_WORDS and not re.search(r"[.!?;:]\s|:$", text)
                   for text in texts)
    for number, (item, text) in enumerate(zip(items, texts, strict=True)):
        text = f"({item.number}) {text}" if item.number is not None else text
        if number == 0 or _CONDITIONAL.search(lead):
            text = f"{lead}: {text}"
        is_open = is_short and not _CONDITIONAL.search(lead) and number < len(items) - 1
        yield start if number == 0 else item.start, (
            f"{text.rstrip('.')};" if is_open else ended(text))


def rewrite_table(site: Site) -> Sentences:
    """Yield each row, named by all columns that make it unique, with its other cells.

    "For port 80, the protocol is TCP; Required: no." A row that no column makes unique is a series
    of "header: cell".
    """
    header = [_words(site, cell.start, cell.end) for cell in site.block.header]
    if not any(header) or not site.block.rows:
        return
    width = row_key(site.block)
    if not all(is_attribute(name) or not name for name in header[:width]):
        width = 0  # the first column is no name of the rows
    for row in site.block.rows:
        own = [cell for cell in row if cell.start > site.block.start]
        cells = [_words(site, cell.start, cell.end) for cell in own]
        if not own or len(own) > len(header):
            yield row[0].start, ended("; ".join(filter(None, cells)))
            continue
        yield own[0].start, _row([*zip(header, cells, strict=False)], width)


def _row(pairs: list[tuple[str, str]], width: int) -> str:
    others = [(name, cell) for name, cell in pairs[width:] if cell]
    if width == 0 or not others:
        return ended("; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell))
    keys = listed([f"{in_sentence(name)} {cell}".strip() for name, cell in pairs[:width] if cell])
    clauses = [_clause(name, cell) for name, cell in others]
    if len(pairs) == 2 and re.fullmatch(r"(?:value|entry|setting|data|)s?", pairs[1][0], re.I):
        return ended(f"{pairs[0][1]}: {pairs[1][1]}")
    return ended(f"For {keys}, {'; '.join(clause.rstrip('.') for clause in clauses)}")


def _clause(name: str, cell: str) -> str:
    is_short = is_attribute(name) and is_value(cell) and re.search(r"\w", cell)
    return f"the {in_sentence(name)} is {cell}" if is_short else f"{name}: {cell}" if name else cell


def _words(site: Site, start: int, end: int) -> str:
    return plain(unquoted(site.text[start:end].replace("\\|", "|")), targets=True)
