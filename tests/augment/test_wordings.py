"""Paraphrases differ, state the value, and avoid the question's own phrase."""

import random

import pytest

from lib.augment.wordings import WORDINGS, overlap, paraphrases


@pytest.mark.parametrize("value", [["412 volts"], ["foam", "cork", "felt"]])
def test_every_wording_states_the_fact_without_the_words_of_its_question(value):
    found = paraphrases("Ardwin Iris", "spare parts", value, len(WORDINGS), random.Random(1))
    assert len(set(found)) == len(WORDINGS)
    for sentence in found:
        assert "Ardwin Iris" in sentence and all(item in sentence for item in value)
        assert "spare parts" in sentence.lower() and not sentence[0].islower()
        assert "spare parts of Ardwin Iris" not in sentence
        assert "{" not in sentence


def test_overlap_is_the_longest_run_of_the_questions_words():
    question = "What is the batch mark of Ardwin Iris?"
    assert overlap(question, "Ardwin Iris uses 12 grams as its batch mark.") == 2 / 8
    assert overlap(question, "The batch mark of Ardwin Iris is 12 grams.") == 6 / 8
    assert overlap(question, "Nothing.") == 0
