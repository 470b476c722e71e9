"""The tables of TableQuest from hand-made answers, and its figures: denominators, order, intervals."""

import numpy as np
import pandas as pd
import pytest

from lib.core.records import Answer
from lib.reading.both_ways import learning_for_reading, reading_and_learning
from lib.tablequest.analyze import tables as analysis
from lib.tablequest.analyze.conclusion import conclusion
from lib.tablequest.analyze.figures import draw_accuracy, draw_failures, draw_ratings
from lib.tablequest.analyze.matches import flips, matches
from lib.tablequest.analyze.ratings import COLUMNS, ratings
from lib.tablequest.analyze.verdicts import UNRULED, judged_by_rule
from lib.tablequest.ask.prompts import as_queries
from lib.tablequest.ask.replies import final_answers
from tests.tablequest_pumps import FILING, GRIDS, PASSAGE, QUESTIONS, ask

TABLES = list(GRIDS.values())
QUERIES = as_queries(QUESTIONS, [PASSAGE], TABLES, [FILING], ["html", "csv"])


def answers(arm: str, *texts: str | None) -> list[Answer]:
    """One text a query, in order; None: no row."""
    return [Answer(query_id=query.query_id, arm=arm, answer=text, n_tokens=1, truncated=False)
            for query, text in zip(QUERIES, texts, strict=True) if text is not None]


def says(text: str) -> str:
    return f'{{"steps": [], "answer": "{text}"}}'


# easy q1: html, csv, recall; q2; q3; medium q4, q5 and hard q6: html, csv
BASE = answers("base", says("$391,035 million"), says("$5"), "$391,035 million", says("37.2%"), says("37.2%"), "5%",
               None, says("$-1,117 million"), "no", says("12.9%"), "", says("$1"), "so", says("It rose."), "x")
DAPT = answers("dapt", *[says("$391,035 million")] * 2, "", *[says("37.2%")] * 2, "37.2%",
               *[says("-$1,117 million")] * 2, "-$1,117 million", *[says("12.9%")] * 2, *[says("$7,750 million")] * 2,
               *[says("Net sales of pumps rose.")] * 2)
GIVEN = {"dapt": DAPT, "base": BASE}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    verdicts = [row for given in GIVEN.values()
                for row in judged_by_rule(QUESTIONS, QUERIES, final_answers(QUERIES, given), TABLES)]
    return analysis.scored(QUESTIONS, QUERIES, GIVEN, [PASSAGE], TABLES, verdicts)


def test_every_arm_has_a_row_a_query_and_what_was_not_answered_is_unscored(rows):
    assert list(rows.arm.unique()) == ["base", "dapt"] and len(rows) == 2 * len(QUERIES)
    lost = rows[rows.verdict == "unscored"]
    assert list(lost.query_id) == ["q3:html"] and lost.f1.isna().all() and list(lost["mode"]) == [""]
    assert set(rows.verdict[rows.level == "hard"]) == {""}
    assert rows[(rows.arm == "base") & (rows.query_id == "q4:csv")]["mode"].item() == "empty"


def test_accuracy_counts_by_level_and_form_with_what_was_asked(rows):
    table = analysis.accuracy_table(rows, resamples=50).set_index(["arm", "level", "form"])
    base = table.loc["base"]
    assert base.loc[("easy", "html"), ["n", "correct", "unscored"]].tolist() == [3, 2, 1]
    assert base.loc[("easy", "html"), "accuracy"] == 1 and base.loc[("easy", "html"), "low"] < 0.5
    assert base.loc[("easy", "csv"), ["n", "correct"]].tolist() == [3, 2]
    assert base.loc[("easy", "recall"), ["n", "correct", "by_judge", "judged"]].tolist() == [3, 1, 1, 3]
    assert base.loc[("medium", "html"), ["n", "correct"]].tolist() == [2, 1]
    assert "hard" not in base.index.get_level_values(0)
    text = analysis.accuracy_for_reading(table.reset_index())
    assert list(text.columns) == ["level", "form", "base", "dapt"]
    assert text.base[0] == "2/2 = 100.0% [34.2, 100.0] (1 unscored)"


def test_reading_and_learning_pair_the_same_questions(rows):
    table = reading_and_learning(analysis.asked_both_ways(rows), resamples=50).set_index(["arm", "form"])
    counts = ["n", "both", "only_read", "only_recalled", "neither"]
    assert table.loc[("base", "csv"), counts].tolist() == [3, 0, 2, 1, 0]
    assert table.loc[("base", "html"), "n"] == 2, "a question without one of the two answers is no pair"
    assert table.loc[("dapt", "html"), "difference_points"] == pytest.approx(-100 / 3)
    assert table.loc[("dapt", "html"), "p"] == 1 and np.isnan(table.loc[("dapt", "html"), "low_points"])
    assert learning_for_reading(table.reset_index()).read[0] == "2/2"


def test_a_prompt_that_was_cut_is_counted_and_its_loss_is_a_mode_of_its_own():
    short = [query.model_copy(update={"context": query.context.partition("96,169")[0]}) for query in QUERIES
             if query.query_id in ("q1:html", "q4:html", "q5:html")]
    given = answers("base", *(says("$391,035 million") if query.query_id == "q1:html" else says("5%")
                              for query in QUERIES))
    rows = analysis.scored(QUESTIONS, QUERIES, {"base": given}, [PASSAGE], TABLES, cut={"base": short})
    modes = rows.set_index("query_id")["mode"]
    assert list(modes[["q1:html", "q4:html", "q4:csv", "q5:html"]]) == ["right", "cut away", "other", "other"]
    assert list(rows.query_id[rows.cut]) == ["q1:html", "q4:html", "q5:html"]
    table = analysis.accuracy_table(rows, resamples=20).set_index(["level", "form"])
    assert table.loc[("easy", "html"), ["n", "correct", "cut", "whole", "whole_correct"]].tolist() == [3, 1, 1, 2, 0]
    assert table.loc[("easy", "csv"), ["cut", "whole"]].tolist() == [0, 2] and table.loc["medium"].whole.eq(0).all()
    assert analysis.accuracy_for_reading(table.reset_index()).base[0].endswith("; 1 cut, whole 0/2")
    lost = analysis.cut_table(rows)
    assert lost.values.tolist() == [["base", 12, 3, 0]]


