"""Annual reports (10-K, HTML with or without inline XBRL) and papers (Markdown) read into grids and passages."""

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from lxml.html import HtmlElement

from lib.core.records import Rejected
from lib.tablequest.filings.files import NoFiling, bytes_of, identifier_of, list_filings, root_of
from lib.tablequest.filings.page import PageBlock, page_blocks, under_headings
from lib.tablequest.filings.papers import read_paper
from lib.tablequest.filings.passages import MAX_WORDS, SectionBlock, cut_passages
from lib.tablequest.grids.cells import PlacedRow, TooLarge, read_html_rows, visible_text
from lib.tablequest.grids.grid import ReadGrid, Surroundings, as_markdown, read_grid
from lib.tablequest.grids.kinds import ROOM_KINDS, kind_of
from lib.tablequest.grids.labels import FOOTNOTE
from lib.tablequest.grids.layout import NoGrid
from lib.tablequest.grids.values import unit_note_in
from lib.tablequest.records import Block, Filing, Grid, NotUnderstood, Passage

_SHOWN_KINDS = ("text", "ranges or words only", "bullets")  # no grid, but something to read
_PERIOD = re.compile(r"fiscal year ended:?\s+([A-Z][a-z]+ \d{1,2}, ?\d{4})", re.I)


@dataclass
class ReadFiling:
    """One filing, read. `read_grids` keeps the HTML elements behind the cells, for checks against inline XBRL."""

    filing: Filing
    root: HtmlElement | None
    read_grids: list[ReadGrid] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    not_understood: list[NotUnderstood] = field(default_factory=list)


def read_filings(folder: Path, max_words: int = MAX_WORDS,
                 ) -> tuple[list[Filing], list[Grid], list[Passage], list[NotUnderstood], list[Rejected]]:
    """Read every .html, .htm and .md file below `folder`, or the one file that it names, in the order of their paths.

    A file that is no filing is among the rejected with its reason, and the others go on. Passages are at most about
    `max_words` long. Raises FileNotFoundError where there is no such folder or no such file in it.
    """
    filings, grids, passages, not_understood, rejected, names = [], [], [], [], [], {}
    for path, name in list_filings(Path(folder)):
        try:
            read = read_file(path, name, max_words)
            twin = names.setdefault(read.filing.filing_id, name)
            if twin != name:
                raise NoFiling(f"its name makes the same id as {twin}: rename one")
        except NoFiling as error:
            rejected.append(Rejected(document_id=identifier_of(name), item=name, reason=str(error)))
            continue
        filings.append(read.filing)
        grids += [found.grid for found in read.read_grids]
        passages += read.passages
        not_understood += read.not_understood
    return filings, grids, passages, not_understood, rejected


def read_file(path: Path, name: str = "", max_words: int = MAX_WORDS) -> ReadFiling:
    """Read one filing; `name` is what it is called by. Raises NoFiling with the reason where it is none."""
    name = name or path.name
    raw = bytes_of(path)
    if path.suffix.lower() == ".md":
        return _paper(raw, name, max_words)
    root = root_of(raw)
    body = root.find("body") if root.find("body") is not None else root
    tables = list(body.iter("table"))
    if not tables:
        raise NoFiling("no table in it")
    blocks = page_blocks(body)
    filing = _filing(root, blocks, name, len(tables))
    read = ReadFiling(filing, root)
    sections = _read_tables(read, blocks, {table: number for number, table in enumerate(tables, 1)})
    if not read.read_grids:
        kinds = ", ".join(f"{n} {kind}" for kind, n in Counter(row.kind for row in read.not_understood).most_common(4))
        raise NoFiling(f"none of its {len(tables)} tables holds labelled numbers ({kinds})")
    read.passages = cut_passages(filing.filing_id, sections, max_words)
    return read


def _read_tables(read: ReadFiling, blocks: list[PageBlock], numbers: dict[HtmlElement, int]) -> list[SectionBlock]:
    """Read each table where it stands; return the filing's blocks with their headings, tables in place."""
    filing_id, sections, before = read.filing.filing_id, [], None
    blocks = [_with_rows(block) for block in blocks]
    for index, (block, path) in enumerate(under_headings(blocks, read.filing.company)):
        if block.kind == "page-end":
            continue
        if block.kind != "table":
            starts = bool(block.level) and block.level[0] < 3
            sections.append(SectionBlock(Block(kind=block.kind, text=block.text), path, starts))
            continue
        number, kind, reason = numbers.pop(block.element), block.table_kind, "holds no data"
        try:
            around = Surroundings(filing_id, number, " > ".join(path))
            found = None if kind else read_grid(list(block.rows), _surroundings(blocks, index, before, around))
        except NoGrid as error:
            kind, reason = error.kind, str(error)
        if kind:
            read.not_understood.append(_left(filing_id, number, kind, reason, block.rows))
            if kind in _SHOWN_KINDS:
                sections.append(SectionBlock(Block(kind="paragraph", text=_as_text(block.rows)), path))
            before = before if kind in ROOM_KINDS else None
            continue
        before = found.grid
        read.read_grids.append(found)
        read.not_understood += [NotUnderstood(filing_id=filing_id, table=number, kind="row without label",
                                              reason="its row is left out of the grid", excerpt=text[:120])
                                for text in found.left_out]
        sections.append(SectionBlock(Block(kind="table", text=as_markdown(before), grid_id=before.grid_id), path))
    read.not_understood += [_left(filing_id, number, "layout", "holds other tables, or is hidden", ())
                            for number in numbers.values()]
    return sections


