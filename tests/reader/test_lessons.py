"""Lessons for the reader: every answer is in the text it is asked of, whatever the form."""

import csv
import io
import json
import re
from collections import Counter
from itertools import groupby
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from lib.reader.grids import YEARS, random_grid
from lib.reader.lessons import (
    TABLE_FORMS,
    grid_lessons,
    report_lessons,
    rewriting_lessons,
    structext_lessons,
)
from lib.tasks.structext.ask.plan import asked_in
from lib.tasks.tablequest.ask.replies import read_reply


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 6))
def test_a_tables_labels_are_different_and_its_cells_filled(seed, n_rows, n_columns):
    grid = random_grid(Random(seed), n_rows, n_columns)
    assert len(set(grid.rows)) == len(grid.rows) == n_rows
    assert len(set(grid.columns)) == len(grid.columns) == n_columns
    assert all(len(row) == n_columns and all(cell.text for cell in row) for row in grid.cells)


def test_every_form_has_the_same_questions_and_answers_and_the_csv_gives_them():
    lessons = list(grid_lessons(40, 3))
    for _, group in groupby(enumerate(lessons), key=lambda one: one[0] // len(TABLE_FORMS)):
        of_form = {lesson.form: lesson for _, lesson in group}
        assert list(of_form) == list(TABLE_FORMS)
        asked = {tuple(turn.prompt.rpartition("Question: ")[2] + turn.reply
                       for turn in lesson.turns) for lesson in of_form.values()}
        assert len(asked) == 1
        text = of_form["csv"].turns[0].prompt.rpartition("\n\nQuestion: ")[0]
        (_, *columns), *rows = csv.reader(io.StringIO(text))
        for turn in of_form["csv"].turns:
            question = turn.prompt.rpartition("Question: ")[2]
            named, answer = set(re.findall(r'"(.*?)"', question)), turn.reply.strip()
            cells = [(row[0], column, value) for row in rows
                     for column, value in zip(columns, row[1:], strict=True)]
            hits = [cell for cell in cells if {*cell} >= named and answer in cell]
            assert hits, question


def test_in_turn_every_table_has_one_form_and_every_form_as_many_tables():
    lessons = list(grid_lessons(60, 4, in_turn=True, labels="short"))
    assert Counter(lesson.form for lesson in lessons) == dict.fromkeys(TABLE_FORMS, 10)
    each = {lesson.form: lesson for lesson in grid_lessons(1, 4, labels="short")}
    assert lessons[0] == each[lessons[0].form]
    questions = {re.sub('".*?"', "…", turn.prompt.rpartition("Question: ")[2])
                 for lesson in lessons for turn in lesson.turns}
    assert questions == {"What is … of …?\nAnswer:"}


def test_a_table_is_rewritten_with_all_its_cells_in_the_form_that_is_asked_for():
    for lesson in rewriting_lessons(80, 6, most_rows=3, most_columns=3):
        (turn,) = lesson.turns
        wanted = re.search(r"table as (\w+)\?", turn.prompt)[1]
        if wanted == lesson.form:
            assert turn.prompt.startswith(turn.reply[1:])
        if wanted == "csv" and lesson.form == "json":
            (_, *columns), *rows = csv.reader(io.StringIO(turn.reply[1:]))
            records = json.loads(turn.prompt.rpartition("\n\nQuestion")[0])
            assert [[record["row"], *map(record.get, columns)] for record in records] == rows


def test_single_labels_are_one_word_and_years_label_columns():
    grids = [random_grid(Random(seed), 4, 4, "single") for seed in range(40)]
    assert not [label for grid in grids for label in (*grid.rows, *grid.columns) if " " in label]
    years = [set(grid.columns) <= set(map(str, YEARS)) for grid in grids]
    assert 10 < sum(years) < 30


def test_a_reports_answers_are_read_from_its_replies_and_its_figures_are_in_the_passage():
    lessons = list(report_lessons(1, 5))
    assert {lesson.form for lesson in lessons} == set(TABLE_FORMS)
    for lesson in lessons:
        passage = lesson.turns[0].prompt
        for turn in lesson.turns:
            answer = read_reply(turn.reply).text
            assert answer == json.loads(turn.reply)["answer"]
            figure = re.search(r"\d[\d,.]*", answer)[0].rstrip(".0").replace(",", "")
            assert figure in passage.replace(",", "")


def test_no_text_that_is_tested_is_taught():
    tested = [one.sample for one in next(asked_in(["v1-simple"], ["base"], [], per_task=2))]
    taught = list(structext_lessons(tested, seed=42, per_task=2))
    assert taught and sum(len(lesson.turns) > 1 for lesson in taught) > len(taught) / 2
    prompts = [lesson.turns[0].prompt for lesson in taught]
    assert not [one.id for one in tested for prompt in prompts
                if f"<text>\n{one.reference}\n</text>" in prompt]
