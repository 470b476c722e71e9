"""The paper's numbers as data: our tables print its percentages, and a run's next to them."""

import re

import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from lib.analyze.published import (
    DEVIATIONS,
    PAPER,
    RUN,
    formatted,
    formatted_table3,
    paper_rows,
    paper_table1,
    paper_table4,
    table3_with_paper,
    with_paper,
)
from lib.analyze.tables import formatted_table, table2, table5
from lib.core.arms import ALL, ARMS
from lib.core.records import OUTCOMES, STRUCTURES
from lib.core.store import REPOSITORY
from lib.judge.llm_judge import CRITERIA
from lib.run.config import load_study, notebook_path, parameters_of


@pytest.fixture(scope="module")
def paper():
    return table2(paper_rows()).set_index(["arm", "structure"])


def test_table2_prints_the_percentages_of_the_paper(paper):
    assert [f"{paper.accuracy[arm, ALL]:.2%}" for arm in ARMS] == ["2.62%", "16.23%", "24.61%"]
    assert [[paper.correct[arm, structure] for structure in STRUCTURES] for arm in ARMS] == [
        [4, 0, 1],
        [17, 11, 3],
        [17, 24, 6],
    ]
    assert all(list(paper.n[arm, :]) == [65, 85, 41, 191] for arm in ARMS)


def test_table5_has_the_numeric_queries_of_the_paper():
    cells = table5(paper_rows()).set_index(["arm", "structure", "kind"])
    assert [cells.n["base", ALL, kind] for kind in ("numeric", "non-numeric")] == [39, 152]
    assert [cells.correct[arm, ALL, "numeric"] for arm in ARMS] == [0, 3, 10]
    assert tuple(cells.loc[("dapt-n", "tabular", "numeric"), ["correct", "n"]]) == (4, 18)


def test_table1_has_the_mean_over_all_queries():
    table = paper_table1().set_index("structure")
    parts = table.loc[list(STRUCTURES)]
    mean = (parts.queries * parts.question_words).sum() / parts.queries.sum()
    assert round(mean, 2) == table.question_words[ALL] == 17.35
    assert formatted_table(paper_table1()).entities_max.tolist() == ["–", "33", "–", "–"]


def test_table3_of_the_run_is_below_the_papers_by_the_kind_of_task():
    rows = [("base", 0.8, None, None), ("dapt", 0.78, -2.0, 0.5)]
    ours = pd.DataFrame(rows, columns=["arm", "accuracy", "difference_points", "se_points"])
    table = table3_with_paper(ours.assign(task="lab_last_word", n=200, stderr=0.025))
    text = formatted_table3(table).set_index(["source", "arm"])
    assert table[table.task == "Last word"].kind.tolist() == ["last word"] * 2
    assert list(text.columns) == ["MMLU", "HellaSwag", "LAMBADA", "Last word"]
    assert [text.loc[place].tolist() for place in ((PAPER, "dapt-n"), (RUN, "dapt"))] == [
        ["62.41 ± 0.38 (-0.94)", "59.95 ± 0.49 (-0.11)", "73.26 ± 0.62 (-2.25)", "–"],
        ["–", "–", "–", "78.00 ± 2.50 (-2.00 ± 0.50)"],
    ]


def test_table4_prints_the_percentages_of_the_paper():
    table = paper_table4()
    keys = ["first_arm", "second_arm", "criterion", "structure", "outcome"]
    shares, counts = (table.set_index(keys)[name] for name in ("share", "count"))
    assert f"{shares['base', 'dapt-n', 'domain relevance', 'tabular', 'tie']:.2%}" == "4.88%"
    assert [
        f"{100 * shares['base', 'dapt', 'correctness', ALL, outcome]:.2f}" for outcome in OUTCOMES
    ] == ["10.99", "49.21", "39.79"]
    totals = counts.groupby(keys[:4]).sum().unstack()
    assert (totals[[*STRUCTURES, ALL]] == [65, 85, 41, 191]).all(axis=None)
    wide = counts.unstack("structure")  # the structures of the paper add up to its "all"
    assert (wide[list(STRUCTURES)].sum(axis=1) == wide[ALL]).all()
    assert set(table.criterion) == set(CRITERIA)
    row = table[(table["count"] == 2) & (table.n == 41)].iloc[0]
    assert (row.low, row.high) == pytest.approx(proportion_confint(2, 41, method="wilson"))


def test_the_page_of_deviations_has_the_values_of_the_papers_study():
    """Of a parameter that differs by arm, the page says more than its value."""
    study = load_study("paper", str(REPOSITORY / "data" / "technical"))
    rows = re.findall(r"^\| (\w+) \| `(\w+)` \| [^|]+ \| ([^|]+) \|", DEVIATIONS.read_text(), re.M)
    assert len(rows) > 20
    for stage, name, here in rows:
        arm = "base" if stage in ("retention", "04_infer", "05_judge") else "dapt"
        declared = parameters_of(notebook_path(stage))[name].default
        value = study.given(stage, arm).get(name, declared)
        assert here == str(value) or name == "epochs", (stage, name, value)


def ours() -> pd.DataFrame:
    rows = paper_rows()
    rows = rows[(rows.arm != "base") & (rows.structure != "tabular")]
    return rows.assign(arm=rows.arm.replace("dapt-n", "dapt@2"), verdict="correct")


def test_the_run_is_below_the_paper_in_the_same_layout():
    table = with_paper(table2(ours()))
    assert list(table.columns[:3]) == ["source", "arm", "structure"]
    assert len(table) == 4 * 3 + 4 * 2
    text = formatted(table)
    assert list(text.columns) == ["structure", "source", "base", "dapt", "dapt@2", "dapt-n"]
    assert text[["structure", "source"]].values.tolist() == [
        [structure, source] for structure in (*STRUCTURES, ALL) for source in (PAPER, RUN)
    ]
    run = "65/65 = 100.00% [94.4, 100.0]"
    assert text.dapt.tolist()[:2] == ["17/65 = 26.15% [17.0, 38.0]", run]
    assert text["dapt@2"].tolist()[:2] == ["–", run]
    kinds = formatted(with_paper(table5(ours())))
    assert list(kinds.columns[:3]) == ["structure", "kind", "source"] and len(kinds) == 4 * 2 * 2
