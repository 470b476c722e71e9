"""The papers' tables as data: complete, consistent where they are, and beside a run's scores."""

import hashlib
import json
import re
from collections import Counter

import pandas as pd
import pytest

from lib.analyze.agreement import read_sheet
from lib.analyze.stats import share_interval
from lib.core.arms import ALL
from lib.core.store import REPOSITORY, package_file
from lib.run.config import load_study
from lib.run.parameters import notebook_path
from lib.structext.analyze import (
    beside_readers,
    constant,
    learned,
    lengths,
    to_answer,
)
from lib.structext.names import BLIND, LANGUAGES, MODES, TASKS, V1
from lib.structext.papers import paper_agreement, paper_scores
from lib.structext.prompts import SIMPLE, asked_in, training_samples
from lib.structext.samples import SUITES
from lib.structext.samples import suite as generated
from lib.structext.score import LEAST_ROUGE, score
from tests.structext.replied import of_arms, right

README = REPOSITORY / "notebooks" / "structext" / "README.md"
SUMS = {  # table -> numbers and their sum, by awk over the tables as they were copied
    "v1, Table 1": [425, 18939.5],
    "v1, Table 2": [26, 944.6],
    "v1, Table 9": [425, 4368.3],
    "v2, Table 3": [408, 23812.0],
    "v2, Table 4": [49, 1948.2],
    "v2, Table 6": [72, 2177.47],
}


def means(where: str) -> pd.DataFrame:
    """Column ALL of a table by model and prompt; its languages' and kinds' means, by tasks."""
    cells = paper_scores().query("where == @where")
    wide = cells.pivot(index=["model", "prompt"], columns="column", values="percent")
    weights = pd.Series(Counter([*TASKS.values(), *(task.split(".")[0] for task in TASKS)])) / 29
    weighted = wide[weights.index] * weights
    languages = weighted[[*LANGUAGES]].sum(axis=1)
    return wide[[ALL]].assign(languages=languages, kinds=weighted.sum(axis=1) - languages)


def test_every_printed_number_is_there():
    found = paper_scores().groupby("where").percent.agg(["size", "sum"]).T
    assert {where: [*found[where]] for where in found} == {
        where: pytest.approx(each) for where, each in SUMS.items()
    }
    lengths = pd.read_csv(package_file("structext/published/v1-table3.csv"))
    numbers = lengths.select_dtypes("number")
    assert numbers.size == 290 and numbers.sum().sum() == pytest.approx(75052.9)
    for where in ("v1, Table 1", "v1, Table 9"):  # ALL agrees with the columns in most rows
        table = means(where)
        gaps = table[["languages", "kinds"]].sub(table[ALL], axis=0).abs()
        assert (gaps < 1).sum().min() >= 20


def test_the_page_names_what_the_papers_contradict():
    table = means("v2, Table 3")
    row, gap = table.loc[("Llama-3.1-8B", "base")], table.languages - table[ALL]
    people = paper_scores()[paper_scores().model.str.lower() == "human"].percent
    scores = paper_scores()[paper_scores()["where"] == "v2, Table 6"]
    printed = scores.pivot(index="model", columns="metric", values="percent")
    hard = paper_scores().query("where == 'v2, Table 4' and prompt == 'base' and model != 'human'")
    assert sorted(hard.percent) == sorted(printed.rouge_score)
    r = paper_agreement().set_index("measure").pearson
    assert r.bleu == pytest.approx(printed.bleu.corr(printed.human))
    page = " ".join(README.read_text(encoding="utf-8").split())
    for sentence in (
        "People score {:.1f} in v2 (Table 4) and {:.1f} in v1 (Table 2)".format(*people[::-1]),
        f"has {row[ALL]:.1f} printed, and {row.languages:.1f} as the mean of its languages",
        f"at least 9 points below this mean in {(gap >= 9).sum()} of {len(gap)} rows",
        f"within {(table.kinds - table.languages).abs().max():.1f} points in every row",
        f"Table 6 gives {r.rouge_score:.3f}, {r.judge:.3f} and {r.exact:.3f}",
    ):
        assert sentence in page


