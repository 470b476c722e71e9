"""Ratings of arms from their matches: sequential ELO from 1,000, and Bradley–Terry by maximum likelihood.

Sequential ELO (Elo 1978) depends on the order of the matches, so the paper's figure has an unstated part: here it is
the median over many orders drawn with a seed, and how far the order moves the ratings stands beside. Bradley–Terry
(1952) has no order. On ELO's scale a difference d means that the better arm wins with probability
1 / (1 + 10^(-d/400)). A tie is half a win to each, as in ELO, so that both estimate one quantity; Davidson's model
would need a parameter for ties that a judge's flips, which count as ties, would bend.
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
RIDGE = 0.01  # of squared log-strengths, halved: where the likelihood has no maximum, and only there
_POINTS = 400 / np.log(10)  # ELO points a unit of log-strength
_SCORES = {"A": 1.0, "tie": 0.5, "B": 0.0}
COLUMNS = ["level", "arm", "n", "passages", "wins", "ties", "losses", "bradley_terry", "low", "high",
           "without_maximum", "elo", "elo_low", "elo_high", "note"]


@dataclass(frozen=True)
class Scores:
    """Matches as arrays: (questions, pairs) of the first arm's score, NaN where none; the pairs as places in `arms`."""

    arms: tuple[str, ...]
    passages: np.ndarray  # (Q,) the number of each question's passage
    pairs: np.ndarray  # (P, 2)
    scores: np.ndarray  # (Q, P)


def ratings(matches: Sequence[Match], baseline: str, k: float = 32.0, seed: int = 1, resamples: int = 1000,
            orders: int = 200) -> pd.DataFrame:
    """One row a level ("all" last) and arm with the columns COLUMNS; ratings are ELO points, the baseline's 1,000.

    bradley_terry has a 95% percentile interval of `resamples` bootstraps over passages, each with all matches on its
    questions; without_maximum is the share of them in which the likelihood has none and RIDGE is used. elo is
    sequential with `k`, shifted so that the baseline has 1,000: the median of `orders` seeded orders of the matches, of
    which elo_low and elo_high hold 95%: the spread of the order alone, no uncertainty of the data. Unscored matches
    are left out. Raises ValueError where `baseline` has no match, and for `k` at or below 0.
    """
    arms = list(dict.fromkeys(arm for match in matches for arm in (match.first_arm, match.second_arm)))
    if baseline not in arms:
        raise ValueError(f"the baseline {baseline!r} has no match; there are {', '.join(arms) or 'no arms'}")
    if k <= 0:
        raise ValueError(f"k is {k}: give points above 0, such as 32")
    rows = []
    for level in (*LEVELS, "all"):
        cell = [match for match in matches if level in (match.level, "all") and match.verdict != "unscored"]
        if cell:
            rows += _of_level(level, cell, arms, baseline, k, seed, resamples, orders)
    return pd.DataFrame(rows, columns=COLUMNS)


def sequential_elo(matches: Sequence[Match], arms: Sequence[str], k: float, order: Sequence[int]) -> np.ndarray:
    """The ratings of `arms` after the matches in `order`, from START: R += k (score - expected), after each match."""
    place = {arm: number for number, arm in enumerate(arms)}
    rating = [START] * len(arms)
    played = [(place[match.first_arm], place[match.second_arm], _SCORES[match.verdict]) for match in matches]
    for number in order:
        one, other, score = played[number]
        change = k * (score - 1 / (1 + 10 ** ((rating[other] - rating[one]) / 400)))
        rating[one], rating[other] = rating[one] + change, rating[other] - change
    return np.array(rating)


def bradley_terry(wins: np.ndarray, ridge: float = 0.0) -> np.ndarray:
    """Log-strengths (..., A), mean 0, of wins (..., A, A): wins[i, j] is how often i beat j, ties as halves.

    Newton's steps on the concave log-likelihood, less ridge/2 times the squared strengths; an arm without a match
    is at 0. With `ridge` 0 there has to be a maximum: see has_maximum.
    """
    games = wins + np.swapaxes(wins, -1, -2)  # (..., A, A)
    strength = np.zeros(wins.shape[:-1])
    flat = np.full((wins.shape[-1],) * 2, 1.0 / wins.shape[-1])  # fixes the mean, which the likelihood leaves free
    for _ in range(100):
        chance = expit(strength[..., :, None] - strength[..., None, :])
        slope = (wins - games * chance).sum(-1) - ridge * strength
        weight = games * chance * (1 - chance)
        curve = np.eye(wins.shape[-1]) * (weight.sum(-1)[..., None] + ridge + 1e-12) - weight + flat
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        step = step * np.minimum(1, 1 / np.maximum(np.abs(step).max(-1, keepdims=True), 1e-300))  # at most 1 a time
        strength = strength + step
        if np.abs(step).max() < 1e-10:
            break
    return strength - strength.mean(-1, keepdims=True)


