"""Write lessons: one text to read, and many questions about it with their answers."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count, groupby
from pathlib import Path
from random import Random
from typing import NamedTuple

from lib.core.records import Query
from lib.infer.prompts import prompt_for
from lib.reader.grids import Labels, random_grid
from lib.tasks.structext.ask.plan import some_of, training_queries, training_samples
from lib.tasks.structext.ask.prompts import Prompted
from lib.tasks.structext.records import Sample
from lib.tasks.tablequest.ask.prompts import prompt_of, source_of
from lib.tasks.tablequest.ask.serialize import FORMS, serialized
from lib.tasks.tablequest.filings.read import ReadFiling, read_filings
from lib.tasks.tablequest.made_up.reports import write_reports
from lib.tasks.tablequest.places.places import places
from lib.tasks.tablequest.questions.medium import easy_of
from lib.tasks.tablequest.records import Grid, Passage, by_id
from lib.train.texts import END

TABLE_FORMS = ("html", "markdown", "csv", "json", "prose", "list")
CELL = (
    'What is "{column}" of "{row}"?',
    'What does the table say for "{row}", "{column}"?',
    'In "{column}", which value has "{row}"?',
)
ROW = 'Which row has "{value}" in "{column}"?'
_ROWS_ASKED = 0.2  # share of the questions that ask for a row, where the value is in one row only
_NEXT = "\n\n<question>\n{question}\n</question>\n\n"


class Asked(NamedTuple):
    """A question about a table's cell."""

    question: str
    answer: str
    row: int
    column: int


class Turn(NamedTuple):
    """A prompt, complete with the text to read if it is a lesson's first, and its answer."""

    prompt: str
    reply: str


class Lesson(NamedTuple):
    """Questions about one text, all in one context."""

    kind: str  # "grid", "rewriting", "report" or "structext"
    form: str  # of the text: one of TABLE_FORMS, or a StrucText-Eval language
    turns: tuple[Turn, ...]

    @property
    def text(self) -> str:
        """Return all that is read and answered, in order."""
        return "".join(part for turn in self.turns for part in turn)


def grid_lessons(
    n: int,
    seed: int | str,
    *,
    most_rows: int = 8,
    most_columns: int = 6,
    n_questions: int = 8,
    in_turn: bool = False,
    labels: Labels = "full",
) -> Iterator[Lesson]:
    """Yield `n` tables, each in all of TABLE_FORMS with the same questions in the same order.

    With `in_turn`, each table is in one form only: a model that meets a table six times learns its
    answers by heart. Tables with short labels have all questions in the same words.
    """
    for number in range(n):
        grid, asked = asked_table(f"{seed}-{number}", most_rows, most_columns, n_questions, labels)
        turn = number % len(TABLE_FORMS)
        for form in TABLE_FORMS[turn : turn + 1] if in_turn else TABLE_FORMS:
            first, *others = asked
            turns = [
                Turn(prompt_for(first.question, FORMS[form](grid)), f" {first.answer}"),
                *(Turn(f"\n\n{prompt_for(one.question)}", f" {one.answer}") for one in others),
            ]
            yield Lesson("grid", form, tuple(turns))


def asked_table(
    seed: str,
    most_rows: int,
    most_columns: int,
    n_questions: int,
    labels: Labels = "full",
    rows_asked: float = _ROWS_ASKED,
) -> tuple[Grid, list[Asked]]:
    """Draw a table and questions about different cells; `rows_asked` of them ask for the row."""
    random = Random(seed)
    grid = random_grid(
        random, random.randint(1, most_rows), random.randint(1, most_columns), labels
    )
    cells = [(row, column) for row in range(len(grid.rows)) for column in range(len(grid.columns))]
    asked, is_short = [], labels == "short"
    for row, column in random.sample(cells, min(n_questions, len(cells))):
        value = grid.cells[row][column].text
        names = {"row": grid.rows[row], "column": grid.columns[column], "value": value}
        is_alone = [line[column].text for line in grid.cells].count(value) == 1
        if is_alone and not is_short and random.random() < rows_asked:
            asked.append(Asked(ROW.format(**names), grid.rows[row], row, column))
        else:
            wording = CELL[0] if is_short else random.choice(CELL)
            asked.append(Asked(wording.format(**names), value, row, column))
    return grid, asked


