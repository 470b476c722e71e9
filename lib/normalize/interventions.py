"""Rewrite only the lists and tables of a document, without a model, before training.

The paper gives this advice but does not test it. Each intervention is `(document) -> text`; the
rest of the document stays identical, byte for byte.
"""

import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import groupby

from lib.core.records import Document
from lib.documents.blocks import STRUCTURE_OF, Block, Span, line_start, parse
from lib.documents.inline import unquoted, unquoted_code
from lib.documents.subject import subjects
from lib.normalize.rules.parts import Part, parts_of
from lib.normalize.rules.prose import write

VERBALIZED = ("entity-list", "tabular")  # the structures that sentences can replace
SUBJECT = "Subject"  # the header of the column that prefix_name adds
Edit = tuple[int, int, str]  # source[start:end] becomes the text

_BEFORE_CELL = re.compile(r"(?:\|[ \t]*)?\Z")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)*")
_QUOTE_LINES = re.compile(r"(?:\s*\n[ \t]*>[ \t>]*)+\Z")  # a list's span includes them
_TASK = re.compile(r"\[[ xX]\][ \t]+")
_MARKER = re.compile(r"(?:[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)+")


def repeat_header(document: Document) -> str:
    """Put the column's header into every body cell: `| 8443 |` becomes `| Port: 8443 |`.

    Cells without words, columns without a header, and cells that already begin with their header
    are left alone. A table of labels and values becomes "Property: …", "Value: …".
    """
    text, edits = document.text, []
    for block in parse(text):
        names = [text[cell.start:cell.end].rstrip(": ") for cell in block.header]
        for row in block.rows:
            edits += [(cell.start, cell.start, f"{name}: ")
                      for name, cell in zip(names, row, strict=False)
                      if name and cell.end > cell.start
                      and not text.startswith(f"{name}: ", cell.start)]
    return _edited(text, edits)


def prefix_name(document: Document) -> str:
    """Put the subject (the title, or the release that a heading names) before items and rows.

    `- 8443` becomes `- Corvane P-417: 8443` unless the item names the subject already; tables get
    a first column.
    """
    blocks, edits = parse(document.text), []
    for block, subject in zip(blocks, subjects(document, blocks), strict=True):
        name = " ".join(subject.name.split())
        if name and block.kind == "list":
            edits += [(at, at, f"{name}: ") for at in _unnamed(document.text, block, name)]
        elif name and block.kind == "table":
            edits += _first_column(document.text, block, name.replace("|", "\\|"))
    return _edited(document.text, edits)


def verbalize(document: Document, structures: Iterable[str] = VERBALIZED) -> str:
    """Replace lists ("entity-list"), tables ("tabular") or both by the rules' sentences.

    Headings, prose and code stay, except the sentence with a colon that introduces a list: it is
    written with the list. Raises ValueError for another structure.
    """
    wanted, text = set(structures), document.text
    if unknown := sorted(wanted - set(VERBALIZED)):
        raise ValueError(f"structure {unknown[0]!r} cannot become sentences: choose among "
                         f"{', '.join(VERBALIZED)}")
    references: dict = {}
    blocks = parse(text, references)
    parts = parts_of(document, blocks, references)
    edits, done = [], 0
    for number, block in enumerate(blocks):
        if STRUCTURE_OF.get(block.kind) not in wanted or block.start < done:
            continue
        start, end = _extent(text, blocks, parts, number)
        own = [part for part in parts if start <= part.start < block.end]
        paragraphs = []
        for group, members in groupby(own, key=lambda part: part.group):
            inner = blocks[group] if group > number else block  # code or a table inside a list
            if STRUCTURE_OF.get(inner.kind) in wanted:
                paragraphs.append(_sentences(list(members)))
            else:
                paragraphs.append(_verbatim(text, inner))
        edits.append(_written(text, start, end, paragraphs))
        done = block.end
    return _edited(text, edits)


