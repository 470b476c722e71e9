"""Made-up outcomes of runs, with known effects."""

import numpy as np
import pandas as pd

from lib.controlled.records import Outcome
from lib.tasks.spark.structures import STRUCTURES


def outcomes_of(n_products: int = 12, seeds: int = 3,
                effects: tuple[float, ...] = (0, -0.1, -0.2), *, base: float = 0.5, noise: int = 1,
                tokens: int = 1000, structures: tuple[str, ...] = tuple(STRUCTURES),
                own_facts: bool = False) -> pd.DataFrame:
    """Return outcomes of `raw` in all rotations, nine facts per product.

    There are random effects of product, fact, run and seed. With `own_facts`, each base has other
    names of products.
    """
    rng, k = np.random.default_rng(noise), len(structures)
    product, fact = rng.normal(0, 0.1, n_products), rng.normal(0, 0.1, (n_products, 9))
    run, seed = rng.normal(0, 0.03, (k, seeds)), rng.normal(0, 0.05, seeds)
    rows = []
    for p, number, r, s in np.ndindex(n_products, 9, k, seeds):
        section, place = divmod(number, 3)
        structure, is_list = (p + section + r) % k, place == 2
        chance = base + product[p] + fact[p, number] + run[r, s] + seed[s] + effects[structure]
        correct, n_items = bool(rng.random() < chance), 2 + p % 3 if is_list else 1
        name = f"Arden {p}" + f" {s + 1}" * own_facts
        rows.append(Outcome(
            arm="raw", rotation=r, seed=s + 1, fact_id=f"{name}/fact {number}",
            product=name, section=section, attribute=f"fact {number}", place=place,
            kind=("number", "word")[(p + number) % 2], n_items=n_items, answer="7",
            structure=structures[structure], correct=correct,
            items_named=n_items if correct else 0, items_surplus=0, question_loglik=-2.0,
            question_tokens=4, question_argmax=correct, cloze_loglik=None if is_list else -1.0,
            cloze_tokens=None if is_list else 3,
            cloze_argmax=None if is_list else correct or rng.random() < 0.2,
            span_tokens=10 + structure, distance_tokens=20 + 30 * section,
            run_tokens=tokens, trained_tokens=tokens, retained=1.0).model_dump())
    return pd.DataFrame(rows)


def diagonal(rows: pd.DataFrame, arm: str, **changed) -> pd.DataFrame:
    """Return the runs of an arm with one rotation per seed, under another name."""
    is_run = rows.rotation == (rows.seed - 1) % rows.rotation.nunique()
    return rows[is_run].assign(arm=arm, **changed)


RAW = outcomes_of(12)


def cell(table: pd.DataFrame, **keys):
    """Return the only row of `table` with these values."""
    for key, value in keys.items():
        table = table[table[key] == value]
    (row,) = table.itertuples()
    return row
