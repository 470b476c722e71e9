"""Read annual reports (10-K, HTML) and papers (Markdown) into grids and passages."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from lxml.html import HtmlElement

from lib.core.records import Rejected
from lib.tablequest.filings.files import NoFiling, bytes_of, identifier_of, list_filings, root_of
from lib.tablequest.filings.page import PageBlock, page_blocks, under_headings
from lib.tablequest.filings.papers import read_paper
from lib.tablequest.filings.passages import MAX_WORDS, SectionBlock, cut_passages
from lib.tablequest.filings.xbrl_check import Check, check_grids
from lib.tablequest.grids.cells import PlacedRow, TooLarge, read_html_rows, visible_text
from lib.tablequest.grids.grid import ReadGrid, Surroundings, as_markdown, read_grid
from lib.tablequest.grids.kinds import ROOM_KINDS, kind_of
from lib.tablequest.grids.labels import FOOTNOTE
from lib.tablequest.grids.layout import NoGrid
from lib.tablequest.grids.values import unit_note_in
from lib.tablequest.records import Block, Filing, Grid, NotUnderstood, Passage

_SHOWN_KINDS = ("text", "ranges or words only", "bullets")  # no grids, but readable as text
_PERIOD = re.compile(r"fiscal year ended:?\s+([A-Z][a-z]+ \d{1,2}, ?\d{4})", re.I)


@dataclass(frozen=True)
class ReadFiling:
    """A filing as read, and the check of its grids against inline XBRL."""

    filing: Filing
    grids: list[Grid]
    passages: list[Passage]
    not_understood: list[NotUnderstood]
    check: Check = Check()


def read_filings(folder: Path,
                 max_words: int = MAX_WORDS) -> tuple[list[ReadFiling], list[Rejected]]:
    """Read all .html, .htm and .md files below `folder`, sorted by path, or the file that it names.

    A file that is not a filing is rejected with a reason, and reading continues. `max_words` limits
    passages as in `cut_passages`. Raises FileNotFoundError as `list_filings` does.
    """
    found, rejected, names = [], [], {}
    for path, name in list_filings(Path(folder)):
        try:
            read = read_file(path, name, max_words)
            twin = names.setdefault(read.filing.filing_id, name)
            if twin != name:
                raise NoFiling(f"its name makes the same id as {twin}: rename one")
        except NoFiling as error:
            rejected.append(Rejected(document_id=identifier_of(name), item=name, reason=str(error)))
            continue
        found.append(read)
    return found, rejected


def read_file(path: Path, name: str = "", max_words: int = MAX_WORDS) -> ReadFiling:
    """Read the filing at `path`, called `name`. Raises NoFiling if it is not a filing."""
    name, raw = name or path.name, bytes_of(path)
    if path.suffix.lower() == ".md":
        return _paper(raw, name, max_words)
    root = root_of(raw)
    body = root.find("body") if root.find("body") is not None else root
    tables = list(body.iter("table"))
    if not tables:
        raise NoFiling("no table in it")
    blocks = page_blocks(body)
    filing = _filing(root, blocks, name, len(tables))
    grids, not_understood, sections = _read_tables(
        filing, blocks, {table: number for number, table in enumerate(tables, 1)})
    if not grids:
        kinds = Counter(row.kind for row in not_understood).most_common(4)
        raise NoFiling(f"none of its {len(tables)} tables holds labelled numbers "
                       f"({', '.join(f'{n} {kind}' for kind, n in kinds)})")
    return ReadFiling(filing, [found.grid for found in grids],
                      cut_passages(filing.filing_id, sections, max_words), not_understood,
                      check_grids(root, grids))


def _read_tables(filing: Filing, blocks: list[PageBlock], numbers: dict[HtmlElement, int],
                 ) -> tuple[list[ReadGrid], list[NotUnderstood], list[SectionBlock]]:
    """Read each table; also return all blocks of the filing, tables included, with headings."""
    filing_id, before = filing.filing_id, None
    grids, not_understood, sections = [], [], []
    blocks = [_with_rows(block) for block in blocks]
    for index, (block, path) in enumerate(under_headings(blocks, filing.company)):
        if block.kind == "page-end":
            continue
        if block.kind != "table":
            starts_unit = bool(block.level) and block.level[0] < 3
            sections.append(SectionBlock(Block(kind=block.kind, text=block.text), path,
                                         starts_unit))
            continue
        number = numbers.pop(block.element)
        place = Surroundings(filing_id, number, " > ".join(path))
        try:
            if block.table_kind:
                raise NoGrid(block.table_kind, "holds no data")
            around = _surroundings(blocks, index, before, place)
            found = read_grid(list(block.rows), around)
        except NoGrid as error:
            words = " ".join(_texts(block.rows))
            not_understood.append(_left_out(place, error.kind, str(error), words))
            if error.kind in _SHOWN_KINDS:
                lines = "\n".join(" | ".join(_texts([row])) for row in block.rows if row.cells)
                sections.append(SectionBlock(Block(kind="paragraph", text=lines), path))
            before = before if error.kind in ROOM_KINDS else None
            continue
        before = found.grid
        grids.append(found)
        not_understood += [_left_out(place, "row without label", "its row is left out of the grid",
                                     text) for text in found.left_out]
        table = Block(kind="table", text=as_markdown(before), grid_id=before.grid_id)
        sections.append(SectionBlock(table, path))
    not_understood += [_left_out(Surroundings(filing_id, number), "layout",
                                 "holds other tables, or is hidden")
                       for number in numbers.values()]
    return grids, not_understood, sections


def _with_rows(block: PageBlock) -> PageBlock:
    """Return a table's block with its rows and kind."""
    if block.kind != "table":
        return block
    try:
        rows = tuple(read_html_rows(block.element))
        return replace(block, rows=rows, table_kind=kind_of(rows))
    except TooLarge:
        return replace(block, table_kind="too large")


