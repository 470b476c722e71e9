"""Answer a StrucText-Eval question from the text alone, independently of the generator.

`solve` shares only the questions' wording with the code that makes samples. It reads the reference
with json, libyaml, tomllib, expat, csv, html.parser and markdown-it, and with small readers of its
own for LaTeX, Org, tree edges and logs. An answer that solver and generator agree on is therefore
right unless both are wrong in the same way. The solver understands the official wording (v2,
appendix) and ours, always literally: what the text says, not what its author meant.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lib.core.files import write_records
from lib.core.records import Record
from lib.structext.json_lines import Given, read_given
from lib.structext.solve import documents, lines, objects, tables, xml
from lib.structext.solve.unsolvable import Unsolvable

Reader = Callable[[str, str, re.Match], str]  # language, reference, match of the question
QUESTIONS: dict[str, list[tuple[tuple[str, ...], Reader]]] = {
    language: questions for part in (tables, lines, objects, xml, documents)
    for language, questions in part.QUESTIONS.items()}


class Question(Given):
    """One line of input for `python -m lib.structext solve`."""

    id: str
    language: str
    question: str
    reference: str


class Solved(Record):
    """An answer; if there is none, `answer` is empty and `error` says why."""

    id: str
    answer: str
    error: str = ""


def solve(language: str, question: str, reference: str) -> str:
    """Answer `question` about `reference`, a text in `language` (a key of QUESTIONS).

    Raises Unsolvable (a ValueError) for an unknown language or wording, for a reference that its
    parser rejects, and for a question about something that the reference does not contain. A
    failure of the solver itself is also Unsolvable, so that one odd text does not stop a file.
    """
    _, read, found = _understood(language, question)
    try:
        return read(language, reference.strip("\r\n"), found)
    except Unsolvable:
        raise
    except Exception as error:
        raise Unsolvable(f"the solver failed on this text, {type(error).__name__}: {error}; give a "
                         f"well-formed {language} text") from error


def task_of(language: str, question: str) -> str:
    """Return a question's task, such as "json.3". Raises Unsolvable if the wording is unknown."""
    return f"{language}.{_understood(language, question)[0]}"


def _understood(language: str, question: str) -> tuple[int, Reader, re.Match]:
    if language not in QUESTIONS:
        raise Unsolvable(f"unknown language {language!r}: choose one of {', '.join(QUESTIONS)}")
    asked = " ".join(question.split())
    for index, (patterns, read) in enumerate(QUESTIONS[language]):
        for pattern in patterns:
            if found := re.search(pattern, asked):
                return index, read, found
    raise Unsolvable(f"no known question about {language}: {asked[:120]!r}; see QUESTIONS in "
                     "lib/structext/solve/")


def solved(rows: Iterable[Question]) -> Iterator[Solved]:
    """Yield one row per question, in order; if it cannot be solved, its row has the reason."""
    for row in rows:
        try:
            yield Solved(id=row.id, answer=solve(row.language, row.question, row.reference))
        except Unsolvable as error:
            yield Solved(id=row.id, answer="", error=str(error))


def solve_file(source: Path, target: Path) -> tuple[int, int]:
    """Answer the JSON lines of `source` ({id, language, question, reference}); write to `target`.

    Returns the numbers of rows and of failures. Raises as `read_given` does.
    """
    rows = list(solved(read_given(source, Question)))
    write_records(target, rows)
    return len(rows), sum(bool(row.error) for row in rows)
