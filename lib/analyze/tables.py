"""Compute Tables 1, 2 and 5 of the paper from queries and verdicts, with cluster intervals."""

import pandas as pd

from lib.analyze.format import fraction, number
from lib.analyze.stats import share_interval, wilson
from lib.core.arms import ALL, sorted_arms
from lib.core.errors import BadInput
from lib.core.files import made_by
from lib.core.records import Query, Verdict
from lib.core.structures import STRUCTURES
from lib.judge.numeric import is_numeric

KINDS = ("numeric", "non-numeric")
COUNTS = ["n", "correct", "unscored", "accuracy", "low", "high"]


def from_memory(queries: list[Query], *others: list) -> tuple[list, ...]:
    """Keep the queries without a context, and in each list of `others` the rows of these queries.

    If every query has a context, all are kept.
    """
    kept = {query.query_id for query in queries if not query.context}
    kept = kept or {query.query_id for query in queries}
    return tuple([row for row in rows if row.query_id in kept] for rows in (queries, *others))


def joined(queries: list[Query], verdicts: list[Verdict]) -> pd.DataFrame:
    """Return one row per verdict: arm, query_id, structure, kind, cluster, verdict, reason.

    The cluster is the document. Raises BadInput unless every arm has one verdict per query.
    """
    known = {
        query.query_id: (
            query.structure,
            KINDS[0] if is_numeric(query) else KINDS[1],
            query.document_id,
        )
        for query in queries
    }
    for arm in dict.fromkeys(verdict.arm for verdict in verdicts):
        judged = [verdict.query_id for verdict in verdicts if verdict.arm == arm]
        if sorted(judged) != sorted(known):
            raise BadInput(
                f"arm {arm}: {len(judged)} verdicts do not match the {len(known)} "
                f"queries one to one: run {made_by('verdicts')} for this arm again"
            )
    rows = [
        (verdict.arm, verdict.query_id, *known[verdict.query_id], verdict.verdict, verdict.reason)
        for verdict in verdicts
    ]
    return pd.DataFrame(
        rows, columns=["arm", "query_id", "structure", "kind", "cluster", "verdict", "reason"]
    )


def accuracy(verdicts: pd.Series, clusters: pd.Series | None = None) -> dict[str, float]:
    """Return COUNTS of a cell's verdicts: correct / (n - unscored) with its 95% interval.

    It is stats.share_interval over clusters; Wilson's if only counts are known (no clusters).
    """
    is_scored = (verdicts != "unscored").to_numpy(bool)
    scored = verdicts[is_scored] == "correct"
    correct, share = int(scored.sum()), scored.mean() if len(scored) else float("nan")
    ends = (
        wilson(correct, len(scored))
        if clusters is None or scored.empty
        else share_interval(scored, clusters[is_scored])
    )
    return dict(
        zip(
            COUNTS, (len(verdicts), correct, len(verdicts) - len(scored), share, *ends), strict=True
        )
    )


def table1(queries: list[Query]) -> pd.DataFrame:
    """Return by structure: queries, mean words of questions and answers, and entities.

    entity_words is the mean over queries of answer words / entities, as in the paper.
    """
    rows = []
    for structure in (*STRUCTURES, ALL):
        cell = [query for query in queries if structure in (query.structure, ALL)]
        lists = [query.answer.splitlines() for query in cell
                 if structure != ALL and query.entity_count is not None]
        entities = pd.Series(
            [sum(1 for line in lines if line.strip()) for lines in lists], dtype="int64"
        )
        questions = pd.Series([len(query.question.split()) for query in cell], dtype="float64")
        answers = pd.Series([len(query.answer.split()) for query in cell], dtype="float64")
        rows.append(
            {
                "structure": structure,
                "queries": len(cell),
                "question_words": questions.mean(),
                "answer_words": answers.mean(),
                "entities_mean": entities.mean(),
                "entities_min": entities.min(),
                "entities_max": entities.max(),
                "entity_words": (answers / entities).mean() if lists else float("nan"),
            }
        )
    return pd.DataFrame(rows).round(2).astype({"entities_min": "Int64", "entities_max": "Int64"})


def table2(rows: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy by arm and structure, "all" last: arm, structure, COUNTS."""
    return pd.DataFrame(
        [
            {"arm": arm, "structure": structure, **accuracy(cell.verdict, cell.get("cluster"))}
            for arm, structure, cell in cells(rows)
        ],
        columns=["arm", "structure", *COUNTS],
    )


def table5(rows: pd.DataFrame) -> pd.DataFrame:
    """Return Table 2 split into numeric and other queries: arm, structure, kind, COUNTS."""
    return pd.DataFrame(
        [
            {
                "arm": arm,
                "structure": structure,
                "kind": kind,
                **accuracy(part.verdict, part.get("cluster")),
            }
            for arm, structure, cell in cells(rows)
            for kind in KINDS
            for part in [cell[cell.kind == kind]]
        ],
        columns=["arm", "structure", "kind", *COUNTS],
    )


def cells(rows: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    """Return (arm, structure, its rows of `joined`) in the order of every table, "all" last."""
    return [
        (
            arm,
            structure,
            rows[(rows.arm == arm) & ((rows.structure == structure) | (structure == ALL))],
        )
        for arm in sorted_arms(rows.arm)
        for structure in (*STRUCTURES, ALL)
    ]


def formatted_table(table: pd.DataFrame) -> pd.DataFrame:
    """Format a table: floats with two decimals; Tables 2 and 5 with one column per arm.

    Their cells read "17/65 = 26.15% [17.0, 38.0] (1 unscored)".
    """
    if not {"arm", "accuracy"} <= set(table):
        return pd.DataFrame(
            {column: [number(value) for value in table[column]] for column in table}
        )
    texts = [
        fraction(row.correct, row.n - row.unscored, row.low, row.high)
        + (f" ({row.unscored} unscored)" if row.unscored else "")
        for row in table.itertuples()
    ]
    keys = [key for key in ("structure", "kind") if key in table]
    return widened(table, keys, "arm", texts)[[*keys, *sorted_arms(table.arm)]]


def widened(table: pd.DataFrame, keys: list[str], column: str, texts: list[str]) -> pd.DataFrame:
    """Return one row per `keys` and one column per value of `column`, in the order of `table`.

    The cells are `texts`, one for each row of `table`; a cell without a row is empty.
    """
    wide = table.assign(text=texts).pivot(index=keys, columns=column, values="text")
    wide = wide.reindex(columns=table[column].unique()).fillna("").reset_index()
    wide.columns.name = None
    return table[keys].drop_duplicates().merge(wide, on=keys)
