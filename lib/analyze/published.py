"""The paper's Tables 1 to 5 (published.csv) and settings (published.md) beside a run's."""

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


def published_cells(table: int) -> pd.DataFrame:
    """Return the cells of a table in published.csv: arm, structure, what, value, error, n."""
    rows = pd.read_csv(Path(__file__).with_suffix(".csv"))
    return rows[rows.table == table].drop(columns="table").fillna({"arm": "", "structure": ""})


def paper_rows() -> pd.DataFrame:
    """Return one verdict per query in the form of lib.analyze.tables.joined; only sums are known.

    Each arm has its own query ids, so a paired test of two arms finds nothing to pair.
    """
    rows = [
        (cell.arm, f"{cell.arm}-{cell.structure}-{cell.what}-{number}", cell.structure, cell.what)
        + ("correct" if number < cell.value else "incorrect", "published")
        for cell in published_cells(5).itertuples()
        for number in range(int(cell.n))
    ]
    return pd.DataFrame(rows, columns="arm query_id structure kind verdict reason".split())


def paper_table1() -> pd.DataFrame:
    """Return Table 1 in the columns of lib.analyze.tables.table1; NaN if not printed."""
    cells = published_cells(1)
    table = cells.pivot(index="structure", columns="what", values="value")
    table = table.loc[cells.structure.unique(), cells[cells.structure != ALL].what.unique()]
    whole = dict.fromkeys(("queries", "entities_min", "entities_max"), "Int64")
    return table.rename_axis(columns=None).reset_index().astype(whole)


def paper_table4() -> pd.DataFrame:
    """Return Table 4 as counts, in the columns of lib.analyze.win_rates.table4."""
    rows = []
    for cell in published_cells(4).astype({"value": int, "n": int}).itertuples():
        names, share = (
            (*cell.arm.split(), cell.structure, *cell.what.split(": ")),
            cell.value / cell.n,
        )
        rows.append((*names, cell.n, 0, cell.value, share, *wilson(cell.value, cell.n)))
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
    return _stacked(paper, ours)[["source", *ours.columns]]


def _stacked(paper: pd.DataFrame, ours: pd.DataFrame) -> pd.DataFrame:
    parts = zip(SOURCES, (paper, ours), strict=True)
    return pd.concat(
        [table.assign(source=name) for name, table in parts if len(table)], ignore_index=True
    )


def formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format `with_paper`: for each cell the paper's row, then this run's, a dash if missing."""
    format_part = formatted_table4 if "outcome" in table else formatted_table
    parts = table.groupby("source", sort=False)
    both = [format_part(part.drop(columns="source")).assign(source=name) for name, part in parts]
    both = pd.concat(both, ignore_index=True)
    keys = [key for key in ("pair", "structure", "kind") if key in both]
    others = [column for column in both if column not in ("source", *keys)]
    others = sorted_arms(others) if "arm" in table else others
    cell = both.groupby(keys, sort=False).ngroup()
    both = both.iloc[cell.argsort(kind="stable")].reset_index(drop=True)
    return both[[*keys, "source", *others]].fillna(DASH)


def table3_with_paper(ours: pd.DataFrame) -> pd.DataFrame:
    """Return Table 3 of the paper and of this run (retention.table3, possibly empty).

    Means and errors are in %, differences from the base in points; the paper's without an error.
    """
    paper = published_cells(3).rename(columns={"what": "task", "value": "mean"}).assign(n=None)
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
    both = _stacked(paper, run)
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
