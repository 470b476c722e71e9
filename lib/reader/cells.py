"""Ask readers for cells: with the table in the prompt, or after training on it."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.infer.answers import load
from lib.infer.prompts import prompt_for
from lib.reader.grids import reordered
from lib.reader.lessons import TABLE_FORMS, Asked, Turn, asked_table
from lib.reader.records import CellAnswer
from lib.reader.training import are_right
from lib.tablequest.ask.serialize import FORMS
from lib.tablequest.records import Grid
from lib.train.packing import pack
from lib.train.recipe import Recipe
from lib.train.trainer import train

_MARK = "\N{FULL BLOCK}"  # replaces a value to find its place


class Table(NamedTuple):
    """A made-up table with questions about its cells."""

    grid: Grid
    asked: list[Asked]


def tables_of(n: int, seed: str, most_rows: int, most_columns: int,
              n_questions: int) -> list[Table]:
    """Return `n` tables with questions that ask for a value, never for a row."""
    return [Table(*asked_table(f"{seed}-{number}", most_rows, most_columns, n_questions,
                               rows_asked=0)) for number in range(n)]


def read_cells(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase,
               tables: Sequence[Table], max_read_tokens: int) -> list[CellAnswer]:
    """Ask each question once in each form, with the table in the prompt."""
    found = []
    for form in TABLE_FORMS:
        texts = [FORMS[form](table.grid) for table in tables]
        found += _asked(model, tokenizer, tables, form, "read", texts, max_read_tokens)
    return found


def learn_cells(reader: Path, tables: Sequence[Table], form: str, recipe: Recipe, block_size: int,
                output: Path, max_read_tokens: int, n_orders: int = 1) -> list[CellAnswer]:
    """Train the reader in the folder `reader` on `tables` in `form`, then ask without a table.

    Each table is written `n_orders` times, the first time as it is and then with its rows and its
    columns in other orders: a model that always meets a value in the same place recites the text
    and cannot answer. Questions about every second table are among the texts, with their answers.
    Training goes into `output`. Raises ValueError and OSError as `lib.train.trainer.train` does.
    """
    model, tokenizer = load(str(reader), training=True)
    practised, others = tables[::2], tables[1::2]
    texts = []
    for order in range(n_orders):
        random = Random(f"{recipe.seed}-order-{order}")
        texts += [FORMS[form](reordered(random, table.grid) if order else table.grid)
                  for table in tables]
        texts += [f"{prompt_for(one.question)} {one.answer}" for table in practised
                  for one in table.asked]
    blocks = pack(texts, tokenizer, block_size, "document")
    train(model, tokenizer, blocks, None, recipe, output, {"form": form})
    model, tokenizer = load(str(output))
    return [row for task, some in (("learned", others), ("practised", practised))
            for row in _asked(model, tokenizer, some, form, task, [""] * len(some),
                              max_read_tokens)]


def distance(grid: Grid, form: str, row: int, column: int) -> int:
    """Return the characters between a cell's value and the end of the table in `form`."""
    cells = [list(line) for line in grid.cells]
    cells[row][column] = cells[row][column].model_copy(update={"text": _MARK})
    text = FORMS[form](grid.model_copy(update={"cells": tuple(map(tuple, cells))}))
    return len(text) - text.index(_MARK) - 1


def _asked(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, tables: Sequence[Table],
           form: str, task: str, texts: Sequence[str], max_read_tokens: int) -> list[CellAnswer]:
    places = [(number, n) for number, table in enumerate(tables) for n in range(len(table.asked))]
    turns = [Turn(prompt_for(one.question, texts[number]), one.answer)
             for number, table in enumerate(tables) for one in table.asked]
    right = are_right(model, tokenizer, turns, max_read_tokens)
    found = []
    for (number, n), is_right in zip(places, right, strict=True):
        grid, one = tables[number].grid, tables[number].asked[n]
        found.append(CellAnswer(
            task=task, form=form, table=number, question=n,
            n_cells=len(grid.rows) * len(grid.columns),
            distance=distance(grid, form, one.row, one.column),
            correct=is_right))
    return found
