"""Read the tables of a filing into grids, in order, with the text that stands around them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from lxml.html import HtmlElement

from lib.core.errors import BadInput
from lib.tasks.tablequest.filings.above import Above
from lib.tasks.tablequest.filings.blocks import PageBlock
from lib.tasks.tablequest.filings.facts import Facts
from lib.tasks.tablequest.filings.passages import SectionBlock
from lib.tasks.tablequest.filings.tags import tagged_cells, with_tags
from lib.tasks.tablequest.filings.xbrl_check import Check, check_grid
from lib.tasks.tablequest.grids.cells import PlacedRow, read_html_rows
from lib.tasks.tablequest.grids.grid import ReadGrid, Surroundings, as_markdown, read_grid
from lib.tasks.tablequest.grids.kinds import ROOM_KINDS, kind_of
from lib.tasks.tablequest.grids.values import is_number, is_year
from lib.tasks.tablequest.records import Block, Filing, Grid, NotUnderstood

_SHOWN_KINDS = ("text", "ranges or words only", "bullets")  # no grids, but readable as text
_MARK = re.compile(r"\([1-9]\d?\)")
_NOTE = re.compile(r"note \d+\b", re.I)  # to the financial statements
_LEAST_SHARING = 3  # tables of a note that must have one unit note for it to be the note's


class Tables:
    """The grids and sections of a filing, while it is read forwards, table by table."""

    def __init__(self, filing: Filing, facts: Facts, tags: bool) -> None:
        self.filing, self.facts, self.tags = filing, facts, tags
        self.grids: list[Grid] = []
        self.checks: list[Check] = []
        self.not_understood: list[NotUnderstood] = []
        self.sections: list[SectionBlock] = []  # all blocks, tables included, with headings
        self._above = Above()
        self._notes: dict[tuple[str, ...], Counter[str]] = {}  # unit notes by note
        self._before: Grid | None = None  # the table before, if it is a grid
        self._is_after_table = False  # whether at most a page's end is in between

    def read_text(self, block: PageBlock, path: tuple[str, ...]) -> None:
        """Take in a heading or a paragraph below the headings `path`."""
        self._above.read(block)
        self._is_after_table = False
        starts_unit = bool(block.level) and block.level[0] < 3
        self.sections.append(SectionBlock(Block(kind=block.kind, text=block.text), path,
                                          starts_unit))

    def read_table(self, table: HtmlElement, number: int, path: tuple[str, ...],
                   footnotes: tuple[str, ...]) -> None:
        """Read a table into a grid, or list it with the reason."""
        rows: list[PlacedRow] = []
        try:
            rows = read_html_rows(table)
            if kind := kind_of(rows):
                raise BadInput(f"{kind}: holds no data")
            found = read_grid(rows, self._surroundings(number, path, footnotes))
        except BadInput as error:
            self._pass_over(str(error), number, path, rows)
        else:
            self._keep(found, path)
            for lost in _lost_values(rows, found):
                self.leave_out(number, *lost)

    def _keep(self, found: ReadGrid, path: tuple[str, ...]) -> None:
        tagged = tagged_cells(found, self.facts)
        self.checks.append(check_grid(found, tagged))
        grid = (with_tags(found, tagged) if self.tags else found).grid
        self.grids.append(grid)
        if (note := _note_of(path)) and grid.unit_note:
            self._notes.setdefault(note, Counter())[grid.unit_note] += 1
        self.sections.append(SectionBlock(
            Block(kind="table", text=as_markdown(grid), grid_id=grid.grid_id), path))
        self._pass(grid)

    def _pass_over(self, error: str, number: int, path: tuple[str, ...],
                   rows: list[PlacedRow]) -> None:
        kind, _, reason = error.partition(": ")
        self.leave_out(number, kind, reason, " ".join(_texts(rows))[:120])
        if kind in _SHOWN_KINDS:
            lines = "\n".join(" | ".join(_texts([row])) for row in rows if row.cells)
            self.sections.append(SectionBlock(Block(kind="paragraph", text=lines), path))
        if kind not in ROOM_KINDS:
            self._pass(None)

    def _pass(self, grid: Grid | None) -> None:
        self._before, self._is_after_table = grid, True
        self._above.pass_table()

    def _surroundings(self, number: int, path: tuple[str, ...],
                      footnotes: tuple[str, ...]) -> Surroundings:
        caption, note, wide = self._above.introduction
        before = self._before if self._is_after_table else None
        if before and not note:
            caption, note = before.caption, before.unit_note
        caption = caption or (path[-1] if path else "")
        if len(caption.split()) > 60:
            caption = re.split(r"(?<=[.!?])\s+(?=[A-Z])", caption)[-1]
        return Surroundings(self.filing.filing_id, number, " > ".join(path), caption,
                            note or wide or self._shared_note(path), footnotes,
                            before.columns if before else ())

    def _shared_note(self, path: tuple[str, ...]) -> str:
        found = self._notes.get(_note_of(path), Counter())
        return next(iter(found)) if len(found) == 1 and found.total() >= _LEAST_SHARING else ""

    def leave_out(self, number: int, kind: str, reason: str, words: str = "") -> None:
        """List a table, or a part of one, that is in no grid."""
        self.not_understood.append(NotUnderstood(
            filing_id=self.filing.filing_id, table=number, kind=kind, reason=reason, excerpt=words))


def _note_of(path: tuple[str, ...]) -> tuple[str, ...]:
    return next((path[:at] for at in range(1, len(path) + 1) if _NOTE.match(path[at - 1])), ())


def _lost_values(rows: list[PlacedRow], found: ReadGrid) -> Iterator[tuple[str, str, str]]:
    kept = {id(element) for line in found.placed for cell in line if cell
            for element in cell.elements}
    left = min(cell.start for row in rows for cell in row.cells)
    for row in rows:
        others = [cell for cell in row.cells if cell.start > left
                  and not any(id(element) in kept for element in cell.elements)]
        lost = [cell.text for cell in others if is_number(cell.text) and not is_year(cell.text)
                and not _MARK.fullmatch(cell.text)]
        if lost:
            text = " | ".join(cell.text for cell in row.cells)
            if sum(cell.start > left for cell in row.cells) > len(others):
                yield "value outside the columns", f"{', '.join(lost)}: not in the grid", text
            else:
                yield "row without label", "its row is left out of the grid", text


def _texts(rows: Iterable[PlacedRow]) -> list[str]:
    return [cell.text for row in rows for cell in row.cells]
