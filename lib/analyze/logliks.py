"""Log-likelihoods of reference answers, their registered contrasts; Table 3."""

import json

import numpy as np
import pandas as pd

from lib.analyze.stats import (
    by_seed,
    cluster_interval,
    cluster_mean,
    has_one_seed,
    holm,
    mean_of,
    over_units,
    sign_flip_p,
    t_test,
)
from lib.core.arms import ALL, BASE, COVERAGE, sorted_arms
from lib.core.records import STRUCTURES, Query, Retention, RetentionItem, Score
from lib.core.store import BadInput, load, made_by, require_artifact, require_known

WAYS = ("question", "cloze")  # after the question; after the record's own words
ONE_SEED = "one seed: no interval over retraining"
CONTRAST = "contrast n clusters estimate low high p covers by_seed".split()
TABLE3 = (
    "arm task n chance correct accuracy stderr only_base only_arm difference_points se_points "
    "low_points high_points p p_holm"
).split()


def scored(queries: list[Query], scores: list[Score], clusters: dict[str, str]) -> pd.DataFrame:
    """Return a row per score: arm, query_id, structure, cluster, nats per token by WAYS, and
    memorized: whether greedy decoding completes the record's words."""
    rows = pd.DataFrame(map(vars, scores), columns=[*Score.model_fields])
    numbers = rows.filter(regex="_(loglik|tokens)$").astype(float)
    structures = {query.query_id: query.structure for query in queries}
    return rows.assign(
        structure=rows.query_id.map(structures),
        cluster=rows.query_id.map(clusters),
        question=numbers.answer_loglik / numbers.answer_tokens,
        cloze=numbers.cloze_loglik / numbers.cloze_tokens,
        memorized=rows.cloze_is_greedy.astype(float),
    )[["arm", "query_id", "structure", "cluster", *WAYS, "memorized"]]


