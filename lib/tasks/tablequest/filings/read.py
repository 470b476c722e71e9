"""Annual and quarterly reports in HTML, read into grids and passages."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

from lxml.html import HtmlElement

from lib.core.errors import BadInput
from lib.core.records import Rejected
from lib.tasks.tablequest.filings.facts import Facts
from lib.tasks.tablequest.filings.files import bytes_of, identifier_of, list_filings, page_of
from lib.tasks.tablequest.filings.page import PageBlock, page_blocks, under_headings
from lib.tasks.tablequest.filings.passages import MAX_WORDS, SectionBlock, cut_passages
from lib.tasks.tablequest.grids.cells import read_rows, visible_text
from lib.tasks.tablequest.grids.grid import FOOTNOTE, Layout, as_markdown, kind_of, layouts_of
from lib.tasks.tablequest.grids.notes import (
    Note,
    is_only_note,
    read_note,
    reported_coin,
    unit_note_in,
)
from lib.tasks.tablequest.grids.units import Context, cells_of, dates_in, fiscal_ends, own_note
from lib.tasks.tablequest.records import Block, Filing, Grid, NotUnderstood, Passage

_FORM = re.compile(r"\b(?:10-[KQ]T?|20-F|40-F)\b")
_PERIOD = re.compile(r"(?:year|period|quarter) ended:?\s+([A-Z][a-z]+ \d{1,2}, ?\d{4}|"
                     r"\d{1,2} [A-Z][a-z]+ \d{4})", re.I)
_REMARK = re.compile(r"\(?(?:unaudited|audited|continued|restated|as adjusted)\)?", re.I)


@dataclass(frozen=True)
class ReadFiling:
    """A filing, its grids and passages, and the tables that are no grids."""

    filing: Filing
    grids: list[Grid]
    passages: list[Passage]
    not_understood: list[NotUnderstood]


class _Table(NamedTuple):
    """A part of a table, with what stands around it."""

    grid_id: str
    layout: Layout
    path: tuple[str, ...]
    caption: str
    note: str  # in the caption or right below it
    near: str  # the last one above, in the same item or note


def read_filings(folder: Path, max_passage_words: int = MAX_WORDS,
                 tags: bool = True) -> tuple[list[ReadFiling], list[Rejected]]:
    """Read the files with ENDINGS below `folder`, sorted by path, or the file that it names.

    A file that is not a filing is rejected with a reason; what is skipped is listed with them.
    Raises BadInput with every file's reason if none is a filing.
    """
    files, rejected = list_filings(Path(folder))
    found, names = [], {}
    for path, name in files:
        try:
            read = read_filing(path, name, max_passage_words, tags)
            twin = names.setdefault(read.filing.filing_id, name)
            if twin != name:
                raise BadInput(f"its name makes the same id as {twin}: rename one")
        except BadInput as error:
            rejected.append(Rejected(document_id=identifier_of(name), item=name, reason=str(error)))
            continue
        found.append(read)
    if not found:
        reasons = "\n".join(sorted(f"  {row.item}: {row.reason}" for row in rejected))
        raise BadInput(f"no file in {folder} is a readable annual report:\n{reasons}")
    return found, rejected


def read_filing(path: Path, name: str = "", max_passage_words: int = MAX_WORDS,
                tags: bool = True) -> ReadFiling:
    """Read the filing at `path`, called `name`; with `tags`, tagged cells from inline XBRL.

    Raises BadInput if it is not a filing, or none of its tables holds a number.
    """
    root = page_of(bytes_of(path))
    body = root.find("body") if root.find("body") is not None else root
    blocks, tables = page_blocks(body), list(body.iter("table"))
    if not tables:
        raise BadInput("no table in it")
    filing = _filing(root, blocks, name or path.name, len(tables))
    numbers = {table: number for number, table in enumerate(tables, 1)}
    reading = _Reading(filing, Facts(root) if tags else None)
    for block, headings in under_headings(blocks, filing.company):
        if block.kind == "table":
            reading.table(block.element, numbers.pop(block.element), headings)
        else:
            reading.text(block, headings)
    for number in numbers.values():
        reading.leave_out(number, "layout", "")
    grids = reading.grids([block.text for block in blocks])
    if not grids:
        kinds = Counter(row.kind for row in reading.left_out).most_common(4)
        raise BadInput(f"none of its {len(tables)} tables holds labelled numbers "
                       f"({', '.join(f'{n} {kind}' for kind, n in kinds)})")
    return ReadFiling(filing, grids, cut_passages(
        filing.filing_id, reading.sections(grids), max_passage_words), reading.left_out)


class _Reading:
    """Tables with the text above them, read forwards; units come last, from the whole filing."""

    def __init__(self, filing: Filing, facts: Facts | None) -> None:
        self.filing, self.facts = filing, facts
        self.tables: list[_Table] = []
        self.left_out: list[NotUnderstood] = []
        self.order: list[SectionBlock] = []
        self.notes: Counter[str] = Counter()
        self.caption = self.note = self.near = ""
        self.columns: tuple[str, ...] = ()  # of the table before, if no text is in between

    def text(self, block: PageBlock, path: tuple[str, ...]) -> None:
        starts_unit = bool(block.level) and block.level[0] < 3
        self.order.append(SectionBlock(Block(kind=block.kind, text=block.text), path, starts_unit))
        if _REMARK.fullmatch(block.text) or (
                block.kind == "paragraph" and FOOTNOTE.match(block.text)):
            return
        self.columns = ()
        note = unit_note_in(block.text, is_short=len(block.text.split()) <= 12)
        if starts_unit:
            self.near = ""
        if note and is_only_note(block.text):
            self.note = note
        else:
            self.caption, self.note = block.text, note
        if note:
            self.near = note
            self.notes[note] += 1

    def table(self, element: HtmlElement, number: int, path: tuple[str, ...]) -> None:
        rows = read_rows(element, bool(self.facts))
        kind = kind_of(rows)
        parts = [] if kind else layouts_of(rows)
        if not parts:
            words = "\n".join(" | ".join(cell.text for cell in row) for row in rows if row)
            note = unit_note_in(words, is_short=True)
            if note and is_only_note(words):
                self.note = self.near = note  # a title in a table of its own
            self.leave_out(number, kind or "text", words)
            if not kind or kind == "text":
                self.order.append(SectionBlock(Block(kind="paragraph", text=words), path))
            return
        for at, layout in enumerate(parts):
            if not any(layout.columns) and len(layout.columns) == len(self.columns):
                layout = replace(layout, columns=self.columns)
            own = own_note(layout)
            if own:
                self.near = own
                self.notes[own] += 1
            grid_id = f"{self.filing.filing_id}-t{number:02d}" + "abcdefghijklmnopqrstuvwxyz"[
                at % 26:][:1] * bool(at) * (1 + at // 26)
            caption = self.caption or (path[-1] if path else "")
            if len(caption.split()) > 60:
                caption = re.split(r"(?<=[.!?])\s+(?=[A-Z])", caption)[-1]
            self.tables.append(_Table(grid_id, layout, path, caption, own or self.note, self.near))
            self.order.append(SectionBlock(Block(kind="table", text="", grid_id=grid_id), path))
            self.columns = layout.columns
        self.caption = self.note = ""

    def leave_out(self, number: int, kind: str, words: str) -> None:
        self.left_out.append(NotUnderstood(
            filing_id=self.filing.filing_id, table=number, kind=kind, excerpt=words[:120],
            reason="holds no labelled numbers"))

    def grids(self, texts: list[str]) -> list[Grid]:
        labels = [label for one in self.tables for label in (
            *one.layout.columns, *(line.label for line in one.layout.lines))]
        end = next(iter(dates_in(self.filing.period)), None)
        major = self.notes.most_common(1)[0][0] if self.notes else ""
        coin = reported_coin(texts) or "USD"
        most = max((abs(cell.number.value) for one in self.tables if major and one.note == major
                    for line in one.layout.lines for cell in line.cells if cell and cell.number),
                   default=0.0)
        ends = fiscal_ends(end, labels) if end else {}
        done = []
        for one in self.tables:
            context = Context(coin, read_note(major), most, ends, end, read_note(one.note),
                              read_note(one.near), one.caption)
            tagged = {id(cell): fact for line in one.layout.lines for cell in line.cells
                      if self.facts and cell and len(cell.tags) == 1
                      and _is_all(cell.text, cell.tags[0]) and (fact := self.facts.of(cell.tags[0]))}
            done.append(Grid(
                grid_id=one.grid_id, filing_id=self.filing.filing_id,
                section=" > ".join(one.path), columns=one.layout.columns,
                caption=" ".join([one.caption, *one.layout.titles]).strip(),
                unit_note=one.note,
                rows=tuple(line.label for line in one.layout.lines),
                cells=cells_of(one.layout, tagged, context), html=one.layout.html))
        return done

    def sections(self, grids: list[Grid]) -> list[SectionBlock]:
        texts = {grid.grid_id: as_markdown(grid) for grid in grids}
        return [SectionBlock(one.block.model_copy(update={"text": texts[one.block.grid_id]}),
                             one.path) if one.block.grid_id else one for one in self.order]


def _is_all(text: str, tag: HtmlElement) -> bool:
    """True if the cell prints no number besides the tagged one and a footnote's mark."""
    printed = " ".join("".join(tag.itertext()).split())
    return not re.search(r"\d", re.sub(r"[(\[]\w{1,2}[)\]]\s*$", "", text.replace(printed, "", 1)))


