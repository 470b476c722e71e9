"""Forty tables, tests/data/tables/*.html, in shapes that occur in two annual reports.

Their words and figures are made up. The comment at the top of a file has the grid that a reader
should make of its table. Rows are laid out as filing software does it: three slots per cell, with
"$", number and "%" in cells of their own.
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "data" / "tables"


@dataclass(frozen=True)
class Shape:
    """A table, what introduces it, and the grid that a reader makes of it."""

    name: str
    html: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]  # label, then "value unit scale", "" or "'words'" per cell
    intro: str


def read_shape(path: Path) -> Shape:
    """Read one file of FOLDER."""
    comment, html = path.read_text(encoding="utf-8").removeprefix("<!--\n").split("\n-->\n")
    head_, rows = comment.split("\nrows:\n")
    named = dict(line.partition(":")[::2] for line in head_.splitlines())
    return Shape(
        named["name"].strip(),
        html.replace("\n", ""),
        parts(named["columns"]),
        [parts(line) for line in rows.splitlines()],
        named.get("intro", "").strip(),
    )


def parts(line: str) -> tuple[str, ...]:
    """Split a line at |."""
    return tuple(part.strip() for part in line.split("|"))


SHAPES = [read_shape(path) for path in sorted(FOLDER.glob("*.html"))]


def table(*rows: str) -> str:
    """Return the rows as a table, after the row of widths that such tables begin with."""
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><tr><td></td><td></td></tr>{body}</table>"


def head(*cells: str, corner: str = "") -> str:
    """Return a header row."""
    return f'<td colspan="3">{corner}</td>' + "".join(
        f'<td colspan="3"></td><td colspan="3"><b>{text}</b></td>' for text in cells
    )


def row(label: str, *values: str, rule: bool = False) -> str:
    """Return a row; each value is split as "$" | number | "%"."""
    style = ' style="border-top:1pt solid #000"' if rule else ""
    cells = [f'<td colspan="3" style="padding:2px 1pt 2px 1pt">{label}</td>']
    for value in values:
        number = value.strip("$%")
        coin = f'<td colspan="2"{style}>{number}</td>'
        if value.startswith("$"):
            coin = f"<td{style}>$</td><td{style}>{number}</td>"
        cells.append(f'<td colspan="3"></td>{coin}<td{style}>{"%" * value.endswith("%")}</td>')
    return "".join(cells)
