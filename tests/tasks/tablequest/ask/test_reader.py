"""The reader without a model: right on questions worked by hand, blind to references."""

import pytest

from lib.tasks.tablequest.ask.prompts import as_queries
from lib.tasks.tablequest.ask.reader import answer_by_rules, read_by_rules
from lib.tasks.tablequest.ask.replies import read_reply
from tests.tablequest_pumps import FILING, GRIDS, PASSAGE, QUESTIONS, TABLES

ASKED = {
    "What were net sales of pumps in 2024?": "$391,035 million",
    "What were net sales of valves in 2023?": "$85,200 million",
    "What was the operating loss in 2023?": "-$565 million",
    "What was the gross margin of valves in 2024?": "73.9%",
    "By how much did net sales of pumps change from 2023 to 2024?": "$7,750 million",
    "By what percentage did net sales of valves change from 2023 to 2024?": "12.9%",
    "What was the average of net sales of valves over 2023 and 2024?": "$90,684.5 million",
    "What is the sum of net sales of pumps and valves in 2024?": "$487,204 million",
    "What is the ratio of net sales of pumps to net sales of valves in 2024?": "4.07",
    "Which had the larger gross margin in 2024, pumps or valves?": "Valves",
    "How did the gross margin of pumps develop from 2023 to 2024?":
        "Pumps rose from 36.5% (Gross margin: Pumps, 2023) to 37.2% (Gross margin: Pumps, 2024)."}


@pytest.mark.parametrize("question", ASKED)
def test_it_finds_cells_by_words_and_computes(question):
    found = read_reply(read_by_rules(question, PASSAGE, GRIDS))
    assert (found.text, found.missing) == (ASKED[question], "") and found.steps


def test_references_play_no_part_and_closed_books_are_not_answered():
    queries = as_queries(QUESTIONS, [PASSAGE], TABLES, [FILING], ["csv", "html"])
    without = {"answer": "?", "value": 0.0, "cells": {}, "steps": (), "unit": "x"}
    blinded = [question.model_copy(update=without) for question in QUESTIONS]
    blind = [query.model_copy(update={"answer": "?"}) for query in queries]
    answers = answer_by_rules(queries, QUESTIONS, [PASSAGE], TABLES)
    assert answers == answer_by_rules(blind, blinded, [PASSAGE], TABLES)
    assert [row.query_id for row in answers] == [query.query_id for query in queries
                                                 if query.context]
    assert {row.arm for row in answers} == {"lexical"}
