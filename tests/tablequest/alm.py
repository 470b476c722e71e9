"""A small filing with three tables and four questions on it, and pages of given blocks."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from lib.core.store import REPOSITORY
from lib.tablequest.filings import ReadFiling, read_filing
from lib.tablequest.records import TableQuestion, Texts, by_id
from tests.conftest import rows

DATA = REPOSITORY / "tests" / "data"
FILING, TABLES, [PASSAGE], _ = read_filing(DATA / "tablequest" / "alm.html")
TEXTS = Texts(by_id([FILING]), by_id(TABLES), by_id([PASSAGE]))
QUESTIONS = [TableQuestion(**row) for row in rows(DATA / "tablequest" / "questions.jsonl")]
ASKED = by_id(QUESTIONS)


def cases(name: str) -> pytest.MarkDecorator:
    """Return a test's cases, the rows of a file."""
    return pytest.mark.parametrize("case", rows(DATA / "tablequest" / f"{name}.jsonl"))


def table(*lines: str) -> str:
    """Return a table of lines whose cells are separated by |."""
    cells = ("".join(f"<td>{text}</td>" for text in line.split("|")) for line in lines)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"


NUMBERS = table("|2031|2030", "Sales|$10|$9", "Costs|(4)|(3)")


def page(*blocks: str) -> str:
    """Return a report of these blocks."""
    return (
        "<html><head><title>Acme, Inc.</title></head><body><p>FORM 10-K</p><p>For the fiscal "
        f"year ended May 31, 2031</p>{''.join(blocks)}</body></html>"
    )


def read_page(content: str) -> ReadFiling:
    """Read a file with this content."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "acme.html")
        path.write_text(content, encoding="utf-8")
        return read_filing(path)


def read(*blocks: str) -> ReadFiling:
    """Read a report of these blocks."""
    return read_page(page(*blocks))
