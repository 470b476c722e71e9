"""Rate arms from their matches by sequential ELO, starting at 1,000, and by Bradley–Terry.

Sequential ELO (Elo 1978) depends on the order of the matches, which the paper does not state. Here
it is the median over many seeded orders, with the range of 95% of them. Bradley–Terry (1952), by
maximum likelihood, does not depend on the order. On ELO's scale a difference d means that the
better arm wins with probability 1 / (1 + 10^(-d/400)). Bradley–Terry counts a tie as half a win for
each arm, as ELO does, so both ratings estimate the same quantity. Davidson's model would need a
parameter for ties, which a judge's flips would bias, because they count as ties.

A rating is finite only if wins or ties lead from the arm to the baseline and back (Ford 1957, Amer.
Math. Monthly 64:28-33). Otherwise the matches give a bound: where the largest likelihood falls to
ALPHA / 2 of its supremum, with one trial per pair and passage, as answers on a passage may all
depend on it. For two arms it is the end of Clopper and Pearson's 95% interval (1934, Biometrika
26:404-413).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_expit

from lib.analyze.stats import ALPHA
from lib.tasks.tablequest.analyze.matches import Match
from lib.tasks.tablequest.records import LEVELS

START = 1000.0
_POINTS = 400 / np.log(10)  # ELO points per unit of log-strength
_FARTHEST = 50.0  # log-strength; a likelihood changes no more beyond it
_SCORES = {"A": 1.0, "tie": 0.5, "B": 0.0}
COLUMNS = ["level", "arm", "n", "passages", "wins", "ties", "losses", "bradley_terry", "low",
           "high", "without_maximum", "elo", "elo_low", "elo_high", "note"]


def ratings(matches: Sequence[Match], baseline: str, k: float = 32.0, seed: int = 1,
            resamples: int = 1000, orders: int = 200) -> pd.DataFrame:
    """Return one row per level ("all" last) and arm; columns COLUMNS, in points of ELO's scale.

    `baseline` has 1,000. bradley_terry has a 95% percentile interval from `resamples` bootstraps
    over passages, each drawn with all matches on its questions. It is NaN if it is not finite; low
    or high is then its bound, and `note` says why. An end without a limit is infinite.
    without_maximum is the share of bootstraps in which the rating is not finite. elo is sequential
    with `k` and is the median over `orders` seeded orders of the matches; elo_low to elo_high
    contain 95% of these. That range is the effect of order alone, not uncertainty in the data.
    Unscored matches are left out. Raises ValueError if `baseline` has no match or `k` is not above
    0.
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


def bradley_terry(wins: np.ndarray) -> np.ndarray:
    """Return log-strengths (..., A) from wins (..., A, A), with mean 0 in each connected group.

    wins[i, j] is how often i beat j, counting ties as halves. Newton's method maximizes the concave
    log-likelihood of the matches within the groups of `chains`; those between groups say nothing
    of a difference except its sign.
    """
    together = chains(wins)
    together &= np.swapaxes(together, -1, -2)
    wins = wins * together
    games = wins + np.swapaxes(wins, -1, -2)  # (..., A, A)
    strength = np.zeros(wins.shape[:-1])
    flat = together / together.sum(-1, keepdims=True)  # fixes means, as the likelihood does not
    for _ in range(100):
        chance = expit(strength[..., :, None] - strength[..., None, :])
        slope = (wins - games * chance).sum(-1)
        weight = games * chance * (1 - chance)
        curve = np.eye(wins.shape[-1]) * weight.sum(-1)[..., None] - weight + flat
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        longest = np.abs(step).max(-1, keepdims=True)
        step = step * np.minimum(1, 1 / np.maximum(longest, 1e-300))  # at most 1 per step
        strength = strength + step
        if np.abs(step).max() < 1e-10:
            break
    return strength


def chains(wins: np.ndarray) -> np.ndarray:
    """Return (..., A, A): whether wins or ties lead from the first arm to the second."""
    reached = (wins > 0) | np.eye(wins.shape[-1], dtype=bool)
    for _ in range(wins.shape[-1].bit_length()):  # each squaring doubles the longest chain
        reached = reached @ reached
    return reached


def _above(wins: np.ndarray, base: int) -> np.ndarray:
    """Return log-strengths above the baseline (..., A): infinite if separated, NaN if unknown."""
    strength, led = bradley_terry(wins), chains(wins)
    over, under = led[..., :, base], led[..., base, :]
    return np.select([over & under, over, under],
                     [strength - strength[..., [base]], np.inf, -np.inf], np.nan)


