"""solve: on hand-worked texts, on any text, and compared with the generator."""

from itertools import product
from pathlib import Path

import pytest

from lib.core.store import BadInput
from lib.structext.names import TASKS
from lib.structext.samples import generate
from lib.structext.solve import solve, task_of
from tests.conftest import rows

CASES = rows(Path(__file__).with_name("solved.jsonl"))


@pytest.mark.parametrize("case", CASES)
def test_a_question_in_the_official_wording_or_ours_is_answered_from_the_text(case):
    assert solve(case["language"], case["question"], case["reference"])[0] == case["answer"]


@pytest.mark.parametrize(
    ("language", "question", "reference", "message"),
    [
        ("cobol", "What?", "", "no known question about cobol"),
        ("json", "What is the first object's id of subs?", "[" * 100_000, "does not answer"),
        ("tree", "What is the height of the root node", "c->d\nd->c", "RecursionError"),
        (
            "markdown",
            "What is the content of 3th section? The",
            "# a\n# b",
            "2 headings",
        ),
    ],
)
def test_what_cannot_be_answered_says_why(language, question, reference, message):
    with pytest.raises(BadInput, match=message):
        solve(language, question, reference)


@pytest.mark.parametrize(
    "dials", [*product((1, 2), (1, 2, 3)), (3, 1), (3, 2), (4, 1), "v1-simple", "v1-hard"]
)
def test_the_solver_gives_the_generators_answer_to_every_task(dials):
    (depth, width), version = ((2, 1), dials) if isinstance(dials, str) else (dials, "")
    for seed, is_real in product((7, 8), (False, True)):
        samples = list(generate("corrected", depth, width, 4 // depth, seed, is_real, version))
        assert [one.task for one in samples[: len(TASKS)]] == [*TASKS]
        for one in samples:
            assert task_of(one.language, one.question) == one.task
            assert solve(one.language, one.question, one.reference)[0] == one.answer, one.id
