"""The papers' tables as data: complete, consistent where they are, and beside a run's scores."""

import hashlib
import re
from collections import Counter

import pandas as pd
import pytest

from lib.analyze.agreement import read_sheet
from lib.analyze.stats import share_interval
from lib.core.arms import ALL
from lib.core.store import REPOSITORY, package_file
from lib.run.config import load_study
from lib.run.parameters import notebook_path, parameters_of
from lib.structext.analyze import (
    constant,
    learned,
    lengths,
    paper_agreement,
    paper_scores,
    to_answer,
)
from lib.structext.names import BLIND, LANGUAGES, MODES, TASKS, V1
from lib.structext.prompts import LEAST_ROUGE, SIMPLE, asked_in, score, training_samples
from lib.structext.samples import SUITES
from lib.structext.samples import suite as generated

README = REPOSITORY / "notebooks" / "structext" / "README.md"
SUMS = {  # table -> numbers and their sum, by awk over the tables as they were copied
    "v1, Table 1": [425, 18939.5],
    "v1, Table 2": [26, 944.6],
    "v1, Table 9": [425, 4368.3],
    "v2, Table 3": [408, 23812.0],
    "v2, Table 4": [49, 1948.2],
    "v2, Table 6": [72, 2177.47],
}


def test_every_printed_number_is_there():
    found = paper_scores().groupby("where").percent.agg(["size", "sum"]).T
    assert {where: [*found[where]] for where in found} == {
        where: pytest.approx(each) for where, each in SUMS.items()
    }
    lengths = pd.read_csv(package_file("structext/published/v1-table3.csv"))
    numbers = lengths.select_dtypes("number")
    assert numbers.size == 290 and numbers.sum().sum() == pytest.approx(75052.9)


def test_the_page_names_what_the_papers_contradict():
    cells = paper_scores().query("where == 'v2, Table 3'")
    table = cells.pivot(index=["model", "prompt"], columns="column", values="percent")
    n_tasks = pd.Series(Counter([*TASKS.values(), *(task.split(".")[0] for task in TASKS)])) / 29
    parts = {"languages": [*LANGUAGES], "kinds": [*{*TASKS.values()}]}
    table = table.assign(**{name: table[own] @ n_tasks[own] for name, own in parts.items()})
    row, gap = table.loc[("Llama-3.1-8B", "base")], table.languages - table[ALL]
    people = paper_scores()[paper_scores().model.str.lower() == "human"].percent
    scores = paper_scores().query("where == 'v2, Table 6'")
    printed = scores.pivot(index="model", columns="metric", values="percent")
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
    counts = {name: 29 * sum(n for *_, n in cells) for name, cells in SUITES.items()}
    sizes = (counts[name] for name in ("test", "real-test", "test-hard"))
    asks, trains = study.given("00_structext"), study.given("03_train")
    default = parameters_of(notebook_path("00_structext"))
    *some, last = default["shots"].default
    depths, widths, _ = (sorted(set(dial)) for dial in zip(*SUITES["test-hard"], strict=True))
    rows = {
        "samples": "v1 {:,}; v2 {:,}, {:,} and {:,}".format(sum(map(counts.get, V1)), *sizes),
        "dials": f"depths {depths[0]}–{depths[-1]}, widths {widths[0]}–{widths[-1]}",
        "faults of the data": f"avoided (`{default['mode'].default}`)",
        "decoding": "sampled" if study.given("04_infer").get("sampling") else "greedy",
        "main score": f"ROUGE-L, 0 below {LEAST_ROUGE}; the judge is `{study.judge}`",
        "replies that are empty": f"score {score('a', '').rouge_score:.0f} and count",
        "floor": f"the arm `{BLIND}`",
        "demonstrations": f"{asks['shots'][0]} in the shipped study; {str(some)[1:-1]} and {last}",
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
    answers = {one.query_id: one.sample.answer for one in hard}
    of_item = {item.item: answers[item.query_id] for item in to_answer(hard)}
    page = (REPOSITORY / "data" / "structures" / "README.md").read_text(encoding="utf-8")
    for name, n_right in zip(given, (60, 58), strict=True):
        labels = read_sheet(REPOSITORY / name, ()).labels
        scores = [score(of_item[item], label).rouge_score for item, label in labels.items()]
        assert len(scores) == 60 and sum(one > 0.99 for one in scores) == n_right
        assert f"| `{name.rpartition('/')[2]}` | {n_right} |" in page
    asked = hashlib.sha256((REPOSITORY / "prompts" / "judge.md").read_bytes()).hexdigest()
    assert f"SHA-256 begins with `{asked[:12]}`" in page


@pytest.mark.parametrize("suite", ["test", pytest.param("test-hard", marks=pytest.mark.slow)])
def test_the_floors_beside_published_results_are_measured(suite):
    samples = generated(suite, mode="faithful")
    constants = learned(training_samples(samples, mode="faithful")[0])
    deep = samples[0].model_copy(update={"depth": 9})
    assert constant(deep, constants) == constants[deep.task, 2] and not constant(deep, {})
    scores = pd.Series([score(one.answer, constant(one, constants)).rouge_score for one in samples])
    ends = share_interval(scores, pd.Series([one.text_id for one in samples]))
    (floor,) = paper_scores().query("suite == @suite and model == 'blind'").itertuples()
    measured = (len(samples), *(100 * one for one in (scores.mean(), *ends)))
    assert (floor.n, floor.percent, floor.low, floor.high) == pytest.approx(measured, abs=5e-3)
