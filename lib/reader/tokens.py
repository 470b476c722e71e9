"""Train a reader's tokenizer, in which a label, a year and an instruction are easy to match."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from lib.infer.prompts import prompt_for
from lib.lab.base_model import train_tokenizer
from lib.reader.grids import SYLLABLES, YEARS, random_grid
from lib.reader.lessons import CELL, ROW, Lesson
from lib.tasks.tablequest.ask.serialize import FORMS
from lib.tasks.tablequest.records import Cell

_MARK = "\N{FULL BLOCK}"  # replaces labels and values
_OFTEN, _SHARE, _ALWAYS = 0.5, 0.05, 0.9  # of the questions about texts of one kind
_LONG, _RUN = 24, 8  # characters
_SENTENCE = re.compile(r"(?<=[.?:])\s+|\n")
_WORD = re.compile(r"\w+|\W")
_VALUE = re.compile(r"[a-zA-Z]|\d+|\"")  # may be or begin what must be matched


def reader_tokenizer(lessons: Sequence[Lesson], vocabulary: int) -> PreTrainedTokenizerFast:
    """Train byte-level BPE of `vocabulary` tokens in which spaces and digits are tokens, and more.

    Syllables, years, separators and the fixed wording of prompts are tokens, so that labels are
    short and the labels in a question are a few tokens before its answer.
    """
    syllables = " ".join(SYLLABLES * len(lessons))
    tokenizer = train_tokenizer(
        [*(lesson.text for lesson in lessons), syllables], vocabulary, splits_spaces=True
    )
    tokenizer.add_tokens(
        [AddedToken(str(year), single_word=True, normalized=False) for year in YEARS]
    )
    tokenizer.add_tokens(
        [AddedToken(text, normalized=False) for text in sorted({*markup(), *wording(lessons)})]
    )
    return tokenizer


def wording(lessons: Iterable[Lesson]) -> set[str]:
    """Return the fixed wording of reports' and StrucText-Eval's lessons, kind by kind.

    These are the lines that almost all first prompts have, and common sentences and word runs of
    further questions. A run ends at a quotation mark, a digit or a letter, so none has a value.
    """
    first: dict[tuple[str, str], list[str]] = {}
    further: dict[tuple[str, str], list[str]] = {}
    for lesson in (one for one in lessons if one.kind in ("report", "structext")):
        group = (lesson.kind, lesson.form if lesson.kind == "structext" else "")
        first.setdefault(group, []).append(lesson.turns[0].prompt)
        further.setdefault(group, []).extend(turn.prompt for turn in lesson.turns[1:])
    found = {
        line
        for prompts in first.values()
        for line in _common(
            (prompt.split("\n") for prompt in prompts), _ALWAYS * len(prompts), _LONG
        )
        if " " in line
    }
    for prompts in further.values():
        words = [_WORD.findall(prompt) for prompt in prompts]
        often = _common(words, _OFTEN * len(prompts), 1)
        often = {word for word in often if not _VALUE.fullmatch(word)}
        sentences = _common(map(_SENTENCE.split, prompts), _SHARE * len(prompts), _LONG)
        found |= {sentence for sentence in sentences if not re.search(r"\d", sentence)}
        found |= _common((_runs(each, often) for each in words), _SHARE * len(prompts), _RUN)
    return found


def _common(parts: Iterable[Iterable[str]], least: float, length: int) -> set[str]:
    counts = Counter(part for each in parts for part in set(each) if len(part) >= length)
    return {part for part, n in counts.items() if n >= least}


def _runs(words: Sequence[str], often: set[str]) -> Iterator[str]:
    run = ""
    for word in words:
        if word in often:
            run += word
        else:
            yield run
            run = ""
    yield run


def markup(most_columns: int = 6) -> list[str]:
    """Return what is between labels and values in every form, and in the questions about a cell.

    A separator is then one token in every form, so that the forms differ in where labels are and
    not in how many tokens they take.
    """
    parts = set()
    for n_columns in range(1, most_columns + 1):
        cell = Cell(text=_MARK, value=None, unit="", scale=1.0)
        grid = random_grid(Random(1), 2, n_columns).model_copy(
            update={
                "rows": (_MARK,) * 2,
                "columns": tuple(_MARK * n for n in range(1, n_columns + 1)),
                "cells": ((cell,) * n_columns,) * 2,
            }
        )
        questions = [
            prompt_for(text.format(row=_MARK, column=_MARK, value=_MARK)) for text in (*CELL, ROW)
        ]
        for text in (*(FORMS[form](grid) for form in FORMS), *questions):
            parts.update(text.split(_MARK))
    return sorted(part for part in parts if len(part) > 1)
