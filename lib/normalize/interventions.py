"""What an engineer can do to his Markdown before training, without a model: the advice that the paper gives but
never tries. Each intervention is `(document) -> text`. Only tables and lists change; all else stays byte for byte.
"""

import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import groupby

from lib.core.records import Document
from lib.documents.blocks import STRUCTURE_OF, Block, Span, parse
from lib.documents.inline import unquoted
from lib.documents.subject import scopes
from lib.normalize.rules.parts import Part, parts_of
from lib.normalize.rules.prose import write

VERBALIZED = ("entity-list", "tabular")  # the structures that sentences can replace
SUBJECT = "Subject"  # the header of the column that prefix_name adds
Edit = tuple[int, int, str]  # source[start:end] becomes the text

_BEFORE_CELL = re.compile(r"(?:\|[ \t]*)?\Z")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)*")
_QUOTE_LINES = re.compile(r"(?:\s*\n[ \t]*>[ \t>]*)+\Z")  # a list's span takes them along
_TASK = re.compile(r"\[[ xX]\][ \t]+")
_MARKER = re.compile(r"(?:[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)+")


def repeat_header(document: Document) -> str:
    """Every body cell of every table says its column's header: `| 8443 |` under "Port" is `| Port: 8443 |`.

    Cells without words, columns without a header, and cells that begin with their header already are left alone. In a
    table of labels and values the rule is the same, so that its cells say "Property: …" and "Value: …".
    """
    edits = []
    for block in _blocks(document, "table"):
        names = [document.text[cell.start:cell.end].rstrip(": ") for cell in block.header]
        for row in block.rows:
            edits += [(cell.start, cell.start, f"{name}: ") for name, cell in zip(names, row, strict=False)
                      if name and cell.end > cell.start and not document.text.startswith(f"{name}: ", cell.start)]
    return _edited(document.text, edits)


def prefix_name(document: Document) -> str:
    """Each list item and each table row names the subject (the title, or the release that a heading names).

    `- 8443` becomes `- Corvane P-417: 8443` unless the item names it already; tables get a first column. Prose stays.
    """
    blocks, edits = parse(document.text), []
    for block, scope in zip(blocks, scopes(document, blocks), strict=True):
        name = " ".join(scope.subject.split())
        if name and block.kind == "list":
            edits += [(at, at, f"{name}: ") for at in _unnamed(document.text, block, name)]
        elif name and block.kind == "table":
            edits += _first_column(document.text, block, name.replace("|", "\\|"))
    return _edited(document.text, edits)


def verbalize(document: Document, structures: Iterable[str] = VERBALIZED) -> str:
    """Lists ("entity-list"), tables ("tabular") or both become the sentences of the rules' rewrite, where they stand.

    Headings, prose and code stay, save the sentence with a colon that introduces a list: it is said with the list.
    Raises ValueError for a structure that is neither.
    """
    wanted = set(structures)
    if unknown := sorted(wanted - set(VERBALIZED)):
        raise ValueError(f"structure {unknown[0]!r} cannot be made sentences: choose among {', '.join(VERBALIZED)}")
    blocks, parts = parse(document.text), parts_of(document)
    edits, done = [], 0
    for number, block in enumerate(blocks):
        if STRUCTURE_OF.get(block.kind) not in wanted or block.start < done:
            continue
        start, end = _extent(document.text, blocks, parts, block, number)
        inside = {other: blocks[other] for other in range(number + 1, len(blocks)) if blocks[other].start < block.end}
        own = [part for part in parts if start <= part.start < block.end]
        paragraphs = []
        for group, members in groupby(own, key=lambda part: part.group):
            held = inside.get(group)
            is_kept = held and STRUCTURE_OF.get(held.kind) not in wanted
            paragraphs.append(_as_it_stands(document.text, held) if is_kept else _sentences(list(members)))
        edits.append(_written(document.text, start, end, paragraphs))
        done = block.end
    return _edited(document.text, edits)


INTERVENTIONS: dict[str, Callable[[Document], str]] = {
    "repeat-header": repeat_header,
    "prefix-name": prefix_name,
    "verbalize": verbalize,
    "targeted-tabular": partial(verbalize, structures=("tabular",)),
    "targeted-entity-list": partial(verbalize, structures=("entity-list",)),
}


