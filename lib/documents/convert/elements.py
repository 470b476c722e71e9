"""Read a tree of HTML elements as pieces: headings, paragraphs, list items, tables, code."""

import re

from lib.core.errors import BadInput
from lib.documents.convert.markdown import Piece, code_span, inline

MOST_CELLS = 200_000  # of one table, spans repeated

INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr q s "
    "samp small span strike strong sub sup time tt u var wbr".split())
HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_CODE = frozenset(("code", "kbd", "samp", "tt"))


def walked(root, unit: str = "line") -> list[Piece]:
    """Return the pieces of a tree; a position is a `unit` and an element's line number."""
    walker = _Walker(unit)
    walker.block(root)
    walker.flush()
    return walker.pieces


def n_words(element) -> int:
    return len(" ".join(element.itertext()).split())


def is_data(element) -> bool:
    """Whether a table shows data; else it only arranges the page."""
    if element.tag != "table":
        return False
    if element.get("role") in ("presentation", "none") or any(
            one is not element for one in element.iter("table", *HEADINGS)):
        return False
    heads = next(element.iter("th"), None) is not None
    rows = list(element.iter("tr"))
    return heads or (len(rows) > 1 and max(len(row) for row in rows) > 1
                     and next(element.iter("pre"), None) is None)


class _Walker:
    def __init__(self, unit: str = "line"):
        self.unit = unit
        self.pieces: list[Piece] = []
        self.words: list[str] = []
        self.item: Piece | None = None
        self.depth = 0
        self.position = ""

    def add(self, kind: str, **fields) -> None:
        self.pieces.append(Piece(kind, depth=self.depth, position=self.position, **fields))

    def place(self, element) -> None:
        if element.sourceline:
            self.position = f"{self.unit} {element.sourceline}"

    def flush(self) -> None:
        text = tidy("".join(self.words))
        self.words = []
        if text and self.item is not None:
            self.item.text, self.item = text, None
        elif text:
            self.add("prose", text=text)

    def block(self, element) -> None:
        tag = element.tag
        if tag in INLINE or tag == "br":
            self.words.append(inlined(element))
            return
        self.flush()
        self.place(element)
        if tag in HEADINGS:
            self.add("heading", text=tidy(inlined(element)).replace("\n", " "), level=int(tag[1]))
        elif tag == "pre":
            self.item = None
            self.add("code", text=raw_text(element))
        elif tag in ("ul", "ol", "menu"):
            self.items(element)
        elif tag == "dl":
            self.definitions(element)
        elif is_data(element):
            self.item = None
            self.table(element)
        else:
            self.content(element)
            self.flush()

    def content(self, element) -> None:
        self.words.append(inline_kept(element.text))
        for child in element:
            self.block(child)
            self.words.append(inline_kept(child.tail))

    def inside(self, element, number: int | None = None) -> None:
        """Add a list item whose first paragraph, if it has one, is on the item's own line."""
        self.flush()
        self.place(element)
        self.add("item", number=number)
        self.item = self.pieces[-1]
        self.depth += 1
        self.content(element)
        self.flush()
        self.item, self.depth = None, self.depth - 1

    def items(self, element) -> None:
        start = element.get("start", "")
        number = int(start) if start.isdecimal() and len(start) < 9 else 1
        for child in element:
            if child.tag == "li":
                value = child.get("value", "")
                number = int(value) if value.isdecimal() and len(value) < 9 else number
                self.inside(child, number if element.tag == "ol" else None)
                number += 1
            elif child.tag in ("ul", "ol", "menu"):  # not allowed there, and common
                self.depth += 1
                self.items(child)
                self.depth -= 1
            else:
                self.block(child)
        self.flush()

    def definitions(self, element) -> None:
        for child in element.iter("dt", "dd"):
            if next(child.iterancestors("dl")) is not element:
                continue
            if child.tag == "dt":
                self.inside(child)
            else:
                self.depth += 1
                self.content(child)
                self.flush()
                self.depth -= 1

    def table(self, element) -> None:
        for caption in element.iter("caption"):
            self.add("prose", text=tidy(inlined(caption)))
        rows, n_heads = grid(element)
        head = [" ".join(dict.fromkeys(filter(None, column)))
                for column in zip(*rows[:n_heads], strict=True)]
        head = [re.sub(r"\s*(?:<br>|\n)\s*", " ", cell) for cell in head]
        if rows:
            self.add("table", rows=[head or [""] * len(rows[0]), *rows[n_heads:]])


def grid(table) -> tuple[list[list[str]], int]:
    """Return a table's cells, spans repeated, and how many of its rows are its header."""
    lines = [row for row in table.iter("tr") if next(row.iterancestors("table")) is table]
    cells: dict[tuple[int, int], str] = {}
    for at, line in enumerate(lines):
        column = 0
        for cell in line.iterchildren("td", "th"):
            while (at, column) in cells:
                column += 1
            wide, high = (_span(cell, name) for name in ("colspan", "rowspan"))
            text = _cell(cell)
            for down in range(min(high or len(lines), len(lines) - at)):
                for right in range(wide):
                    cells.setdefault((at + down, column + right), text)
            if len(cells) > MOST_CELLS:
                raise BadInput(f"a table of more than {MOST_CELLS:,} cells")
    width = max((column for _, column in cells), default=-1) + 1
    rows = [[cells.get((at, column), "") for column in range(width)] for at in range(len(lines))]
    n_heads = 0
    while n_heads < len(lines) and (next(lines[n_heads].iterancestors("thead"), None) is not None
                                    or _all_heads(lines[n_heads])):
        n_heads += 1
    if not n_heads and not all(_first_is_head(line) for line in lines):
        n_heads = 1
    return rows, n_heads


def _span(cell, name: str) -> int:
    value = cell.get(name, "1").strip()
    return int(value) if value.isdecimal() and len(value) < 3 else 1  # no table is wider


def _all_heads(line) -> bool:
    return len(line) > 0 and all(cell.tag == "th" for cell in line)


def _first_is_head(line) -> bool:
    return len(line) > 1 and line[0].tag == "th" and line[1].tag == "td"


# blocks inside it are separated by <br>
def _cell(cell) -> str:
    walker = _Walker()
    walker.content(cell)
    walker.flush()
    parts = [re.sub(r"\s*\n\s*", "<br>", code_span(one.text) if one.kind == "code" else one.text)
             for one in walker.pieces]
    return "<br>".join(filter(None, parts))


def raw_text(element) -> str:
    """Return the text of an element with all of its blanks; <br> is a line break."""
    return "".join([element.text or "", *(
        ("\n" if child.tag == "br" else raw_text(child)) + (child.tail or "")
        for child in element)])


def inlined(element) -> str:
    """Return the text of an inline element as Markdown; only code keeps its markup."""
    if element.tag == "br":
        return "\n"
    if element.tag in ("img", "wbr"):
        return ""
    if element.tag in _CODE:
        text = raw_text(element)
        lead, tail = (" " if text[:1].isspace() else ""), (" " if text[-1:].isspace() else "")
        return lead + code_span(text) + tail
    return "".join([inline_kept(element.text), *(
        inlined(child) + inline_kept(child.tail) for child in element)])


def inline_kept(text: str | None) -> str:
    """Escape plain text; blanks at its ends stay, because it is part of a line."""
    if not text:
        return ""
    lead, tail = (" " if text[:1].isspace() else ""), (" " if text[-1:].isspace() else "")
    return (lead + inline(text) + tail) if text.strip() else " "


def tidy(text: str) -> str:
    """Collapse blanks and line breaks of a paragraph; keep the breaks that were asked for."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(filter(None, lines))
