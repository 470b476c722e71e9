"""Contrasts of independent laboratories, one estimate each (the paper trains one base once)."""

from collections.abc import Iterable, Sequence

import pandas as pd

from lib.core.arms import ALL
from lib.core.errors import BadInput
from lib.core.records import Query, Score, Segment, Verdict
from lib.core.structures import STRUCTURES, prose

ROWS = ["replicate", "arm", "query_id", "structure", "correct", "stored", "in_training"]


def replicate_rows(
    replicate: str,
    arm: str,
    queries: Sequence[Query],
    segments: Sequence[Segment],
    held_out: Iterable[str],
    verdicts: Sequence[Verdict],
    scores: Sequence[Score],
) -> pd.DataFrame:
    """Return ROWS, one per query of a replicate's arm; an unscored answer counts as incorrect.

    A query is in training unless its source reference overlaps a segment in `held_out`. Raises
    BadInput if queries, verdicts and scores do not match one to one.
    """
    ids = [query.query_id for query in queries]
    if [row.query_id for row in verdicts] != ids or [row.query_id for row in scores] != ids:
        raise BadInput(
            f"replicate {replicate}, arm {arm}: queries, verdicts and scores do not "
            "match one to one: remove its folder and run the study again"
        )
    held = set(held_out)
    out = [segment for segment in segments if segment.segment_id in held]
    rows = [
        (
            replicate,
            arm,
            query.query_id,
            query.structure,
            verdict.verdict == "correct",
            score.cloze_argmax,
            not any(
                one.document_id == query.document_id
                and one.start < query.end and query.start < one.end
                for one in out
            ),
        )
        for query, verdict, score in zip(queries, verdicts, scores, strict=True)
    ]
    return pd.DataFrame(rows, columns=ROWS)


def estimates(rows: pd.DataFrame, arms: Sequence[str] = ("dapt", "dapt-n")) -> pd.DataFrame:
    """Return replicate, contrast, points (percent for an accuracy), over the queries in training.

    "<arm> <structure>" is an accuracy, "<arm> <structure> - <prose>" compares structures;
    "<second> - <first>" for the arm is the second arm's gain.
    """
    cells = rows[rows.in_training]
    share = (
        100
        * pd.concat([cells, cells.assign(structure=ALL)])
        .groupby(["replicate", "arm", "structure"])
        .correct.mean()
    )
    sides = {arm: share.xs(arm, level="arm").unstack() for arm in arms}
    first, second = arms
    sides[f"{second} - {first}"] = sides[second] - sides[first]
    found = []
    for name, table in sides.items():
        present = [structure for structure in STRUCTURES if structure in table]
        others = {
            f"{name} {structure} - {prose()}": table[structure] - table[prose()]
            for structure in present[1:]
        }
        own = {f"{name} {structure}": table[structure] for structure in (*present, ALL)}
        found += [
            values.rename("points").reset_index().assign(contrast=contrast)
            for contrast, values in {**own, **others}.items()
        ]
    return pd.concat(found)[["replicate", "contrast", "points"]].reset_index(drop=True)