def rewriting_lessons(
    n: int, seed: int | str, *, most_rows: int = 8, most_columns: int = 6, labels: Labels = "full"
) -> Iterator[Lesson]:
    """Yield `n` tables to be written in another form, or again in their own.

    Every cell is then an answer, so that copying is learned from few texts.
    """
    for number in range(n):
        random = Random(f"{seed}-{number}-rewriting")
        grid = random_grid(
            random, random.randint(1, most_rows), random.randint(1, most_columns), labels
        )
        form, wanted = random.choices(TABLE_FORMS, k=2)
        prompt = prompt_for(f"What is the table as {wanted}?", FORMS[form](grid))
        yield Lesson("rewriting", form, (Turn(prompt, f" {FORMS[wanted](grid)}"),))


def report_lessons(
    n_companies: int, seed: int, *, n_questions: int = 6, in_turn: bool = False
) -> Iterator[Lesson]:
    """Yield the passages of made-up reports with easy questions, in TableQuest's prompt.

    Each passage is in all forms, with the same questions; with `in_turn`, in one of them, as in
    `grid_lessons`. A reply is the JSON object that the prompt asks for, without steps.
    """
    turns = count()
    with tempfile.TemporaryDirectory() as folder:
        write_reports(Path(folder), n_companies, seed)
        reports, _ = read_filings(Path(folder))
    for report in reports:
        tables, asked = by_id(report.grids), _easy(report)
        for passage in report.passages:
            random = Random(f"{seed}-{passage.passage_id}")
            drawn = asked.get(passage.passage_id, [])
            drawn = random.sample(drawn, min(n_questions, len(drawn)))
            if not drawn:
                continue
            turn = next(turns) % len(TABLE_FORMS)
            for form in TABLE_FORMS[turn : turn + 1] if in_turn else TABLE_FORMS:
                yield _of_passage(passage, tables, form, drawn, source_of(report.filing))


def _easy(report: ReadFiling) -> dict[str, list[tuple[str, str]]]:
    of_grid = {
        grid_id: passage.passage_id for passage in report.passages for grid_id in passage.grid_ids
    }
    found: dict[str, list[tuple[str, str]]] = {}
    for place in places(report.filing, report.grids):
        if not place.fault:
            draft = easy_of(place)
            found.setdefault(of_grid[place.ref.grid_id], []).append((draft.question, draft.answer))
    return found


def _of_passage(
    passage: Passage,
    tables: dict[str, Grid],
    form: str,
    asked: Sequence[tuple[str, str]],
    source: str,
) -> Lesson:
    text = serialized(passage, tables, form)
    (question, answer), *others = asked
    turns = [
        Turn(prompt_of(question, text, source), _as_json(answer)),
        *(Turn(_NEXT.format(question=other) + "JSON:", _as_json(reply)) for other, reply in others),
    ]
    return Lesson("report", form, tuple(turns))


def _as_json(answer: str) -> str:
    return "\n" + json.dumps({"answer": answer}, ensure_ascii=False)


def structext_tests(prompted: Sequence[Prompted]) -> list[Lesson]:
    """Return StrucText-Eval's prompts with their answers, each as a lesson of one question."""
    return [
        Lesson("structext", one.sample.language, (Turn(one.prompt, one.sample.answer + END),))
        for one in prompted
    ]


def structext_lessons(tested: Sequence[Sample], *, seed: int, per_task: int) -> Iterator[Lesson]:
    """Yield the texts of StrucText-Eval's training split with the questions that share them."""
    samples, _ = training_samples(tested, seed=seed)
    queries = training_queries("tuned", some_of(samples, per_task), seed)

    def text_of(query: Query) -> str:
        return query.document_id

    for _, group in groupby(sorted(queries, key=text_of), key=text_of):
        first, *others = group
        turns = [
            Turn(first.context, first.answer + END),
            *(
                Turn(_NEXT.format(question=one.question) + "<answer>\n", one.answer + END)
                for one in others
            ),
        ]
        yield Lesson("structext", first.block_type, tuple(turns))
