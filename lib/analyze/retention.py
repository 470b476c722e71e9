"""Compute Table 3: how much general knowledge an arm kept, and what chance alone changes.

The paper gives each arm's mean and standard error (section 5, Table 3). The arms answer the same
items, so here the differences are paired, which is more precise than two such errors suggest.
"""

import numpy as np
import pandas as pd

from lib.analyze.format import DASH, estimate, in_points, p_value, with_error
from lib.analyze.stats import ALPHA, exact_p, holm, t_over, wilson
from lib.core.arms import BASE, sorted_arms
from lib.core.files import made_by
from lib.core.text import listed
from lib.retention.records import Retention, RetentionItem, label_of

TABLE3 = ["arm", "task", "n", "chance", "correct", "accuracy", "stderr", "only_base", "only_arm",
          "difference_points", "se_points", "low_points", "high_points", "p", "p_holm", "family"]
NOISE = ["task", "n", "batch_size", "other_batch_size", "changed", "difference_points",
         "largest_loglik_change"]


def table3(arms: list[Retention]) -> pd.DataFrame:
    """Return one row per arm and task, in columns TABLE3; accuracy and stderr are fractions of 1.

    Differences are the arm's accuracy minus the base's, in points over the same items: mean,
    standard error and 95% t interval of the items' differences, with items counted as independent.
    They are NaN for the base, and without an interval if all items change alike. p is
    exact McNemar's on only_base and only_arm, p_holm Holm's over the `family` of all differences.
    Raises ValueError, naming what differs, if two arms were not measured the same way.
    """
    check_alike(arms)
    measured = {arm.arm: arm for arm in arms}
    base = measured.get(BASE)
    rows = [_cell(measured[name], task, base if name != BASE else None)
            for name in sorted_arms(measured) for task in measured[name].tasks]
    table = pd.DataFrame(rows, columns=TABLE3)
    table = table.astype({"chance": float, "difference_points": float, "p": float})
    table["p_holm"], table["family"] = holm(table.p), int(table.p.notna().sum())
    return table


def check_alike(arms: list[Retention]) -> None:
    """Raise ValueError if arms differ in more than their weights, or in their items."""
    for other in arms[1:]:
        one, two = arms[0].fingerprint, other.fingerprint
        differ = [f"{name} ({one.get(name)} and {two.get(name)})"
                  for name in dict.fromkeys([*one, *two])
                  if name != "checkpoint" and one.get(name) != two.get(name)]
        if differ:
            raise ValueError(f"{arms[0].arm} and {other.arm} were measured differently: "
                             f"{', '.join(differ)}; run {made_by('retention')} for both with the "
                             "same parameters")
        asked = [{task["task"]: task["asked"] for task in arm.tasks} for arm in (arms[0], other)]
        if asked[0] != asked[1] or set(_by_item(arms[0])) != set(_by_item(other)):
            raise ValueError(f"{arms[0].arm} and {other.arm} have different items: remove "
                             f"retention/cache of the study and run {made_by('retention')} for "
                             "both again")


def _by_item(arm: Retention, repeat: int = 0) -> dict[tuple[str, str], RetentionItem]:
    return {(row.task, row.item): row for row in arm.items if row.repeat == repeat}


def _cell(arm: Retention, task: dict, base: Retention | None) -> dict:
    own = [row for row in arm.items if row.task == task["task"] and row.repeat == 0]
    cell = {"arm": arm.arm, **{key: task[key] for key in TABLE3 if key in task},
            "correct": sum(row.is_correct for row in own)}
    if base is None:
        return cell
    before = _by_item(base)
    change = np.array([row.is_correct - before[row.task, row.item].is_correct for row in own],
                      dtype=float)
    only_base, only_arm = int((change < 0).sum()), int((change > 0).sum())
    cell |= {"only_base": only_base, "only_arm": only_arm, "p": exact_p(only_base, only_arm),
             "difference_points": 100 * change.mean()}
    if len(set(change)) > 1:
        found = t_over(100 * change)
        cell |= {"se_points": found["sd"] / len(change) ** 0.5, "low_points": found["low"],
                 "high_points": found["high"]}
    return cell


