"""Table 3: paired differences by hand, its formats and files."""

import math

import pytest
from lm_eval.api.metrics import mean_stderr

from lib.analyze.logliks import table3
from lib.core.records import Retention, RetentionItem


def retention(arm: str, right: str, **more: object) -> Retention:
    """Return an arm with one task, its items right (1) or wrong (0) as in `right`."""
    items = [
        RetentionItem(task="mmlu", item=str(n), arm=arm, is_correct=letter == "1", loglik=-1.0)
        for n, letter in enumerate(right)
    ]
    outcomes = [int(letter) for letter in right]
    task = {
        "task": "mmlu",
        "n": len(right),
        "accuracy": sum(outcomes) / len(outcomes),
        "stderr": mean_stderr(outcomes),
        "chance": 0.25,
        "n_cut": 0,
        "asked": "",
    }
    return Retention(arm, {"checkpoint": arm, "batch_size": 8, **more}, [task], items)


def test_differences_are_paired_by_item():
    table = table3([retention("dapt", "11000000"), retention("base", "01111111")])
    assert list(table.arm) == ["base", "dapt"] and table.p.isna()[0]
    row = table.iloc[1]
    assert (row.only_base, row.only_arm, row.correct, row.n) == (6, 1, 2, 8)
    changes = [1, 0, -1, -1, -1, -1, -1, -1]
    mean = sum(changes) / 8
    error = math.sqrt(sum((change - mean) ** 2 for change in changes) / 7 / 8)
    assert row.difference_points == pytest.approx(100 * mean)
    assert row.se_points == pytest.approx(100 * error)
    t7 = 2.364624  # 97.5% of Student's t with 7 degrees of freedom
    assert (row.low_points, row.high_points) == pytest.approx(
        (100 * (mean - t7 * error), 100 * (mean + t7 * error)), abs=1e-3
    )
    assert row.p == pytest.approx(2 * (1 + 7) / 2**7) and row.p_holm == pytest.approx(row.p)


def test_a_task_that_was_not_measured_has_no_numbers():
    table = table3(
        [
            Retention(arm, {}, [{"task": "mmlu", "n": 0, "asked": ""}], [])
            for arm in ("base", "dapt")
        ]
    )
    assert len(table) == 2 and table[["accuracy", "p_holm"]].isna().all(axis=None)