@pytest.mark.parametrize("mode", MODES)
def test_v1s_halves_have_the_lengths_that_it_prints(mode):
    """The dials were set on other texts, of seed 7."""
    table = lengths([one for part in asked_in([*V1], ["base"], [1], mode=mode) for one in part])
    page = " ".join(README.read_text(encoding="utf-8").split())
    assert len(table) == 58 and f"{table.is_met.sum()} of the 58 rows in mode `{mode}`" in page
    assert table.is_met.sum() >= 46
    if mode == MODES[0]:
        committed = REPOSITORY / "figures" / "exhibit" / "structext" / "table_lengths.csv"
        pd.testing.assert_frame_equal(table, pd.read_csv(committed), check_dtype=False)
        reasons = set(re.findall(r"`(\w+\.\d)`", page.partition("Rows that are not met")[2]))
        assert set(table.task[~table.is_met]) <= reasons


def test_the_page_says_what_differs_from_each_paper():
    page, study = README.read_text(encoding="utf-8"), load_study("structext")
    counts = {name: f"{29 * sum(n for *_, n in cells):,}" for name, cells in SUITES.items()}
    halves = 29 * sum(cells[0][-1] for cells in map(SUITES.get, V1))
    asks, trains = study.given("00_structext"), study.given("03_train")
    default = json.loads(notebook_path("00_structext").read_text(encoding="utf-8"))
    lines = "".join(line for cell in default["cells"] for line in cell["source"])
    shots = re.search(r"shots: list = \[(.*), (\d)\]", lines)
    depths, widths, _ = (sorted(set(dial)) for dial in zip(*SUITES["test-hard"], strict=True))
    empty = score("a", "")
    rows = {
        "samples": f"v1 {halves:,}; v2 {counts['test']}, {counts['real-test']} and "
        f"{counts['test-hard']}",
        "dials": f"depths {depths[0]}–{depths[-1]}, widths {widths[0]}–{widths[-1]}",
        "faults of the data": f"avoided (`{re.search('mode: str = .([a-z]+)', lines)[1]}`)",
        "decoding": "sampled" if study.given("04_infer").get("sampling") else "greedy",
        "main score": f"ROUGE-L, 0 below {LEAST_ROUGE}; the judge is `{study.judge}`",
        "replies that are empty": f"score {empty.rouge_score:.0f} and count",
        "floor": f"the arm `{BLIND}`",
        "demonstrations": f"{asks['shots'][0]} in the shipped study; {shots[1]} and {shots[2]}",
        "simple few-shot": "depth {}, width {} |".format(*SIMPLE),
        "fine-tuning": f"{trains['epochs']} epoch in steps of {trains['global_batch_size']}, "
        f"length {trains['block_size']:,}, rate {trains['learning_rate']:.0e}",
    }
    for row, says in rows.items():
        (line,) = (line for line in page.split("\n") if line.startswith(f"| {row} |"))
        assert says in line.split(" | ", 3)[3]


def test_the_shipped_readings_are_a_models_and_answer_questions_of_the_hard_test():
    given = load_study("structext-people").given("06_structext")["readings"]
    hard = [one for part in asked_in(["test-hard"], ["base"], [1], per_task=2) for one in part]
    sheets = [read_sheet(REPOSITORY / name, ()) for name in given]
    rows = of_arms(hard, right=right)
    table = beside_readers(rows, hard, to_answer(hard), sheets)
    right_of = table.assign(right=table.rouge_score > 0.99).groupby("arm", observed=True).right
    assert right_of.agg(["size", "sum"]).T.to_dict("list") == {
        "right": [60, 60],
        "reading_1": [60, 60],
        "reading_2": [60, 58],
    }
    page = (REPOSITORY / "data" / "structures" / "README.md").read_text(encoding="utf-8")
    assert "| `reading_1.csv` | 60 |" in page and "| `reading_2.csv` | 58 |" in page
    asked = hashlib.sha256((REPOSITORY / "prompts" / "judge.md").read_bytes()).hexdigest()
    assert f"SHA-256 begins with `{asked[:12]}`" in page


@pytest.mark.parametrize("suite", ["test", pytest.param("test-hard", marks=pytest.mark.slow)])
def test_the_floors_beside_published_results_are_measured(suite):
    samples = generated(suite, mode="faithful")
    constants = learned(training_samples(samples, mode="faithful")[0])
    scores = pd.Series([score(one.answer, constant(one, constants)).rouge_score for one in samples])
    ends = share_interval(scores, pd.Series([one.text_id for one in samples]))
    (floor,) = paper_scores().query("suite == @suite and model == 'blind'").itertuples()
    measured = (len(samples), *(100 * one for one in (scores.mean(), *ends)))
    assert (floor.n, floor.percent, floor.low, floor.high) == pytest.approx(measured, abs=5e-3)
