"""Write the pieces of a converted file as Markdown that parses back into the same pieces."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

_INLINE = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])"  # a backslash that would escape
    r"|`|(?<!\s)\*|\*(?!\s)"
    r"|(?<![^\W_])_|_(?![^\W_])"  # inside a word an underscore marks nothing
    r"|\[(?=.*\][(\[:])|<(?=[A-Za-z/!?])|&(?=#?\w+;)"
)
_START = re.compile(r"(?:#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|[-=]+\s*$|~~~|:?-+:?\s*\|)")
_NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
# "11/25/26, 4:01 AM", "file:///tmp/a.html 1/3" and "Page 1 of 1", which are printed on pages
FURNITURE = re.compile(
    r"\d{1,2}[/.]\d{1,2}[/.]\d{2,4},? \d{1,2}:\d\d(?: ?[AP]M)?\b.*"
    r"|(?:file|https?)://\S+(?:\s+\d+(?:\s*(?:/|of)\s*\d+)?)?"
    r"|(?:page )?\d+ ?(?:/|of) ?\d+|page \d+",
    re.I,
)


@dataclass
class Piece:
    """A part of a document in reading order. `text` is inline Markdown, of code the raw lines."""

    kind: Literal["heading", "prose", "item", "table", "code", "doubtful"]
    text: str = ""
    level: int = 1  # of a heading, 1-6
    depth: int = 0  # the number of list items around it
    number: int | None = None  # of an item in a numbered list
    rows: list[list[str]] = field(default_factory=list)  # of a table, the header first


@dataclass(frozen=True)
class Converted:
    """A file as Markdown."""

    markdown: str
    doubt: str = ""  # why its structure cannot be trusted


def write_markdown(pieces: Iterable[Piece]) -> Converted:
    """Write pieces as Markdown; doubtful tables among them are named in the doubt."""
    text, n_doubtful = "", 0
    widths: list[int] = []  # of the markers of the open list items
    previous = Piece("prose")
    for piece in pieces:
        del widths[piece.depth :]
        first = " " * sum(widths)
        if piece.kind == "item":
            marker = "- " if piece.number is None else f"{piece.number}. "
            widths.append(len(marker))
            first += marker
        lines = _lines(piece)
        if not lines:
            continue
        text += "\n" * (2 - _is_tight(previous, piece)) * bool(text)
        text += first + ("\n" + " " * len(first)).join(lines)
        n_doubtful += piece.kind == "doubtful"
        previous = piece
    unsure = f"{n_doubtful} table{'s' * (n_doubtful > 1)} whose cells are unsure"
    text = re.sub(r"[ \t]+$", "", text, flags=re.M) + "\n" * bool(text)
    return Converted(text, unsure * bool(n_doubtful))


def inline(text: str) -> str:
    """Escape plain text where a Markdown parser would see markup; runs of blanks become one."""
    return _INLINE.sub(r"\\\g<0>", re.sub(r"\s+", " ", text))


def code_span(text: str) -> str:
    """Return `text` as a code span, with as many backticks as it needs."""
    text = " ".join(text.split())
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}" if text else ""


def table(rows: Sequence[Sequence[str]], n_heads: int = 1, **fields) -> Piece:
    """Return a table whose first `n_heads` rows become one header row, of empty cells if 0."""
    head = [
        " ".join(dict.fromkeys(filter(None, column))).replace("<br>", " ")
        for column in zip(*rows[:n_heads], strict=True)
    ] or [""] * len(rows[0])
    return Piece("table", rows=[head, *rows[n_heads:]], **fields)


# A nested list that does not start with 1 needs a blank line
def _is_tight(previous: Piece, piece: Piece) -> bool:
    if previous.kind != "item":
        return False
    return (
        not previous.text
        or piece.kind == "item"
        and (piece.depth <= previous.depth or piece.number in (None, 1))
    )


def _lines(piece: Piece) -> list[str]:
    if piece.kind == "table":
        return _table(piece.rows)
    if piece.kind in ("code", "doubtful"):
        body = piece.text.strip("\n").expandtabs(4).split("\n")
        fence = max(re.findall("`{3,}", piece.text), key=len, default="``") + "`"
        return [fence + "text" * (piece.kind == "doubtful"), *body, fence]
    lines = [line for line in map(str.strip, piece.text.split("\n")) if line]
    if piece.kind == "heading":
        words = re.sub(r"(^|\s)(#+)$", r"\1\\\2", " ".join(lines))  # would close the heading
        return ["#" * max(1, min(piece.level, 6)) + " " + words] if words else []
    if piece.kind == "item":
        lines = lines or [""]
    elif FURNITURE.fullmatch(" ".join(lines)):
        return []
    return [_start_escaped(line) for line in lines]


def _start_escaped(line: str) -> str:
    return (
        "\\" + line
        if _START.match(line)
        else _NUMBERED.sub(r"\1\\\2", line, count=1)
        if (_NUMBERED.match(line))
        else line
    )


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    width = max(map(len, rows), default=0)
    lines = [
        "| "
        + " | ".join(
            " ".join(cell.replace("|", r"\|").split())
            for cell in [*row, *[""] * (width - len(row))]
        )
        + " |"
        for row in rows
    ]
    return [lines[0], "|" + "---|" * width, *lines[1:]] if width else []
