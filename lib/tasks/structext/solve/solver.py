"""Answer a StrucText-Eval question from the text alone, independently of the generator.

It shares only the questions' wording with the generator and reads texts with real parsers, so an
answer that both agree on is right unless both are wrong in the same way. It takes questions in the
official wording (v2, appendix) and in ours literally: what the text says, not what it was meant to.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from lib.core.errors import BadInput
from lib.core.records import Record
from lib.tasks.structext.records import Sample
from lib.tasks.structext.solve import documents, objects, tables

Reader = Callable[[str, str, re.Match], str]  # language, reference, match of the question
QUESTIONS: dict[str, list[tuple[tuple[str, ...], Reader]]] = {
    language: questions
    for part in (tables, objects, documents)
    for language, questions in part.QUESTIONS.items()
}


class Solved(Record):
    """An answer; if there is none, `answer` is empty and `error` says why."""

    id: str
    answer: str
    error: str = ""


def solve(language: str, question: str, reference: str) -> str:
    """Answer `question` about `reference`, a text in `language` (a key of QUESTIONS).

    Raises BadInput for an unknown wording and for a text that does not answer the question.
    """
    _, read, found = _understood(language, question)
    try:
        return read(language, reference.strip("\r\n"), found)
    except Exception as error:  # whatever a parser raises on an odd text
        raise BadInput(
            f"the {language} text does not answer {question[:120]!r} "
            f"({type(error).__name__}: {error})"
        ) from error


def task_of(language: str, question: str) -> str:
    """Return a question's task, such as "json.3". Raises BadInput if the wording is unknown."""
    return f"{language}.{_understood(language, question)[0]}"


def solved(rows: Iterable[Sample]) -> Iterator[Solved]:
    """Yield one row per question, in order; if it cannot be solved, its row has the reason."""
    for row in rows:
        try:
            yield Solved(id=row.id, answer=solve(row.language, row.question, row.reference))
        except BadInput as error:
            yield Solved(id=row.id, answer="", error=str(error))


def _understood(language: str, question: str) -> tuple[int, Reader, re.Match]:
    asked = " ".join(question.split())
    for index, (patterns, read) in enumerate(QUESTIONS.get(language, ())):
        for pattern in patterns:
            if found := re.search(pattern, asked):
                return index, read, found
    raise BadInput(
        f"no known question about {language}: {asked[:120]!r}; choose a language of "
        f"{', '.join(QUESTIONS)} and a wording in lib/tasks/structext/solve/"
    )
