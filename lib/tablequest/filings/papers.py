"""Read papers in Markdown: each table with the text that refers to it ("Table 3").

Papers serve to validate the synthesis of questions.
"""

import re

from lib.documents.blocks import Block as MarkdownBlock
from lib.documents.blocks import parse
from lib.tablequest.filings.files import NoFiling, identifier_of
from lib.tablequest.filings.passages import MAX_WORDS
from lib.tablequest.grids.cells import NoGrid, read_text_rows
from lib.tablequest.grids.grid import Surroundings, as_markdown, read_grid
from lib.tablequest.grids.labels import footnotes_of
from lib.tablequest.grids.notes import unit_note_in
from lib.tablequest.records import Block, Filing, Grid, NotUnderstood, Passage

# "Table 3", "**Tab. A.1", "Table IV"; not "Tables"
_CAPTION = re.compile(r"\W*(?:table|tab\.)\s+(?P<number>[A-Z]?\.?\d+|[IVX]+)\b", re.I)


def read_paper(raw: bytes, path: str, max_words: int = MAX_WORDS,
               ) -> tuple[Filing, list[Grid], list[Passage], list[NotUnderstood]]:
    """Read one paper; its heading of level 1 is the title. Raises NoFiling without a grid.

    Each table has one passage: its heading, the text that refers to it by number, the table and its
    neighbours. A dash in a paper's table is a missing value, not zero.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NoFiling(f"not UTF-8 (position {error.start}): save it as UTF-8") from error
    filing_id = identifier_of(path)
    kinds = ("heading", "prose", "list", "table")
    blocks = [block for block in parse(text.replace("\r\n", "\n")) if block.kind in kinds]
    title = next((block.text for block in blocks
                  if block.kind == "heading" and block.level == 1), path)
    places = [index for index, block in enumerate(blocks) if block.kind == "table"]
    filing = Filing(filing_id=filing_id, company=title, form="paper", period="", fiscal_year=None,
                    path=path, n_tables=len(places))
    grids, passages, not_understood = [], [], []
    for number, place in enumerate(places, 1):
        table, caption = blocks[place], _caption(blocks, place)
        section = " > ".join(table.headings)
        around = Surroundings(filing_id, number, section, caption, unit_note_in(caption),
                              footnotes_of(block.text if block.kind == "prose" else ""
                                           for block in blocks[place + 1:]))
        rows = read_text_rows((cell.text for cell in table.header),
                              ((cell.text for cell in row) for row in table.rows))
        try:
            found = read_grid(rows, around, n_header=1, dash_is_nil=False)
        except NoGrid as error:
            excerpt = " ".join(cell.text for cell in rows[0].cells)[:120]
            not_understood.append(NotUnderstood(filing_id=filing_id, table=number, kind=error.kind,
                                                reason=str(error), excerpt=excerpt))
            continue
        not_understood += [
            NotUnderstood(filing_id=filing_id, table=number, kind="row without label",
                          reason="its row is left out of the grid", excerpt=text)
            for text in found.left_out]
        grids.append(found.grid)
        body = Block(kind="table", text=as_markdown(found.grid), grid_id=found.grid.grid_id)
        passages.append(Passage(
            passage_id=f"{filing_id}-p{len(passages) + 1:02d}", filing_id=filing_id,
            section=section, blocks=_around(blocks, place, caption, body, max_words)))
    if not grids:
        raise NoFiling(f"none of its {filing.n_tables} tables holds labelled numbers")
    return filing, grids, passages, not_understood


def _neighbours(blocks: list[MarkdownBlock], place: int) -> list[int]:
    return [index for index in (place - 1, place + 1) if 0 <= index < len(blocks)]


def _caption(blocks: list[MarkdownBlock], place: int) -> str:
    """Return the neighbouring paragraph that begins as in "Table 3", else the text before."""
    for block in (blocks[index] for index in _neighbours(blocks, place)):
        if block.kind == "prose" and _CAPTION.match(block.text):
            return block.text
    has_text = place and blocks[place - 1].kind in ("prose", "heading")
    return blocks[place - 1].text if has_text else ""


def _around(blocks: list[MarkdownBlock], place: int, caption: str, table: Block,
            max_words: int) -> tuple[Block, ...]:
    """Return the table, its neighbours and the text that refers to it, under headings, in order."""
    texts = {index: block for index, block in enumerate(blocks) if block.kind in ("prose", "list")}
    chosen = {index for index in _neighbours(blocks, place)
              if index in texts and texts[index].headings == blocks[place].headings}
    far = []
    if number := _CAPTION.match(caption):
        refers = re.compile(rf"\b(?:table|tab\.)\s+{re.escape(number['number'])}(?![\w.]*\d)", re.I)
        far = [index for index, block in texts.items()
               if refers.search(block.text) and index not in chosen]
    room = max_words - len(table.text.split())
    room -= sum(len(texts[index].text.split()) for index in chosen)
    for index in sorted(far, key=lambda index: abs(index - place)):
        room -= len(texts[index].text.split())
        if room < 0:
            break
        chosen.add(index)
    found: list[Block] = []
    heading = ""
    for index in sorted({*chosen, place}):
        block = blocks[index]
        if block.headings and block.headings[-1] != heading:
            heading = block.headings[-1]
            found.append(Block(kind="heading", text=heading))
        found.append(table if index == place else Block(kind="paragraph", text=block.text))
    return tuple(found)
