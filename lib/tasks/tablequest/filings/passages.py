"""Cut filings into passages to ask about: blocks of a section around its tables."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from lib.core.records import Document
from lib.tasks.tablequest.grids.grid import FOOTNOTE
from lib.tasks.tablequest.records import Block, Filing, Passage

MAX_WORDS = 2500  # per passage; about 3,500 tokens in prose, more in tables


@dataclass(frozen=True)
class SectionBlock:
    """A block and the headings above it, outermost first."""

    block: Block
    path: tuple[str, ...]
    starts_unit: bool = False  # whether it heads a part, an item or a note


@dataclass
class _Atom:
    """Blocks that stay together: headings with the next block, a table with intro and notes."""

    blocks: list[Block]
    path: tuple[str, ...]

    @property
    def has_grid(self) -> bool:
        return any(block.grid_id for block in self.blocks)

    @property
    def n_words(self) -> int:
        return sum(len(block.text.replace("|", " ").split()) for block in self.blocks)


def cut_passages(filing_id: str, blocks: Iterable[SectionBlock],
                 max_words: int = MAX_WORDS) -> list[Passage]:
    """Return the passages of a filing; each grid is in exactly one, with text of its section.

    Tables of a part, item or note share a passage of at most `max_words`; text under headings
    without a table is left out. A passage is longer only if a single table with its introduction
    is longer.
    """
    passages: list[Passage] = []
    for unit in _units(blocks):
        atoms = _atoms(unit)
        paths = {atom.path for atom in atoms if atom.has_grid}
        around = {start for path in paths for start in _starts(path)}
        # Text belongs to a table if it is in the table's section, below it or around it.
        near = [atom for atom in atoms
                if atom.path in around or any(start in paths for start in _starts(atom.path))]
        for chunk in _packed(near, max_words):
            paths = [atom.path for atom in chunk if atom.has_grid]
            if paths:
                passages.append(Passage(
                    passage_id=f"{filing_id}-p{len(passages) + 1:02d}", filing_id=filing_id,
                    section=" > ".join(_common(paths)),
                    blocks=tuple(block for atom in chunk for block in atom.blocks)))
    return passages


def as_documents(filings: list[Filing], passages: list[Passage]) -> list[Document]:
    """Return one Markdown document per filing, its passages in order, for continual pretraining."""
    documents, of_filing = [], defaultdict(list)
    for passage in passages:
        of_filing[passage.filing_id].append(passage)
    for filing in filings:
        title = " ".join(filter(None, (filing.company, filing.form, filing.period)))
        pieces = [f"# {title}"]
        for passage in of_filing[filing.filing_id]:
            pieces.append(f"## {passage.section}")
            pieces += [f"### {block.text}" if block.kind == "heading" else block.text
                       for block in passage.blocks]
        documents.append(Document(document_id=filing.filing_id, title=title, path=filing.path,
                                  text="\n\n".join(pieces) + "\n"))
    return documents


def _units(blocks: Iterable[SectionBlock]) -> list[list[SectionBlock]]:
    units: list[list[SectionBlock]] = [[]]
    for block in blocks:
        if block.starts_unit:
            units.append([])
        units[-1].append(block)
    return units


def _atoms(unit: list[SectionBlock]) -> list[_Atom]:
    atoms: list[_Atom] = []
    for placed in unit:
        block, last = placed.block, atoms[-1] if atoms else None
        before = last.blocks[-1].kind if last else ""
        is_introduced = (block.kind == "table" and before == "paragraph"
                         and last.path == placed.path)
        is_note = (block.kind == "paragraph" and last and last.has_grid
                   and FOOTNOTE.match(block.text))
        if last and (before == "heading" or is_introduced or is_note):
            last.blocks.append(block)
            last.path = placed.path
        else:
            atoms.append(_Atom([block], placed.path))
    return atoms


def _starts(path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the section `path` and the sections around it."""
    return [path[:length] for length in range(len(path) + 1)]


def _packed(atoms: list[_Atom], max_words: int) -> list[list[_Atom]]:
    chunks: list[list[_Atom]] = []
    n_words = 0
    for atom in atoms:
        if not chunks or n_words + atom.n_words > max_words:
            chunks.append([])
            n_words = 0
        chunks[-1].append(atom)
        n_words += atom.n_words
    return chunks


def _common(paths: list[tuple[str, ...]]) -> tuple[str, ...]:
    shared = []
    for texts in zip(*paths, strict=False):
        if len(set(texts)) > 1:
            break
        shared.append(texts[0])
    return tuple(shared)
