"""Appendix F: sentences cited, answers from tables alone, and their common tokens."""

import json

import pytest

from lib.llm.calls import Calls
from lib.tablequest.analyze.figures import draw_recall
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
from tests.tablequest_pumps import CHANGE, EASY, LOSS, PASSAGE, TABLES

FIRST = "Net sales of pumps rose to $391,035 million in 2024."
SECOND = "Mr. A. Alm left the board."


@pytest.mark.parametrize("answer, sentence, found", [
    ("$391,035 million", FIRST, (2, 2)),  # $ is not a token here
    ("Pumps fell to $391,035 billion", FIRST, (3, 5)), ("", FIRST, (0, 0)),
    ("2.0%", "by 2.0 % more", (2, 2))])
def test_recall_by_hand(answer, sentence, found):
    assert recalled(answer, sentence) == found


def test_the_sentence_with_most_of_the_question_is_cited():
    assert sentences_of(PASSAGE) == [FIRST, SECOND]
    assert cite_by_rules("What were net sales of pumps in 2024?", PASSAGE) == FIRST
    assert cite_by_rules("Who is on the board?", PASSAGE) == SECOND
    assert cite_by_rules("Why?", PASSAGE) == ""


def test_by_rules_each_question_has_a_recall_or_a_reason():
    rows = faithful_by_rules((EASY, LOSS, CHANGE), [PASSAGE], TABLES)
    found = [(row.answer, row.n_found, row.n_tokens, row.missing) for row in rows]
    assert found[0] == ("$391,035 million", 2, 2, "") and found[2][:3] == ("$7,750 million", 1, 2)


def test_a_model_cites_without_the_table_and_answers_without_the_text(monkeypatch, tmp_path):
    def reply_to(prompt: str) -> str:
        if within(prompt, "text"):
            has_none = "operating" in within(prompt, "question")
            return json.dumps({"sentence": "" if has_none else FIRST})
        return json.dumps({"answer": "Net sales were $391,035 million."})

    with played(reply_to, monkeypatch) as prompts:
        rows = faithful_by_model((EASY, LOSS), [PASSAGE], TABLES, {"alm": "the 10-K of Alm Corp."},
                                 "gpt-4o-mini", Calls(tmp_path / "llm.sqlite"))
    assert [(row.sentence, row.n_found, row.n_tokens) for row in rows] == [(FIRST, 4, 5),
                                                                          ("", 0, 5)]
    assert rows[0].missing == "" and "no sentence" in rows[1].missing
    citing, answering = ([prompt for prompt in prompts if within(prompt, tag)]
                         for tag in ("text", "table"))
    assert len(citing) == len(answering) == 2
    assert not any("rose to" in prompt for prompt in answering)
    assert not any("96,169" in prompt for prompt in citing)


def row(level: str, n_found: int, n_tokens: int, missing: str = "", passage: str = "") -> Faithful:
    return Faithful(question_id="q", passage_id=passage or f"p{n_found}", level=level, sentence="s",
                    answer="a", n_tokens=n_tokens, n_found=n_found, missing=missing)


def test_the_table_has_levels_and_lengths_with_their_denominators():
    rows = [row("easy", 1, 2), row("easy", 2, 2), row("hard", 5, 20), row("hard", 0, 0, "none")]
    cells, counts = recall_table(rows).set_index(["group", "value"]), ["questions", "n", "mean"]
    assert cells.loc[("level", "easy"), [*counts, "of_tokens"]].tolist() == [2, 2, 0.75, 0.75]
    assert cells.loc[("level", "hard"), counts].tolist() == [2, 1, 0.25]
    assert cells.loc[("answer length", "16 and more"), "n"] == 1
    assert cells.loc[("answer length", "3–5"), "n"] == 0
    total = cells.loc[("all", "all")]
    assert total["mean"] == pytest.approx((0.5 + 1 + 0.25) / 3)
    assert total.of_tokens == pytest.approx(8 / 24)
    figure, plotted = draw_recall(cells.reset_index())
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert list(plotted.n) == [2, 1, 2, 1, 3] and names[2] == "1–2 tokens"
    assert 0 < total.low < total["mean"] < total.high <= 1


def test_questions_on_one_passage_are_no_separate_evidence():
    apart, together = (recall_table([row("easy", n % 2 * 10, 10, passage=f"p{n % n_passages}")
                                     for n in range(40)]).iloc[-1] for n_passages in (40, 4))
    assert together.high - together.low > 2 * (apart.high - apart.low)
