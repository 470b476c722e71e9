"""Win rates of a run, and the paper's Tables 1 to 5 and settings (published.*) beside a run's."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from lib.analyze.stats import wilson
from lib.analyze.tables import DASH, crossed, formatted_table, in_words, table2, table5
from lib.core.arms import ALL, BASE, arm_label
from lib.core.records import OUTCOMES, Query
from lib.core.store import BadInput, made_by
from lib.judge.llm_judge import CRITERIA, Preference

_PAIR = ["first_arm", "second_arm"]
COLUMNS = [*_PAIR, *"structure criterion outcome n unscored count share low high".split()]
PAPER, RUN = SOURCES = ("paper", "this run")
DEVIATIONS = Path(__file__).with_suffix(".md")
# the laboratory's task is of the same kind as one of the paper's
_KINDS = {
    "MMLU": "multiple choice",
    "HellaSwag": "continuation",
    "LAMBADA": "last word",
    "Multiple choice": "multiple choice",
}


def table4(queries: list[Query], preferences: Iterable[Preference]) -> pd.DataFrame:
    """Return Table 4 in COLUMNS: a row per pair of arms, structure, criterion and outcome.

    Each share has its own interval over documents. Raises BadInput unless a pair has one
    preference per query and criterion.
    """
    cells = [(query.query_id, query.structure, query.document_id) for query in queries]
    known = pd.DataFrame(cells, columns=["query_id", "structure", "cluster"])
    rows = pd.DataFrame(map(vars, preferences), columns=[*Preference.model_fields])
    tables = []
    for pair, found in rows.groupby(_PAIR, sort=False):
        for criterion in CRITERIA:
            judged = found.query_id[found.criterion == criterion]
            if sorted(judged) != sorted(known.query_id):
                raise BadInput(
                    f"{' and '.join(pair)}, {criterion}: {len(judged)} preferences do not match "
                    f"the {len(known)} queries one to one: run {made_by('preferences')} again "
                    "for this pair, in one order and by one judge"
                )
        wrong = dict.fromkeys(OUTCOMES, "incorrect")  # what is unscored becomes None
        each = [
            found.assign(outcome=one, verdict=found.verdict.map(wrong | {one: "correct"}))
            for one in OUTCOMES
        ]
        levels = {"structure": (), "criterion": CRITERIA, "outcome": OUTCOMES}
        cells = crossed(pd.concat(each).merge(known, on="query_id"), levels)
        tables.append(cells.assign(**dict(zip(_PAIR, pair, strict=True))))
    if not tables:
        return pd.DataFrame(columns=COLUMNS)
    table = pd.concat(tables, ignore_index=True)
    return table.rename(columns={"correct": "count", "accuracy": "share"})[COLUMNS]


def formatted_table4(table: pd.DataFrame) -> pd.DataFrame:
    """Format Table 4 as in the paper: one row per pair and structure that has queries.

    Cells are "21/191 = 10.99% [7.3, 16.2]", a dash if nothing was scored.
    """
    table = table[table.n > 0]
    named = table.assign(
        pair=table.first_arm.map(arm_label) + " (A) vs " + table.second_arm.map(arm_label) + " (B)",
        arm=table.criterion + ": " + table.outcome,
        correct=table["count"],
        n=table.n - table.unscored,
        unscored=0,
        accuracy=table.share,
    )
    return formatted_table(named)


def published_cells(table: int) -> pd.DataFrame:
    """Return the cells of a table in published.csv: arm, structure, what, value, error, n."""
    rows = pd.read_csv(Path(__file__).with_suffix(".csv"))
    return rows[rows.table == table].drop(columns="table").fillna({"arm": "", "structure": ""})


def paper_rows() -> pd.DataFrame:
    """Return a verdict per query, as tables.joined without names of queries: sums are known."""
    cells = published_cells(5).rename(columns={"what": "kind"})
    rows = cells.loc[cells.index.repeat(cells.n)]
    is_correct = rows.groupby(level=0).cumcount() < rows.value
    return rows.assign(verdict=is_correct.map({True: "correct", False: "incorrect"}))


def paper_table1() -> pd.DataFrame:
    """Return Table 1 in the columns of lib.analyze.tables.table1; NaN if not printed."""
    cells = published_cells(1)
    table = cells.pivot(index="structure", columns="what", values="value")
    table = table.loc[cells.structure.unique(), cells[cells.structure != ALL].what.unique()]
    whole = dict.fromkeys(("queries", "entities_min", "entities_max"), "Int64")
    return table.rename_axis(columns=None).reset_index().astype(whole)


def paper_table4() -> pd.DataFrame:
    """Return Table 4 as counts, in the columns of `table4`."""
    cells = published_cells(4).astype({"value": int, "n": int})
    rows = [
        (*arm.split(), structure, *what.split(": "), n, 0, count, count / n, *wilson(count, n))
        for arm, structure, what, count, n in cells.drop(columns="error").to_numpy()
    ]
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
    text = (formatted_table4 if "outcome" in table else formatted_table)(table).replace("", DASH)
    keys = [key for key in ("pair", "structure", "kind") if key in text]
    text = text.set_index([*keys, "source"]).reset_index()  # these come first
    return text.iloc[text.groupby(keys, sort=False).ngroup().argsort(kind="stable")]


def table3_with_paper(ours: pd.DataFrame) -> pd.DataFrame:
    """Return Table 3 of the paper and of this run (logliks.table3, possibly empty).

    Means and errors are in %, differences from the base in points; the paper's without an error.
    """
    paper = published_cells(3).rename(columns={"what": "task", "value": "mean"}).assign(n=None)
    of_base = paper[paper.arm == BASE].set_index("task")["mean"]
    paper["difference"] = (paper["mean"] - paper.task.map(of_base)).where(paper.arm != BASE)
    run = ours.rename(columns={"difference_points": "difference", "se_points": "difference_error"})
    run["task"] = run.task.map(in_words)
    run[["mean", "error"]] = 100 * run[["accuracy", "stderr"]]
    both = _stacked(paper, run)
    both["kind"] = both.task.map(_KINDS).fillna(both.task)
    numbers = ["n", "mean", "error", "difference", "difference_error"]
    both = both.reindex(columns=["source", "arm", "kind", "task", *numbers])
    return both.astype(dict.fromkeys(numbers, float)).astype({"n": "Int64"})
