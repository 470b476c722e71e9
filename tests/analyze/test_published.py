"""The paper's numbers as data: our tables print its percentages, and a run's next to them."""

import re
from typing import get_args

import pandas as pd
import pytest

from lib.analyze.published import (
    COLUMNS,
    DEVIATIONS,
    PAPER,
    RUN,
    formatted,
    formatted_table4,
    paper_rows,
    paper_table4,
    table3_with_paper,
    table4,
    with_paper,
)
from lib.analyze.stats import ALPHA
from lib.analyze.tables import compact, table1, table2, table5
from lib.core.arms import ALL, ARMS
from lib.core.records import STRUCTURES
from lib.core.store import REPOSITORY
from lib.infer.prompts import GenerationConfig
from lib.judge.llm_judge import CRITERIA, Both, Preference, compare_pairs
from lib.normalize.segment import KEPT
from lib.run.config import load_study
from lib.run.parameters import notebook_path, parameters_of
from tests.rows import query

TABLE4 = paper_table4()[COLUMNS]


def test_tables_2_and_5_print_the_counts_and_percentages_of_the_paper():
    paper = table2(paper_rows()).set_index(["arm", "structure"])
    assert [f"{paper.accuracy[arm, ALL]:.2%}" for arm in ARMS] == ["2.62%", "16.23%", "24.61%"]
    right = [[paper.correct[arm, structure] for structure in STRUCTURES] for arm in ARMS]
    assert right == [[4, 0, 1], [17, 11, 3], [17, 24, 6]]
    assert all([*paper.n[arm, :]] == [65, 85, 41, 191] for arm in ARMS)
    cells = table5(paper_rows()).set_index(["arm", "structure", "kind"])
    assert [cells.n["base", ALL, kind] for kind in ("numeric", "non-numeric")] == [39, 152]
    assert [cells.correct[arm, ALL, "numeric"] for arm in ARMS] == [0, 3, 10]
    assert cells.loc[("dapt-n", "tabular", "numeric"), ["correct", "n"]].tolist() == [4, 18]


def test_table3_of_the_run_is_below_the_papers_by_the_kind_of_task():
    rows = [("base", 0.8, None, None), ("dapt", 0.78, -2.0, 0.5)]
    ours = pd.DataFrame(rows, columns=["arm", "accuracy", "difference_points", "se_points"])
    table = table3_with_paper(ours.assign(task="lab_choice", n=200, stderr=0.025))
    assert table[table.task == "Multiple choice"].kind.tolist() == ["multiple choice"] * 2
    cells = compact(table).set_index(["source", "arm", "task"])[["mean", "error", "difference"]]
    assert cells.loc[PAPER, "dapt-n", "MMLU"].tolist() == ["62.41", "0.38", "-0.94"]
    assert cells.loc[RUN, "dapt", "Multiple choice"].tolist() == ["78.00", "2.50", "-2.00"]


def preferences(second_arm: str, n: int = 4) -> list[Preference]:
    """Return A, a flip, an unscored reply and a tie, by each criterion."""
    names = {"first_arm": "base", "second_arm": second_arm, "judge": "m"}
    orders = [("A", "A"), ("A", "B"), ("A", "unscored"), ("tie", "tie")][:n]
    said = [((one, ""), (other, "")) for one, other in orders]
    return [
        Preference(query_id=f"q{place}", criterion=criterion, **names, **compared)
        for place, compared in enumerate(compare_pairs([("one", "two")] * n, lambda _: said))
        for criterion in CRITERIA
    ]


def test_unscored_preferences_are_in_n_and_in_no_share_pair_by_pair():
    queries = [query(f"q{n}", document_id=f"d{n}") for n in range(4)]
    table = table4(queries, [*preferences("dapt-n"), *preferences("dapt")])
    assert len(table) == 2 * 4 * 2 * 3
    assert list(dict.fromkeys(table.second_arm)) == ["dapt-n", "dapt"]
    cell = table[(table.structure == ALL) & (table.criterion == "correctness")][:3]
    assert cell[["n", "unscored", "count"]].values.tolist() == [[4, 1, 1], [4, 1, 0], [4, 1, 2]]
    assert cell.share.tolist() == pytest.approx([1 / 3, 0, 2 / 3])
    assert cell.low.lt(cell.share).tolist() == [True, False, True]
    with pytest.raises(ValueError, match="and dapt, correctness: 3 .* the 4 queries .*pairs"):
        table4(queries, preferences("dapt", 3))


def test_table4_reads_as_in_the_paper():
    text = formatted_table4(TABLE4).set_index(["pair", "structure"])
    assert len(text) == 2 * 4
    own = text.loc["base (A) vs raw text (B)"]
    assert own["correctness: A"][ALL] == "21/191 = 10.99% [7.3, 16.2]"
    assert own["correctness: tie"]["tabular"] == "26/41 = 63.41% [48.1, 76.4]"


def test_the_page_of_deviations_has_the_values_of_the_papers_study():
    """Of a parameter that differs by arm, the page says more than its value."""
    study = load_study("paper", str(REPOSITORY / "data" / "technical"))
    page = DEVIATIONS.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| `(\w+)` \| [^|]+ \| ([^|]+) \|", page, re.M)
    assert len(rows) > 20
    for stage, name, here in rows:
        arm = "base" if stage in ("retention", "04_infer", "05_judge") else "dapt"
        declared = parameters_of(notebook_path(stage))[name].default
        value = study.given(stage, arm).get(name, declared)
        assert here == str(value) or name == "epochs", (stage, name, value)
    decided = {
        "if that loses a fact, too": f"the segment is {KEPT}",
        "decoding": "greedy" * (GenerationConfig().temperature == 0),
        "orders of the two answers": f"{len(get_args(Both))}: each pair is judged both ways",
        "intervals and tests": f"{1 - ALPHA:.0%} over documents",
    }
    for point, says in decided.items():
        assert says and re.search(rf"^\| \w+ \| {point} \| [^|]+ \| [^|]*{says}", page, re.M), point


def test_the_run_is_below_the_paper_in_the_same_layout():
    rows = paper_rows()
    rows = rows[(rows.arm != "base") & (rows.structure != "tabular")]
    ours = rows.assign(arm=rows.arm.replace("dapt-n", "dapt@2"), verdict="correct")
    text = formatted(with_paper(table2(ours)))
    assert list(text.columns) == ["structure", "source", "base", "dapt", "dapt@2", "dapt-n"]
    structures = [name for name in (*STRUCTURES, ALL) for _ in range(2)]
    assert text.structure.tolist() == structures and text.source.tolist() == [PAPER, RUN] * 4
    paper, run = "17/65 = 26.15% [17.0, 38.0]", "65/65 = 100.00% [94.4, 100.0]"
    assert text[["dapt", "dapt@2"]][:2].to_numpy().tolist() == [[paper, "–"], [run, run]]
    assert len(formatted(with_paper(table5(ours)))) == 4 * 2 * 2
    assert with_paper(table1([]))[:4].entities_max.tolist()[1] == 33
