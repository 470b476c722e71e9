"""Outcomes as rows, the measures of a row, and pairs of the same fact."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from lib.controlled.design.arms import RAW, has_pairs
from lib.controlled.records import AcquiredFact, Outcome
from lib.core.errors import BadInput, BadStudy
from lib.core.files import artifact_path, load, made_by
from lib.core.paths import shown
from lib.core.records import Record
from lib.core.structures import STRUCTURES

POINTS, NATS = "points", "nats a token"


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
    "items": Measure(
        "items named, lists",
        POINTS,
        lambda rows: (rows.items_named / rows.n_items).where(rows.n_items > 1),
    ),
    "stored": Measure("stored (cloze)", POINTS, _stored),
    "unreached": Measure(
        "stored, not answered", POINTS, lambda rows: _stored(rows) * ~rows.correct.astype(bool)
    ),
    "loglik": Measure(
        "log-likelihood of the answer",
        NATS,
        lambda rows: rows.question_loglik / rows.question_tokens,
        1.0,
    ),
}


def read_outcomes(
    study: str, runs: list[str], kind: type[Record] = Outcome, artifact: str = "outcomes"
) -> pd.DataFrame:
    """Return one row per run and fact; if `runs` is empty, of all runs that exist.

    Raises BadInput if one of `runs` is missing, no run exists, or a run has a fact twice.
    """
    folder = artifact_path(study, artifact, run="any").parent
    names = runs or sorted(path.stem for path in folder.glob("[!.]*.jsonl"))  # .: unfinished
    if not names:
        raise BadInput(
            f"{shown(folder)} is missing: run {made_by(artifact)} first (or `make study`)"
        )
    rows = pd.DataFrame(
        [record.model_dump() for run in names for record in load(study, artifact, kind, run=run)],
        columns=list(kind.model_fields),
    )
    keys = ["arm", "rotation", "seed", "fact_id", *(["epoch"] if "epoch" in rows else [])]
    if (twice := rows[rows.duplicated(keys)]).size:
        raise BadInput(
            f"{shown(folder)}: {', '.join(map(str, twice.iloc[0][keys]))} occurs "
            f"twice: remove these files and run {made_by(artifact)} again"
        )
    return rows


def read_acquired(study: str, runs: list[str]) -> pd.DataFrame:
    """Return AcquiredFact rows with `product`, the part of a fact_id before its last slash."""
    rows = read_outcomes(study, runs, AcquiredFact, "acquisition")
    return rows.assign(product=rows.fact_id.str.rpartition("/")[0])


def sorted_structures(structures: pd.Series) -> list[str]:
    """Return the structures that occur: those registered in their order, then others by name."""
    order = dict.fromkeys([*STRUCTURES, *sorted(structures.unique())])
    return [structure for structure in order if (structures == structure).any()]


def within_fact(
    rows: pd.DataFrame, measure: Measure, structure: str, reference: str
) -> tuple[pd.DataFrame, int]:
    """Pair one arm's rows by fact and seed over two rotations; also count the pairs left out.

    Columns fact_id, product, seed, first (in `reference`), second, difference. Raises ValueError if
    a fact has the same structure in two rotations of a seed: its partner is then ambiguous.
    """
    measured = rows.assign(value=measure.of(rows))
    applies = measured.fact_id.isin(measured.fact_id[measured.value.notna()])
    expected = len(measured[applies].drop_duplicates(["fact_id", "seed"]))
    sides = []
    for name, side in (("first", reference), ("second", structure)):
        cells = measured[measured.structure == side].set_index(["fact_id", "product", "seed"])
        if cells.index.has_duplicates:
            fact, _, seed = cells.index[cells.index.duplicated()][0]
            raise ValueError(
                f"{fact} is in {side} in several rotations of seed {seed}: contrasts "
                "within fact need an arm whose rotations have each structure once, "
                "such as raw"
            )
        sides.append(cells.value.rename(name))
    pairs = sides[0].to_frame().join(sides[1], how="inner").dropna().reset_index()
    return pairs.assign(difference=pairs.second - pairs["first"]), expected - len(pairs)


def matched(rows: pd.DataFrame, arm: str, first: str = RAW) -> tuple[pd.DataFrame, int]:
    """Match rows of `arm` and `first` by fact, rotation and seed; count those without a match.

    first and second are 0 or 1, `structure` is that in `first`. If one of them trains on questions,
    the facts that it is asked about in training are left out and counted.
    """
    keys = ["fact_id", "product", "rotation", "seed"]
    n_rows = (rows.arm == arm).sum()
    if has_pairs(arm) or has_pairs(first):
        rows = rows[~rows.has_pair.astype(bool)]
    sides = []
    for name, side in ((first, "first"), (arm, "second")):
        cells = rows[rows.arm == name].set_index(keys)
        sides.append(
            pd.DataFrame(
                {
                    side: cells.correct.astype(float),
                    f"tokens_{side}": cells.trained_tokens,
                    f"as_asked_{side}": cells.as_asked.astype(float),
                }
            )
        )
    structures = rows[rows.arm == first].set_index(keys)[["structure"]]
    pairs = structures.join(sides[0]).join(sides[1], how="inner")
    pairs = pairs.assign(difference=pairs.second - pairs["first"]).reset_index()
    return pairs, int(n_rows - len(pairs))


def pairs_of(rows: pd.DataFrame, contrast: str) -> pd.DataFrame:
    """Return the pairs of strict accuracy of a contrast, by its name.

    "tabular - natural" compares structures within `raw`, "mixed" an arm with `raw`, and
    "mixed - raw-2x" two arms. Raises BadStudy if these were not run.
    """
    raw = rows[rows.arm == RAW]
    second, _, first = contrast.partition(" - ")
    if {first, second} <= set(raw.structure):
        return within_fact(raw, MEASURES["correct"], second, first)[0]
    if {second, first or RAW} <= set(rows.arm) and second != RAW:
        return matched(rows, second, first or RAW)[0]
    raise BadStudy(
        f"contrast {contrast!r} was not run: name an arm, two arms or two structures "
        f"(second - first) among {', '.join(rows.arm.unique())}, "
        f"{', '.join(raw.structure.unique())}"
    )
