"""The answer in two sentences says what Table 2 says, and texts of documents stay texts."""

import itables
import pytest

from lib.analyze.published import paper_rows
from lib.analyze.tables import answer_to_question, joined, table2, with_texts
from lib.core.records import Answer
from tests.analyze.test_tables import query, verdicts


def test_the_answer_of_the_papers_table_2():
    text = answer_to_question(table2(paper_rows()))
    assert text.count(". ") == 1 and text.endswith(".")
    assert text.startswith(
        "The correct share of the answers [95% interval] is with raw text on "
        "prose 26.2% [17% to 38%], list 12.9% [7% to 22%], table "
    )
    assert "For comparison: with base on all 2.6% [" in text
    assert "; with rewritten text on prose" in text


@pytest.mark.parametrize("states", [["unscored"], ["incorrect"], ["correct", "unscored"], []])
def test_small_cells_have_an_answer(states):
    named = {f"q{number}": state for number, state in enumerate(states)}
    text = answer_to_question(
        table2(joined([query(name, "tabular") for name in named], verdicts("dapt", named)))
    )
    assert "nan" not in text and "[–" not in text and ("no verdicts" in text) == (not states)


def test_untrusted_text_stays_text_in_the_browsable_table():
    nasty = "</script><script>alert(1)</script>"
    answers = [Answer(query_id="a", arm="base", answer=f"{nasty}\nx", n_tokens=1, truncated=False)]
    queries = [query("a", answer=nasty)]
    judged = joined(queries, verdicts("base", {"a": "incorrect"}))
    rows = with_texts(judged, queries, answers)
    assert rows.answer[0] == nasty + " ↵ x"
    page = itables.to_html_datatable(rows, connected=False, allow_html=False, maxBytes=0)
    assert "&lt;script&gt;alert" in page
    assert all("<script>alert" not in html for html in (page, rows._repr_html_()))
