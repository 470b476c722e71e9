"""Write the pieces of a converted file as Markdown that parses back into the same pieces.

That, where each part of it was, and what cannot be trusted, is what every converter returns.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

_INLINE = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])"  # a backslash that would escape
    r"|`|(?<!\s)\*|\*(?!\s)"
    r"|(?<![^\W_])_|_(?![^\W_])"  # inside a word an underscore marks nothing
    r"|\[(?=.*\][(\[:])|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_START = re.compile(r"(?:#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|[-=]+\s*$|~~~|:?-+:?\s*\|)")
_NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")


@dataclass
class Piece:
    """A part of a document in reading order. `text` is inline Markdown, of code the raw lines."""

    kind: Literal["heading", "prose", "item", "table", "code", "doubtful"]
    text: str = ""
    level: int = 1  # of a heading, 1-6
    depth: int = 0  # the number of list items around it
    number: int | None = None  # of an item in a numbered list
    rows: list[list[str]] = field(default_factory=list)  # of a table, the header first
    position: str = ""  # where it is in the source: "page 3", "line 40", "slide 2"


@dataclass(frozen=True)
class Converted:
    """A file as Markdown. `positions` are (offset in `markdown`, "page 3"), where they change."""

    markdown: str
    positions: list[tuple[int, str]] = field(default_factory=list)
    doubt: str = ""  # why its structure cannot be trusted

    def shown(self) -> str:
        """Return the Markdown with a comment wherever the position in the source changes."""
        text, end = "", 0
        for at, where in self.positions:
            where = " ".join(re.sub(r"[<>]|-(?=-)", " ", where).split())  # it ends no comment
            text += f"{self.markdown[end:at]}<!-- {where} -->\n\n"
            end = at
        return text + self.markdown[end:]


def made(pieces: Iterable[Piece], doubt: str = "") -> Converted:
    """Write pieces as Markdown; a doubtful table among them is named in the doubt."""
    pieces = list(pieces)
    n_tables = sum(piece.kind == "doubtful" for piece in pieces)
    lost = f"{n_tables} table{'s' * (n_tables > 1)} whose cells are unsure" if n_tables else ""
    return Converted(*marked(pieces), "; ".join(filter(None, [doubt, lost])))


def inline(text: str) -> str:
    """Return plain `text` with escapes where a Markdown parser would see markup; one line."""
    return _INLINE.sub(lambda match: "\\" + match[0], " ".join(text.split()))


def code_span(text: str) -> str:
    """Return `text` as a code span, with as many backticks as it needs."""
    text = " ".join(text.split())
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}" if text else ""


def marked(pieces: Iterable[Piece]) -> tuple[str, list[tuple[int, str]]]:
    """Return the Markdown of `pieces` and, where the position changes, (offset, position)."""
    text, positions, widths, lead = "", [], [], ""
    previous = None
    for piece in pieces:
        depth = min(piece.depth, len(widths))
        widths = widths[:depth]
        indent = " " * sum(widths)
        if lead:  # an empty item: the next piece begins on its line
            first, lead = lead, ""
            indent = " " * len(first)
        else:
            first = indent
        if piece.kind == "item":
            marker = "- " if piece.number is None else f"{piece.number}. "
            widths.append(len(marker))
            first += marker
            if not piece.text:
                lead = first
                continue
        lines = _lines(piece)
        if not lines:
            continue
        is_tight = _tight(previous, piece)
        if text:
            text += "\n" if is_tight else "\n\n"
        is_new = not positions or positions[-1][1] != piece.position
        if piece.position and is_new and not is_tight:
            positions.append((len(text), piece.position))
        text += first + ("\n" + indent + " " * (len(first) - len(indent))).join(lines)
        previous = piece
    text = re.sub(r"[ \t]+$", "", text, flags=re.M)
    return text + "\n" * bool(text), positions


# a nested list that starts later needs a blank line
def _tight(previous: Piece | None, piece: Piece) -> bool:
    return bool(previous and previous.kind == piece.kind == "item"
                and (piece.depth <= previous.depth or piece.number in (None, 1)))


def _lines(piece: Piece) -> list[str]:
    if piece.kind == "table":
        return _table(piece.rows)
    if piece.kind in ("code", "doubtful"):
        body = piece.text.strip("\n").expandtabs(4).split("\n")
        ticks = max((len(run) for run in re.findall("`{3,}", piece.text)), default=2) + 1
        return ["`" * ticks + ("text" if piece.kind == "doubtful" else ""), *body, "`" * ticks]
    lines = [line for line in map(str.strip, piece.text.split("\n")) if line]
    if piece.kind == "heading":
        words = re.sub(r"(^|\s)(#+)$", r"\1\\\2", " ".join(lines))  # would close the heading
        return ["#" * max(1, min(piece.level, 6)) + " " + words] if words else []
    return [_start_escaped(line) for line in lines]


def _start_escaped(line: str) -> str:
    if _START.match(line):
        return "\\" + line
    return _NUMBERED.sub(r"\1\\\2", line, count=1) if _NUMBERED.match(line) else line


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    width = max(map(len, rows), default=0)
    if not width:
        return []
    made = ["| " + " | ".join(" ".join(cell.replace("|", r"\|").split())
                              for cell in [*row, *[""] * (width - len(row))]) + " |"
            for row in rows]
    return [made[0], "|" + "---|" * width, *made[1:]]
