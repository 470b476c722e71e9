"""Annual reports in HTML, read into grids and passages."""

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import islice, takewhile
from os.path import commonprefix
from pathlib import Path
from typing import NamedTuple

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from lib.core.records import Document, Rejected
from lib.core.store import BadInput
from lib.documents.folder import list_files, read_bytes
from lib.tablequest.cells import (
    FACT,
    REPORTED,
    UNSEEN,
    folded,
    is_only_note,
    read_note,
    read_rows,
    reported_coin,
    texts_of,
    unit_note_in,
    visible_text,
)
from lib.tablequest.grid import FOOTNOTE, Row, as_markdown, kind_of, layouts_of
from lib.tablequest.records import ENDINGS, Filing, Grid, Passage, left_out
from lib.tablequest.units import Facts, Units, own_note

MAX_WORDS = 2500  # per passage; about 3,500 tokens in prose, more in tables

# by rank: "Part II"; "Item 7A."; "Note 3 –", "3. Leases", "CONSOLIDATED BALANCE SHEETS"
_RANKS = (
    re.compile(r"PART\s+[IVX]+\b.{0,40}$", re.I),
    re.compile(r"ITEM\s+\d+[A-C]?\s*[.:—–-]", re.I),
    re.compile(
        r"NOTE\s+\d+\b|\d{1,2}\.\s?[A-Z]|REPORT OF INDEPENDENT REGISTERED|"
        r"CONSOLIDATED (?:BALANCE SHEETS?|STATEMENTS? OF)\b",
        re.I,
    ),
)
# dividers, page numbers, and what printed pages repeat
_NO_TEXT = re.compile(
    r"[\W_]*|(?:back to )?table of contents|(?:page\s*)?\d{1,3}|[ivx]{1,5}|"
    r".{0,60}\bform 10-[kq]\b.{0,20}\d",
    re.I,
)


class PageBlock(NamedTuple):
    """A heading, paragraph or table, and the headings above it, outermost first."""

    kind: str
    text: str
    path: tuple[str, ...]
    starts_unit: bool  # it heads a part, an item or a note
    element: HtmlElement | None  # of a table, which is the number-th of the page
    number: int
    grid_id: str = ""


def page_blocks(root: HtmlElement) -> Iterator[PageBlock]:
    """Yield the blocks. Filings have no heading tags: a heading styled like an open one closes it,
    any other is nested by rank.
    """
    numbers = {table: number for number, table in enumerate(root.iter("table"), 1)}
    path = {}  # level of each open heading -> its text
    for text, is_bold_text, table in texts_of(root):
        level = _level(text) if is_bold_text else ()
        if text and _NO_TEXT.fullmatch(text):
            continue
        if level:
            above = takewhile(lambda one, end=level: one != end, path)
            kept = [one for one in above if one[0] < level[0] or one[0] == level[0] == 3]
            path = {one: path[one] for one in kept} | {level: text}
        yield PageBlock(
            "heading" if level else "paragraph" if text else "table",
            text,
            tuple(path.values()),
            () < level < (3,),
            table,
            numbers.get(table, 0),
        )


def _level(text: str) -> tuple:
    # return a heading's rank (parts, items, notes, then by case), or () for a paragraph
    is_mark = text.startswith(("•", "(", "☐", "☒", "/s/")) or not re.search(r"[A-Za-z]", text)
    if is_mark or len(text) > 200:
        return ()
    rank = next((rank for rank, one in enumerate(_RANKS) if one.match(text)), 3)
    return (rank,) if rank < 3 else (3, text.isupper())


def cut_passages(filing_id: str, blocks: Iterable[PageBlock]) -> list[Passage]:
    """Return the passages of a filing; each grid is in exactly one, with text of its section.

    Tables of a part, item or note share a passage of at most MAX_WORDS, or one table with its
    introduction, if that is longer. Text without a table is left out.
    """
    chunks, room = [[]], MAX_WORDS
    atom = []  # what introduces a table or text stays with it
    for block in blocks:
        if atom and atom[-1].kind != "heading" and (atom[-1].grid_id or not block.grid_id):
            chunks[-1] += atom
            room -= _n_words(atom)
            atom = []
        atom.append(block)
        if block.starts_unit or _n_words(atom) > room and chunks[-1]:
            chunks.append([])
            room = MAX_WORDS
    chunks[-1] += atom
    passages = []
    for chunk in chunks:
        if paths := [block.path for block in chunk if block.grid_id]:
            parts = {
                "passage_id": f"{filing_id}-p{len(passages) + 1:02d}",
                "filing_id": filing_id,
                "section": " > ".join(commonprefix(paths)),
                "blocks": chunk,
            }
            passages.append(Passage.model_validate(parts, from_attributes=True))
    return passages


def _n_words(blocks: list[PageBlock]) -> int:
    return sum(len(block.text.replace("|", " ").split()) for block in blocks)


