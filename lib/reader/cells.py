"""Cells of made-up tables that a reader is asked for, with the table in the prompt."""

from collections.abc import Sequence
from typing import NamedTuple

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.infer.prompts import prompt_for
from lib.reader.forms import CellAnswer
from lib.reader.lessons import TABLE_FORMS, Asked, Turn, asked_table
from lib.reader.training import are_right
from lib.tasks.tablequest.ask.serialize import FORMS
from lib.tasks.tablequest.records import Grid


class Table(NamedTuple):
    """A made-up table with questions about its cells."""

    grid: Grid
    asked: list[Asked]


def tables_of(
    n: int, seed: str, most_rows: int, most_columns: int, n_questions: int
) -> list[Table]:
    """Return `n` tables with questions that ask for a value, never for a row."""
    return [
        Table(*asked_table(f"{seed}-{number}", most_rows, most_columns, n_questions, rows_asked=0))
        for number in range(n)
    ]


def read_cells(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    tables: Sequence[Table],
    max_read_tokens: int,
) -> list[CellAnswer]:
    """Ask each question once in each form."""
    found = []
    for form in TABLE_FORMS:
        asked = [
            (number, n, table.grid, one)
            for number, table in enumerate(tables)
            for n, one in enumerate(table.asked)
        ]
        turns = [
            Turn(prompt_for(one.question, FORMS[form](grid)), one.answer)
            for _, _, grid, one in asked
        ]
        right = are_right(model, tokenizer, turns, max_read_tokens)
        found += [
            CellAnswer(
                form=form,
                table=number,
                question=n,
                n_cells=len(grid.rows) * len(grid.columns),
                correct=is_right,
            )
            for (number, n, grid, _), is_right in zip(asked, right, strict=True)
        ]
    return found
