"""Agreement of two judges, or of a judge and a person, on the same answers (paper, 3.1)."""

from collections.abc import Iterable, Mapping
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from lib.core.arms import ALL, sorted_arms
from lib.core.records import Query, Verdict
from lib.core.structures import STRUCTURES

SCORED = ("correct", "incorrect")
PERSON = "person"  # the judge whose verdicts are the labels of the sheet
COEFFICIENTS = ("agreement", "kappa", "ac1")


def paired_verdicts(
    queries: Iterable[Query],
    verdicts: Mapping[str, Iterable[Verdict]],
    weights: Mapping[tuple[str, str], float] | None = None,
) -> pd.DataFrame:
    """Return one row per answer and pair of judges that both judged it; `verdicts` is by judge.

    `weights` maps (query_id, arm) to the answers that a sampled one represents.
    """
    keys, parts = ["query_id", "arm"], []
    known = ["query_id", "document_id", "structure"]
    asked = pd.DataFrame(map(vars, queries), columns=known)
    for judges in combinations(verdicts, 2):
        first, second = (
            pd.DataFrame(map(vars, verdicts[judge]), columns=[*keys, "verdict", "reason"]).rename(
                columns={"verdict": side, "reason": f"{side}_reason"}
            )
            for judge, side in zip(judges, ("first", "second"), strict=True)
        )
        both = first.merge(second, on=keys, validate="one_to_one").merge(asked, on="query_id")
        parts.append(both.assign(first_judge=judges[0], second_judge=judges[1]))
    rows = pd.concat(parts, ignore_index=True)
    sampled = (rows[["first_judge", "second_judge"]] == PERSON).any(axis=1)
    weight = [(weights or {}).get(key, 1.0) for key in zip(rows.query_id, rows.arm, strict=True)]
    return rows.assign(weight=np.where(sampled, weight, 1.0))


def agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """Return agreement, kappa and AC1 of the scored answers by pair of judges, structure and arm.

    lenient counts the answers that only the first judge calls correct, strict the reverse.
    """
    arms, table = sorted_arms(rows.arm), []
    for judges, pair in rows.groupby(["first_judge", "second_judge"], sort=False):
        parts = [(ALL, name, pair[pair.structure == name]) for name in STRUCTURES]
        parts += [(ALL, ALL, pair)]
        parts += [(arm, ALL, pair[pair.arm == arm]) for arm in arms if len(arms) > 1]
        table += [
            {
                "first_judge": judges[0],
                "second_judge": judges[1],
                "arm": arm,
                "structure": structure,
                **_cell(part),
            }
            for arm, structure, part in parts
            if len(part)
        ]
    return pd.DataFrame(table)


def _cell(part: pd.DataFrame) -> dict[str, float]:
    both = part[part["first"].isin(SCORED) & part.second.isin(SCORED)]
    counts = {
        "n": len(part),
        "unscored_first": int((part["first"] == "unscored").sum()),
        "unscored_second": int((part.second == "unscored").sum()),
        "scored": len(both),
        "agreed": int((both["first"] == both.second).sum()),
        "lenient": int(((both["first"] == "correct") & (both.second != "correct")).sum()),
        "strict": int(((both["first"] != "correct") & (both.second == "correct")).sum()),
    }
    codes, documents = pd.factorize(both.document_id)
    tables = np.zeros((len(documents), 2, 2))
    states = [(both[side] == "incorrect").to_numpy(int) for side in ("first", "second")]
    np.add.at(tables, (codes, *states), both.weight.to_numpy(float))
    return counts | clustered_coefficients(tables)


def clustered_coefficients(tables: np.ndarray) -> dict[str, float]:
    """Return `coefficients` of the sum of `tables` (documents, 2, 2), with 95% intervals.

    Student's t with the jackknife's error over documents; NaN with one or an error of 0.
    """
    values, documents = coefficients(tables.sum(axis=0)), len(tables)
    errors = np.full(len(values), np.nan)
    if documents > 1:
        left_out = np.array(
            [list(coefficients(tables.sum(axis=0) - table).values()) for table in tables]
        )
        with np.errstate(invalid="ignore"):
            squares = ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
        errors = np.sqrt((documents - 1) / documents * squares)
    found = {}
    for (name, value), error in zip(values.items(), errors, strict=True):
        reach = stdtrit(documents - 1, 0.975) * error if error > 1e-6 else np.nan
        found |= {
            name: value,
            f"{name}_low": max(-1.0, value - reach) if reach > 0 else np.nan,
            f"{name}_high": min(1.0, value + reach) if reach > 0 else np.nan,
        }
    return found


def coefficients(table: np.ndarray) -> dict[str, float]:
    """Return agreement, kappa and AC1 of counts (2, 2) by both raters' verdicts; NaN without any.

    AC1: Gwet 2008, Brit. J. Math. Stat. Psychol. 61:29-48.
    """
    from statsmodels.stats.inter_rater import cohens_kappa  # slow to import

    if not table.sum() > 0:
        return dict.fromkeys(COEFFICIENTS, np.nan)
    shares = table / table.sum()
    mean, agreed = (shares.sum(0) + shares.sum(1)) / 2, np.trace(shares)
    chance = (mean * (1 - mean)).sum() / (len(table) - 1)
    kappa = cohens_kappa(table, return_results=False) if (mean > 0).sum() > 1 else np.nan
    return {
        "agreement": float(agreed),
        "kappa": float(kappa),
        "ac1": float((agreed - chance) / (1 - chance)),
    }