INTERVENTIONS: dict[str, Callable[[Document], str]] = {
    "repeat-header": repeat_header,
    "prefix-name": prefix_name,
    "verbalize": verbalize,
    "targeted-tabular": partial(verbalize, structures=("tabular",)),
    "targeted-entity-list": partial(verbalize, structures=("entity-list",)),
}


def _edited(text: str, edits: list[Edit]) -> str:
    """Apply edits that do not overlap."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _unnamed(text: str, block: Block, name: str) -> list[int]:
    """Return where items without `name` begin, after a task's checkbox."""
    named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.I)
    begins = {item.start for item in block.items if not named.search(item.text)}
    return [task.end() if (task := _TASK.match(text, begin)) else begin for begin in begins]


def _first_column(text: str, block: Block, name: str) -> list[Edit]:
    edits = []
    for row in (block.header, *block.rows):
        at, words = _row_start(text, row), SUBJECT if row is block.header else name
        edits.append((at, at, f"| {words} " if text[at] == "|" else f"{words} | "))
    line_break = "\n" if "\n" in text else "\r"
    below = text.index(line_break, block.header[-1].end) + 1
    rule = _QUOTE.match(text, below).end()
    return [*edits, (rule, rule, "| --- " if text[rule] == "|" else "--- | ")]


def _row_start(text: str, row: tuple[Span, ...]) -> int:
    """Return where a row begins, after indentation, quote marks and list markers."""
    line = line_start(text, row[0].start)
    return line + _BEFORE_CELL.search(text[line:row[0].start]).start()


def _extent(text: str, blocks: tuple[Block, ...], parts: list[Part],
            number: int) -> tuple[int, int]:
    """Return the span to rewrite: a list includes the prose right before it that introduces it."""
    block = blocks[number]
    if block.kind == "table":
        return _row_start(text, block.header), block.end
    lead = next((part for part in parts if part.kind == "lead-in" and part.group == number), None)
    is_adjacent = lead and not text[lead.end:block.start].strip(" \t\r\n>") and any(
        other.kind == "prose" and other.start <= lead.start < other.end for other in blocks)
    trailing = _QUOTE_LINES.search(text, block.start, block.end)
    return (lead.start if is_adjacent else block.start,
            trailing.start() if trailing else block.end)


def _sentences(group: list[Part]) -> str:
    """Return the prose of one block, without its headings, which stay in the document.

    The innermost heading is kept for the parts, since it may name what is enumerated.
    """
    under = [replace(part, headings=part.headings[-1:]) for part in group]
    return write(under, "", is_headed=True).removeprefix("# \n\n")


def _verbatim(text: str, block: Block) -> str:
    """Return code or a table inside a list, without the list's marker and indentation."""
    lines = text[line_start(text, block.start):block.end]
    lines = unquoted_code(lines, lines) if block.kind == "code" else unquoted(lines)
    if marks := _MARKER.match(lines):
        lines = " " * marks.end() + lines[marks.end():]
    lines = textwrap.dedent(lines)
    is_indented = block.kind == "code" and not lines.lstrip().startswith(("```", "~~~"))
    return textwrap.indent(lines, "    ") if is_indented else lines


def _written(text: str, start: int, end: int, paragraphs: list[str]) -> Edit:
    """Return the edit that puts paragraphs in place of text[start:end], after its quote marks.

    Empty lines separate them where they would otherwise merge with a neighbour: a sentence right
    below a table would be a row of it, one right above dashes a heading.
    """
    line = line_start(text, start)
    marks = _QUOTE.match(text, line)
    prefix, start = marks[0], max(start, marks.end())
    lines = "\n\n".join(filter(None, paragraphs)).splitlines()
    above, below = text[:line].splitlines()[-1:], text[end:].splitlines()[1:2]
    if start == marks.end() and above and above[0].strip(" \t>"):
        lines.insert(0, "")
    if below and below[0].strip(" \t>"):
        lines.append("")
    newline = "\r\n" if "\r\n" in text else "\n"
    return start, end, newline.join(
        [*lines[:1], *((prefix + line).rstrip() for line in lines[1:])])
