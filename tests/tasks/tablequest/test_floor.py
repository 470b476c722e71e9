"""Questions by rules: short, on complete labels, each with one answer in the whole filing."""

from collections import Counter

import pytest

from lib.tasks.tablequest.answer.floors import lexical
from lib.tasks.tablequest.answer.prompts import as_queries, read_reply
from lib.tasks.tablequest.judge.score import judged
from lib.tasks.tablequest.questions.checks import computed
from lib.tasks.tablequest.questions.floor import MOST_OF_TABLE, MOST_WORDS, ask_by_rules
from tests.tablequest_pumps import DAYS, GRIDS, PASSAGE, TEXTS, YEARS, grid, texts


@pytest.fixture(scope="module")
def asked():
    return ask_by_rules(TEXTS, 40, 1)


def test_every_question_is_one_short_sentence_whose_answer_follows_from_its_cells(asked):
    questions, _ = asked
    assert Counter(one.kind for one in questions).keys() == {
        "extraction",
        "percent change",
        "difference",
        "share",
        "ratio",
    }
    for one in questions:
        cells = dict(zip(one.cells, one.cells_in(GRIDS), strict=True))
        assert computed(one.expression, cells, one.answer)[1:] == (one.unit, one.scale)
        assert len(one.question.split()) <= MOST_WORDS and one.question.count("?") == 1
        assert one.level == ("easy" if len(one.cells) == 1 else "medium")
    assert (
        Counter(
            ref.grid_id for one in questions for ref in [next(iter(one.cells.values()))]
        ).most_common(1)[0][1]
        <= MOST_OF_TABLE
    )
    answers = {one.question: one.answer for one in questions}
    assert len(answers) == len(questions)
    assert (
        answers[
            'What percentage of "Total net sales" was "Net sales: Pumps" at Alm Corp. for '
            "the year ended December 31, 2024, to one decimal?"
        ]
        == "80.3%"
    )
    assert (
        answers[
            "By what ratio, later to earlier and to two decimals, did Alm Corp.'s \"Net "
            'sales: Valves" change between the years ended December 31, 2023 and December '
            "31, 2024?"
        ]
        == "1.13"
    )


def test_what_another_cell_may_answer_differently_is_not_asked(asked):
    questions, rejected = asked
    reasons = {row.item.partition(": ")[2]: row.reason for row in rejected}
    assert reasons["Total net sales | "] == (
        "another cell with its words, date and unit has another value"
    )  # of 2023
    assert reasons["Operating loss | "] == "it is a change, zero or negative"
    assert "its row has no complete label" in reasons.values()
    assert not any('"Operating loss"' in one.question or '""' in one.question for one in questions)


def test_at_most_ten_questions_rest_on_one_table():
    names = "Alpha Bravo Delta Gamma Kappa Sigma Theta Omega Lambda Epsilon".split()
    large = grid(
        "alm-t01",
        ("2024", "2023"),
        {f"{name} sales": f"{n}7 {n}1" for n, name in enumerate(names, 1)},
        YEARS,
    )
    passage = PASSAGE.model_copy(update={"blocks": PASSAGE.blocks[2:3]})
    assert len(ask_by_rules(texts(large, passage=passage), 40, 1)[0]) == MOST_OF_TABLE


@pytest.mark.parametrize(
    ("label", "column", "period"),
    [
        ("Sales of", "2024", YEARS[0]),
        ("Other", "2024", YEARS[0]),
        ("Balance at 2023", "", DAYS[0]),
        ("Europe", "2024", YEARS[0]),
        ("Sales", "Change", YEARS[0]),
        ("Sales", "Total", ""),
        ("Sales were paid", "2024", YEARS[0]),
        ("Group: ", "2024", YEARS[0]),
    ],
)
def test_a_label_that_does_not_say_what_it_is_gives_no_question(label, column, period):
    odd = grid("alm-t01", (column,), {label: "$400"}, (period,))
    questions, rejected = ask_by_rules(texts(odd), 4, 1)
    assert questions == [] and len(rejected) == 1


def test_matching_words_finds_what_the_rules_ask_and_computes_it(asked):
    questions, _ = asked
    queries = as_queries(questions, TEXTS, ["html"])
    replies = lexical(queries, questions, TEXTS)
    right = Counter(
        one.kind
        for one in questions
        if judged(one, read_reply(replies[f"{one.question_id}:html"]).text)[0] == "correct"
    )
    wanted = Counter(one.kind for one in questions)
    assert right["extraction"] == wanted["extraction"]
    assert right.keys() == wanted.keys() and right.total() > 0.8 * wanted.total()


def test_a_cell_without_a_tag_is_asked_for_by_its_column():
    columns = ("Years ended June 30, 2024", "Years ended June 30, 2023")
    untagged = grid("alm-t01", columns, {"Rental sales": "$400 $300"}, ("2024", "2023"))
    questions, _ = ask_by_rules(texts(untagged), 4, 1)
    asked = {one.question for one in questions}
    assert (
        'What did Alm Corp. report for "Rental sales" under "Years ended June 30, 2023", in '
        "millions of US dollars?"
    ) in asked
    assert (
        'By what percentage, with sign and one decimal, did Alm Corp.\'s "Rental sales" change '
        'between "Years ended June 30, 2023" and "Years ended June 30, 2024"?'
    ) in asked


def test_words_that_begin_like_a_month_stay_and_percentages_have_no_share():
    columns = ("As of June 30, 2024 Marketable Securities",)
    held = grid(
        "alm-t01",
        columns,
        {"Bonds": "$60", "Notes": "$40", "Total investments": "$100"},
        ("2024-06-30",),
    )
    questions, _ = ask_by_rules(texts(held), 9, 1)
    assert questions and all('"Marketable Securities"' in one.question for one in questions)
    shares = grid(
        "alm-t01",
        columns,
        {"Bonds": "60%", "Notes": "40%", "Total investments": "100%"},
        ("2024-06-30",),
    )
    assert not {one.kind for one in ask_by_rules(texts(shares), 9, 1)[0]} & {"share", "ratio"}


def test_the_last_day_of_a_value_without_a_tag_does_not_make_it_a_balance():
    paid = grid(
        "alm-t01", ("December 31, 2024 $",), {"Cash from operating activities": "$400"}, DAYS[:1]
    )
    paid = paid.model_copy(
        update={"cells": (tuple(one.model_copy(update={"source": ""}) for one in paid.cells[0]),)}
    )
    (question,), _ = ask_by_rules(texts(paid), 4, 1)
    assert 'under "December 31, 2024 $", in' in question.question
