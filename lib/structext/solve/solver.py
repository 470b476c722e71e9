"""Answer a StrucText-Eval question from the text alone: written apart from the generator, over real parsers.

`solve` shares nothing with the code that makes samples but the questions' wording: it reads the reference with json,
libyaml, expat, csv and markdown-it, and with small readers of its own for LaTeX, Org and tree edges. So an answer that
both find is right unless both are wrong in the same way. It reads the official wording (v2, appendix) and ours, always
literally: what the text says, not what its writer meant. Where the official data differ: official_faults.py.
The plug-ins toml, html-table, markdown-table and log are read too.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lib.core.files import write_records
from lib.core.records import Record
from lib.structext.json_lines import Given, read_given
from lib.structext.solve import documents as solve_documents
from lib.structext.solve import lines as solve_lines
from lib.structext.solve import objects as solve_objects
from lib.structext.solve import tables as solve_tables
from lib.structext.solve import xml as solve_xml
from lib.structext.solve.unsolvable import Unsolvable

Reader = Callable[[str, str, re.Match], str]  # language, reference, what the question's pattern found
QUESTIONS: dict[str, list[tuple[tuple[str, ...], Reader]]] = {
    language: questions for part in (solve_tables, solve_lines, solve_objects, solve_xml, solve_documents)
    for language, questions in part.QUESTIONS.items()}


class Asked(Given):
    """A question to solve: a line of the input of `python -m lib.structext solve`."""

    id: str
    language: str
    question: str
    reference: str


class Solved(Record):
    """An answer, or why there is none: then `answer` is empty."""

    id: str
    answer: str
    error: str = ""


def solve(language: str, question: str, reference: str) -> str:
    """The answer to `question` about `reference`, a text in `language` (a key of QUESTIONS).

    Raises Unsolvable (a ValueError) for an unknown language or wording, a reference that its parser refuses, and a
    question about something that is not there.
    """
    _, read, found = _understood(language, question)
    return read(language, reference.strip("\r\n"), found)


def task_of(language: str, question: str) -> str:
    """The task that a question belongs to, "json.3". Raises Unsolvable for an unknown language or wording."""
    return f"{language}.{_understood(language, question)[0]}"


def _understood(language: str, question: str) -> tuple[int, Reader, re.Match]:
    if language not in QUESTIONS:
        raise Unsolvable(f"unknown language {language!r}: choose one of {', '.join(QUESTIONS)}")
    asked = " ".join(question.split())
    for index, (patterns, read) in enumerate(QUESTIONS[language]):
        for pattern in patterns:
            if found := re.search(pattern, asked):
                return index, read, found
    raise Unsolvable(f"no known question about {language}: {asked[:120]!r}; see QUESTIONS in lib/structext/solve_*.py")


def solved(rows: Iterable[Asked]) -> Iterator[Solved]:
    """One row a question, in order; a question that cannot be solved keeps its place with its reason."""
    for row in rows:
        try:
            yield Solved(id=row.id, answer=solve(row.language, row.question, row.reference))
        except Unsolvable as error:
            yield Solved(id=row.id, answer="", error=str(error))


def solve_file(source: Path, target: Path) -> tuple[int, int]:
    """Solve the JSON lines of `source` ({id, language, question, reference}) into `target`; rows and failures.

    Raises what `read_given` raises.
    """
    rows = list(solved(read_given(source, Asked)))
    write_records(target, rows)
    return len(rows), sum(bool(row.error) for row in rows)
