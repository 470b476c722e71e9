"""Compute Tables 1, 2 and 5 of the paper from queries and verdicts, with cluster intervals."""

from collections.abc import Iterable

import pandas as pd

from lib.analyze.format import fraction, number, one_line, percent
from lib.analyze.stats import LEAST_CLUSTERS, TOO_FEW, share_interval, wilson
from lib.core.arms import ALL, ARMS, BASE, arm_label, sorted_arms
from lib.core.records import STRUCTURES, Answer, Query, Verdict, listed, structure_label
from lib.core.store import BadInput, made_by
from lib.core.values import is_numeric

KINDS = ("numeric", "non-numeric")
COUNTS = ["n", "correct", "unscored", "accuracy", "low", "high", "unscored_share", "upper_bound"]
FLAWS = ("empty", "refused", "filtered", "cut")  # of an endpoint's replies; counted if there is any


def joined(
    queries: list[Query], verdicts: list[Verdict], answers: Iterable[Answer] = ()
) -> pd.DataFrame:
    """One row per verdict, with structure, kind and cluster of its query.

    The cluster is the document. Raises BadInput unless every arm has one verdict per query.
    """
    flaws = {(row.arm, row.query_id): row.incomplete_reason for row in answers}
    known = {
        query.query_id: (query.structure, KINDS[not is_numeric(query)], query.document_id)
        for query in queries
    }
    rows = pd.DataFrame(
        [
            (
                row.arm,
                row.query_id,
                *known.get(row.query_id, [""] * 3),
                row.verdict,
                row.reason,
                flaws.get((row.arm, row.query_id), ""),
            )
            for row in verdicts
        ],
        columns=[
            "arm",
            "query_id",
            "structure",
            "kind",
            "cluster",
            "verdict",
            "reason",
            "incomplete_reason",
        ],
    )
    for arm, judged in rows.groupby("arm", sort=False).query_id:
        if sorted(judged) != sorted(known):
            raise BadInput(
                f"arm {arm}: {len(judged)} verdicts do not match the {len(known)} "
                f"queries one to one: run {made_by('verdicts')} for this arm again"
            )
    return rows


def by_group(rows: pd.DataFrame, by: list[str], value: str, cluster: str) -> pd.DataFrame:
    """Return n, mean, low and high of the known values of `value` in each group of columns `by`.

    The 95% interval is stats.share_interval over `cluster`; Wilson's if there is no such column.
    """
    found = []
    for key, part in rows.groupby(by, sort=False):
        known = part.dropna(subset=value)
        values, n = known[value].astype(float), len(known)
        is_clustered = cluster in known
        ends = share_interval(values, known[cluster]) if is_clustered else wilson(values.sum(), n)
        found.append((*key, n, values.mean(), *ends))
    table = pd.DataFrame(found, columns=[*by, "n", "mean", "low", "high"])
    return table.astype(dict.fromkeys(("mean", "low", "high"), float))


