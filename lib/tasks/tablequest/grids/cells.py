"""Read an HTML or Markdown table as rows of placed cells; join values split over cells."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from lxml.html import HtmlElement

from lib.core.errors import BadInput
from lib.tasks.tablequest.grids.values import Reading, is_number, is_year, read_value

MAX_SPAN = 1000  # what browsers allow (HTML standard, 4.9.11)
MAX_SLOTS = 4_000_000  # rows × columns per table
BLOCK_TAGS = frozenset((
    "address", "article", "blockquote", "br", "center", "dd", "div", "dl", "dt", "h1", "h2", "h3",
    "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "section", "table", "tbody", "td", "tfoot",
    "th", "thead", "tr", "ul"))
BOLD_TAGS = frozenset(("b", "strong", "th", "h1", "h2", "h3", "h4", "h5", "h6"))
# tags whose content no reader sees
SKIPPED_TAGS = frozenset(("head", "script", "style", "template", "noscript", "ix:header"))

_LENGTH = re.compile(r"(-?\d*\.?\d+)(pt|px|em|in)?")
_POINTS = {"pt": 1.0, "px": 0.75, "em": 10.0, "in": 72.0, "": 0.75}
_MARK = re.compile(r"[(\[]?(\d{1,2}|[a-z]|[*†‡]+)[)\]]?")  # "1", "(a)", "**"; not "123"
_OPENING = re.compile(r"(?:US|C|A)?[$€£¥]\s*\(?|\(\s*[$€£¥]?")  # "$", "($"
_CLOSING = re.compile(r"\)?\s*%?\s*\)?|pts\.?|bps|[×x]|years?")  # ")", "%)", "bps"
_DRAWN_RULE = re.compile(r"[=_]{2,}|-{4,}|[–—]{4,}")  # "=====", "-----"
_LEADERS = re.compile(r"(?:\s*[.·…]){3,}\s*$|…\s*$")  # "Rent ........"
_WEIGHT = re.compile(r"bold|[6-9]00")
_RULE = re.compile(r"border(?:-top)?(?:-style)?:(?!\s*(?:0|none))", re.I)


@dataclass(frozen=True)
class PlacedCell:
    """The text of a cell, or of all cells of a value, and its columns [start, end)."""

    start: int
    end: int
    text: str
    is_header: bool = False  # a <th>
    is_bold: bool = False
    has_rule: bool = False  # a line above it, as above a sum
    indent: float = 0.0  # indent of the first line, in points
    printed: str = ""  # the text as printed, where `text` has a point for a decimal comma
    elements: tuple[HtmlElement, ...] = field(default=(), compare=False)  # where it was read from

    @cached_property
    def reading(self) -> Reading | None:
        """Return the single number in the text, or None; several steps of reading ask for it."""
        return read_value(self.text)


@dataclass(frozen=True)
class PlacedRow:
    """The non-empty cells of a row, from left to right; a blank row has none."""

    cells: tuple[PlacedCell, ...]


def style_of(element: HtmlElement) -> dict[str, str]:
    """Return the inline style of an element by property, in lower case."""
    written = element.get("style")
    return _style(written) if written else {}


@lru_cache(4096)  # filing software repeats its styles
def _style(written: str) -> dict[str, str]:
    parts = (part.partition(":") for part in written.lower().split(";"))
    return {name.strip(): value.strip() for name, _, value in parts if value}


def is_bold(style: dict[str, str]) -> bool:
    """Return whether a style sets bold letters."""
    return bool(_WEIGHT.fullmatch(style.get("font-weight", "")))


def is_hidden(element: HtmlElement) -> bool:
    """Return whether the element is invisible to a reader of the page."""
    style = element.get("style")
    return (element.tag in SKIPPED_TAGS or element.get("hidden") is not None
            or bool(style) and "display:none" in style.lower().replace(" ", ""))


def visible_text(element: HtmlElement) -> str:
    """Return what a reader sees, with whitespace folded; a raised footnote mark becomes " (1)"."""
    if not len(element) and not is_hidden(element):
        return " ".join((element.text or "").replace("\u200b", "").split())
    pieces: list[str] = []
    stack: list[HtmlElement | str] = [element]
    while stack:  # not recursive, because a broken file may nest thousands deep
        node = stack.pop()
        if isinstance(node, str):
            pieces.append(node)
            continue
        tail = (node.tail or "") if node is not element else ""
        if not isinstance(node.tag, str) or is_hidden(node):
            pieces.append(tail)
        elif mark := _raised_mark(node):
            pieces.append(f" {mark}" + tail)
        else:
            gap = " " if node.tag in BLOCK_TAGS else ""
            stack.append(gap + tail)
            stack.extend(reversed(node))
            pieces.append(gap + (node.text or ""))
    return " ".join("".join(pieces).replace("\u200b", "").split())


def read_html_rows(table: HtmlElement) -> list[PlacedRow]:
    """Return the rows with colspan and rowspan laid out. Raises BadInput beyond MAX_SLOTS."""
    rows, reserved, n_slots = [], {}, 0  # reserved: column -> rows still covered
    drawn: list[PlacedCell] = []  # rules of characters above the row
    for line in table.iter("tr"):
        if is_hidden(line) or len(line) and all(is_hidden(element) for element in line):
            continue
        cells, column, taken = [], 0, reserved
        reserved = {slot: left - 1 for slot, left in taken.items() if left > 1}
        for element in line.iterchildren("td", "th"):
            while column in taken:
                column += 1
            width, height = _span(element, "colspan"), _span(element, "rowspan")
            if height > 1:
                reserved.update(dict.fromkeys(range(column, column + width), height - 1))
            if len(element) or (element.text or "").strip():
                cells.append(_placed(element, column, column + width))
            column += width
        n_slots += max(column, 1)
        if n_slots > MAX_SLOTS:
            raise BadInput(f"too large: more than {MAX_SLOTS:,} slots in {len(rows) + 1:,} rows")
        row, drawn = ruled([cell for cell in cells if cell.text], drawn)
        if row.cells or not drawn:
            rows.append(row)
    return rows


def ruled(cells: list[PlacedCell], drawn: list[PlacedCell]) -> tuple[PlacedRow, list[PlacedCell]]:
    """Return a row under the rules `drawn` in characters, and the rules that it holds itself."""
    rules = [cell for cell in cells
             if cell.text[0] in "=_-–—" and _DRAWN_RULE.fullmatch(cell.text)]
    kept = [cell for cell in cells if cell not in rules] if rules else cells
    if drawn:
        kept = [replace(cell, has_rule=cell.has_rule or any(
            rule.start < cell.end and cell.start < rule.end for rule in drawn)) for cell in kept]
    return PlacedRow(joined(kept)), rules


def joined(cells: Iterable[PlacedCell]) -> tuple[PlacedCell, ...]:
    """Join "$", ")" and "%" in cells of their own to the neighbouring number in the row."""
    done: list[PlacedCell] = []
    opening: PlacedCell | None = None
    for cell in cells:
        if opening:
            text = opening.text + cell.text
            if (is_number(text) or is_number(text + ")")) and not is_year(cell.text):
                cell = _glued(opening, cell)
            else:
                done.append(opening)
            opening = None
        is_short = len(cell.text) < 9  # as "$" and "%)" are
        if is_short and _OPENING.fullmatch(cell.text):
            opening = cell
        elif (is_short and done and _CLOSING.fullmatch(cell.text)
              and _closes(done[-1].text, cell)):
            done[-1] = _glued(done[-1], cell)
        else:
            done.append(cell)
    return tuple([*done, opening] if opening else done)


def _closes(text: str, cell: PlacedCell) -> bool:
    return not cell.is_header and not is_year(text) and is_number(text + cell.text)


def _glued(left: PlacedCell, right: PlacedCell) -> PlacedCell:
    return replace(right, start=left.start, end=right.end, text=left.text + right.text,
                   indent=left.indent, has_rule=left.has_rule or right.has_rule,
                   elements=left.elements + right.elements)


def _placed(element: HtmlElement, start: int, end: int) -> PlacedCell:
    text = visible_text(element)
    if text.endswith((".", "·", "…")):
        text = _LEADERS.sub("", text)
    if not text:
        return PlacedCell(start, end, "")
    style = element.get("style")
    if not len(element) and not style and text[0] == (element.text or "")[:1]:
        return PlacedCell(start, end, text, is_header=element.tag == "th", elements=(element,),
                          is_bold=element.tag in BOLD_TAGS)  # as most cells of a long table are
    inner = [node for node in element.iter() if isinstance(node.tag, str)]
    lead = (element.text or "") + "".join(node.text or "" for node in inner[1:4])
    n_spaces = len(lead) - len(lead.lstrip("\u00a0 \u2003\u2002"))
    styles = [node.get("style") or "" for node in inner]
    indent = 3 * n_spaces + sum(_indent(style) for node, style in zip(inner, styles, strict=True)
                                if style and node.tag in ("td", "th", "div", "p"))
    in_bold = any(node.tag in BOLD_TAGS for node in inner) or any(
        is_bold(_style(style)) for style in styles if style)
    return PlacedCell(start, end, text, is_header=element.tag == "th", is_bold=in_bold,
                      has_rule=bool(styles[0] and _RULE.search(styles[0])), indent=indent,
                      elements=(element,))


@lru_cache(4096)
def _indent(written: str) -> float:
    style, lengths = _style(written), []
    padding = _LENGTH.findall(style.get("padding", ""))
    if padding and "padding-left" not in style:
        lengths.append(padding[{1: 0, 4: 3}.get(len(padding), 1)])
    for name in ("padding-left", "margin-left", "text-indent"):
        lengths += _LENGTH.findall(style.get(name, ""))[:1]
    return sum(float(number) * _POINTS[unit] for number, unit in lengths)


def _raised_mark(node: HtmlElement) -> str:
    is_raised = node.tag == "sup" or style_of(node).get("vertical-align") in ("super", "top")
    if not is_raised or node.tag in ("td", "th"):
        return ""
    match = _MARK.fullmatch("".join(node.itertext()).strip())
    if not match:
        return ""
    return match[1] if match[1][0] in "*†‡" else f"({match[1]})"


def _span(element: HtmlElement, name: str) -> int:
    if not (value := element.get(name)):
        return 1
    value = value.strip()
    is_count = value.isascii() and value.isdigit() and len(value) < 9
    return min(max(int(value), 1), MAX_SPAN) if is_count else 1
