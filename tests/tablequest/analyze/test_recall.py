"""Appendix F: sentences cited, answers from tables alone, and how much of an answer its sentence holds."""

import json

import pytest

from lib.llm.calls import Calls
from lib.tablequest.analyze.recall import (
    Faithful,
    cite_by_rules,
    faithful_by_model,
    faithful_by_rules,
    recall_table,
    recalled,
    sentences_of,
)
from tests.played_model import played, within
from tests.tablequest_pumps import CHANGE, EASY, GRIDS, LOSS, PASSAGE

FIRST = "Net sales of pumps rose to $391,035 million in 2024."


def test_recall_by_hand():
    # $ is no token here; 391,035 and million are found
    assert recalled("$391,035 million", FIRST) == (2, 2)
    assert recalled("Pumps fell to $391,035 billion", FIRST) == (3, 5)
    assert recalled("", FIRST) == (0, 0) and recalled("2.0%", "by 2.0 % more") == (2, 2)


def test_sentences_end_where_sentences_end():
    assert sentences_of(PASSAGE) == [FIRST, "Mr. A. Alm left the board."]


def test_the_sentence_with_most_of_the_question_is_cited():
    assert cite_by_rules("What were net sales of pumps in 2024?", PASSAGE) == FIRST
    assert cite_by_rules("Who is on the board?", PASSAGE) == "Mr. A. Alm left the board."
    assert cite_by_rules("Why?", PASSAGE) == ""


def test_by_rules_each_question_has_a_recall_or_a_reason():
    rows = faithful_by_rules((EASY, LOSS, CHANGE), [PASSAGE], list(GRIDS.values()))
    assert (rows[0].answer, rows[0].n_found, rows[0].n_tokens, rows[0].missing) == ("$391,035 million", 2, 2, "")
    assert (rows[2].answer, rows[2].n_found, rows[2].n_tokens) == ("$7,750 million", 1, 2)


def test_a_model_cites_without_the_table_and_answers_without_the_text(monkeypatch, tmp_path):
    def reply_to(prompt: str) -> str:
        if within(prompt, "text"):
            return json.dumps({"sentence": "" if "operating" in within(prompt, "question") else FIRST})
        return json.dumps({"answer": "Net sales were $391,035 million."})

    with played(reply_to, monkeypatch) as prompts:
        rows = faithful_by_model((EASY, LOSS), [PASSAGE], list(GRIDS.values()), {"alm": "the 10-K of Alm Corp."},
                                 "gpt-4o-mini", Calls(tmp_path / "llm.sqlite"))
    assert [(row.sentence, row.n_found, row.n_tokens, row.missing) for row in rows] == [
        (FIRST, 4, 5, ""), ("", 0, 5, "no sentence is cited")]
    citing, answering = ([prompt for prompt in prompts if within(prompt, tag)] for tag in ("text", "table"))
    assert len(citing) == len(answering) == 2
    assert not any("rose to" in prompt for prompt in answering) and not any("96,169" in prompt for prompt in citing)


def test_the_table_has_levels_and_lengths_with_their_denominators():
    def row(level: str, n_found: int, n_tokens: int, missing: str = "", passage: str = "") -> Faithful:
        return Faithful(question_id="q", passage_id=passage or f"p{n_found}", level=level, sentence="s", answer="a",
                        n_tokens=n_tokens, n_found=n_found, missing=missing)
    table = recall_table([row("easy", 1, 2), row("easy", 2, 2), row("hard", 5, 20), row("hard", 0, 0, "none")])
    cells = table.set_index(["group", "value"])
    assert cells.loc[("level", "easy"), ["questions", "n", "mean", "of_tokens"]].tolist() == [2, 2, 0.75, 0.75]
    assert cells.loc[("level", "hard"), ["questions", "n", "mean"]].tolist() == [2, 1, 0.25]
    assert cells.loc[("all", "all"), "mean"] == pytest.approx((0.5 + 1 + 0.25) / 3)
    assert cells.loc[("all", "all"), "of_tokens"] == pytest.approx(8 / 24)
    assert cells.loc[("answer length", "16 and more"), "n"] == 1 and cells.loc[("answer length", "3–5"), "n"] == 0
    low, high = cells.loc[("all", "all"), ["low", "high"]]
    assert 0.25 <= low < cells.loc[("all", "all"), "mean"] < high <= 1
    spread = [row("easy", number % 2 * 10, 10, passage=f"p{number}") for number in range(40)]
    clustered = [row("easy", number % 2 * 10, 10, passage=f"p{number % 4}") for number in range(40)]
    widths = [table.high - table.low for table in (recall_table(rows, 400).iloc[-1] for rows in (spread, clustered))]
    assert widths[1] > 2 * widths[0], "questions on one passage are no separate evidence"
