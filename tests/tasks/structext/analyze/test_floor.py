"""analyze.floor and official: constants by hand, and both scores of one reply."""

import numpy as np
import pytest

from lib.tasks.structext.analyze import floor
from lib.tasks.structext.analyze.floor import BLIND
from lib.tasks.structext.analyze.pairs import both_scores
from lib.tasks.structext.analyze.tables import shown
from tests.tasks.structext.replied import answered, ask, by_number, of_arms, right, wrong


def cell(task: str, depth: int, *answers: str):
    sample = ask()[0].sample
    return [
        sample.model_copy(
            update={
                "id": f"{task}-{depth}-{number}",
                "task": task,
                "depth": depth,
                "answer": answer,
            }
        )
        for number, answer in enumerate(answers)
    ]


def test_the_best_constant_is_found_by_the_papers_score():
    # no answer is frequent, but one shares 4 of 5 words with two others, which share 3
    close = ["a b c d e", "a b c d f", "a b c g e", "x"]
    training = [
        *cell("xml.0", 1, *close),
        *cell("xml.2", 1, *["True"] * 9, "False"),
        *cell("xml.2", 2, "True", "True", "False", "False"),
    ]
    table = floor.learned(training)
    answer, chance = table["xml.0", 1]
    assert answer == "a b c d e" and np.isnan(chance)  # as many values as answers
    assert table["xml.2", 1] == ("True", pytest.approx(0.5, abs=1e-6))
    assert table["xml.2", 2][0] == "False"  # of equals, the first by name
    (far,) = cell("xml.2", 5, "")
    assert floor.constant(far, table) == table["xml.2", 2]
    assert floor.constant(far.model_copy(update={"task": "csv.0"}), table)[0] == ""


def test_the_floor_reads_nothing_and_answers_every_question_in_every_setting():
    dials = {"per_task": 6, "tasks": ["tree.1", "csv.0", "json.2"]}
    asked = [*ask(**dials), *ask(setting="self-cot", **dials)]
    rows = of_arms(asked, (), True, base=by_number(right, wrong))
    own = rows[rows.arm == BLIND]
    assert (own.state == "an answer").all() and len(own) == len(asked)
    scores = own.groupby(["prompt", "task"], observed=True).rouge_score.mean()
    assert scores["base"].tolist() == scores["self-cot"].tolist() and scores.max() > 0.49
    constants = floor.learned(one.sample for one in asked[:18])
    table = floor.by_depth(rows[rows.prompt == "base"], asked, constants)
    assert list(table.answer) == [constants[task, 1][0] for task in table.task]
    assert table.rouge_score.tolist() == pytest.approx(scores["base"].tolist())
    assert list(table.n) == [6] * 3 and set(shown(table).chance) >= {"50.0%", "–"}


def test_published_samples_are_scored_in_both_ways():
    asked = [*ask("official"), *ask()]
    replies = [
        f"{one.sample.answer}</answer> and so on, for as long as the model likes it"
        for one in asked
    ]
    replies[1], replies[2] = "", f"{asked[2].sample.answer} {'on ' * 3000}"
    answers = {
        "base": [
            answered("base", one.query_id, text) for one, text in zip(asked, replies, strict=True)
        ][:-1]
    }
    rows = of_arms(
        asked,
        base=lambda one: dict(zip([one.query_id for one in asked], replies, strict=True))[
            one.query_id
        ],
    )
    (row,) = both_scores(rows, asked, answers).itertuples()
    assert (row.prompt, row.n, row.replies) == ("base", 6, 6)
    assert row.lost == 2 and row.official == 0  # the complete replies are far from the answers
    assert row.rouge_score == pytest.approx(4 / 6)
    exact = {"base": [answered("base", one.query_id, one.sample.answer) for one in asked[:3]]}
    (half,) = both_scores(rows, asked, exact).itertuples()
    assert (half.replies, half.lost) == (3, 0) and half.official == pytest.approx(1)
