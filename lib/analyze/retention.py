"""Table 3 of the paper: what general knowledge an arm kept, beside the base item by item, and what chance alone moves.

The paper gives means and standard errors of each arm (section 5, Table 3). The arms are asked the same items, so that a
difference is known better than two such errors suggest: it is paired here.
"""

import json
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from lib.analyze.format import p_value
from lib.analyze.stats import ALPHA, exact_p
from lib.core.arms import sorted_arms
from lib.core.files import read_records, write_json, write_records
from lib.core.paths import data_path, required
from lib.core.records import Record
from lib.core.text import listed

BASE = "base"
HUB_LABELS = {"mmlu": "MMLU", "hellaswag": "HellaSwag", "lambada_openai": "LAMBADA"}  # lm-eval's names, in Table 3
LAB_LABELS = {"lab_choice": "Choice", "lab_continuation": "Continuation", "lab_last_word": "Last word"}
MADE_BY = "00_retention.ipynb"
TABLE3 = ["arm", "task", "n", "chance", "correct", "accuracy", "stderr", "only_base", "only_arm", "difference_points",
          "se_points", "low_points", "high_points", "p", "p_holm", "family"]
NOISE = ["task", "n", "batch_size", "other_batch_size", "changed", "difference_points", "largest_loglik_change"]


class RetentionItem(Record):
    """One item of one task, as one arm answered it."""

    task: str  # lm-eval's name of the column of Table 3
    item: str  # subtask and number, the same for every arm
    arm: str
    repeat: int  # 0; 1: asked again with another batch size
    is_correct: bool
    loglik: float  # of the right answer, natural


@dataclass(frozen=True)
class Measurement:
    """What a model did: the fields that decide it, summaries by task, and rows by item (lib.retention.lm_eval)."""

    identity: dict[str, object]
    tasks: list[dict]
    items: list[dict]


@dataclass(frozen=True)
class Retention:
    """An arm's measurement as its files hold it; `again` is the identity of the repeat, where there is one."""

    arm: str
    identity: dict[str, object]
    tasks: list[dict]
    items: list[RetentionItem]
    again: dict[str, object] = field(default_factory=dict)


def write_retention(study: str, arm: str, measured: Measurement, again: Measurement | None = None) -> Retention:
    """Write data/<study>/retention/<arm>.json and .jsonl; `again` is the same model at another batch size.

    Raises ValueError where `again` is the same measurement: it would be a floor of 0 that no one measured.
    """
    if again and again.identity == measured.identity:
        raise ValueError(f"other_batch_size is {again.identity['batch_size']}, as batch_size: give another one, or 0")
    rows = [RetentionItem(arm=arm, repeat=repeat, **row) for repeat, part in enumerate([measured, again]) if part
            for row in part.items]
    kept = Retention(arm, measured.identity, measured.tasks, rows, again.identity if again else {})
    write_json(data_path(study, "retention", f"{arm}.json"),
               {"arm": arm, "identity": kept.identity, "again": kept.again, "tasks": kept.tasks})
    write_records(data_path(study, "retention", f"{arm}.jsonl"), rows)
    return kept


def read_retention(study: str, arms: list[str]) -> list[Retention]:
    """What write_retention wrote for `arms`.

    Raises MissingInput naming the arm that has not been measured.
    """
    found = []
    for arm in arms:
        path, made_by = data_path(study, "retention", f"{arm}.json"), f"{MADE_BY} with arm {arm}"
        summary = json.loads(required(path, made_by).read_text(encoding="utf-8"))
        items = read_records(path.with_suffix(".jsonl"), RetentionItem, made_by)
        found.append(Retention(arm, summary["identity"], summary["tasks"], items, summary["again"]))
    return found


def table3(arms: list[Retention]) -> pd.DataFrame:
    """One row an arm and task, columns TABLE3; accuracy and lm-eval's standard error are fractions of 1.

    Differences are the arm's accuracy less the base's, in points, over the same items: mean, standard error and 95% t
    interval of the items' differences (statsmodels), so that items count as independent; NaN for the base, and no
    interval where no item differs. p is exact McNemar's on only_base and only_arm, p_holm Holm's over the `family` of
    all differences. Raises ValueError where two arms were not measured alike, naming what differs.
    """
    check_alike(arms)
    base = next((arm for arm in arms if arm.arm == BASE), None)
    rows = []
    for name in sorted_arms([arm.arm for arm in arms]):
        arm = next(arm for arm in arms if arm.arm == name)
        rows += [_cell(arm, task, base if base is not arm else None) for task in arm.tasks]
    table = pd.DataFrame(rows, columns=TABLE3).astype({"chance": float, "difference_points": float, "p": float})
    tested = table.p.notna()
    table["p_holm"], table["family"] = np.nan, int(tested.sum())
    if tested.any():
        table.loc[tested, "p_holm"] = multipletests(table.p[tested], alpha=ALPHA, method="holm")[1]
    return table


def check_alike(arms: list[Retention]) -> None:
    """Raise ValueError, naming arm and field, where arms differ in more than their weights, or in their items."""
    for other in arms[1:]:
        differ = [f"{name} ({arms[0].identity.get(name)} and {other.identity.get(name)})"
                  for name in dict.fromkeys([*arms[0].identity, *other.identity])
                  if name != "checkpoint" and arms[0].identity.get(name) != other.identity.get(name)]
        if differ:
            raise ValueError(f"{arms[0].arm} and {other.arm} were measured differently: {', '.join(differ)}; run "
                             f"{MADE_BY} for both with the same parameters")
        asked = [{task["task"]: task["asked"] for task in arm.tasks} for arm in (arms[0], other)]
        if asked[0] != asked[1] or set(_correct(arms[0])) != set(_correct(other)):
            raise ValueError(f"{arms[0].arm} and {other.arm} were asked other items: remove "
                             f"retention/cache of the study and run {MADE_BY} for both again")