def _filing(root: HtmlElement, blocks: list[PageBlock], name: str, n_tables: int) -> Filing:
    named = {element.get("name"): visible_text(element) for element in root.iter("ix:nonnumeric")
             if (element.get("name") or "").startswith("dei:")}
    front = [block.text for block in blocks if block.text][:120]
    cover = " ".join(front)
    form = named.get("dei:DocumentType") or next(iter(_FORM.findall(cover)), "")
    if not form and not re.search(r"\bannual report\b", cover, re.I):
        raise BadInput("not an annual report: its first paragraphs name neither form 10-K, 10-Q or "
                       "20-F nor an annual report")
    place = next((at for at, text in enumerate(front) if "exact name of" in text.lower()), 0)
    period = named.get("dei:DocumentPeriodEndDate") or next(iter(_PERIOD.findall(cover)), "")
    year = named.get("dei:DocumentFiscalYearFocus") or period[-4:]
    above = re.split(r"\(?exact name of", front[place], flags=re.I)[0].strip() if place else ""
    title = above or (front[place - 1] if place else " ".join(
        (root.findtext(".//title") or "").split()) or name)
    return Filing(filing_id=identifier_of(name), form=form or "annual report", period=period,
                  company=named.get("dei:EntityRegistrantName") or title, path=name,
                  fiscal_year=int(year) if year.isdigit() else None, n_tables=n_tables)