def counted(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return COUNTS of the verdicts in each group: accuracy is correct / n, see `by_group`.

    `upper_bound` is (correct + unscored) / n. A verdict of None is left out of the accuracy.
    `clusters` follows if rows have them, and a column for each of FLAWS if a row has one.
    """
    scores = rows.verdict.map({"correct": 1.0, "incorrect": 0.0, "unscored": 0.0})
    is_scored = rows.verdict.isin(["correct", "incorrect"])
    table = by_group(rows.assign(score=scores), by, "score", "cluster")
    n = rows.groupby(by, sort=False).size().to_numpy()
    correct = (table.n * table["mean"].fillna(0)).round().astype(int)
    unscored = n - is_scored.groupby([rows[key] for key in by], sort=False).sum().to_numpy()
    table = table.assign(
        n=n,
        correct=correct,
        unscored=unscored,
        accuracy=table["mean"],
        unscored_share=unscored / n,
        upper_bound=(correct + unscored) / n,
    )
    table = table[[*by, *COUNTS]]
    if "cluster" in rows:
        table["clusters"] = rows.groupby(by, sort=False).cluster.nunique().to_numpy()
    if "incomplete_reason" in rows and rows.incomplete_reason.any():
        flaws = pd.crosstab([rows[key] for key in by], rows.incomplete_reason).reindex(
            columns=FLAWS
        )
        table = table.join(flaws.dropna(axis=1), on=by)
    return table


def crossed(rows: pd.DataFrame, levels: dict[str, Iterable[str]]) -> pd.DataFrame:
    """Return COUNTS of every combination of `levels` (column: its values); n may be 0.

    Structures are known and need no values; "all" comes last.
    """
    levels = {**levels, "structure": (*STRUCTURES, ALL)}
    table = counted(pd.concat([rows, rows.assign(structure=ALL)]), list(levels))
    cells = pd.MultiIndex.from_product(levels.values(), names=levels)
    table = table.set_index(list(levels)).reindex(cells)
    whole = {name: 0 for name in ("n", "correct", "unscored", "clusters", *FLAWS) if name in table}
    return table.fillna(whole).astype(dict.fromkeys(whole, int)).reset_index()


def table1(queries: list[Query]) -> pd.DataFrame:
    """Return by structure: queries, mean words of questions and answers, and entities.

    entity_words is the mean over queries of answer words / entities, as in the paper.
    """
    rows = []
    for structure in (*STRUCTURES, ALL):
        cell = [query for query in queries if structure in (query.structure, ALL)]
        lists = [
            query.answer.splitlines()
            for query in cell
            if structure != ALL and query.entity_count is not None
        ]
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
    return crossed(rows, {"arm": sorted_arms(rows.arm), "structure": ()})


def table5(rows: pd.DataFrame, kinds: Iterable[str] = KINDS) -> pd.DataFrame:
    """Return Table 2 split by the column kind: arm, structure, kind, COUNTS."""
    return crossed(rows, {"arm": sorted_arms(rows.arm), "structure": (), "kind": kinds})


def formatted_table(table: pd.DataFrame, only_counts: object = "") -> pd.DataFrame:
    """Format a table: floats with two decimals; Tables 2 and 5 with one column per arm.

    Their cells read "17/65 = 26.15% [17.0, 38.0]; 2 unscored (3.1%): at most 29.2%", or
    "17/65, 2 unscored" where `only_counts`. TOO_FEW is said of under LEAST_CLUSTERS.
    """
    if not {"arm", "accuracy"} <= set(table):
        return pd.DataFrame(
            {column: [number(value) for value in table[column]] for column in table}
        )
    texts = [
        f"{row.correct}/{row.n}, {row.unscored} unscored"
        if only_counts
        else fraction(row.correct, row.n, row.low, row.high)
        + _too_few(row)
        + (
            f"; {row.unscored} unscored ({row.unscored_share:.1%}): at most {row.upper_bound:.1%}"
            if row.unscored
            else ""
        )
        + "".join(f"; {n} {kind}" for kind in FLAWS if (n := getattr(row, kind, 0)))
        for row in table.itertuples()
    ]
    keys = [key for key in ("structure", "kind", "level", "form") if key in table]
    return widened(table, keys, "arm", texts)[[*keys, *sorted_arms(table.arm)]]


def _too_few(row) -> str:
    is_few = getattr(row, "clusters", LEAST_CLUSTERS) < LEAST_CLUSTERS and row.n > 0
    return f"; {TOO_FEW}" if is_few else ""


def widened(table: pd.DataFrame, keys: list[str], column: str, texts: list[str]) -> pd.DataFrame:
    """Return one row per `keys` and one column per value of `column`, in the order of `table`.

    The cells are `texts`, one for each row of `table`; a cell without a row is empty.
    """
    wide = table.assign(text=texts).pivot(index=keys, columns=column, values="text")
    wide = wide.reindex(columns=table[column].unique()).fillna("").reset_index()
    wide.columns.name = None
    return table[keys].drop_duplicates().merge(wide, on=keys)


def answer_to_question(table2: pd.DataFrame) -> str:
    """Return two sentences from Table 2: the first trained arm by structure, then the others,
    of which only dapt and dapt-n are shown by structure."""
    arms = sorted_arms(table2.arm)
    if not arms or not table2.n.sum():
        return "There are no verdicts, so there is nothing to report."
    first = next((arm for arm in arms if arm != BASE), arms[0])
    others = [
        f"with {arm_label(arm)} on {_accuracies(table2[table2.arm == arm], arm not in ARMS[1:])}"
        for arm in arms
        if arm != first
    ]
    second = f" For comparison: {'; '.join(others)}." if others else ""
    if any(map(_too_few, table2.itertuples())):
        second += f" There are {TOO_FEW}: fewer than {LEAST_CLUSTERS}."
    return (
        f"The correct share of the answers [95% interval] is with {arm_label(first)} on "
        f"{_accuracies(table2[table2.arm == first])}.{second}"
    )


def _accuracies(table: pd.DataFrame, only_all: bool = False) -> str:
    cells = table[(table.n > 0) & ((table.structure == ALL) | (not only_all))]
    return listed(
        [
            f"{structure_label(row.structure)} {percent(row.accuracy)}"
            + (
                ""
                if pd.isna(row.low)
                else f" [{percent(row.low, digits=0)} to {percent(row.high, digits=0)}]"
            )
            for row in cells.itertuples()
        ]
    )


def with_texts(
    rows: pd.DataFrame, queries: Iterable[Query], answers: Iterable[Answer]
) -> pd.DataFrame:
    """Return `rows` (query_id, arm, …) with question, reference answer and answer, ↵ for breaks.

    The texts come from documents and models: display them only where HTML is escaped.
    """
    asked = {query.query_id: (query.question, query.answer) for query in queries}
    texts = {(answer.query_id, answer.arm): answer.answer for answer in answers}
    return rows.assign(
        **{
            "question": [asked[name][0] for name in rows.query_id],
            "reference answer": [one_line(asked[name][1]) for name in rows.query_id],
            "answer": [
                one_line(texts.get(key, "")) for key in zip(rows.query_id, rows.arm, strict=True)
            ],
        }
    )
