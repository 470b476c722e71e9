"""What the analysis of the controlled experiment starts from: a row a run and fact, what is measured, one estimate."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from lib.analyze.statistics.seeds import BOTH, QUERIES_ONLY, WILSON, both_sources, standard_error
from lib.controlled.records import AcquiredFact, Outcome
from lib.core.files import read_records
from lib.core.paths import MissingInput, data_path, shown
from lib.core.records import STRUCTURES, Record

RAW, MADE_BY = "raw", "02_run.ipynb"
POINTS, NATS = "points", "nats a token"
ESTIMATE = ["n", "clusters", "seeds", "pairs", "estimate", "low", "high", "interval"]
NO_VARIATION = "none: nothing varies between products"


@dataclass(frozen=True)
class Measure:
    """What is measured of a fact: `of` gives a row's number, NaN where not measured; times `scale` it is in `unit`."""

    label: str
    unit: str
    of: Callable[[pd.DataFrame], pd.Series]
    scale: float = 100.0


def _stored(rows: pd.DataFrame) -> pd.Series:
    """1.0 or 0.0 where there is a cloze, else NaN."""
    return rows.cloze_argmax.astype("boolean").astype("Float64").astype(float)


# The first is what a reader asks for; the others say where it is lost: in part, in storing it, in reaching it.
MEASURES = {
    "correct": Measure("answered, strictly", POINTS, lambda rows: rows.correct.astype(float)),
    "items": Measure("items named, lists", POINTS, lambda rows: (rows.items_named / rows.n_items).where(
        rows.n_items > 1)),
    "stored": Measure("stored (cloze)", POINTS, _stored),
    "unreached": Measure("stored, not answered", POINTS, lambda rows: _stored(rows) * ~rows.correct.astype(bool)),
    "loglik": Measure("log-likelihood of the answer", NATS, lambda rows: rows.question_loglik
                      / rows.question_tokens, 1.0)}


def read_outcomes(study: str, runs: list[str], kind: type[Record] = Outcome, folder: str = "outcomes") -> pd.DataFrame:
    """A row a run and fact from data/<study>/<folder>/<run>.jsonl; all runs that are there where `runs` is empty.

    Raises MissingInput where a run, or every run, is missing, and ValueError where a fact stands twice in a run.
    """
    paths = [data_path(study, folder, f"{run}.jsonl") for run in runs]
    paths = paths or sorted(data_path(study, folder, "any").parent.glob("[!.]*.jsonl"))  # no unfinished answers
    if not paths:
        raise MissingInput(f"{shown(data_path(study, folder))} is missing: run {MADE_BY} first (or `make study`)")
    rows = pd.DataFrame([record.model_dump() for path in paths for record in read_records(path, kind, MADE_BY)],
                        columns=list(kind.model_fields))
    keys = ["arm", "rotation", "seed", "fact_id", *(["epoch"] if "epoch" in rows else [])]
    if (twice := rows[rows.duplicated(keys)]).size:
        raise ValueError(f"{shown(paths[0].parent)}: {', '.join(map(str, twice.iloc[0][keys]))} stands twice: remove "
                         f"these files and run {MADE_BY} again")
    return rows


def read_acquired(study: str, runs: list[str]) -> pd.DataFrame:
    """AcquiredFact rows of the runs, with `product` (all of a fact_id before its last slash); see read_outcomes."""
    rows = read_outcomes(study, runs, AcquiredFact, "acquisition")
    return rows.assign(product=rows.fact_id.str.rpartition("/")[0])


def in_order_of_structure(structures: pd.Series, reference: str) -> list[str]:
    """The structures that are there: the reference, the paper's others, then all others by name."""
    order = dict.fromkeys([reference, *STRUCTURES, *sorted(structures.unique())])
    return [structure for structure in order if (structures == structure).any()]


def within_fact(rows: pd.DataFrame, measure: Measure, structure: str, reference: str) -> tuple[pd.DataFrame, int]:
    """Pairs of one arm: fact_id, product, seed, first (in `reference`), second (in `structure`), difference; left out.

    A pair is a fact and a seed in two rotations. Left out are those of which one side or both are not measured.
    Raises ValueError where a fact stands in one structure in two rotations of a seed, so that it has no one partner.
    """
    measured = rows.assign(value=measure.of(rows))
    applies = measured.fact_id.isin(measured.fact_id[measured.value.notna()])
    asked = len(measured[applies].drop_duplicates(["fact_id", "seed"]))
    sides = [measured[measured.structure == side].set_index(["fact_id", "product", "seed"]).value.rename(name)
             for name, side in (("first", reference), ("second", structure))]
    for side, name in zip(sides, (reference, structure), strict=True):
        if side.index.has_duplicates:
            fact, _, seed = side.index[side.index.duplicated()][0]
            raise ValueError(f"{fact} stands in {name} in several rotations of seed {seed}: within-fact contrasts need "
                             "an arm whose rotations have each structure once, such as raw")
    pairs = sides[0].to_frame().join(sides[1], how="inner").dropna().reset_index()
    return pairs.assign(difference=pairs.second - pairs["first"]), asked - len(pairs)


def estimated(pairs: pd.DataFrame, scale: float, column: str = "difference") -> dict:
    """The mean of `column` over rows of facts and seeds, with its 95% interval over products and seeds; keys ESTIMATE.

    The error over products is cluster-robust, that over seeds the standard deviation of the seeds' means; see
    lib.analyze.statistics.seeds.both_sources for their sum. With one seed the interval holds queries only, and says so.
    """
    found = {"n": pairs.fact_id.nunique(), "clusters": pairs["product"].nunique(), "seeds": pairs.seed.nunique(),
             "pairs": len(pairs), "estimate": np.nan, "low": np.nan, "high": np.nan, "interval": "none: no rows"}
    if pairs.empty:
        return found
    values = scale * pairs[column]
    each = values.groupby(pairs.seed).mean()
    error = standard_error(values, pairs["product"])
    found |= {"estimate": float(values.mean()), "interval": NO_VARIATION}
    if not np.isnan(error):
        seeds = [(float(each.std(ddof=1)), len(each))] if len(each) > 1 else []
        low, high = both_sources(float(values.mean()), error, found["clusters"], seeds)
        found |= {"low": low, "high": high, "interval": BOTH if seeds else QUERIES_ONLY}
    return found


def share(rows: pd.DataFrame, column: str = "correct") -> dict:
    """A share in percent, between 0 and 100, with its interval as in `estimated`.

    Wilson's for the number of facts where all rows are alike.
    """
    values = rows.assign(value=rows[column].astype(float))
    found = estimated(values, 100.0, "value")
    if values.value.nunique() == 1:
        ends = proportion_confint(round(values.value.iloc[0]) * found["n"], found["n"], method="wilson")
        found |= {"low": 100 * ends[0], "high": 100 * ends[1], "interval": WILSON}
    return found | {"low": float(np.clip(found["low"], 0, 100)), "high": float(np.clip(found["high"], 0, 100))}