_FORM = re.compile(r"\b(?:10-[KQ]T?|20-F|40-F)\b|\bannual report\b", re.I)
_NAMED = re.compile(r"^(.+)\s\(exact name of", re.I | re.M)
_PERIOD = re.compile(r"(?:year|period|quarter) ended:?\s+(\w+ \w+, ?\d{4}|\d{1,2} \w+ \d{4})", re.I)
# between a unit note and its table
_REMARK = re.compile(rf"\(?(?:unaudited|audited|continued|restated)\)?$|{FOOTNOTE.pattern}", re.I)
MAX_FILING_BYTES = 100_000_000  # about three times the largest 10-K filings
_REFUSED = (  # where a pattern is searched, whether a filing has it, and the reason if not so
    (rb"\0", "all", False, "binary or UTF-16, not HTML in UTF-8"),
    (
        rb"<SEC-DOCUMENT>|<SEC-HEADER>|PRIVACY-ENHANCED MESSAGE",
        "start",
        False,
        "a whole submission in SGML: save its main document, an .htm file, alone",
    ),
    (rb"<(?:html|body|table|div|p|pre|font|span)[\s>]", "all", True, "not HTML: no tag in it"),
    (
        rb"</(?:html|body)\s*>",
        "end",
        True,
        "truncated: it has neither </html> nor </body>; fetch the complete file again",
    ),
    (  # the tags of such tables, or a line with two numbers that spaces align
        rb"<c>|\n[^\n<]*\S {2,}[$(]*\d[\d,.]*\)? {2,}[$(]*\d",
        "pre",
        False,
        "its tables are text in <pre>, not HTML: such filings are not read",
    ),
)


class ReadFiling(NamedTuple):
    """A filing, its grids and passages, and the tables that are no grids."""

    filing: Filing
    grids: list[Grid]
    passages: list[Passage]
    not_understood: list[Rejected]


def as_documents(reports: list[ReadFiling]) -> list[Document]:
    """Return one Markdown document per filing, its passages in order, for continual pretraining."""
    documents = []
    for filing, _, passages, _ in reports:
        title = f"{filing.company} {filing.form} {filing.period}".strip()
        parts = [f"# {title}"]
        for passage in passages:
            blocks = ("### " * (one.kind == "heading") + one.text for one in passage.blocks)
            parts += [f"## {passage.section}", *blocks]
        text = "\n\n".join(parts) + "\n"
        documents.append(
            Document(document_id=filing.filing_id, title=title, path=filing.path, text=text)
        )
    return documents


def read_filings(folder: Path) -> tuple[list[ReadFiling], list[Rejected]]:
    """Read the files with ENDINGS below `folder`; list the others.

    Raises BadInput with every file's reason if none is a filing.
    """
    files, rejected = list_files(folder, ENDINGS)
    found = {}
    for path in files:
        name = path.relative_to(folder).as_posix().encode("utf-8", "replace").decode()
        key = _identifier(name)
        try:
            if key in found:
                raise BadInput(f"its name makes the same id as {found[key].filing.path}: rename it")
            found[key] = read_filing(path, name)
        except BadInput as error:
            rejected.append(left_out(key, name, str(error)))
    if not found:
        reasons = "\n".join(sorted(f"  {row.rejected_text}: {row.reason}" for row in rejected))
        raise BadInput(f"no file in {folder} is a readable annual report:\n{reasons}")
    return [*found.values()], rejected


def read_filing(path: Path, name: str = "", tags: bool = True) -> ReadFiling:
    """Read the filing at `path`, called `name`; with `tags`, tagged cells from inline XBRL.

    Raises BadInput if it is not a filing, or none of its tables holds a number.
    """
    root = _page(_content(path))
    filing, facts = _filing(root, name or path.name), Facts(root)
    if not tags:
        etree.strip_tags(root, FACT)
    blocks, tables, others, notes = _scan(root, filing.filing_id)
    if not tables:
        raise BadInput(f"none of its {filing.n_tables} tables holds labelled numbers")
    texts = (block.text for block in blocks if not block.grid_id)
    coin, most = reported_coin(texts) or "USD", max(notes, default="", key=notes.get)
    grids = []
    for block, layout, caption, *near in tables:
        units = Units(layout, coin, [*map(read_note, (*near, most))], caption)
        grids.append(
            Grid(
                grid_id=block.grid_id,
                filing_id=filing.filing_id,
                html=layout.html,
                section=" > ".join(block.path),
                caption=caption,
                unit_note=near[0],
                columns=layout.columns,
                rows=layout.rows,
                cells=units.cells(facts),
            )
        )
    not_understood = [
        left_out(filing.filing_id, text, reason) for text, reason in [*others, *facts.unread]
    ]
    return ReadFiling(filing, grids, cut_passages(filing.filing_id, blocks), not_understood)


