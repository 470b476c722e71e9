"""Read a tree of HTML elements as pieces: headings, paragraphs, list items, tables, code."""

import re

from lib.core.errors import BadInput
from lib.documents.convert.markdown import Piece, code_span, inline, table

MOST_CELLS = 200_000  # of one table, spans repeated

INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark nobr "
    "q s samp small span strike strong sub sup time tt u var wbr".split()
)
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_CODE = frozenset(("code", "kbd", "samp", "tt"))
_LISTS = frozenset(("ul", "ol", "menu"))


def walked(root) -> list[Piece]:
    """Return the pieces of a tree."""
    walker = _Walker()
    walker.block(root)
    walker.flush()
    return walker.pieces


def n_words(element) -> int:
    return len(" ".join(element.itertext()).split())


def is_data(element) -> bool:
    """True if a table shows data; else it only arranges the page."""
    if element.tag != "table" or element.get("role") in ("presentation", "none"):
        return False
    if element.xpath(".//table|.//h1|.//h2|.//h3|.//h4|.//h5|.//h6"):
        return False
    return bool(element.xpath(".//th|.//tr[count(td) > 1]"))


class _Walker:
    def __init__(self):
        self.pieces: list[Piece] = []
        self.words = ""
        self.depth = 0

    def add(self, kind: str, **fields) -> None:
        self.pieces.append(Piece(kind, depth=self.depth, **fields))

    def flush(self) -> None:
        lines = (" ".join(line.split()) for line in self.words.split("\n"))
        text, self.words = "\n".join(filter(None, lines)), ""
        last = self.pieces[-1] if self.pieces else None
        if not text:
            return
        if last and last.kind == "item" and not last.text and last.depth < self.depth:
            last.text = text
        else:
            self.add("prose", text=text)

    def block(self, element) -> None:
        tag = element.tag
        if tag in INLINE:
            self.words += inlined(element)
            return
        self.flush()
        if tag in HEADINGS:
            self.add("heading", text=inlined(element).replace("\n", " "), level=int(tag[1]))
        elif tag == "pre":
            self.add("code", text="".join(element.itertext()))
        elif tag in _LISTS:
            self.items(element)
        elif tag in ("li", "dt"):
            self.item(element)
        elif is_data(element):
            self.table(element)
        else:
            self.depth += tag == "dd"
            self.content(element)
            self.depth -= tag == "dd"

    def content(self, element) -> None:
        self.words += inline(element.text or "")
        for child in element:
            self.block(child)
            self.words += inline(child.tail or "")
        self.flush()

    def item(self, element, number: int | None = None) -> None:
        self.add("item", number=number)
        self.depth += 1
        self.content(element)
        self.depth -= 1

    def items(self, element) -> None:
        number = _integer(element, "start")
        for child in element:
            if child.tag == "li":
                self.item(child, number if element.tag == "ol" else None)
                number += 1
            else:
                self.block(child)
        self.flush()

    def table(self, element) -> None:
        for caption in element.iter("caption"):
            self.content(caption)
        rows, n_heads = grid(element)
        if rows and rows[0]:
            self.pieces.append(table(rows, n_heads, depth=self.depth))


def grid(element) -> tuple[list[list[str]], int]:
    """Return a table's cells, spans repeated, and how many of its rows are its header."""
    lines = list(element.iter("tr"))
    cells: dict[tuple[int, int], str] = {}
    for at, line in enumerate(lines):
        column = 0
        for cell in line.iterchildren("td", "th"):
            while (at, column) in cells:
                column += 1
            wide, high = (_integer(cell, name) for name in ("colspan", "rowspan"))
            text = _cell(cell)
            for down in range(min(high or len(lines), len(lines) - at)):
                for right in range(wide):
                    cells.setdefault((at + down, column + right), text)
            if len(cells) > MOST_CELLS:
                raise BadInput(f"a table of more than {MOST_CELLS:,} cells")
    width = max((column for _, column in cells), default=-1) + 1
    rows = [[cells.get((at, column), "") for column in range(width)] for at in range(len(lines))]
    is_head = [bool(line.xpath("self::*[parent::thead or * and not(td)]")) for line in lines]
    n_heads = [*is_head, False].index(False)
    named_by_row = all(
        line.xpath("*[1][self::th]/following-sibling::*[1][self::td]") for line in lines
    )
    return rows, n_heads or int(not named_by_row)


def _integer(element, name: str) -> int:
    value = element.get(name, "")
    return int(value) if re.fullmatch("[0-9]{1,2}", value) else 1


# Blocks inside it are separated by <br>
def _cell(cell) -> str:
    walker = _Walker()
    walker.content(cell)
    parts = [code_span(one.text) if one.kind == "code" else one.text for one in walker.pieces]
    return "<br>".join(re.sub(r"\s*\n\s*", "<br>", part) for part in parts if part)


def inlined(element) -> str:
    """Return the text of an inline element as Markdown; only code keeps its markup."""
    if element.tag == "br":
        return "\n"
    if element.tag in _CODE:
        return code_span("".join(element.itertext()))
    return "".join(
        [
            inline(element.text or ""),
            *(inlined(child) + inline(child.tail or "") for child in element),
        ]
    )
