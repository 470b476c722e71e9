"""The paper's numbers as data: our tables print its percentages from them, and beside them a run's."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from lib.analyze.export import export_table
from lib.analyze.paper.published import (
    PAPER,
    QUERIES,
    RUN,
    with_paper,
    table3_with_paper,
    paper_rows,
    paper_table1,
    paper_table4,
    formatted,
    formatted_table3,
    recovered,
)
from lib.analyze.retention import table3
from lib.analyze.tables import for_reading, table2, table5
from lib.core.arms import ALL, ARMS
from lib.core.records import STRUCTURES
from lib.analyze.win_rates import table4
from lib.judge.pairs import CRITERIA, OUTCOMES


@pytest.fixture(scope="module")
def paper():
    return table2(paper_rows()).set_index(["arm", "structure"])


def test_table2_prints_the_percentages_of_the_paper(paper):
    assert {arm: f"{paper.accuracy[arm, ALL]:.2%}" for arm in ARMS} == {
        "base": "2.62%", "dapt": "16.23%", "dapt-n": "24.61%"}
    assert {arm: [paper.correct[arm, structure] for structure in STRUCTURES] for arm in ARMS} == {
        "base": [4, 0, 1], "dapt": [17, 11, 3], "dapt-n": [17, 24, 6]}
    assert all(list(paper.n[arm, :]) == list(QUERIES.values()) for arm in ARMS)


def test_its_intervals_say_what_so_few_queries_carry(paper):
    percent = {place: (round(100 * paper.low[place], 1), round(100 * paper.high[place], 1)) for place in paper.index}
    assert percent["dapt", "tabular"] == (2.5, 19.4) and percent["dapt-n", "tabular"] == (6.9, 28.4)
    assert percent["base", "entity-list"] == (0, 4.3)  # 0/85: z²/(n + z²), Wilson at 0
    assert paper.high["base", "entity-list"] == pytest.approx(1.959964 ** 2 / (85 + 1.959964 ** 2))


def test_table5_has_the_numeric_queries_of_the_paper():
    cells = table5(paper_rows()).set_index(["arm", "structure", "kind"])
    assert cells.n["base", ALL, "numeric"] == 39 and cells.n["base", ALL, "non-numeric"] == 152
    assert [cells.correct[arm, ALL, "numeric"] for arm in ARMS] == [0, 3, 10]
    assert (cells.correct["dapt-n", "tabular", "numeric"], cells.n["dapt-n", "tabular", "numeric"]) == (4, 18)


def test_no_query_of_one_arm_can_be_paired_with_another_arms():
    rows = paper_rows()
    assert rows.query_id.is_unique and len(rows) == 3 * 191


def test_table1_has_the_mean_over_all_queries():
    table = paper_table1().set_index("structure")
    parts = table.loc[list(STRUCTURES)]
    mean = (parts.queries * parts.question_words).sum() / parts.queries.sum()
    assert round(mean, 2) == table.question_words[ALL] == 17.35
    assert for_reading(paper_table1()).entities_max.tolist() == ["–", "33", "–", "–"]


def retained(arm: str, accuracy: float, difference: float | None) -> dict:
    return {"arm": arm, "task": "lab_last_word", "n": 200, "accuracy": accuracy, "stderr": 0.025,
            "difference_points": difference, "se_points": 0.5 if difference else None}


def test_table3_of_the_run_stands_under_the_papers_by_the_kind_of_task():
    table = table3_with_paper(pd.DataFrame([retained("base", 0.8, None), retained("dapt", 0.78, -2.0)]))
    text = formatted_table3(table).set_index(["source", "model"])
    assert list(text.columns) == ["multiple choice", "continuation", "last word"]
    assert text.loc[PAPER, "base"].tolist() == ["63.35 ± 0.38", "60.06 ± 0.49", "75.51 ± 0.60"]
    assert text.loc[PAPER, "dapt-n"].tolist() == ["62.41 (-0.94)", "59.95 (-0.11)", "73.26 (-2.25)"]
    assert text.loc[RUN, "task (items)"].tolist() == ["–", "–", "Last word (n = 200)"]
    assert text.loc[RUN, "dapt"].tolist() == ["–", "–", "78.00 ± 2.50 (-2.00 ± 0.50)"]


def test_table3_is_the_papers_alone_where_nothing_was_measured():
    table = table3_with_paper(table3([]))
    assert len(table) == 9 and formatted_table3(table).source.unique().tolist() == [PAPER]


def test_table4_comes_out_of_its_counts():
    table = paper_table4()
    shares = table.set_index(["first_arm", "second_arm", "structure", "criterion", "outcome"])["share"]
    assert f"{shares['base', 'dapt-n', 'tabular', 'domain relevance', 'tie']:.2%}" == "4.88%"
    printed = [f"{100 * shares['base', 'dapt', ALL, 'correctness', outcome]:.2f}" for outcome in OUTCOMES]
    assert printed == ["10.99", "49.21", "39.79"]
    counts = table.groupby(["first_arm", "second_arm", "criterion", "structure"])["count"].sum().unstack()
    assert (counts[list(QUERIES)] == list(QUERIES.values())).all(axis=None)
    parts = table[table.structure != ALL].groupby(["second_arm", "criterion", "outcome"])["count"].sum()
    whole = table[table.structure == ALL].set_index(["second_arm", "criterion", "outcome"])["count"]
    assert parts.to_dict() == whole.to_dict()  # the structures of the paper add up to its "all"
    assert set(table.criterion) == set(CRITERIA) and ((table.low <= table.share) & (table.share <= table.high)).all()
    row = table[(table["count"] == 2) & (table.n == 41)].iloc[0]
    assert (row.low, row.high) == pytest.approx(proportion_confint(2, 41, method="wilson"))


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n))))
def test_counts_are_recovered_from_two_decimals(drawn):
    n, first, second = drawn
    counts = [min(first, second), abs(first - second), n - max(first, second)]
    assert recovered(tuple(round(100 * count / n, 2) for count in counts), n) == counts


def test_percentages_that_no_counts_give_are_refused():
    for percents, n in (((50.01, 49.99), 10), ((50.0, 40.0), 10)):
        with pytest.raises(ValueError, match="no counts of 10 print as"):
            recovered(percents, n)


def ours() -> pd.DataFrame:
    rows = paper_rows()
    rows = rows[(rows.arm != "base") & (rows.structure != "tabular")]
    return rows.assign(arm=rows.arm.replace("dapt-n", "dapt@2"), verdict="correct")


def test_the_run_stands_under_the_paper_in_the_same_layout():
    table = with_paper(table2(ours()))
    assert list(table.columns[:3]) == ["source", "arm", "structure"] and len(table) == 4 * 3 + 4 * 2
    text = formatted(table)
    assert list(text.columns) == ["structure", "source", "base", "dapt", "dapt@2", "dapt-n"]
    assert text[["structure", "source"]].values.tolist() == [
        [structure, source] for structure in (*STRUCTURES, ALL) for source in (PAPER, RUN)]
    assert text.dapt.tolist()[:2] == ["17/65 = 26.15% [17.0, 38.0]", "65/65 = 100.00% [94.4, 100.0]"]
    assert text["dapt@2"].tolist()[:2] == ["–", "65/65 = 100.00% [94.4, 100.0]"]
    kinds = formatted(with_paper(table5(ours())))
    assert list(kinds.columns[:3]) == ["structure", "kind", "source"] and len(kinds) == 4 * 2 * 2


def test_table1_of_the_run_stands_under_the_papers():
    text = formatted(with_paper(paper_table1().assign(queries=[1, 2, 3, 6])))
    assert text.source.tolist() == [PAPER, RUN] * 4 and text.queries.tolist() == [
        "65", "1", "85", "2", "41", "3", "191", "6"]


def test_table4_of_a_run_that_asked_no_pairs_is_the_papers_alone():
    text = formatted(with_paper(table4([], [])))
    assert len(text) == 8 and text.source.unique().tolist() == [PAPER]
    cell = text[(text.pair == "base (A) vs dapt (B)") & (text.structure == ALL)]["correctness: A"].item()
    assert cell == "21/191 = 10.99% [7.3, 16.2]"
    both = formatted(with_paper(paper_table4()[lambda rows: rows.second_arm == "dapt-n"]))
    assert both.source.tolist() == [PAPER] * 4 + [PAPER, RUN] * 4


def test_a_run_without_queries_still_has_the_paper_beside_it():
    assert (formatted(with_paper(table2(paper_rows().iloc[:0]))).source == PAPER).all()
    assert len(formatted(with_paper(table5(paper_rows().iloc[:0])))) == 8


def test_it_is_written_in_three_forms_with_the_numbers_as_csv(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    table = with_paper(table2(ours()))
    path = export_table("mine", "paper_table2", table, formatted(table))
    assert pd.read_csv(path).accuracy.iloc[0] == pytest.approx(4 / 65)
    assert "| natural | paper | 4/65 = 6.15% " in path.with_suffix(".md").read_text()
    assert "this run" in path.with_suffix(".tex").read_text()
