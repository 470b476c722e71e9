"""Read annual reports (10-K in HTML) into grids and passages."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from lxml.html import HtmlElement

from lib.core.errors import BadInput
from lib.core.records import Rejected
from lib.tasks.tablequest.filings.blocks import PageBlock
from lib.tasks.tablequest.filings.facts import facts_of
from lib.tasks.tablequest.filings.files import bytes_of, identifier_of, list_filings
from lib.tasks.tablequest.filings.page import page_blocks, under_headings
from lib.tasks.tablequest.filings.parse import Page, header_facts, page_of
from lib.tasks.tablequest.filings.passages import MAX_WORDS, cut_passages
from lib.tasks.tablequest.filings.tables import Tables
from lib.tasks.tablequest.filings.xbrl_check import Check, together
from lib.tasks.tablequest.grids.cells import visible_text
from lib.tasks.tablequest.grids.labels import footnotes_of
from lib.tasks.tablequest.records import Filing, Grid, NotUnderstood, Passage

_FORM = re.compile(r"\b10-[KQ]\b")
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
    with `tags`, tagged cells are read from inline XBRL. Raises BadInput with every file's reason
    if none is a filing, and BadInput as `list_filings` does.
    """
    files, rejected = list_filings(Path(folder))
    found, names = [], {}
    for path, name in files:
        try:
            read = read_file(path, name, max_words, tags)
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


def read_file(path: Path, name: str = "", max_words: int = MAX_WORDS,
              tags: bool = True) -> ReadFiling:
    """Read the filing at `path`, called `name`. Raises BadInput if it is not a filing."""
    name = name or path.name
    raw = bytes_of(path)
    named, page = header_facts(raw), page_of(raw)
    del raw
    body = page.root.find("body") if page.root.find("body") is not None else page.root
    tables = list(body.iter("table"))
    named |= _cover(page.root)
    blocks = page_blocks(body)
    if not tables:
        raise BadInput("no table in it")
    filing = _filing(named, blocks, name, len(tables))
    reading = Tables(filing, facts_of(page.root), tags)
    _read_blocks(page, blocks, tables, reading)
    if not reading.grids:
        kinds = Counter(row.kind for row in reading.not_understood).most_common(4)
        raise BadInput(f"none of its {len(tables)} tables holds labelled numbers "
                       f"({', '.join(f'{n} {kind}' for kind, n in kinds)})")
    return ReadFiling(filing, reading.grids,
                      cut_passages(filing.filing_id, reading.sections, max_words),
                      reading.not_understood, together(reading.checks))


def _read_blocks(page: Page, blocks: list[PageBlock], tables: list[HtmlElement],
                 reading: Tables) -> None:
    numbers = {table: number for number, table in enumerate(tables, 1)}
    for index, (block, path) in enumerate(under_headings(blocks, reading.filing.company)):
        if block.kind == "table":
            number = numbers.pop(block.element)
            reading.read_table(page.table(block.element), number, path, _footnotes(blocks, index))
        elif block.kind != "page-end":
            reading.read_text(block, path)
    for number in numbers.values():
        reading.leave_out(number, "layout", "holds other tables, or is hidden")


def _footnotes(blocks: list[PageBlock], index: int) -> tuple[str, ...]:
    below = (blocks[place] for place in range(index + 1, len(blocks)))
    return footnotes_of(block.text if block.kind == "paragraph" else ""
                        for block in below if block.kind != "page-end")


def _cover(root: HtmlElement) -> dict[str, str]:
    title = {"title": " ".join((root.findtext(".//title") or "").split())}
    return title | {element.get("name"): visible_text(element)
                    for element in root.iter("ix:nonnumeric")
                    if (element.get("name") or "").startswith("dei:")}


def _filing(named: dict[str, str], blocks: list[PageBlock], name: str, n_tables: int) -> Filing:
    front = [block.text for block in blocks if block.text][:120]
    cover = " ".join(front)
    form = named.get("dei:DocumentType") or next(iter(_FORM.findall(cover)), "")
    if not form and not re.search(r"\bannual report\b", cover, re.I):
        raise BadInput("not an annual report: its first paragraphs name neither form 10-K or 10-Q "
                       "nor an annual report")
    place = next((at for at, text in enumerate(front) if "exact name of" in text.lower()), 0)
    period = named.get("dei:DocumentPeriodEndDate") or next(iter(_PERIOD.findall(cover)), "")
    year = named.get("dei:DocumentFiscalYearFocus") or period[-4:]
    above = re.split(r"\(?exact name of", front[place], flags=re.I)[0].strip() if place else ""
    title = above or (front[place - 1] if place else named.get("title") or name)
    return Filing(filing_id=identifier_of(name), form=form or "annual report", period=period,
                  company=named.get("dei:EntityRegistrantName") or title, path=name,
                  fiscal_year=int(year) if year.isdigit() else None, n_tables=n_tables)
