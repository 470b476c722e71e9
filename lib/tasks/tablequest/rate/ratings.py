"""Ratings of arms from their matches: sequential ELO and Bradley–Terry, the baseline at 1,000.

Sequential ELO depends on the order of the matches, which the paper does not state: it is given in
the questions' order, with the range over shuffled ones. Bradley–Terry has no order: strengths by
maximum likelihood, where a tie is half a win for each and every two arms that met have one virtual
tie, so that an arm that wins or loses every match has a finite rating.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib.core.arms import ALL
from lib.core.errors import BadInput
from lib.tasks.tablequest.judge.pairs import Match
from lib.tasks.tablequest.records import LEVELS

START = 1000.0
K = 32.0  # most points that one match moves
_POINTS = 400 / np.log(10)  # per unit of log-strength: d points win with 1 / (1 + 10^(-d/400))
_SCORES = {"A": 1.0, "tie": 0.5, "B": 0.0}
_ORDERS, _RESAMPLES, _ITERATIONS = 200, 1000, 300
COLUMNS = ["level", "arm", "n", "elo", "elo_low", "elo_high", "bradley_terry", "low", "high"]


def ratings(matches: Sequence[Match], baseline: str, seed: int = 1) -> pd.DataFrame:
    """Return COLUMNS, a row per level ("all" last) and arm, in points of ELO's scale.

    elo_low to elo_high are 95% of the orders; low to high the 95% interval over passages, each
    drawn with all matches on its questions. Raises BadInput if `baseline` has no match.
    """
    arms = list(dict.fromkeys(arm for one in matches for arm in (one.first_arm, one.second_arm)))
    if arms and baseline not in arms:
        raise BadInput(f"the baseline {baseline!r} has no match; there are {', '.join(arms)}")
    rows, random = [], np.random.default_rng(seed)
    for level in (*LEVELS, ALL):
        cell = [one for one in matches if level in (one.level, ALL) and one.verdict != "unscored"]
        if not cell:
            continue
        drawn = [elo(cell, arms, baseline, random.permutation(len(cell))) for _ in range(_ORDERS)]
        wins = _wins(cell, arms)
        weights = random.multinomial(len(wins), np.full(len(wins), 1 / len(wins)), _RESAMPLES)
        table = pd.DataFrame(
            {
                "level": level,
                "arm": arms,
                "elo": elo(cell, arms, baseline, range(len(cell))),
                "bradley_terry": bradley_terry(wins.sum(0), arms.index(baseline))
            }
        )
        resampled = bradley_terry(np.tensordot(weights, wins, 1), arms.index(baseline))
        ends = np.quantile(resampled, (0.025, 0.975), axis=0)  # of one value in all, none is known
        table["low"], table["high"] = np.where(np.ptp(ends, axis=0) > 1e-6, ends, np.nan)
        table["elo_low"], table["elo_high"] = np.quantile(drawn, (0.025, 0.975), axis=0)
        table["n"] = (wins + wins.swapaxes(1, 2)).sum((0, 2)).astype(int)
        rows.append(table)
    return pd.concat(rows)[COLUMNS] if rows else pd.DataFrame(columns=COLUMNS)


def elo(
    matches: Sequence[Match], arms: Sequence[str], baseline: str, order: Sequence[int]
) -> np.ndarray:
    """Return the ratings of `arms` after the matches in `order`; the baseline's stays at START."""
    rating = dict.fromkeys(arms, START)
    for number in order:
        one, other = matches[number].first_arm, matches[number].second_arm
        expected = 1 / (1 + 10 ** ((rating[other] - rating[one]) / 400))
        change = K * (_SCORES[matches[number].verdict] - expected)
        rating[one] += change * (one != baseline)
        rating[other] -= change * (other != baseline)
    return np.array([*rating.values()])


def bradley_terry(wins: np.ndarray, base: int) -> np.ndarray:
    """Return ratings (..., A) from wins (..., A, A) of arm i over j, with START for arm `base`.

    The iteration is Hunter's (2004, Annals of Statistics 32:384-406).
    """
    met = (wins + np.swapaxes(wins, -1, -2)) > 0
    wins = wins + 0.5 * met
    games = wins + np.swapaxes(wins, -1, -2)
    strength = np.ones(wins.shape[:-1])
    for _ in range(_ITERATIONS):
        pairs = games / (strength[..., :, None] + strength[..., None, :])
        strength = wins.sum(-1) / np.maximum(pairs.sum(-1), 1e-300)
        strength = strength / np.maximum(strength[..., [base]], 1e-300)
    return START + _POINTS * np.log(np.maximum(strength, 1e-300))


def _wins(matches: Sequence[Match], arms: Sequence[str]) -> np.ndarray:
    passages = list(dict.fromkeys(one.passage_id for one in matches))
    wins = np.zeros((len(passages), len(arms), len(arms)))
    for one in matches:
        place, score = passages.index(one.passage_id), _SCORES[one.verdict]
        first, second = arms.index(one.first_arm), arms.index(one.second_arm)
        wins[place, first, second] += score
        wins[place, second, first] += 1 - score
    return wins