def noise_floor(arms: list[Retention]) -> pd.DataFrame:
    """Return one row per task of a base that was measured twice, in columns NOISE.

    `changed` counts the items that became right or wrong with the batch size alone,
    `difference_points` is the change in accuracy, and largest_loglik_change shows that the
    arithmetic did differ.
    """
    rows = []
    for arm in (arm for arm in arms if arm.again):
        second = _by_item(arm, repeat=1)
        for task in (task["task"] for task in arm.tasks):
            pairs = [(row, second[key]) for key, row in _by_item(arm).items() if key[0] == task]
            change = [int(after.is_correct) - int(before.is_correct) for before, after in pairs]
            rows.append((task, len(pairs), arm.fingerprint["batch_size"], arm.again["batch_size"],
                         sum(map(abs, change)), 100 * sum(change) / len(pairs),
                         max(abs(after.loglik - before.loglik) for before, after in pairs)))
    return pd.DataFrame(rows, columns=NOISE)


def formatted(table: pd.DataFrame, noise: pd.DataFrame) -> pd.DataFrame:
    """Format `table3` as in the paper: a column per task; below the arms, their differences."""
    columns = {task: f"{label_of(task)} (n = {table.n[table.task == task].max()})"
               for task in table.task.unique()}
    lines = [("chance", {row.task: estimate(100 * row.chance, digits=2)
                         for row in table.drop_duplicates("task").itertuples()})]
    for arm, rows in table.groupby("arm", sort=False):
        lines.append((arm, {row.task: _accuracy(row) for row in rows.itertuples()}))
    for arm, rows in table[table.p.notna()].groupby("arm", sort=False):
        lines.append((f"{arm} – {BASE}, points [95%]",
                      {row.task: _points(row) for row in rows.itertuples()}))
        lines.append((f"only {BASE} / only {arm}; McNemar p (Holm of {rows.family.max()})", {
            row.task: f"{row.only_base:.0f} / {row.only_arm:.0f}; {p_value(row.p)} "
                      f"({p_value(row.p_holm)})" for row in rows.itertuples()}))
    if len(noise):
        sizes = f"{noise.batch_size.max()} → {noise.other_batch_size.max()}"
        lines.append((f"{BASE} repeated, batch size {sizes}: changed, points", {
            row.task: f"{row.changed} of {row.n}, {in_points(row.difference_points, digits=2)}"
            for row in noise.itertuples()}))
    return pd.DataFrame([
        {"arm, % ± SE or [95%]": name,
         **{column: cells.get(task, DASH) for task, column in columns.items()}}
        for name, cells in lines])


def _accuracy(row) -> str:
    """Format "63.35 ± 0.38"; with Wilson's interval if all or no items are right (SE is 0)."""
    if row.stderr > 0:
        return with_error(100 * row.accuracy, 100 * row.stderr)
    low, high = wilson(row.correct, row.n)
    return estimate(100 * row.accuracy, 100 * low, 100 * high, digits=2)


def _points(row) -> str:
    return in_points(row.difference_points, row.low_points, row.high_points, digits=2)


def summary(table: pd.DataFrame, noise: pd.DataFrame) -> str:
    """Return what was kept and lost as sentences with their denominators."""
    compared = table[table.p.notna()]
    if compared.empty:
        return "No arm is compared with the base yet."
    holds_0 = compared.low_points.le(0) & compared.high_points.ge(0)
    found = [f"{row.arm} on {label_of(row.task)} ({_points(row)} points, n = {row.n})"
             for row in compared[compared.p_holm.le(ALPHA) & ~holds_0].itertuples()]
    text = (f"Of {len(compared)} comparisons with the base, {len(found)} differ at {ALPHA:.0%} "
            f"after Holm's correction{': ' + listed(found) if found else ''}.")
    if len(noise):
        text += (f" Another batch size alone changes {noise.changed.sum()} of {noise.n.sum()} "
                 "items.")
    return text