def _blocks(document: Document, kind: str) -> list[Block]:
    return [block for block in parse(document.text) if block.kind == kind]


def _edited(text: str, edits: list[Edit]) -> str:
    """`text` after edits that do not overlap."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _unnamed(text: str, block: Block, name: str) -> list[int]:
    """Where the items of a list begin that do not say `name`, behind the box of a task."""
    said = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.I)
    begins = {item.start for item in block.items if not said.search(item.text)}
    return [task.end() if (task := _TASK.match(text, begin)) else begin for begin in begins]


def _first_column(text: str, block: Block, name: str) -> list[Edit]:
    """A column before the first: SUBJECT in the header, `name` in every row."""
    edits = [_first_cell(text, row, SUBJECT if index == 0 else name)
             for index, row in enumerate((block.header, *block.rows))]
    below = text.index("\n", block.header[-1].end) + 1 if "\n" in text else text.index("\r", block.header[-1].end) + 1
    rule = _QUOTE.match(text, below).end()
    return [*edits, (rule, rule, "| --- " if text[rule] == "|" else "--- | ")]


def _first_cell(text: str, row: tuple[Span, ...], words: str) -> Edit:
    at = _row_start(text, row)
    return at, at, f"| {words} " if text[at] == "|" else f"{words} | "


def _row_start(text: str, row: tuple[Span, ...]) -> int:
    """Where a row begins in its line: behind indentation, quote marks and list markers, at its pipe if it has one."""
    line = _line_start(text, row[0].start)
    return line + _BEFORE_CELL.search(text[line:row[0].start]).start()


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _extent(text: str, blocks: list[Block], parts: list[Part], block: Block, number: int) -> tuple[int, int]:
    """Where what is rewritten begins and ends: with a list goes the prose right before that leads in to it."""
    if block.kind == "table":
        return _row_start(text, block.header), block.end
    lead = next((part for part in parts if part.kind == "lead-in" and part.group == number), None)
    is_prose = lead and any(other.kind == "prose" and other.start <= lead.start < other.end for other in blocks)
    is_beside = is_prose and not text[lead.end:block.start].strip(" \t\r\n>")
    trailing = _QUOTE_LINES.search(text, block.start, block.end)
    return lead.start if is_beside else block.start, trailing.start() if trailing else block.end


def _sentences(group: list[Part]) -> str:
    """The prose of one block, as the rules write it.

    Its headings stay where they are, so that none is said again; the innermost may still name what is enumerated.
    """
    under = [replace(part, headings=part.headings[-1:]) for part in group]
    return write(under, "", is_headed=True).removeprefix("# \n\n")


def _as_it_stands(text: str, block: Block) -> str:
    """Code or a table inside a list, without the list's marker and indentation; indented code keeps that of code."""
    lines = unquoted(text[_line_start(text, block.start):block.end])
    lines = textwrap.dedent(_MARKER.sub(lambda marks: " " * len(marks[0]), lines, count=1)
                            if _MARKER.match(lines) else lines)
    is_indented = block.kind == "code" and not lines.lstrip().startswith(("```", "~~~"))
    return textwrap.indent(lines, "    ") if is_indented else lines


def _written(text: str, start: int, end: int, paragraphs: list[str]) -> Edit:
    """Paragraphs instead of text[start:end], behind its quote marks, with empty lines around them where lines would
    run together (a sentence right below a table is a row of it, one right above dashes a heading)."""
    line = _line_start(text, start)
    marks = _QUOTE.match(text, line)
    prefix, start = marks[0], max(start, marks.end())
    lines = "\n\n".join(filter(None, paragraphs)).splitlines()
    above, below = text[:line].splitlines()[-1:], text[end:].splitlines()[1:2]
    is_own_line = start == marks.end() and above and above[0].strip(" \t>")
    lines = [*[""] * bool(is_own_line), *lines, *[""] * bool(below and below[0].strip(" \t>"))]
    newline = "\r\n" if "\r\n" in text else "\n"
    return start, end, newline.join([*lines[:1], *((prefix + line).rstrip() for line in lines[1:])])