def _surroundings(blocks: list[PageBlock], index: int, before: Grid | None,
                  place: Surroundings) -> Surroundings:
    """Add the text around blocks[index]; `before` is the grid of the previous table, if any."""
    notes = []
    for block in blocks[index + 1:]:
        if block.kind == "paragraph" and FOOTNOTE.match(block.text):
            notes.append(block.text)
        elif block.kind != "page-end":
            break
    caption, note = _introduction(blocks[:index])
    # Only a page's end may be in between.
    continues = before is not None and _last_kind(blocks[:index]) == "table"
    if continues and not note:
        caption, note = before.caption, before.unit_note
    caption = caption or place.section.rsplit(" > ", 1)[-1]
    if len(caption.split()) > 60:
        caption = re.split(r"(?<=[.!?])\s+(?=[A-Z])", caption)[-1]
    return replace(place, caption=caption, unit_note=note, footnotes=tuple(notes),
                   columns=before.columns if continues else ())


def _introduction(blocks: list[PageBlock]) -> tuple[str, str]:
    """Return the nearest text before a table (its caption) and the nearest unit note in brackets.

    "The following tables …" introduces all tables of its part, item or note.
    """
    caption = note = ""
    is_near = True  # no other table in between
    for block in reversed(blocks):
        if block.level and block.level[0] < 3:
            return caption or (block.text if is_near else ""), note
        is_note = block.kind == "paragraph" and FOOTNOTE.match(block.text)
        if block.kind == "page-end" or is_note:
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


def _last_kind(blocks: list[PageBlock]) -> str:
    """Return the kind of the last block that is neither a page's end nor a footer."""
    return next((block.kind for block in reversed(blocks)
                 if block.kind != "page-end" and block.table_kind not in ROOM_KINDS), "")


def _left_out(place: Surroundings, kind: str, reason: str, words: str = "") -> NotUnderstood:
    return NotUnderstood(filing_id=place.filing_id, table=place.number, kind=kind, reason=reason,
                         excerpt=words[:120])


def _texts(rows: Iterable[PlacedRow]) -> list[str]:
    return [cell.text for row in rows for cell in row.cells]


def _filing(root: HtmlElement, blocks: list[PageBlock], name: str, n_tables: int) -> Filing:
    """Find the company and its fiscal year in the cover's tagged facts, or in its words."""
    tagged = {element.get("name"): visible_text(element) for element in root.iter("ix:nonnumeric")
              if (element.get("name") or "").startswith("dei:")}
    front = [block.text for block in blocks if block.text][:120]
    cover = " ".join(front)
    form = tagged.get("dei:DocumentType") or ("10-K" if re.search(r"\b10-K\b", cover) else "")
    if not form and not re.search(r"\bannual report\b", cover, re.I):
        raise NoFiling("not an annual report: its first paragraphs name neither form 10-K nor an "
                       "annual report")
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
