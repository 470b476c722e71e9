"""Define the rows between the stages of TableQuest: parts of a filing, and questions about it."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

from lib.core.records import Record, Rejected
from lib.core.stages import PIPELINES

Level = Literal["easy", "medium", "hard"]
LEVELS = get_args(Level)
ENDINGS = PIPELINES["tablequest"].endings  # of filings


class Cell(Record):
    """A value in a table. `value` is as printed (in units of `scale`), negative if in brackets."""

    text: str  # as a reader sees it, with split parts merged: "$(24,690)", "12.4%", "—"
    value: float | None = None  # None if it is not a number; 0 for a dash that means zero
    unit: str = ""  # "USD", "%", "shares", "USD/share", …; "" if the filing does not say
    scale: float = 1.0  # what a printed 1 is worth: 1, 1e3, 1e6
    period: str = ""  # if tagged: "2030-12-31" or "2030-01-01/2030-12-31"
    source: str = ""  # of unit and scale: tag, print, note, nearest, majority; "" if nothing says

    @property
    def exact(self) -> Fraction:
        """Return `value` in whole units (dollars, not millions). The cell must have a number."""
        return in_whole_units(self.value, self.scale)


class Grid(Record):
    """A table as labelled rows and columns of values, without header and layout cells."""

    grid_id: str  # "<filing_id>-t07"; of the second part of a table, "<filing_id>-t07.2"
    filing_id: str
    section: str  # headings above it, joined: "Item 7. … > Segment results"
    caption: str  # the text that introduces it, if any
    unit_note: str  # "(in millions, except per-share amounts)", if there is one
    columns: tuple[str, ...]  # joined header rows, top to bottom: "2024", "Change 2024 to 2023"
    rows: tuple[str, ...]  # labels, each after those of its groups: "Net sales: Products"
    cells: tuple[tuple[Cell, ...], ...]  # (rows, columns)
    html: str  # the cleaned table: only table, tr, th and td, with colspan and rowspan

    def cell(self, ref: "CellRef") -> Cell:
        """Return the cell at `ref`, whose `grid_id` must be this grid's."""
        return self.cells[ref.row][ref.column]

    def label(self, ref: "CellRef") -> str:
        """Return where `cell` is: the table's caption, its row and its column."""
        return f"{self.caption or self.section}: {self.rows[ref.row]} | {self.columns[ref.column]}"


class Block(Record):
    """A heading, paragraph or table. A table has its grid's id, and its Markdown as `text`."""

    kind: Literal["heading", "paragraph", "table"]
    text: str
    grid_id: str = ""


class Passage(Record):
    """What a question is about: adjacent blocks of a section with at least one table."""

    passage_id: str  # "<filing_id>-p03"
    filing_id: str
    section: str
    blocks: tuple[Block, ...]

    @property
    def grid_ids(self) -> list[str]:
        """Return the ids of the passage's grids, in order."""
        return [block.grid_id for block in self.blocks if block.grid_id]


class Filing(Record):
    """An annual report or a paper."""

    filing_id: str  # made from the document's own name, usable in file names
    company: str  # "Apple Inc."; for a paper, its title
    form: str  # "10-K"
    period: str  # the fiscal year's end as printed, "September 28, 2024"; "" if it has none
    fiscal_year: int | None
    path: str
    n_tables: int  # all tables in the document, including layout tables


class CellRef(Record):
    """The position of a named value in a calculation."""

    grid_id: str
    row: int
    column: int


class TableQuestion(Record):
    """A question with its reference and cells. The questions of one chat share `chain_id`."""

    question_id: str
    chain_id: str
    filing_id: str
    passage_id: str
    level: Level
    kind: str  # extraction; percent change, difference, ratio, share, …; trend, contrast, …
    question: str
    answer: str  # with unit and scale: "$383,285 million", "-2.8%"
    steps: tuple[str, ...]  # the reference reasoning
    cells: dict[str, CellRef]  # name in `expression` -> position
    expression: str  # arithmetic over those names: "(a - b) / b * 100"; "" for hard
    value: float | None  # the value of `expression`, in `unit` × `scale`; None for hard
    unit: str
    scale: float

    @property
    def exact(self) -> Fraction:
        """Return `value` in whole units (dollars, not millions). The question must not be hard."""
        return in_whole_units(self.value, self.scale)

    @property
    def place(self) -> dict[str, str]:
        """Return the fields that a row about an answer to it shares with it."""
        return {"question_id": self.question_id, "passage_id": self.passage_id, "level": self.level}


def in_whole_units(value: float, scale: float) -> Fraction:
    """Return value × scale exactly, taking both in their shortest decimal notation."""
    return Fraction(str(value)) * Fraction(str(scale))


def left_out(filing_id: str, text: str, reason: str) -> Rejected:
    """Return the row of a file, table, number or question that is not used."""
    return Rejected(document_id=filing_id, rejected_text=text, reason=reason)


def by_id(rows: Iterable[Record]) -> dict:
    """Index rows by their first field, which is their id."""
    return {next(iter(row))[1]: row for row in rows}


class Texts(NamedTuple):
    """What questions are about, by id."""

    filings: dict[str, Filing]
    grids: dict[str, Grid]
    passages: dict[str, Passage]


def texts_by_id(rows: Mapping[str, list]) -> Texts:
    """Return `rows` of the artifacts that Texts names, by id."""
    return Texts(*(by_id(rows.get(name, ())) for name in Texts._fields))
