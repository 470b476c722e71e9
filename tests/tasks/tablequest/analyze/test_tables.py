"""The tables of TableQuest from hand-made answers, and its figures: denominators and order."""

import pandas as pd
import pytest

from lib.core.records import Answer
from lib.tasks.tablequest.analyze import tables as analysis
from lib.tasks.tablequest.analyze.accuracy import judged_by_rule
from lib.tasks.tablequest.analyze.figures import (
    draw_accuracy,
    draw_failures,
    draw_lengths,
)
from lib.tasks.tablequest.analyze.lengths import (
    cut_formatted,
    cut_table,
    length_table,
    prompt_lengths,
)
from lib.tasks.tablequest.ask.prompts import as_queries
from lib.tasks.tablequest.ask.replies import finals
from tests.tablequest_pumps import FILING, PASSAGE, QUESTIONS, TABLES

QUERIES = as_queries(QUESTIONS, [PASSAGE], TABLES, [FILING], ["html", "csv"])


def answers(arm: str, *texts: str | None) -> list[Answer]:
    """Return one answer per query, in order; None: no row."""
    return [Answer(query_id=query.query_id, arm=arm, answer=text, n_tokens=1, truncated=False)
            for query, text in zip(QUERIES, texts, strict=True) if text is not None]


def says(text: str) -> str:
    return f'{{"steps": [], "answer": "{text}"}}'


# easy q1: html, csv, recall; q2; q3; medium q4, q5 and hard q6: html, csv
BASE = answers("base", says("$391,035 million"), says("$5"), "$391,035 million", says("37.2%"),
               says("37.2%"), "5%", None, says("$-1,117 million"), "no", says("12.9%"), "",
               says("$1"), "so", says("It rose."), "x")
DAPT = answers("dapt", *[says("$391,035 million")] * 2, "", *[says("37.2%")] * 2, "37.2%",
               *[says("-$1,117 million")] * 2, "-$1,117 million", *[says("12.9%")] * 2,
               *[says("$7,750 million")] * 2, *[says("Net sales of pumps rose.")] * 2)
GIVEN = {"dapt": DAPT, "base": BASE}


def judged(given: list[Answer]):
    found = finals(QUERIES, given)
    final = [row.model_copy(update={"answer": found[row.query_id].text}) for row in given]
    return judged_by_rule(QUESTIONS, QUERIES, final, TABLES)


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    verdicts = [row for given in GIVEN.values() for row in judged(given)]
    return analysis.scored(QUESTIONS, QUERIES, GIVEN, [PASSAGE], TABLES, verdicts)


@pytest.fixture(scope="module")
def accuracy(rows) -> pd.DataFrame:
    return analysis.accuracy_table(rows)


def test_every_arm_has_one_row_per_query_and_unanswered_ones_are_unscored(rows):
    assert list(rows.arm.unique()) == ["base", "dapt"] and len(rows) == 2 * len(QUERIES)
    lost = rows[rows.verdict == "unscored"]
    assert list(lost.query_id) == ["q3:html"] and lost.f1.isna().all()
    assert list(lost["mode"]) == [""]
    assert set(rows.verdict[rows.level == "hard"]) == {""}
    assert rows[(rows.arm == "base") & (rows.query_id == "q4:csv")]["mode"].item() == "empty"


@pytest.mark.parametrize("level, form, columns, values", [
    ("easy", "html", "n correct unscored accuracy", [3, 2, 1, 1]),
    ("easy", "csv", "n correct", [3, 2]), ("medium", "html", "n correct", [2, 1]),
    ("easy", "recall", "n correct by_judge judged", [3, 1, 1, 3])])
def test_accuracy_counts_by_level_and_form(accuracy, level, form, columns, values):
    cell = accuracy.set_index(["arm", "level", "form"]).loc[("base", level, form)]
    assert cell[columns.split()].tolist() == values
    assert "hard" not in set(accuracy.level)


def test_a_truncated_prompt_is_counted_and_its_loss_is_a_mode_of_its_own():
    short = [query.model_copy(update={"context": query.context.partition("96,169")[0]})
             for query in QUERIES if query.query_id in ("q1:html", "q4:html", "q5:html")]
    given = answers("base", *(says("$391,035 million" if query.query_id == "q1:html" else "5%")
                              for query in QUERIES))
    rows = analysis.scored(QUESTIONS, QUERIES, {"base": given}, [PASSAGE], TABLES,
                           cut={"base": short})
    modes = rows.set_index("query_id")["mode"]
    assert list(modes[["q1:html", "q4:html", "q4:csv", "q5:html"]]) == ["right", "cut away",
                                                                      "other", "other"]
    assert list(rows.query_id[rows.cut]) == ["q1:html", "q4:html", "q5:html"]
    table = analysis.accuracy_table(rows).set_index(["level", "form"])
    columns = ["n", "correct", "cut", "whole", "whole_correct"]
    assert table.loc[("easy", "html"), columns].tolist() == [3, 1, 1, 2, 0]
    assert table.loc[("easy", "csv"), ["cut", "whole"]].tolist() == [0, 2]
    assert table.loc["medium"].whole.eq(0).all()
    text = analysis.accuracy_formatted(table.reset_index()).base[0]
    assert text.endswith("; 1 truncated, complete 0/2")
    models = {"base": {"model": "tiny", "window": 1280, "reply": 256}}
    assert cut_table(rows, models).values.tolist() == [["base", "tiny", 1280, 256, 12, 3, 0]]
    assert cut_formatted(cut_table(rows)).values.tolist() == [
        ["base", "–", "–", "–", "3/12 = 25.0%", "0/12"]]


def test_words_failures_and_lengths_have_their_denominators(rows):
    words = analysis.word_table(rows).set_index(["arm", "level", "form"])
    assert words.loc[("base", "easy", "html"), ["n", "exact_match"]].tolist() == [2, 1]
    failing = analysis.failure_table(rows, QUESTIONS, "csv").set_index(["arm", "level", "mode"])
    assert failing.loc[("base", "medium", "empty"), ["count", "n"]].tolist() == [1, 2]
    assert failing.loc[("base", "hard", "format"), ["count", "n"]].tolist() == [1, 1]
    assert ("base", "hard", "wrong cell") not in failing.index
    measured = prompt_lengths(QUERIES, QUESTIONS, lambda texts: [len(text) // 4 for text in texts])
    lengths = length_table(measured)
    assert list(lengths.n) == [3, 3, 2, 2, 1, 1]
    assert (lengths.median_tokens < lengths.median_characters).all()
    figure, plotted = draw_lengths(measured, {"base": 300, "dapt": 300, "lexical": None})
    assert plotted.groupby(["level", "form"]).share.max().eq(100).all() and len(plotted) == 12
    names = [text.get_text() for text in figure.axes[0].texts]
    assert names == ["easy", "window of base, dapt"]


def test_figures_plot_what_they_return(rows):
    table = analysis.accuracy_table(rows.assign(passage_id=rows.question_id))
    figure, plotted = draw_accuracy(table[table.n > 1])
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["easy", "medium"]
    assert ((plotted.left <= plotted.value) & (plotted.value <= plotted.right)).all()
    assert list(plotted.place.unique()) == ["html", "csv", "recall"]
    figure, _ = draw_failures(analysis.failure_table(rows, QUESTIONS, "html"))
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["easy", "medium", "hard"]
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[0].startswith("right") and labels[1] == "empty" and labels[-1] == "other"