def test_the_conclusion_says_what_was_cut_and_does_without_pairs(rows):
    accuracy, failing = analysis.accuracy_table(rows, resamples=20), analysis.failure_table(rows, QUESTIONS, "html")
    nothing = analysis.beside_published(pd.DataFrame(columns=COLUMNS))
    cut = analysis.cut_table(rows).assign(cut=[0, 7])
    text = conclusion(accuracy, failing, flips([]), nothing, reading_and_learning(analysis.asked_both_ways(rows), 20),
                      "html", "rules", cut)
    assert "did not fit the window: 7/12 of dapt. " in text and " Without an answer: 1/12 of base." in text
    assert "No ratings: one arm alone has no pairs." in text


def test_the_form_that_is_shown_is_the_first_unless_another_is_named():
    assert analysis.form_shown(QUERIES) == "html" and analysis.form_shown(QUERIES, "csv") == "csv"
    with pytest.raises(ValueError, match="as 'markdown': choose from html, csv"):
        analysis.form_shown(QUERIES, "markdown")


def test_words_failures_and_lengths_have_their_denominators(rows):
    words = analysis.word_table(rows).set_index(["arm", "level", "form"])
    assert words.loc[("base", "easy", "html"), ["n", "exact_match"]].tolist() == [2, 1]
    failing = analysis.failure_table(rows, QUESTIONS, "csv").set_index(["arm", "level", "mode"])
    assert failing.loc[("base", "medium", "empty"), ["count", "n"]].tolist() == [1, 2]
    assert failing.loc[("base", "hard", "format"), ["count", "n"]].tolist() == [1, 1]
    assert ("base", "hard", "wrong cell") not in failing.index
    lengths = analysis.length_table(QUERIES, QUESTIONS, lambda texts: [len(text) // 4 for text in texts])
    assert list(lengths.n) == [3, 3, 2, 2, 1, 1] and (lengths.median_tokens < lengths.median_characters).all()


def test_arms_stand_in_order_with_the_lexical_reader_last():
    assert analysis.arms_in_order(["lexical", "tuned", "dapt", "base"]) == ["base", "dapt", "tuned", "lexical"]


def test_published_ratings_stand_beside_ours():
    played = matches(QUESTIONS, analysis.finals_of(QUERIES, GIVEN, "csv"), GRIDS)
    rated = ratings(played, "base", resamples=20, orders=5)
    text = analysis.ratings_for_reading(analysis.beside_published(rated))
    assert list(text.source.unique()) == ["this study", "paper"]
    assert text[(text.model == "GPT-4 Turbo")]["sequential ELO"].item() == "1164"
    figure, plotted = draw_ratings(rated)
    assert len(figure.axes) == 4 and len(plotted) == 2 * len(rated)


def test_figures_plot_what_they_return(rows):
    figure, plotted = draw_accuracy(analysis.accuracy_table(rows, resamples=20))
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["easy", "medium"]
    assert ((plotted.left <= plotted.value) & (plotted.value <= plotted.right)).all()
    assert list(plotted.place.unique()) == ["html", "csv", "recall"]
    figure, plotted = draw_failures(analysis.failure_table(rows, QUESTIONS, "html"))
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["easy", "medium", "hard"]
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[:2] == ["right\n(hard: answered)", "empty"] and labels[-1] == "other"


def test_a_judge_sees_the_whole_passage_in_the_form_compared():
    seen = analysis.shown_of(QUESTIONS, [PASSAGE], TABLES, [FILING], "csv")
    assert "Net sales: Valves,\"96,169\",\"85,200\"" in seen["q1"].passage and seen["q6"].source.startswith("the 10-K")


def test_the_judge_that_is_rules_says_what_the_accuracy_says(rows):
    scored = rows[rows.level != "hard"]
    assert (scored.by_judge == scored.verdict).all() and set(scored.verdict) == {"correct", "incorrect", "unscored"}
    hard = judged_by_rule(QUESTIONS, QUERIES, final_answers(QUERIES, BASE), TABLES)[-2:]
    assert [(row.verdict, row.reason) for row in hard] == [("unscored", UNRULED)] * 2


@pytest.mark.parametrize("said", ["85,200", "$85,200", "85,200 million", "$85.2 billion"])
def test_a_judge_that_is_rules_reads_a_bare_number_in_the_unit_that_was_asked_for(said):
    question = ask("easy", "extraction", "What were net sales of valves in 2023? Answer in millions of US dollars.",
                   "$85,200 million", 85_200.0, a=("alm-t01", 1, 1))
    queries = as_queries([question], [PASSAGE], TABLES, [FILING], ["html"], closed_book=False)
    given = [Answer(query_id="q1:html", arm="base", answer=said, n_tokens=1, truncated=False)]
    assert judged_by_rule([question], queries, given, TABLES)[0].verdict == "correct"
    with pytest.raises(ValueError, match="asks no question"):
        judged_by_rule(QUESTIONS[1:], queries, given, TABLES)
