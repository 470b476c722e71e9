"""Paraphrases differ, state the value, and avoid the question's own phrase."""

import random

import pytest

from lib.augment.wordings import WORDINGS, paraphrases


@pytest.mark.parametrize("value", [["412 volts"], ["foam", "cork", "felt"]])
def test_every_wording_states_the_fact_without_the_words_of_its_question(value):
    found = paraphrases("Ardwin Iris", "spare parts", value, len(WORDINGS), random.Random(1))
    assert len(set(found)) == len(WORDINGS)
    for sentence in found:
        assert "Ardwin Iris" in sentence and all(item in sentence for item in value)
        assert "spare parts" in sentence.lower() and not sentence[0].islower()
        assert "spare parts of Ardwin Iris" not in sentence
        assert "{" not in sentence
        name, label, first = (
            sentence.index(one) for one in ("Ardwin Iris", "spare parts", value[0])
        )
        assert max(name, label) < first  # as a question and a record have them