def logliks_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean nats per token by arm and structure, and the gain over the base on the same
    answers; 95% intervals over clusters."""
    before = rows[rows.arm == BASE].set_index("query_id")[[*WAYS]].reindex(rows.query_id)
    gains = (rows[[*WAYS]] - before.to_numpy()).where(rows.arm != BASE)
    rows, found = rows.join(gains.add_suffix("_gain")), []
    for arm in sorted_arms(rows.arm):
        for structure in (*STRUCTURES, ALL):
            part = rows[rows.arm.eq(arm) & (rows.structure.eq(structure) | (structure == ALL))]
            cell = {"arm": arm, "structure": structure, "n": len(part)}
            for name in [f"{way}{end}" for way in WAYS for end in ("", "_gain")]:
                values = part[name].dropna()
                low, high = cluster_interval(values, part.cluster[values.index])
                cell |= {name: values.mean(), f"{name}_low": low, f"{name}_high": high}
            found.append(cell)
    return pd.DataFrame(found)


def contrasts(rows: pd.DataFrame, registered: list[str], way: str = WAYS[0]) -> pd.DataFrame:
    """Test "second - first: structures" or "…: structures - structures", joined by +, in nats.

    Arms are averaged over their seeds. low, high, p and p_holm are over clusters (CR2) and seeds.
    Holm's family is `registered`; a contrast is left out if an arm has no values of `way`.
    """
    seeds = by_seed(rows, way)
    known = {*seeds.columns.get_level_values("arm")}
    found = []
    for text in registered:
        arms, _, structures = text.partition(": ")
        second, first = arms.split(" - ")
        if {second, first} <= known:
            found.append((text, *_contrast(seeds, second, first, structures)))
    table = pd.DataFrame(found, columns=CONTRAST)
    return table.assign(p_holm=holm(table.p, len(registered)))


def _contrast(seeds: pd.DataFrame, second: str, first: str, structures: str) -> tuple:
    left, _, right = (side.split("+") for side in structures.partition(" - "))
    require_known("contrasts:", filter(None, [*left, *right]), (*STRUCTURES, *COVERAGE))
    used = seeds[seeds.index.isin([*left, *right], level="structure")]
    is_left = used.index.isin(left, level="structure")
    clusters, sides = used.index.get_level_values("cluster"), [used[second], used[first]]
    sizes = [side.shape[1] for side in sides]
    is_one = has_one_seed((second, first), sizes)
    # the same seed of two arms draws alike; an arm that no seed changes has the same for all
    most = max(sides, key=lambda side: side.shape[1]).columns
    sides = [
        side if n > 1 else side.iloc[:, [0] * len(most)].set_axis(most, axis=1)
        for side, n in zip(sides, sizes, strict=True)
    ]
    each = (sides[0] - sides[1]).dropna(axis=1, how="all")
    is_own = None if is_left.all() else is_left
    own = mean_of(each, is_own)
    mean, error, freedom = cluster_mean(each.mean(axis=1), clusters, is_own)
    parts, covers = [(error**2, freedom)], ONE_SEED if is_one else "documents"
    if not is_one and len(own) > 1:
        parts.append((own.var() / len(own), len(own) - 1))
        covers = "documents and seeds"
    return (len(used), clusters.nunique(), mean, *t_test(mean, parts), covers, [*own])


def read_retention(study: str, arms: list[str]) -> list[Retention]:
    """What lib.retention has written. Raises BadInput naming an arm not yet measured."""
    measured = []
    for arm in arms:
        path = require_artifact(study, "retention", arm=arm).with_suffix(".json")
        items = load(study, "retention", RetentionItem, arm=arm)
        measured.append(Retention(**json.loads(path.read_text(encoding="utf-8")), items=items))
    return measured


def table3(arms: list[Retention]) -> pd.DataFrame:
    """Return one row per arm and task, in columns TABLE3; accuracy and stderr are fractions of 1.

    Differences from the base are paired by item, in points. Raises BadInput if arms differ in more
    than their weights, or in their items.
    """
    for other in arms[1:]:
        _check_alike(arms[0], other)
    known = {arm.arm: {(row.task, row.item): row.is_correct for row in arm.items} for arm in arms}
    tasks = {arm.arm: arm.tasks for arm in arms}
    rows = [
        {"arm": name} | _retained(known[name], task, known.get(BASE, {}) if name != BASE else {})
        for name in sorted_arms(known)
        for task in tasks[name]
    ]
    table = pd.DataFrame(rows, columns=TABLE3)
    floats = "chance accuracy stderr difference_points se_points p".split()
    table = table.astype(dict.fromkeys(floats, float))
    return table.assign(p_holm=holm(table.p))


def _check_alike(*arms: Retention) -> None:
    one, two = (
        {
            **arm.fingerprint,
            "checkpoint": "",
            "items": {(row.task, row.item) for row in arm.items},
            **{task["task"]: task["asked"] for task in arm.tasks},
        }
        for arm in arms
    )
    if differ := [name for name in {**one, **two} if one.get(name) != two.get(name)]:
        raise BadInput(
            f"{arms[0].arm} and {arms[1].arm} were measured differently: {', '.join(differ)}; run "
            f"{made_by('retention')} for both with the same parameters"
        )


def _retained(own: dict[tuple, bool], task: dict, before: dict[tuple, bool]) -> dict:
    items = [item for item in own if item[0] == task["task"]]
    cell = {key: task[key] for key in TABLE3 if key in task}
    cell["correct"] = sum(own[item] for item in items)
    if not before or not items:
        return cell
    change = np.array([float(own[item]) - before[item] for item in items])
    found = over_units(100 * change)
    return cell | {
        "only_base": int((change < 0).sum()),
        "only_arm": int((change > 0).sum()),
        "difference_points": 100 * change.mean(),
        "se_points": (found["sd"] or np.nan) / len(change) ** 0.5,
        "low_points": found["low"],
        "high_points": found["high"],
        "p": sign_flip_p(change),  # that of an exact McNemar test
    }