def _correct(arm: Retention, repeat: int = 0) -> dict[tuple[str, str], RetentionItem]:
    return {(row.task, row.item): row for row in arm.items if row.repeat == repeat}


def _cell(arm: Retention, task: dict, base: Retention | None) -> dict:
    own = [row for row in arm.items if row.task == task["task"] and row.repeat == 0]
    cell = {"arm": arm.arm, **{key: task[key] for key in ("task", "n", "chance", "accuracy", "stderr")},
            "correct": sum(row.is_correct for row in own)}
    if base is None:
        return cell
    before = _correct(base)
    change = np.array([row.is_correct - before[row.task, row.item].is_correct for row in own], dtype=float)
    only_base, only_arm = int((change < 0).sum()), int((change > 0).sum())
    cell |= {"only_base": only_base, "only_arm": only_arm, "difference_points": 100 * change.mean(),
             "p": exact_p(only_base, only_arm)}
    if len(change) > 1 and only_base + only_arm:
        described = DescrStatsW(100 * change)
        low, high = described.tconfint_mean(ALPHA)
        cell |= {"se_points": described.std_mean, "low_points": low, "high_points": high}
    return cell


def noise_floor(arms: list[Retention]) -> pd.DataFrame:
    """One row a task of the base asked twice, columns NOISE; empty where it was asked once.

    `changed` counts items that became right or wrong with the batch size alone, `difference_points` what it does to the
    accuracy, and largest_loglik_change shows that the arithmetic did differ.
    """
    rows = []
    for arm in (arm for arm in arms if arm.again):
        first, second = _correct(arm), _correct(arm, repeat=1)
        for task in (task["task"] for task in arm.tasks):
            pairs = [(row, second[key]) for key, row in first.items() if key[0] == task]
            change = [int(after.is_correct) - int(before.is_correct) for before, after in pairs]
            rows.append((task, len(pairs), arm.identity["batch_size"], arm.again["batch_size"], sum(map(abs, change)),
                         100 * sum(change) / len(pairs),
                         max(abs(after.loglik - before.loglik) for before, after in pairs)))
    return pd.DataFrame(rows, columns=NOISE)


def label_of(task: str) -> str:
    """A task's name in a table or figure."""
    return {**HUB_LABELS, **LAB_LABELS}.get(task, task)


def table3_for_reading(table: pd.DataFrame, noise: pd.DataFrame) -> pd.DataFrame:
    """`table3` in the paper's layout: a column a task; under the arms their differences against the base."""
    tasks = list(table.task.unique())
    header = {task: f"{label_of(task)} (n = {table.n[table.task == task].max()})" for task in tasks}
    lines = [("chance", {row.task: "–" if np.isnan(row.chance) else f"{100 * row.chance:.2f}"
                         for row in table.drop_duplicates("task").itertuples()})]
    for arm, rows in table.groupby("arm", sort=False):
        lines.append((arm, {row.task: _percent(row) for row in rows.itertuples()}))
    for arm, rows in table[table.p.notna()].groupby("arm", sort=False):
        lines.append((f"{arm} – {BASE}, points [95%]", {row.task: _points(row) for row in rows.itertuples()}))
        lines.append((f"only {BASE} / only {arm}; McNemar p (Holm of {rows.family.max()})", {
            row.task: f"{row.only_base:.0f} / {row.only_arm:.0f}; {p_value(row.p)} ({p_value(row.p_holm)})"
            for row in rows.itertuples()}))
    if len(noise):
        sizes = f"{noise.batch_size.max()} → {noise.other_batch_size.max()}"
        lines.append((f"{BASE} again, batch size {sizes}: changed, points", {
            row.task: f"{row.changed} of {row.n}, {row.difference_points:+.2f}" for row in noise.itertuples()}))
    return pd.DataFrame([{"arm, % ± SE or [95%]": name, **{header[task]: cells.get(task, "–") for task in tasks}}
                         for name, cells in lines])


def _percent(row) -> str:
    """"63.35 ± 0.38"; where all items are right, or wrong, their spread tells nothing, and Wilson's interval stands."""
    if row.stderr > 0:
        return f"{100 * row.accuracy:.2f} ± {100 * row.stderr:.2f}"
    low, high = proportion_confint(row.correct, row.n, method="wilson")
    return f"{100 * row.accuracy:.2f} [{max(0, 100 * low):.2f}, {min(100, 100 * high):.2f}]"


def _points(row) -> str:
    interval = "[–]" if np.isnan(row.low_points) else f"[{row.low_points:+.2f}, {row.high_points:+.2f}]"
    return f"{row.difference_points:+.2f} {interval}"


def told(table: pd.DataFrame, noise: pd.DataFrame) -> str:
    """What was kept and lost, as sentences with their denominators."""
    compared = table[table.p.notna()]
    if compared.empty:
        return "No arm is compared with the base yet."
    found = [f"{row.arm} on {label_of(row.task)} ({_points(row)} points, n = {row.n})"
             for row in compared[compared.p_holm <= ALPHA].itertuples()]
    changed = f" Another batch size alone changes {noise.changed.sum()} of {noise.n.sum()} items." if len(noise) else ""
    return (f"Of {len(compared)} comparisons with the base, {len(found)} differ at {ALPHA:.0%} after Holm's correction"
            f"{': ' + listed(found) if found else ''}.{changed}")
