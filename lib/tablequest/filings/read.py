"""Read annual reports (10-K, HTML) and papers (Markdown) into grids and passages."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lxml.html import HtmlElement

from lib.core.records import Rejected
from lib.tablequest.filings.above import Above
from lib.tablequest.filings.facts import Facts, facts_of
from lib.tablequest.filings.files import NoFiling, bytes_of, identifier_of, list_filings, root_of
from lib.tablequest.filings.page import PageBlock, page_blocks, under_headings
from lib.tablequest.filings.papers import read_paper
from lib.tablequest.filings.passages import MAX_WORDS, SectionBlock, cut_passages
from lib.tablequest.filings.tags import tagged_cells, with_tags
from lib.tablequest.filings.xbrl_check import Check, check_grid, together
from lib.tablequest.grids.cells import PlacedRow, TooLarge, read_html_rows, visible_text
from lib.tablequest.grids.grid import ReadGrid, Surroundings, as_markdown, read_grid
from lib.tablequest.grids.kinds import ROOM_KINDS, kind_of
from lib.tablequest.grids.labels import FOOTNOTE
from lib.tablequest.grids.layout import NoGrid
from lib.tablequest.grids.values import is_number, is_year
from lib.tablequest.records import Block, Filing, Grid, NotUnderstood, Passage

_SHOWN_KINDS = ("text", "ranges or words only", "bullets")  # no grids, but readable as text
_MARK = re.compile(r"\([1-9]\d?\)")
_PERIOD = re.compile(r"(?:fiscal year|quarterly period|quarter) ended:?\s+"
                     r"([A-Z][a-z]+ \d{1,2}, ?\d{4})", re.I)


@dataclass(frozen=True)
class ReadFiling:
    """A filing as read, and how far the rules alone agree with its inline XBRL."""

    filing: Filing
    grids: list[Grid]
    passages: list[Passage]
    not_understood: list[NotUnderstood]
    check: Check = Check()


def read_filings(folder: Path, max_words: int = MAX_WORDS,
                 tags: bool = True) -> tuple[list[ReadFiling], list[Rejected]]:
    """Read the files with ENDINGS below `folder`, sorted by path, or the file that it names.

    A file that is not a filing is rejected with a reason, and reading continues; what is skipped
    (hidden, other endings) is listed with them. `max_words` limits passages as in `cut_passages`;
    with `tags`, tagged cells are read from inline XBRL. Raises NoFiling with every file's reason
    if none is a filing, and NoDocuments as `list_filings` does.
    """
    files, rejected = list_filings(Path(folder))
    found, names = [], {}
    for path, name in files:
        try:
            read = read_file(path, name, max_words, tags)
            twin = names.setdefault(read.filing.filing_id, name)
            if twin != name:
                raise NoFiling(f"its name makes the same id as {twin}: rename one")
        except NoFiling as error:
            rejected.append(Rejected(document_id=identifier_of(name), item=name, reason=str(error)))
            continue
        found.append(read)
    if not found:
        reasons = "\n".join(sorted(f"  {row.item}: {row.reason}" for row in rejected))
        raise NoFiling(f"no file in {folder} is a readable annual report or paper:\n{reasons}")
    return found, rejected


def read_file(path: Path, name: str = "", max_words: int = MAX_WORDS,
              tags: bool = True) -> ReadFiling:
    """Read the filing at `path`, called `name`. Raises NoFiling if it is not a filing."""
    name = name or path.name
    if path.suffix.lower() == ".md":
        return _paper(bytes_of(path), name, max_words)
    root = root_of(bytes_of(path))
    body = root.find("body") if root.find("body") is not None else root
    tables = list(body.iter("table"))
    if not tables:
        raise NoFiling("no table in it")
    blocks = page_blocks(body)
    filing = _filing(root, blocks, name, len(tables))
    reading = _Reading(filing, facts_of(root), tags)
    numbers = {table: number for number, table in enumerate(tables, 1)}
    for index, (block, path_) in enumerate(under_headings(blocks, filing.company)):
        if block.kind == "table":
            notes = _footnotes(blocks, index)
            reading.read_table(block.element, numbers.pop(block.element), path_, notes)
            block.element.clear()  # a large filing's tables are most of its memory
        elif block.kind != "page-end":
            reading.read_text(block, path_)
    for number in numbers.values():
        reading.leave_out(number, "layout", "holds other tables, or is hidden")
    if not reading.grids:
        kinds = Counter(row.kind for row in reading.not_understood).most_common(4)
        raise NoFiling(f"none of its {len(tables)} tables holds labelled numbers "
                       f"({', '.join(f'{n} {kind}' for kind, n in kinds)})")
    return ReadFiling(filing, reading.grids,
                      cut_passages(filing.filing_id, reading.sections, max_words),
                      reading.not_understood, together(reading.checks))


class _Reading:
    """The grids and sections of a filing, while it is read forwards, table by table."""

    def __init__(self, filing: Filing, facts: Facts, tags: bool) -> None:
        self.filing, self.facts, self.tags = filing, facts, tags
        self.grids: list[Grid] = []
        self.checks: list[Check] = []
        self.not_understood: list[NotUnderstood] = []
        self.sections: list[SectionBlock] = []  # all blocks, tables included, with headings
        self._above = Above()
        self._before: Grid | None = None  # the table before, if it is a grid
        self._is_after_table = False  # whether at most a page's end is in between

    def read_text(self, block: PageBlock, path: tuple[str, ...]) -> None:
        """Take in a heading or a paragraph below the headings `path`."""
        self._above.read(block)
        self._is_after_table = False
        starts_unit = bool(block.level) and block.level[0] < 3
        self.sections.append(SectionBlock(Block(kind=block.kind, text=block.text), path,
                                          starts_unit))

    def read_table(self, element: HtmlElement, number: int, path: tuple[str, ...],
                   footnotes: tuple[str, ...]) -> None:
        """Read a table into a grid, or list it with the reason why it is none."""
        rows: list[PlacedRow] = []
        try:
            rows = read_html_rows(element)
            if kind := kind_of(rows):
                raise NoGrid(kind, "holds no data")
            found = read_grid(rows, self._surroundings(number, path, footnotes))
        except TooLarge as error:
            self._pass_over(NoGrid("too large", str(error)), number, path, rows)
        except NoGrid as error:
            self._pass_over(error, number, path, rows)
        else:
            self._keep(found, path)
            for lost in lost_values(rows, found):
                self.leave_out(number, *lost)

    def _keep(self, found: ReadGrid, path: tuple[str, ...]) -> None:
        tagged = tagged_cells(found, self.facts)
        self.checks.append(check_grid(found, tagged))
        grid = (with_tags(found, tagged) if self.tags else found).grid
        self.grids.append(grid)
        self.sections.append(SectionBlock(
            Block(kind="table", text=as_markdown(grid), grid_id=grid.grid_id), path))
        self._pass(grid)

    def _pass_over(self, error: NoGrid, number: int, path: tuple[str, ...],
                   rows: list[PlacedRow]) -> None:
        self.leave_out(number, error.kind, str(error), " ".join(_texts(rows))[:120])
        if error.kind in _SHOWN_KINDS:
            lines = "\n".join(" | ".join(_texts([row])) for row in rows if row.cells)
            self.sections.append(SectionBlock(Block(kind="paragraph", text=lines), path))
        if error.kind not in ROOM_KINDS:
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
        return Surroundings(self.filing.filing_id, number, " > ".join(path), caption, note or wide,
                            footnotes, before.columns if before else ())

    def leave_out(self, number: int, kind: str, reason: str, words: str = "") -> None:
        """List a table, or a part of one, that is in no grid."""
        self.not_understood.append(NotUnderstood(
            filing_id=self.filing.filing_id, table=number, kind=kind, reason=reason, excerpt=words))


def _footnotes(blocks: list[PageBlock], index: int) -> tuple[str, ...]:
    """Return the footnotes below the table blocks[index]; a page's end may be in between."""
    notes = []
    for place in range(index + 1, len(blocks)):
        block = blocks[place]
        if block.kind == "paragraph" and FOOTNOTE.match(block.text):
            notes.append(block.text)
        elif block.kind != "page-end":
            break
    return tuple(notes)


