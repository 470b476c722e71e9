"""What a filing is read into, and a question on it: the typed rows between the stages of TableQuest."""

from typing import Literal

from lib.core.records import Record

Level = Literal["easy", "medium", "hard"]
LEVELS: tuple[Level, ...] = ("easy", "medium", "hard")


class Cell(Record):
    """One value of a table. `value` is as printed (in units of `scale`), negative where it stands in brackets."""

    text: str  # as a reader sees it, split parts merged: "$(24,690)", "12.4%", "—"
    value: float | None  # None: no number; a dash that stands for nil is 0
    unit: str  # "USD", "%", "shares", "USD/share", …; "" where the filing does not say
    scale: float  # what 1 in the table stands for: 1, 1e3, 1e6


class Grid(Record):
    """A table as labelled rows and columns of values; headers and layout cells are gone."""

    grid_id: str  # "<filing_id>-t07"
    filing_id: str
    section: str  # headings above it, joined: "Item 7. … > Segment results"
    caption: str  # what introduces it, "" where nothing does
    unit_note: str  # "(in millions, except per-share amounts)", "" where nothing is said
    corner: str  # what stands above the row labels
    columns: tuple[str, ...]  # header rows joined from above: "2024", "Change 2024 to 2023"
    rows: tuple[str, ...]  # a label under a group has the group before it: "Net sales: Products"
    cells: tuple[tuple[Cell, ...], ...]  # (rows, columns)
    footnotes: tuple[str, ...]
    html: str  # the table cleaned: table, tr, th, td with colspan and rowspan only


class Block(Record):
    """A heading, a paragraph, or a table (then `grid_id` names its grid and `text` is the table as Markdown)."""

    kind: Literal["heading", "paragraph", "table"]
    text: str
    grid_id: str = ""


class Passage(Record):
    """What a question is asked on: neighbouring blocks of one section, at least one of them a table."""

    passage_id: str  # "<filing_id>-p03"
    filing_id: str
    section: str
    blocks: tuple[Block, ...]


class Filing(Record):
    """One annual report, or one paper."""

    filing_id: str  # a name for files, from the document's own name
    company: str  # "Apple Inc."; of a paper, its title
    form: str  # "10-K", "paper"
    period: str  # the fiscal year's end as printed, "September 28, 2024"; "" where it has none
    fiscal_year: int | None
    path: str
    n_tables: int  # all that stand in it, layout tables too


class NotUnderstood(Record):
    """A table that did not become a grid, or a part of one that was left out, and why."""

    filing_id: str
    table: int  # position in the filing, from 1
    kind: str  # "layout", "no numbers", "no row labels", …: what the counts are by
    reason: str
    excerpt: str  # its first words


class CellRef(Record):
    """Where a named value of a calculation stands."""

    grid_id: str
    row: int
    column: int


class TableQuestion(Record):
    """A question with its reference, and what it was computed from. Three of one chain share `chain_id`."""

    question_id: str
    chain_id: str
    filing_id: str
    passage_id: str
    level: Level
    kind: str  # extraction; difference, percent change, ratio, share, sum, average, comparison; trend, contrast
    question: str
    answer: str  # with unit and scale: "$383,285 million", "-2.8%"
    steps: tuple[str, ...]  # the reference reasoning
    cells: dict[str, CellRef]  # name in `expression` -> where it stands
    expression: str  # over those names: "(a - b) / b * 100"; "" for hard
    value: float | None  # what `expression` gives, in `unit` × `scale`; None for hard
    unit: str
    scale: float
