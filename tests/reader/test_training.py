"""The reader's training: loss after the first prompt, and a model that learns, in phases."""

from collections import Counter

import pytest

from lib.lab.base_model import new_llama, train_tokenizer
from lib.reader.circuit import induce
from lib.reader.lessons import Lesson, Turn, grid_lessons, report_lessons, structext_lessons
from lib.reader.tokens import reader_tokenizer, wording
from lib.reader.training import (
    Phase,
    blocks_of,
    lessons_of,
    read,
    train_phase,
)
from lib.train.packing import IGNORED
from lib.train.recipe import Recipe

LESSONS = list(grid_lessons(12, 1, most_rows=2, most_columns=1, n_questions=2))
TOKENIZER = train_tokenizer([lesson.text for lesson in LESSONS], 400, splits_spaces=True)


def tiny():
    model = new_llama(TOKENIZER, hidden_size=64, layers=2, heads=4, context=512, seed=1,
                      rope_theta=500_000.0)
    induce(model, 1)
    return model


def test_all_but_the_first_prompt_carries_loss_and_each_reply_ends_with_eos():
    blocks, n_left_out = blocks_of(LESSONS, TOKENIZER, 512)
    learned = [[token for token in row if token != IGNORED] for row in blocks.labels]
    text = "".join(TOKENIZER.decode(tokens) for tokens in learned)
    parts = [part for lesson in LESSONS for part in "".join(
        f"{turn.prompt if n else ''}{turn.reply}</s>"
        for n, turn in enumerate(lesson.turns)).split("</s>") if part]
    assert n_left_out == 0 and sorted(filter(None, text.split("</s>"))) == sorted(parts)


def test_a_model_learns_its_lessons_and_an_interrupted_run_goes_on_with_its_phase(tmp_path):
    few, phase = LESSONS[:6], Phase(2, 1, 6, 0, 0, 256, 2, 5e-3)
    before = read(tiny(), TOKENIZER, few, 12)
    recipe = Recipe(25, 2, 2, 5e-3, 2, 0.0, 1)
    first, _ = train_phase(phase, few, tiny(), TOKENIZER, recipe, tmp_path / "reader-1")
    made = (tmp_path / "reader-1" / "training.json").stat().st_mtime_ns
    train_phase(phase, few, tiny(), TOKENIZER, recipe, tmp_path / "reader-1")
    assert (tmp_path / "reader-1" / "training.json").stat().st_mtime_ns == made
    model, tokens = train_phase(phase, few, first, TOKENIZER, recipe, tmp_path / "reader")
    assert (tmp_path / "reader" / "model.safetensors").exists()
    after = read(model, TOKENIZER, few, 12)
    assert not any(row["correct"] for row in before) and tokens % (256 * 2) == 0 < tokens
    assert sum(row["correct"] for row in after) >= len(few) - 1 == len(after) - 1


def lessons(number, per_task=1):
    phase = Phase(3, 2, 30, 1, 2, 256, 8, 1e-3)
    return list(lessons_of(phase, number, 5, [], rewriting=0.1, n_questions=4, per_task=per_task))


def test_a_phase_has_tables_reports_and_draws_of_its_own_each_in_one_form():
    kinds = Counter(lesson.kind for lesson in lessons(1))
    assert (kinds["grid"], kinds["rewriting"]) == (30, 3)
    assert kinds["report"] == len(list(report_lessons(1, 50_100, in_turn=True)))
    first, second = ({lesson.text for lesson in lessons(number) if lesson.kind != "structext"}
                     for number in (1, 2))
    assert not first & second
    draws = [{lesson.text for lesson in structext_lessons([], seed=seed, per_task=1)}
             for seed in (50_100, 50_101)]
    assert {lesson.text for lesson in lessons(1) if lesson.kind == "structext"} == set.union(*draws)
    assert len(draws[0] - draws[1]) > len(draws[0]) / 2


def test_a_year_is_a_token_by_itself_only():
    tokenizer = reader_tokenizer(LESSONS, 300)
    assert "2021" in tokenizer.tokenize("In 2021, 12021")
    assert tokenizer.tokenize("12021") == [*"12021"]
    text = LESSONS[7].text
    assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text


def test_wording_is_what_questions_share_and_never_a_value_or_a_label():
    line = "Answer from the table that is shown here."
    asked = [Lesson("report", "csv", (
        Turn(f'{line}\nRow {n},value\n\nWhat is "row {n}"? Give it in full.', f" {n}"),
        Turn(f'\n\nWhat is "row {n}"? Give it in full.', f" {n}"))) for n in range(40)]
    assert wording(asked) == {line, "\n\nWhat is ", "? Give it in full."}
    tokenizer = reader_tokenizer(asked, 300)
    assert tokenizer.tokenize(line) == [line]


@pytest.mark.parametrize(("layers", "heads"), [(1, 4), (4, 2)])
def test_a_model_without_room_for_the_circuit_is_refused(layers, heads):
    with pytest.raises(ValueError, match="give at least 2 layers and 4 heads"):
        induce(new_llama(TOKENIZER, hidden_size=64, layers=layers, heads=heads, context=64, seed=1),
               1)