def _with_rows(block: PageBlock) -> PageBlock:
    """A table's block with its rows read and its kind told."""
    if block.kind != "table":
        return block
    try:
        rows = tuple(read_html_rows(block.element))
        return replace(block, rows=rows, table_kind=kind_of(rows))
    except TooLarge:
        return replace(block, table_kind="too large")


def _surroundings(blocks: list[PageBlock], index: int, before: Grid | None, place: Surroundings) -> Surroundings:
    """What is said around the table blocks[index]; `before` is the grid of the table before it, if that was one."""
    notes = []
    for block in blocks[index + 1:]:
        if block.kind == "paragraph" and FOOTNOTE.match(block.text):
            notes.append(block.text)
        elif block.kind != "page-end":
            break
    intro = _introduction(blocks[:index])
    goes_on = before is not None and _last(blocks[:index]).kind == "table"  # nothing but a page's end in between
    if goes_on and not intro[1]:
        intro = (before.caption, before.unit_note)
    caption = intro[0] or (place.section.rsplit(" > ", 1)[-1])
    if len(caption.split()) > 60:
        caption = re.split(r"(?<=[.!?])\s+(?=[A-Z])", caption)[-1]
    return Surroundings(place.filing_id, place.number, place.section, caption, intro[1], tuple(notes),
                        before.columns if goes_on else ())


def _introduction(blocks: list[PageBlock]) -> tuple[str, str]:
    """(caption, unit note) from the blocks before a table: the nearest heading or paragraph, and the nearest bracket.

    "The following tables …" introduces all tables of its part, item or note.
    """
    caption = note = ""
    is_near = True  # no other table in between
    for block in reversed(blocks):
        if block.level and block.level[0] < 3:
            return caption or (block.text if is_near else ""), note
        if block.kind == "page-end" or block.kind == "paragraph" and FOOTNOTE.match(block.text):
            continue
        if block.kind == "table":
            is_near = is_near and block.table_kind in ROOM_KINDS
            continue
        found = unit_note_in(block.text)
        if is_near and not caption:
            note = note or found
            caption = "" if found == block.text else block.text
        elif found and not note and re.search(r"\bfollowing tables\b", block.text):
            return caption or block.text, found
    return caption, note


def _last(blocks: list[PageBlock]) -> PageBlock:
    """The last block that is no page's end or footer."""
    for block in reversed(blocks):
        if block.kind != "page-end" and block.table_kind not in ROOM_KINDS:
            return block
    return PageBlock("page-end")


def _left(filing_id: str, number: int, kind: str, reason: str, rows: tuple[PlacedRow, ...]) -> NotUnderstood:
    words = " ".join(cell.text for row in rows for cell in row.cells)
    return NotUnderstood(filing_id=filing_id, table=number, kind=kind, reason=reason, excerpt=words[:120])


def _as_text(rows: tuple[PlacedRow, ...]) -> str:
    return "\n".join(" | ".join(cell.text for cell in row.cells) for row in rows if row.cells)


def _filing(root: HtmlElement, blocks: list[PageBlock], name: str, n_tables: int) -> Filing:
    """Who reports on which year: the cover's tagged facts where the filing has them, else its words."""
    tagged = {element.get("name"): visible_text(element) for element in root.iter("ix:nonnumeric")
              if (element.get("name") or "").startswith("dei:")}
    front = [block.text for block in blocks if block.text][:120]
    form = tagged.get("dei:DocumentType") or ("10-K" if re.search(r"\b10-K\b", " ".join(front)) else "")
    if not form and not re.search(r"\bannual report\b", " ".join(front), re.I):
        raise NoFiling("no annual report: its first paragraphs name neither form 10-K nor an annual report")
    place = next((index for index, text in enumerate(front) if "exact name of" in text.lower()), 0)
    title = root.findtext(".//title") or name
    period = tagged.get("dei:DocumentPeriodEndDate") or next(iter(_PERIOD.findall(" ".join(front))), "")
    year = tagged.get("dei:DocumentFiscalYearFocus") or period[-4:]
    return Filing(filing_id=identifier_of(name), company=tagged.get("dei:EntityRegistrantName") or
                  (front[place - 1] if place else " ".join(title.split())), form=form or "annual report",
                  period=period, fiscal_year=int(year) if year.isdigit() else None, path=name, n_tables=n_tables)


def _paper(raw: bytes, name: str, max_words: int) -> ReadFiling:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NoFiling(f"not UTF-8 (position {error.start}): save it as UTF-8") from error
    filing, grids, passages, not_understood = read_paper(text, identifier_of(name), name, max_words)
    if not grids:
        raise NoFiling(f"none of its {filing.n_tables} tables holds labelled numbers")
    return ReadFiling(filing, None, grids, passages, not_understood)
