"""The paper's Tables 1 to 5 (paper.csv) and settings (paper.md) beside a run's tables."""

from pathlib import Path

import pandas as pd

from lib.analyze.format import DASH, with_error
from lib.analyze.stats import wilson
from lib.analyze.tables import formatted_table, table2, table5, widened
from lib.analyze.win_rates import COLUMNS, formatted_table4
from lib.core.arms import ALL, BASE, sorted_arms
from lib.retention.records import label_of

PAPER, RUN = SOURCES = ("paper", "this run")
DEVIATIONS = Path(__file__).with_suffix(".md")
# the laboratory's tasks are of the same kinds as the paper's
_KINDS = {
    "MMLU": "multiple choice",
    "HellaSwag": "continuation",
    "LAMBADA": "last word",
    "Choice": "multiple choice",
    "Continuation": "continuation",
    "Last word": "last word",
}


def published(table: int) -> pd.DataFrame:
    """Return the rows of a table in paper.csv: arm, structure, what, value, error, n."""
    rows = pd.read_csv(Path(__file__).with_suffix(".csv"))
    return rows[rows.table == table].drop(columns="table").fillna({"arm": "", "structure": ""})


def paper_rows() -> pd.DataFrame:
    """Return one verdict per query in the form of lib.analyze.tables.joined; only sums are known.

    Each arm has its own query ids, so a paired test of two arms finds nothing to pair.
    """
    rows = [
        (
            cell.arm,
            f"{cell.arm}-{cell.structure}-{cell.what}-{number}",
            cell.structure,
            cell.what,
            "correct" if number < cell.value else "incorrect",
            "published",
        )
        for cell in published(5).itertuples()
        for number in range(int(cell.n))
    ]
    return pd.DataFrame(rows, columns=["arm", "query_id", "structure", "kind", "verdict", "reason"])


def paper_table1() -> pd.DataFrame:
    """Return Table 1 in the columns of lib.analyze.tables.table1; NaN if not printed."""
    cells = published(1)
    table = cells.pivot(index="structure", columns="what", values="value")
    table = table.loc[cells.structure.unique(), cells[cells.structure != ALL].what.unique()]
    whole = dict.fromkeys(("queries", "entities_min", "entities_max"), "Int64")
    return table.rename_axis(columns=None).reset_index().astype(whole)


def paper_table4() -> pd.DataFrame:
    """Return Table 4 as counts, in the columns of lib.analyze.win_rates.table4."""
    rows = []
    for cell in published(4).itertuples():
        count, n = int(cell.value), int(cell.n)
        rows.append(
            (
                *cell.arm.split(),
                cell.structure,
                *cell.what.split(": "),
                n,
                0,
                count,
                count / n,
                *wilson(count, n),
            )
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def with_paper(ours: pd.DataFrame) -> pd.DataFrame:
    """Return the paper's table and then this run's, with a first column `source`.

    `ours` is the result, possibly empty, of table1, table2, table5 or table4.
    """
    if "outcome" in ours:
        paper = paper_table4()
    elif "arm" not in ours:
        paper = paper_table1()
    else:
        paper = (table5 if "kind" in ours else table2)(paper_rows())
    parts = [
        table.assign(source=source)
        for source, table in zip(SOURCES, (paper, ours), strict=True)
        if len(table)
    ]
    return pd.concat(parts, ignore_index=True)[["source", *ours.columns]]


def formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format `with_paper`: for each cell the paper's row, then this run's, a dash if missing."""
    format_part = formatted_table4 if "outcome" in table else formatted_table
    both = pd.concat(
        [
            format_part(part.drop(columns="source")).assign(source=source)
            for source, part in table.groupby("source", sort=False)
        ],
        ignore_index=True,
    )
    keys = [key for key in ("pair", "structure", "kind") if key in both]
    others = [column for column in both if column not in ("source", *keys)]
    others = sorted_arms(others) if "arm" in table else others
    cell = both.groupby(keys, sort=False).ngroup()
    return (
        both.iloc[cell.argsort(kind="stable")]
        .reset_index(drop=True)[[*keys, "source", *others]]
        .fillna(DASH)
    )


def table3_with_paper(ours: pd.DataFrame) -> pd.DataFrame:
    """Return Table 3 of the paper and of this run (retention.table3, possibly empty).

    Means and errors are in %, differences from the base in points; the paper's without an error.
    """
    paper = published(3).rename(columns={"what": "task", "value": "mean"}).assign(n=None)
    of_base = paper[paper.arm == BASE].set_index("task")["mean"]
    paper["difference"] = (paper["mean"] - paper.task.map(of_base)).where(paper.arm != BASE)
    run = pd.DataFrame(
        {
            "arm": ours.arm,
            "task": ours.task.map(label_of),
            "n": ours.n,
            "mean": 100 * ours.accuracy,
            "error": 100 * ours.stderr,
            "difference": ours.difference_points,
            "difference_error": ours.se_points,
        }
    )
    parts = [
        part.assign(source=source)
        for source, part in zip(SOURCES, (paper, run), strict=True)
        if len(part)
    ]
    both = pd.concat(parts, ignore_index=True)
    both["kind"] = both.task.map(_KINDS).fillna(both.task)
    numbers = ["n", "mean", "error", "difference", "difference_error"]
    both = both.reindex(columns=["source", "arm", "kind", "task", *numbers])
    return both.astype(dict.fromkeys(numbers, float)).astype({"n": "Int64"})


def formatted_table3(table: pd.DataFrame) -> pd.DataFrame:
    """Format `table3_with_paper`: "62.33" or "85.00 ± 2.53 (-1.00 ± 0.71)" from the base."""
    texts = []
    for _, row in table.iterrows():
        level = with_error(row["mean"], row.error)
        gain = with_error(row.difference, row.difference_error, sign="+")
        texts.append(level if pd.isna(row.difference) else f"{level} ({gain})")
    return widened(table, ["source", "arm"], "task", texts).replace("", DASH)