def has_maximum(wins: np.ndarray) -> bool:
    """Whether the likelihood has one (Ford 1957): from every arm a way of wins, or ties, leads to every other."""
    return connected_components(wins > 0, directed=True, connection="strong", return_labels=False) == 1


def _of_level(level: str, matches: list[Match], arms: list[str], baseline: str, k: float, seed: int, resamples: int,
              orders: int) -> list[dict]:
    table = _scores(matches, arms)
    base, random = arms.index(baseline), np.random.default_rng(seed)
    wins = _wins(table, np.ones((1, len(table.scores))))
    strengths, no_maximum = _fitted(wins)
    n_passages = table.passages.max() + 1
    drawn = random.multinomial(n_passages, np.full(n_passages, 1 / n_passages), resamples)
    resampled, is_lost = _fitted(_wins(table, drawn[:, table.passages]))
    points, spread = (START + _POINTS * (found - found[:, [base]]) for found in (strengths, resampled))
    low, high = _ends(spread)
    elo = np.array([sequential_elo(matches, arms, k, random.permutation(len(matches))) for _ in range(max(1, orders))])
    elo += START - elo[:, [base]]
    (elo_low, elo_high), middle = _ends(elo), np.median(elo, axis=0)
    rows = []
    for place, arm in enumerate(arms):
        won, drew, lost = _record_of(matches, arm)
        rows.append({"level": level, "arm": arm, "n": won + drew + lost, "passages": n_passages,
                     "wins": won, "ties": drew, "losses": lost, "bradley_terry": points[0, place],
                     "low": low[place], "high": high[place],
                     "without_maximum": float(is_lost.mean()), "elo": middle[place], "elo_low": elo_low[place],
                     "elo_high": elo_high[place],
                     "note": _note(arm, won, drew, lost, bool(no_maximum[0]))})
    return rows


def _ends(drawn: np.ndarray) -> np.ndarray:
    """The 2.5% and 97.5% quantiles (2, A) of ratings (B, A); NaN where nothing varies, as at the anchored baseline."""
    return np.where(np.ptp(drawn, axis=0) < 1e-6, np.nan, np.percentile(drawn, [2.5, 97.5], axis=0))


def _scores(matches: Sequence[Match], arms: Sequence[str]) -> Scores:
    """A question with several matches of one pair would be doubled: the last counts; there is one by construction."""
    rows = pd.DataFrame([(match.question_id, match.first_arm, match.second_arm, _SCORES[match.verdict])
                         for match in matches], columns=["question", "first", "second", "score"])
    passages = {match.question_id: match.passage_id for match in matches}
    wide = rows.pivot_table(index="question", columns=["first", "second"], values="score", aggfunc="last", sort=False)
    pairs = np.array([[arms.index(first), arms.index(second)] for first, second in wide.columns])
    numbers, _ = pd.factorize(wide.index.map(passages))
    return Scores(tuple(arms), numbers, pairs, wide.to_numpy(float))


def _wins(table: Scores, weights: np.ndarray) -> np.ndarray:
    """(B, A, A) wins under each of the weights (B, Q) of the questions."""
    is_there = ~np.isnan(table.scores)
    won, played = weights @ np.nan_to_num(table.scores), weights @ is_there  # (B, P)
    wins = np.zeros((len(weights), len(table.arms), len(table.arms)))
    wins[:, table.pairs[:, 0], table.pairs[:, 1]] = won
    wins[:, table.pairs[:, 1], table.pairs[:, 0]] = played - won
    return wins


def _fitted(wins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Strengths (B, A), and which of the B have no maximum and are held by RIDGE."""
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


def _note(arm: str, won: int, drew: int, lost: int, no_maximum: bool) -> str:
    if not won + drew + lost:
        return "no match"
    if not no_maximum:
        return ""
    never = "never wins or ties" if not won + drew else "never loses or ties" if not lost + drew else ""
    held = f"the likelihood has no maximum; held by a ridge of {RIDGE}"
    return f"{never}: {held}" if never else held
