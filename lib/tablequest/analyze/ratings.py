"""Rate arms from their matches by sequential ELO, starting at 1,000, and by Bradley–Terry.

Sequential ELO (Elo 1978) depends on the order of the matches, which the paper does not state. Here
it is the median over many seeded orders, with the range of 95% of them. Bradley–Terry (1952), by
maximum likelihood, does not depend on the order. On ELO's scale a difference d means that the
better arm wins with probability 1 / (1 + 10^(-d/400)). Bradley–Terry counts a tie as half a win for
each arm, as ELO does, so both ratings estimate the same quantity. Davidson's model would need a
parameter for ties, which a judge's flips would bias, because they count as ties.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from lib.tablequest.analyze.matches import Match
from lib.tablequest.records import LEVELS

START = 1000.0
RIDGE = 0.01  # the penalty is half of it times the squared log-strengths, if there is no maximum
_POINTS = 400 / np.log(10)  # ELO points per unit of log-strength
_SCORES = {"A": 1.0, "tie": 0.5, "B": 0.0}
COLUMNS = ["level", "arm", "n", "passages", "wins", "ties", "losses", "bradley_terry", "low",
           "high", "without_maximum", "elo", "elo_low", "elo_high", "note"]


@dataclass(frozen=True)
class Scores:
    """Matches as arrays."""

    passages: np.ndarray  # (Q,), the number of each question's passage
    pairs: np.ndarray  # (P, 2), the positions of each pair's arms
    scores: np.ndarray  # (Q, P), the first arm's score, NaN without a match


def ratings(matches: Sequence[Match], baseline: str, k: float = 32.0, seed: int = 1,
            resamples: int = 1000, orders: int = 200) -> pd.DataFrame:
    """Return one row per level ("all" last) and arm; columns COLUMNS, in points of ELO's scale.

    `baseline` has 1,000. bradley_terry has a 95% percentile interval from `resamples` bootstraps
    over passages, each drawn with all matches on its questions; without_maximum is the share of
    bootstraps without a maximum of the likelihood, in which RIDGE is used. elo is sequential with
    `k` and is the median over `orders` seeded orders of the matches; elo_low to elo_high contain
    95% of these. That range is the effect of order alone, not uncertainty in the data. Unscored
    matches are left out. Raises ValueError if `baseline` has no match or `k` is not above 0.
    """
    arms = list(dict.fromkeys(arm for match in matches
                              for arm in (match.first_arm, match.second_arm)))
    if baseline not in arms:
        raise ValueError(f"the baseline {baseline!r} has no match; there are "
                         f"{', '.join(arms) or 'no arms'}")
    if k <= 0:
        raise ValueError(f"k is {k}: give points above 0, such as 32")
    tables = []
    for level in (*LEVELS, "all"):
        cell = [match for match in matches
                if level in (match.level, "all") and match.verdict != "unscored"]
        if cell:
            rated = _rated(cell, arms, arms.index(baseline), k, seed, resamples, orders)
            tables.append(rated.assign(level=level)[COLUMNS])
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=COLUMNS)


def sequential_elo(matches: Sequence[Match], arms: Sequence[str], k: float,
                   order: Sequence[int]) -> np.ndarray:
    """Return the ratings of `arms` after the matches in `order`, from START.

    After each match, R += k (score - expected).
    """
    place = {arm: number for number, arm in enumerate(arms)}
    rating = [START] * len(arms)
    played = [(place[match.first_arm], place[match.second_arm], _SCORES[match.verdict])
              for match in matches]
    for number in order:
        one, other, score = played[number]
        change = k * (score - 1 / (1 + 10 ** ((rating[other] - rating[one]) / 400)))
        rating[one], rating[other] = rating[one] + change, rating[other] - change
    return np.array(rating)


def bradley_terry(wins: np.ndarray, ridge: float = 0.0) -> np.ndarray:
    """Return log-strengths (..., A), with mean 0, from wins (..., A, A).

    wins[i, j] is how often i beat j, counting ties as halves. Newton's method maximizes the concave
    log-likelihood minus ridge/2 times the squared strengths; an arm without a match is at 0. If
    `ridge` is 0, there must be a maximum: see `has_maximum`.
    """
    n_arms = wins.shape[-1]
    games = wins + np.swapaxes(wins, -1, -2)  # (..., A, A)
    strength = np.zeros(wins.shape[:-1])
    flat = np.full((n_arms, n_arms), 1.0 / n_arms)  # fixes the mean, as the likelihood does not
    for _ in range(100):
        chance = expit(strength[..., :, None] - strength[..., None, :])
        slope = (wins - games * chance).sum(-1) - ridge * strength
        weight = games * chance * (1 - chance)
        curve = np.eye(n_arms) * (weight.sum(-1)[..., None] + ridge + 1e-12) - weight + flat
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        longest = np.abs(step).max(-1, keepdims=True)
        step = step * np.minimum(1, 1 / np.maximum(longest, 1e-300))  # at most 1 per step
        strength = strength + step
        if np.abs(step).max() < 1e-10:
            break
    return strength - strength.mean(-1, keepdims=True)


def has_maximum(wins: np.ndarray) -> bool:
    """Return whether the likelihood has a maximum: wins or ties connect each arm to every other.

    That is Ford's condition (1957).
    """
    return connected_components(wins > 0, directed=True, connection="strong",
                                return_labels=False) == 1


def _rated(matches: list[Match], arms: list[str], base: int, k: float, seed: int, resamples: int,
           orders: int) -> pd.DataFrame:
    table, random = _scores(matches, arms), np.random.default_rng(seed)
    strengths, is_held = _fitted(_wins(table, np.ones((1, len(table.scores))), len(arms)))
    n_passages = table.passages.max() + 1
    drawn = random.multinomial(n_passages, np.full(n_passages, 1 / n_passages), resamples)
    resampled, is_lost = _fitted(_wins(table, drawn[:, table.passages], len(arms)))
    points, spread = (START + _POINTS * (found - found[:, [base]])
                      for found in (strengths, resampled))
    elo = np.array([sequential_elo(matches, arms, k, random.permutation(len(matches)))
                    for _ in range(max(1, orders))])
    elo += START - elo[:, [base]]
    (low, high), (elo_low, elo_high) = _ends(spread), _ends(elo)
    wins, ties, losses = zip(*(_record_of(matches, arm) for arm in arms), strict=True)
    rows = pd.DataFrame({"arm": arms, "wins": wins, "ties": ties, "losses": losses})
    notes = [_note(row.wins, row.ties, row.losses, bool(is_held[0])) for row in rows.itertuples()]
    return rows.assign(
        n=rows.wins + rows.ties + rows.losses, passages=n_passages, bradley_terry=points[0],
        low=low, high=high, without_maximum=float(is_lost.mean()), elo=np.median(elo, axis=0),
        elo_low=elo_low, elo_high=elo_high, note=notes)


def _ends(drawn: np.ndarray) -> np.ndarray:
    """Return the 2.5% and 97.5% quantiles (2, A) of ratings (B, A); NaN for a constant rating.

    The baseline's rating is constant.
    """
    return np.where(np.ptp(drawn, axis=0) < 1e-6, np.nan, np.percentile(drawn, [2.5, 97.5], axis=0))


def _scores(matches: Sequence[Match], arms: Sequence[str]) -> Scores:
    """Arrange the matches as arrays; of several matches on a question and pair, keep the last."""
    rows = pd.DataFrame([(match.question_id, match.first_arm, match.second_arm,
                          _SCORES[match.verdict]) for match in matches],
                        columns=["question", "first", "second", "score"])
    passages = {match.question_id: match.passage_id for match in matches}
    wide = rows.pivot_table(index="question", columns=["first", "second"], values="score",
                            aggfunc="last", sort=False)
    pairs = np.array([[arms.index(first), arms.index(second)] for first, second in wide.columns])
    numbers, _ = pd.factorize(wide.index.map(passages))
    return Scores(numbers, pairs, wide.to_numpy(float))


def _wins(table: Scores, weights: np.ndarray, n_arms: int) -> np.ndarray:
    """Return wins (B, A, A) for each set of questions' weights (B, Q)."""
    won = weights @ np.nan_to_num(table.scores)  # (B, P)
    played = weights @ ~np.isnan(table.scores)
    wins = np.zeros((len(weights), n_arms, n_arms))
    wins[:, table.pairs[:, 0], table.pairs[:, 1]] = won
    wins[:, table.pairs[:, 1], table.pairs[:, 0]] = played - won
    return wins


def _fitted(wins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return strengths (B, A), and which of the B have no maximum and so use RIDGE."""
    is_lost = np.array([not has_maximum(one) for one in wins])
    strengths = np.empty(wins.shape[:2])
    for which, ridge in ((is_lost, RIDGE), (~is_lost, 0.0)):
        if which.any():
            strengths[which] = bradley_terry(wins[which], ridge)
    return strengths, is_lost


def _record_of(matches: Sequence[Match], arm: str) -> tuple[int, int, int]:
    outcomes = [_SCORES[match.verdict] if arm == match.first_arm else 1 - _SCORES[match.verdict]
                for match in matches if arm in (match.first_arm, match.second_arm)]
    return outcomes.count(1.0), outcomes.count(0.5), outcomes.count(0.0)


def _note(won: int, drew: int, lost: int, is_held: bool) -> str:
    if not won + drew + lost:
        return "no match"
    if not is_held:
        return ""
    never = "wins" if not won + drew else "loses" if not lost + drew else ""
    held = f"the likelihood has no maximum; held by a ridge of {RIDGE}"
    return f"never {never} or ties: {held}" if never else held