def _least(wins: np.ndarray, arm: int, base: int) -> float:
    """Return the smallest log-strength of `arm` above `base`, which it is infinitely above.

    There, the likelihood, maximized over the others' strengths, is ALPHA / 2 of its supremum.
    """
    games = wins + wins.T

    def loss(free: np.ndarray, gap: float) -> tuple[float, np.ndarray]:
        strength = free.copy()
        strength[arm] = strength[base] + gap
        apart = strength[:, None] - strength
        slope = (games * expit(apart) - wins).sum(-1)
        slope[base] += slope[arm]
        slope[arm] = 0
        return -(wins * log_expit(apart)).sum(), slope

    def smallest(gap: float) -> float:
        return minimize(loss, np.zeros(len(wins)), (gap,), jac=True).fun

    most = smallest(_FARTHEST) - np.log(ALPHA / 2)
    return brentq(lambda gap: smallest(gap) - most, -_FARTHEST, _FARTHEST, xtol=1e-4)


def _rated(matches: list[Match], arms: list[str], base: int, k: float, seed: int, resamples: int,
           orders: int) -> pd.DataFrame:
    wins, random = _wins(matches, arms), np.random.default_rng(seed)
    n = len(wins)
    drawn = random.multinomial(n, np.full(n, 1 / n), resamples)  # (B, passages)
    above, resampled = _above(wins.sum(0), base), _above(np.tensordot(drawn, wins, 1), base)
    low, high = START + _POINTS * _ends(resampled)
    games = wins + wins.swapaxes(1, 2)
    once = (wins / np.maximum(games, 0.5)).sum(0)  # a trial per passage and pair
    for arm in np.flatnonzero(above == np.inf):
        low[arm], high[arm] = START + _POINTS * _least(once, arm, base), np.inf
    for arm in np.flatnonzero(above == -np.inf):
        low[arm], high[arm] = -np.inf, START - _POINTS * _least(once, base, arm)
    elo = np.array([sequential_elo(matches, arms, k, random.permutation(len(matches)))
                    for _ in range(max(1, orders))])
    elo += START - elo[:, [base]]
    elo_low, elo_high = _ends(elo)
    won, tied, lost = zip(*(_record_of(matches, arm) for arm in arms), strict=True)
    rows = pd.DataFrame({"arm": arms, "wins": won, "ties": tied, "losses": lost})
    notes = [_note(row.wins, row.ties, row.losses, value)
             for row, value in zip(rows.itertuples(), above, strict=True)]
    return rows.assign(
        n=rows.wins + rows.ties + rows.losses, passages=n,
        bradley_terry=np.where(np.isfinite(above), START + _POINTS * above, np.nan), low=low,
        high=high, without_maximum=(~np.isfinite(resampled)).mean(0), elo=np.median(elo, axis=0),
        elo_low=elo_low, elo_high=elo_high, note=notes)


def _ends(drawn: np.ndarray) -> np.ndarray:
    """Return the 2.5% and 97.5% quantiles (2, A) of (B, A), outwards to the next value drawn.

    They are infinite without a limit, and NaN for a constant such as the baseline's rating.
    """
    places = np.array([0.025, 0.975]) * (len(drawn) - 1)
    low = np.sort(np.where(np.isnan(drawn), -np.inf, drawn), axis=0)[int(places[0])]
    high = np.sort(np.where(np.isnan(drawn), np.inf, drawn), axis=0)[int(np.ceil(places[1]))]
    return np.where(np.isclose(low, high, rtol=0, atol=1e-6), np.nan, [low, high])


def _wins(matches: Sequence[Match], arms: Sequence[str]) -> np.ndarray:
    """Return wins (passages, A, A), a tie as half a win for each arm."""
    passages, _ = pd.factorize(np.array([match.passage_id for match in matches]))
    first, second = (np.array([arms.index(name) for name in names]) for names in zip(
        *((match.first_arm, match.second_arm) for match in matches), strict=True))
    scores = np.array([_SCORES[match.verdict] for match in matches])
    wins = np.zeros((passages.max() + 1, len(arms), len(arms)))
    np.add.at(wins, (passages, first, second), scores)
    np.add.at(wins, (passages, second, first), 1 - scores)
    return wins


def _record_of(matches: Sequence[Match], arm: str) -> tuple[int, int, int]:
    outcomes = [_SCORES[match.verdict] if arm == match.first_arm else 1 - _SCORES[match.verdict]
                for match in matches if arm in (match.first_arm, match.second_arm)]
    return outcomes.count(1.0), outcomes.count(0.5), outcomes.count(0.0)


def _note(won: int, drew: int, lost: int, above: float) -> str:
    """Say why a rating is only a bound, or unknown; "" for a finite one."""
    if not won + drew + lost:
        return "no match"
    if np.isfinite(above):
        return ""
    if np.isnan(above):
        return "no chain of matches leads to the baseline"
    if above > 0:
        why = ("no wins or ties lead from the baseline to it" if drew + lost
               else "never loses or ties")
        return f"{why}: a lower bound"
    why = "no wins or ties lead from it to the baseline" if won + drew else "never wins or ties"
    return f"{why}: an upper bound"
