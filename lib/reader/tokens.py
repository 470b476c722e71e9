"""Train a reader's tokenizer, in which a label, a year and an instruction are easy to match."""

from collections import Counter
from collections.abc import Sequence
from random import Random

from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from lib.infer.prompts import prompt_for
from lib.lab.base_model import train_tokenizer
from lib.reader.grids import SYLLABLES, YEARS, random_grid
from lib.reader.lessons import CELL, ROW
from lib.tablequest.ask.serialize import FORMS
from lib.tablequest.records import Cell

_MARK = "\N{FULL BLOCK}"  # replaces labels and values
_SHARE = 0.05  # of the texts that have a line: an instruction
_LONG = 24  # characters


def reader_tokenizer(texts: Sequence[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Train byte-level BPE of `vocabulary` tokens in which spaces and digits are tokens, and more.

    Syllables of made-up words are tokens if `vocabulary` allows, so that the first labels are one
    token each. Years are tokens of their own, because the columns 2023 and 2022 differ in their
    last of four digits only. So are long lines that are in many of the texts: an instruction then
    takes no room in the context window.
    """
    syllables = " ".join(SYLLABLES * len(texts))
    tokenizer = train_tokenizer([*texts, syllables], vocabulary, splits_spaces=True)
    counts = Counter(line for text in texts for line in set(text.split("\n"))
                     if len(line) >= _LONG)
    lines = [line for line, n in sorted(counts.items()) if n >= _SHARE * len(texts)]
    tokenizer.add_tokens([AddedToken(str(year), single_word=True, normalized=False)
                          for year in YEARS])
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in (*markup(), *lines)])
    return tokenizer


def markup(most_columns: int = 6) -> list[str]:
    """Return what is between labels and values in every form, and in the questions about a cell.

    A separator is then one token in every form, so that the forms differ in where labels are and
    not in how many tokens they take.
    """
    parts = set()
    for n_columns in range(1, most_columns + 1):
        cell = Cell(text=_MARK, value=None, unit="", scale=1.0)
        grid = random_grid(Random(1), 2, n_columns).model_copy(update={
            "rows": (_MARK,) * 2, "columns": tuple(_MARK * n for n in range(1, n_columns + 1)),
            "cells": ((cell,) * n_columns,) * 2})
        questions = [prompt_for(text.format(row=_MARK, column=_MARK, value=_MARK))
                     for text in (*CELL, ROW)]
        for text in (*(FORMS[form](grid) for form in FORMS), *questions):
            parts.update(text.split(_MARK))
    return sorted(part for part in parts if len(part) > 1)
