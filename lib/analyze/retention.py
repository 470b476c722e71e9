"""Table 3: how much general knowledge an arm kept."""

import numpy as np
import pandas as pd

from lib.analyze.stats import holm, t_over
from lib.core.arms import BASE, sorted_arms
from lib.core.store import BadInput, made_by
from lib.retention.records import Retention, RetentionItem

TABLE3 = (
    "arm task n chance correct accuracy stderr only_base only_arm difference_points se_points "
    "low_points high_points p p_holm"
).split()


def table3(arms: list[Retention]) -> pd.DataFrame:
    """Return one row per arm and task, in columns TABLE3; accuracy and stderr are fractions of 1.

    Differences from the base are paired by item, in points. Raises BadInput: see `check_alike`.
    """
    check_alike(arms)
    measured = {arm.arm: arm for arm in arms}
    base = measured.get(BASE)
    rows = [
        _cell(measured[name], task, base if name != BASE else None)
        for name in sorted_arms(measured)
        for task in measured[name].tasks
    ]
    table = pd.DataFrame(rows, columns=TABLE3)
    floats = "chance accuracy stderr difference_points se_points p".split()
    table = table.astype(dict.fromkeys(floats, float))
    return table.assign(p_holm=holm(table.p))


def check_alike(arms: list[Retention]) -> None:
    """Raise BadInput if arms differ in more than their weights, or in their items."""
    for other in arms[1:]:
        one, two = (
            {
                **arm.fingerprint,
                "checkpoint": "",
                "items": set(_by_item(arm)),
                **{task["task"]: task["asked"] for task in arm.tasks},
            }
            for arm in (arms[0], other)
        )
        if differ := [name for name in {**one, **two} if one.get(name) != two.get(name)]:
            raise BadInput(
                f"{arms[0].arm} and {other.arm} were measured differently: "
                f"{', '.join(differ)}; run "
                f"{made_by('retention')} for both with the same parameters"
            )


def _by_item(arm: Retention) -> dict[tuple[str, str], RetentionItem]:
    return {(row.task, row.item): row for row in arm.items}


def _cell(arm: Retention, task: dict, base: Retention | None) -> dict:
    own = [row for row in arm.items if row.task == task["task"]]
    cell = {
        "arm": arm.arm,
        **{key: task[key] for key in TABLE3 if key in task},
        "correct": sum(row.is_correct for row in own),
    }
    if base is None or not own:
        return cell
    from statsmodels.stats.contingency_tables import mcnemar  # slow to import

    before = _by_item(base)
    change = np.array(
        [row.is_correct - before[row.task, row.item].is_correct for row in own], dtype=float
    )
    only_base, only_arm = int((change < 0).sum()), int((change > 0).sum())
    cell |= {
        "only_base": only_base,
        "only_arm": only_arm,
        "p": mcnemar([[0, only_base], [only_arm, 0]], exact=True).pvalue,
        "difference_points": 100 * change.mean(),
    }
    if len(set(change)) > 1:
        found = t_over(100 * change)
        cell |= {
            "se_points": found["sd"] / len(change) ** 0.5,
            "low_points": found["low"],
            "high_points": found["high"],
        }
    return cell
