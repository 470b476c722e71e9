"""Test differences without a model, by permuting products' offsets or by flipping signs.

A product's sections are written in a cycle of structures that begins at the product's offset and
moves on by one per rotation. Only the offset is randomized over products, so only the offsets are
permuted. The labels of all sections of a product thus move together, in all rotations and seeds,
and effects that a product's or a run's facts share remain shared.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import permutation_test

from lib.analyze.statistics.paired import ROUNDING
from lib.controlled.analyze.rows import Measure


@dataclass(frozen=True)
class Square:
    """One arm's Latin square: facts and seeds that are measured in all k rotations."""

    pairs: pd.DataFrame  # product, section, fact_id, seed
    values: np.ndarray  # (pairs, k), one column per rotation
    cycle: tuple[str, ...]  # k structures
    starts: np.ndarray  # (pairs,), the place in the cycle of the structure in rotation 0
    units: np.ndarray  # (pairs,), the product's number
    offsets: np.ndarray  # (products,), the start of the product's first section

    def differences(self, structure: str, reference: str,
                    shifts: np.ndarray | int = 0) -> np.ndarray:
        """Return structure - reference, shape (pairs,), with labels moved on by `shifts`."""
        every = np.arange(len(self.values))
        first, second = (self.values[every, (self.cycle.index(name) - self.starts - shifts)
                                     % len(self.cycle)] for name in (structure, reference))
        return first - second

    def totals(self, structure: str, reference: str) -> np.ndarray:
        """Return each product's summed difference under each shift, shape (products, k)."""
        return np.stack([np.bincount(self.units, self.differences(structure, reference, shift))
                         for shift in range(len(self.cycle))], axis=1)


def square(rows: pd.DataFrame, measure: Measure) -> Square:
    """Return the square of one arm's rows.

    Raises ValueError unless every section has each structure once in the rotations 0..k-1, in one
    common cycle, and some fact and seed is measured in all rotations.
    """
    cells = rows.drop_duplicates(["product", "section", "rotation"])
    labels = cells.set_index(["product", "section", "rotation"]).structure.unstack("rotation")
    cycle = tuple(labels.iloc[0]) if len(labels) else ()
    k = len(cycle)
    starts = pd.Series([cycle.index(label) if label in cycle else -1
                        for label in labels.get(0, [])], labels.index if 0 in labels else [])
    expected = [[cycle[(start + rotation) % k] for rotation in range(k)] for start in starts]
    is_cycle = labels.to_numpy().tolist() == expected and len(set(cycle)) == k > 0
    if not is_cycle or list(labels.columns) != list(range(k)):
        raise ValueError(f"the {k} rotations found do not give every section each of "
                         f"{rows.structure.nunique()} structures once, in one order: a permutation "
                         "needs all of them")
    keys = ["product", "section", "fact_id", "seed"]
    values = rows.assign(value=measure.of(rows)).pivot(
        index=keys, columns="rotation", values="value").dropna()
    if values.empty:
        raise ValueError("no fact and seed is measured in all rotations")
    pairs = values.index.to_frame(index=False)
    units, products = pd.factorize(pairs["product"], sort=True)
    sections = pd.MultiIndex.from_frame(pairs[["product", "section"]])
    return Square(pairs, values.to_numpy(float), cycle, starts.loc[sections].to_numpy(), units,
                  starts.groupby(level="product").first().loc[products].to_numpy())


def permuted_p(found: Square, structure: str, reference: str, *, draws: int = 9999,
               seed: int = 17) -> float:
    """Return the two-sided p of the difference within fact, permuting the products' offsets.

    p = (1 + permutations at least as far from 0) / (1 + draws), which is never 0 (Phipson and Smyth
    2010, Statistical Applications in Genetics and Molecular Biology 9:39). It is exact if no
    structure changes any outcome of these runs. A permutation moves all structures, so the effect
    of a third structure would enter the draws for two equal ones. The statistic is therefore
    studentized, which keeps the test's size for those two as products increase (Chung and Romano
    2013, Annals of Statistics 41:484-507). Variation between seeds is in the interval, not in p.
    """
    totals = found.totals(structure, reference)
    return offsets_p(totals, found.offsets, draws, np.random.default_rng(seed))


def offsets_p(totals: np.ndarray, offsets: np.ndarray, draws: int,
              rng: np.random.Generator) -> float:
    """Return permuted_p of totals[:, 0]; `totals` is (products, k), `offsets` (products,)."""
    drawn = rng.permuted(np.tile(offsets, (draws, 1)), axis=1)  # (draws, products)
    shifts = (drawn - offsets) % totals.shape[1]
    statistics = studentized(totals[np.arange(len(offsets)), shifts])
    observed = float(studentized(totals[:, 0]))
    return float((1 + (statistics >= observed * (1 - 1e-9)).sum()) / (1 + draws))


def studentized(sums: np.ndarray) -> np.ndarray:
    """Return |sum| / SD over the last axis, the products.

    If the products' sums do not vary, return 0 for a sum of 0 and infinity for any other.
    """
    total = np.abs(sums.sum(axis=-1))
    deviation = sums.std(axis=-1, ddof=1) if sums.shape[-1] > 1 else 0 * sums[..., 0]
    is_flat = deviation < ROUNDING
    flat = np.where(total < ROUNDING, 0, np.inf)
    return np.where(is_flat, flat, total / np.where(is_flat, 1, deviation))


def sign_flip_p(differences: pd.Series, products: pd.Series, *, draws: int = 9999,
                seed: int = 17) -> float:
    """Return the two-sided p of a mean difference, flipping the sign of each product's sum.

    This is scipy's test; it is exact if there are fewer sign patterns than draws. p is NaN with
    fewer than two products.
    """
    sums = differences.groupby(products.to_numpy()).sum().to_numpy(float)
    if len(sums) < 2:
        return float("nan")
    return float(permutation_test((sums,), lambda values, axis: values.sum(axis=axis),
                                  permutation_type="samples", vectorized=True, n_resamples=draws,
                                  rng=np.random.default_rng(seed)).pvalue)
