"""A small filing with three tables and four questions on it, for the tests of TableQuest."""

import pytest

from lib.core.store import REPOSITORY
from lib.tablequest.filings import read_filing
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