def lost_values(rows: list[PlacedRow], found: ReadGrid) -> Iterator[tuple[str, str, str]]:
    """Yield kind, reason and text of each row with a number that is in no cell of its grid.

    A number in the first slot is a label, and "(1)" in a column of its own a footnote's mark.
    """
    kept = {id(element) for line in found.placed for cell in line if cell
            for element in cell.elements}
    left = min(cell.start for row in rows for cell in row.cells)
    for row in rows:
        values = [cell for cell in row.cells if cell.start > left and is_number(cell.text)
                  and not is_year(cell.text)]
        lost = [cell.text for cell in values if not _MARK.fullmatch(cell.text)
                and not any(id(element) in kept for element in cell.elements)]
        if lost:
            text = " | ".join(cell.text for cell in row.cells)
            if len(lost) < len(values):
                yield "value outside the columns", f"{', '.join(lost)}: not in the grid", text
            else:
                yield "row without label", "its row is left out of the grid", text


def _texts(rows: Iterable[PlacedRow]) -> list[str]:
    return [cell.text for row in rows for cell in row.cells]


def _filing(root: HtmlElement, blocks: list[PageBlock], name: str, n_tables: int) -> Filing:
    """Find the company and its fiscal year in the cover's tagged facts, or in its words."""
    tagged = {element.get("name"): visible_text(element) for element in root.iter("ix:nonnumeric")
              if (element.get("name") or "").startswith("dei:")}
    front = [block.text for block in blocks if block.text][:120]
    cover = " ".join(front)
    form = tagged.get("dei:DocumentType") or next(iter(re.findall(r"\b10-[KQ]\b", cover)), "")
    if not form and not re.search(r"\bannual report\b", cover, re.I):
        raise NoFiling("not an annual report: its first paragraphs name neither form 10-K or 10-Q "
                       "nor an annual report")
    place = next((at for at, text in enumerate(front) if "exact name of" in text.lower()), 0)
    title = " ".join((root.findtext(".//title") or name).split())
    period = tagged.get("dei:DocumentPeriodEndDate") or next(iter(_PERIOD.findall(cover)), "")
    year = tagged.get("dei:DocumentFiscalYearFocus") or period[-4:]
    company = tagged.get("dei:EntityRegistrantName") or (front[place - 1] if place else title)
    return Filing(filing_id=identifier_of(name), company=company, form=form or "annual report",
                  period=period, fiscal_year=int(year) if year.isdigit() else None, path=name,
                  n_tables=n_tables)


def _paper(raw: bytes, name: str, max_words: int) -> ReadFiling:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NoFiling(f"not UTF-8 (position {error.start}): save it as UTF-8") from error
    filing, grids, passages, not_understood = read_paper(text, identifier_of(name), name, max_words)
    if not grids:
        raise NoFiling(f"none of its {filing.n_tables} tables holds labelled numbers")
    return ReadFiling(filing, [found.grid for found in grids], passages, not_understood)
