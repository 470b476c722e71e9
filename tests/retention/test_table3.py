"""Table 3: paired differences as scipy's, and tasks that were not measured."""

import numpy as np
import pytest
from scipy.stats import binomtest, sem, ttest_1samp

from lib.analyze.logliks import table3
from lib.core.records import Retention, RetentionItem


def retention(arm: str, right: str) -> Retention:
    """Return an arm with one task, its items right (1) or wrong (0) as in `right`."""
    items = [
        RetentionItem(task="mmlu", arm=arm, loglik=-1.0, item=str(n), is_correct=letter == "1")
        for n, letter in enumerate(right)
    ]
    return Retention(
        arm, {"checkpoint": arm}, [{"task": "mmlu", "n": len(right), "asked": ""}], items
    )


def test_differences_are_paired_by_item_and_a_task_that_was_not_measured_has_no_numbers():
    table = table3([retention("dapt", "11000000"), retention("base", "01111111")])
    assert list(table.arm) == ["base", "dapt"] and table.p.isna()[0]
    row, changes = table.iloc[1], 100 * np.array([1, 0, -1, -1, -1, -1, -1, -1])
    assert (row.only_base, row.only_arm, row.correct, row.n) == (6, 1, 2, 8)
    interval = ttest_1samp(changes, 0).confidence_interval()
    found = (row.difference_points, row.se_points, row.low_points, row.high_points)
    assert found == pytest.approx((changes.mean(), sem(changes), *interval))
    assert row.p == row.p_holm == pytest.approx(binomtest(1, 7).pvalue)
    none = table3([retention("base", ""), retention("dapt", "")])
    assert len(none) == 2 and none[["accuracy", "p_holm"]].isna().all(axis=None)