def _scan(root: HtmlElement, filing_id: str) -> tuple:
    # The blocks; its tables, each with layout, caption, unit note and one nearby; those left out;
    # and how often the filing has each note.
    blocks, tables, others, notes = [], [], [], Counter()
    caption = note = near = ""
    for block in page_blocks(root):
        if block.kind == "table":
            rows = read_rows(block.element)
            kind = kind_of(rows)
            parts = [] if kind else layouts_of(rows)
            if n_lost := _n_tags(rows) - sum(_n_tags(layout.cells) for layout in parts):
                place = f"{n_lost} in table {block.number}"
                others.append((place, "tagged numbers that no grid holds"))
            for at, layout in enumerate(parts):
                own = own_note(layout)
                near = own or near
                notes[own] += 1
                grid_id = f"{filing_id}-t{block.number:02d}" + f".{at + 1}" * bool(at)
                blocks.append(block._replace(grid_id=grid_id, text=as_markdown(layout)))
                # of a long paragraph, its last sentence
                last = re.split(r"(?<=[a-z)][.!?])\s+(?=[A-Z])", caption)[-1]
                title = " ".join([last, *(cell.text for cell in layout.titles)]).strip()
                tables.append((blocks[-1], layout, title, own or note, near))
            if parts:
                caption = note = ""
                continue
            words = "\n".join(" | ".join(cell.text for cell in row) for row in rows if row)
            others.append((words[:120], kind or "text"))
            if not words or kind != "text":
                continue
            block = block._replace(kind="paragraph", text=words)  # it may be a title or a note
        blocks.append(block)
        if _REMARK.match(block.text):
            continue
        is_short = len(block.text.split()) <= 12
        note = unit_note_in(block.text, is_short)
        near = note or ("" if block.starts_unit else near)
        caption = caption if is_only_note(block.text) else block.text
        whole = is_short and REPORTED.search(block.text)  # "Expressed in U.S. dollars"
        notes[note or (whole[0] if whole else "")] += 1
    del notes[""]
    return blocks, tables, others, notes


def _n_tags(rows: Sequence[Row]) -> int:
    return sum(len(cell.tags) for row in rows for cell in row if cell.is_value)


def _filing(root: HtmlElement, name: str) -> Filing:
    named = {
        element.get("name"): visible_text(element)
        for element in root.xpath("//*[name()='ix:nonnumeric'][starts-with(@name, 'dei:')]")
    }
    texts = islice(texts_of(root), 200)
    cover = "\n".join(text or visible_text(table) for text, _, table in texts)
    form = named.get("dei:DocumentType") or (*_FORM.findall(cover), "")[0]
    n_tables = len(root.findall(".//table"))
    if not form or not n_tables:
        raise BadInput(
            "not an annual report: it has no table, or names neither form 10-K, 10-Q, "
            "20-F nor an annual report on its first pages"
        )
    period = named.get("dei:DocumentPeriodEndDate") or (*_PERIOD.findall(cover), "")[0]
    year = named.get("dei:DocumentFiscalYearFocus") or period[-4:]
    names = (
        named.get("dei:EntityRegistrantName"),
        *_NAMED.findall(cover),
        folded(root.findtext(".//title", "")),
        name,
    )
    return Filing(
        filing_id=_identifier(name),
        form=form,
        period=period,
        path=name,
        company=next(filter(None, names)),
        fiscal_year=int(year) if re.fullmatch("[0-9]{4}", year) else None,
        n_tables=n_tables,
    )


def _identifier(name: str) -> str:
    stem = re.sub(r"\.html?(?:\.gz)?$", "", name, flags=re.I)
    return re.sub(r"[^A-Za-z0-9.]+", "-", stem).strip("-.") or "filing"


def _content(path: Path) -> bytes:
    raw = read_bytes(path, MAX_FILING_BYTES)
    if path.suffix.lower() == ".gz":
        try:
            with gzip.open(BytesIO(raw)) as file:
                raw = file.read(MAX_FILING_BYTES + 1)  # never more, whatever it unpacks to
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadInput(f"not a complete gzip file ({error})") from error
    if len(raw) > MAX_FILING_BYTES:
        raise BadInput(f"more than the limit of {MAX_FILING_BYTES / 1e6:.0f} MB")
    if not raw:
        raise BadInput("empty")
    return raw


def _page(raw: bytes) -> HtmlElement:
    # broken HTML is repaired as in browsers
    parts = {  # the text of a report may mention any tag
        "all": raw,
        "start": raw[:2000],
        "end": raw[-200_000:],
        "pre": b"".join(re.findall(rb"<pre\b.*?(?:</pre|\Z)", raw, re.I | re.S)),
    }
    for pattern, part, is_wanted, reason in _REFUSED:
        if bool(re.search(pattern, parts[part], re.I)) != is_wanted:
            raise BadInput(reason)
    encoding = "utf-8" if raw.decode("utf-8", "ignore").encode() == raw else "cp1252"
    parser = HTMLParser(encoding=encoding, huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = document_fromstring(raw, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise BadInput(f"broken beyond repair ({error})") from error
    if fatal := [error.message for error in parser.error_log if error.level_name == "FATAL"]:
        raise BadInput(f"broken beyond repair ({fatal[0]})")  # the rest would be lost silently
    for element in root.xpath(UNSEEN):
        element.text = ""
        del element[:]
    return root
