"""The reader's training: loss on replies alone, and a model that learns to read tiny tables."""

from lib.core.files import read_records
from lib.lab.base_model import new_llama, train_tokenizer
from lib.reader.lessons import grid_lessons
from lib.reader.training import FILE, Read, ReadingCallback, blocks_of, read
from lib.train.packing import IGNORED
from lib.train.recipe import Recipe
from lib.train.trainer import fit

LESSONS = list(grid_lessons(12, 1, most_rows=2, most_columns=1, n_questions=2))
TEXTS = ["".join(part for turn in lesson.turns for part in turn) for lesson in LESSONS]
TOKENIZER = train_tokenizer(TEXTS, 400)


def test_only_the_replies_carry_loss_and_each_ends_with_eos():
    blocks, n_left_out = blocks_of(LESSONS, TOKENIZER, 512)
    learned = [[token for token in row if token != IGNORED] for row in blocks.labels]
    text = "".join(TOKENIZER.decode(tokens) for tokens in learned)
    replies = [turn.reply for lesson in LESSONS for turn in lesson.turns]
    assert n_left_out == 0 and sorted(filter(None, text.split("</s>"))) == sorted(replies)


def test_a_lesson_loses_its_last_questions_and_one_that_is_too_long_is_left_out():
    longest = max(len(TOKENIZER(text)["input_ids"]) for text in TEXTS)
    blocks, _ = blocks_of(LESSONS, TOKENIZER, longest + 8)
    fewer, n_left_out = blocks_of(LESSONS, TOKENIZER, longest // 2)
    assert fewer.n_targets < blocks.n_targets and 0 < n_left_out < len(LESSONS)


def test_a_model_learns_its_lessons_and_the_curve_says_so(tmp_path):
    few = LESSONS[:6]
    blocks, _ = blocks_of(few, TOKENIZER, 256)
    model = new_llama(TOKENIZER, hidden_size=64, layers=2, heads=2, context=256, seed=1)
    before = read(model.eval(), TOKENIZER, few, 0, 12)
    recipe = Recipe(40, 2, 2, 5e-3, 2, 0.0, 1)
    fit(lambda: model, blocks, None, recipe, tmp_path,
        [ReadingCallback(few, TOKENIZER, 12)])
    rows = read_records(tmp_path / FILE, Read, "")
    assert {row.epoch for row in rows} == set(range(1, 41))
    last = [row for row in rows if row.epoch == 40]
    assert sum(row.n for row in last) == len(few) and not sum(row.correct for row in before)
    assert sum(row.correct for row in last) >= len(few) - 1
