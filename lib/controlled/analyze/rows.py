"""Read the rows that the analysis starts from, define its measures, estimate mean differences."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lib.analyze.statistics.seeds import (
    BOTH,
    QUERIES_ONLY,
    WILSON,
    both_sources,
    standard_error,
)
from lib.analyze.stats import wilson
from lib.controlled.records import AcquiredFact, Outcome
from lib.core.files import artifact_path, load, made_by
from lib.core.paths import MissingInput, shown
from lib.core.records import STRUCTURES, Record

POINTS, NATS = "points", "nats a token"
ESTIMATE = ["n", "clusters", "seeds", "pairs", "estimate", "low", "high", "interval"]
NO_VARIATION = "none: nothing varies between products"


@dataclass(frozen=True)
class Measure:
    """A property of an answered fact: a number for each row, or NaN if it was not measured."""

    label: str
    unit: str
    of: Callable[[pd.DataFrame], pd.Series]
    scale: float = 100.0  # `of` times `scale` is in `unit`


def _stored(rows: pd.DataFrame) -> pd.Series:
    return rows.cloze_argmax.astype("boolean").astype("Float64").astype(float)


# The first measure answers the study's question; the others show whether a lost fact was not
# stored or not recalled.
MEASURES = {
    "correct": Measure("answered, strictly", POINTS, lambda rows: rows.correct.astype(float)),
    "items": Measure("items named, lists", POINTS,
                     lambda rows: (rows.items_named / rows.n_items).where(rows.n_items > 1)),
    "stored": Measure("stored (cloze)", POINTS, _stored),
    "unreached": Measure("stored, not answered", POINTS,
                         lambda rows: _stored(rows) * ~rows.correct.astype(bool)),
    "loglik": Measure("log-likelihood of the answer", NATS,
                      lambda rows: rows.question_loglik / rows.question_tokens, 1.0)}


def read_outcomes(study: str, runs: list[str], kind: type[Record] = Outcome,
                  artifact: str = "outcomes") -> pd.DataFrame:
    """Return one row per run and fact; if `runs` is empty, of all runs that exist.

    Raises MissingInput if one of `runs` is missing or no run exists, and ValueError if a run has a
    fact twice.
    """
    folder = artifact_path(study, artifact, run="any").parent
    names = runs or sorted(path.stem for path in folder.glob("[!.]*.jsonl"))  # .: unfinished
    if not names:
        raise MissingInput(f"{shown(folder)} is missing: run {made_by(artifact)} first "
                           "(or `make study`)")
    rows = pd.DataFrame([record.model_dump() for run in names
                         for record in load(study, artifact, kind, run=run)],
                        columns=list(kind.model_fields))
    keys = ["arm", "rotation", "seed", "fact_id", *(["epoch"] if "epoch" in rows else [])]
    if (twice := rows[rows.duplicated(keys)]).size:
        raise ValueError(f"{shown(folder)}: {', '.join(map(str, twice.iloc[0][keys]))} occurs "
                         f"twice: remove these files and run {made_by(artifact)} again")
    return rows


def read_acquired(study: str, runs: list[str]) -> pd.DataFrame:
    """Return AcquiredFact rows with `product`, the part of a fact_id before its last slash."""
    rows = read_outcomes(study, runs, AcquiredFact, "acquisition")
    return rows.assign(product=rows.fact_id.str.rpartition("/")[0])


def sorted_structures(structures: pd.Series, reference: str) -> list[str]:
    """Return the structures that occur: the reference, the paper's others, then others by name."""
    order = dict.fromkeys([reference, *STRUCTURES, *sorted(structures.unique())])
    return [structure for structure in order if (structures == structure).any()]


def within_fact(rows: pd.DataFrame, measure: Measure, structure: str,
                reference: str) -> tuple[pd.DataFrame, int]:
    """Pair one arm's rows by fact and seed over two rotations; also count the pairs left out.

    Columns fact_id, product, seed, first (in `reference`), second (in `structure`), difference. A
    pair is left out if either value was not measured. Raises ValueError if a fact has the same
    structure in two rotations of a seed, because its partner is then ambiguous.
    """
    measured = rows.assign(value=measure.of(rows))
    applies = measured.fact_id.isin(measured.fact_id[measured.value.notna()])
    expected = len(measured[applies].drop_duplicates(["fact_id", "seed"]))
    sides = []
    for name, side in (("first", reference), ("second", structure)):
        cells = measured[measured.structure == side].set_index(["fact_id", "product", "seed"])
        if cells.index.has_duplicates:
            fact, _, seed = cells.index[cells.index.duplicated()][0]
            raise ValueError(f"{fact} is in {side} in several rotations of seed {seed}: contrasts "
                             "within fact need an arm whose rotations have each structure once, "
                             "such as raw")
        sides.append(cells.value.rename(name))
    pairs = sides[0].to_frame().join(sides[1], how="inner").dropna().reset_index()
    return pairs.assign(difference=pairs.second - pairs["first"]), expected - len(pairs)


def estimated(pairs: pd.DataFrame, scale: float, column: str = "difference") -> dict:
    """Return the mean of `column` with its 95% interval over products and seeds; keys ESTIMATE.

    The error over products is cluster-robust; the error over seeds is the standard deviation of the
    seeds' means. lib.analyze.statistics.seeds.both_sources adds the two. With one seed the interval
    covers queries only, as `interval` says.
    """
    found = {"n": pairs.fact_id.nunique(), "clusters": pairs["product"].nunique(),
             "seeds": pairs.seed.nunique(), "pairs": len(pairs), "estimate": np.nan, "low": np.nan,
             "high": np.nan, "interval": "none: no rows"}
    if pairs.empty:
        return found
    values = scale * pairs[column]
    mean, each = float(values.mean()), values.groupby(pairs.seed).mean()
    error = standard_error(values, pairs["product"])
    if np.isnan(error):
        return found | {"estimate": mean, "interval": NO_VARIATION}
    seeds = [(float(each.std(ddof=1)), len(each))] if len(each) > 1 else []
    low, high = both_sources(mean, error, found["clusters"], seeds)
    return found | {"estimate": mean, "low": low, "high": high,
                    "interval": BOTH if seeds else QUERIES_ONLY}


def share(rows: pd.DataFrame, column: str = "correct") -> dict:
    """Return a share in percent with its interval as `estimated` does, clipped to 0 and 100.

    If all rows are equal, the interval is Wilson's for the number of facts.
    """
    values = rows.assign(value=rows[column].astype(float))
    found = estimated(values, 100.0, "value")
    low, high = found["low"], found["high"]
    if values.value.nunique() == 1:
        low, high = np.multiply(100, wilson(round(values.value.iloc[0]) * found["n"], found["n"]))
        found["interval"] = WILSON
    return found | {"low": float(np.clip(low, 0, 100)), "high": float(np.clip(high, 0, 100))}
