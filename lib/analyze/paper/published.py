"""Provide the paper's results (Tables 1-5) as data, and put a run's next to them.

The paper prints counts in Tables 2 and 5, percentages in Table 4, and means with standard errors in
Table 3; the intervals are recomputed. It does not print how arms pair up on single queries, so
nothing here can be given to a paired test.
"""

from itertools import product

import pandas as pd

from lib.analyze.format import DASH, with_error
from lib.analyze.stats import wilson
from lib.analyze.tables import KINDS, formatted_table, table2, table5
from lib.analyze.win_rates import COLUMNS, formatted_table4
from lib.core.arms import ALL, BASE, sorted_arms
from lib.core.records import STRUCTURES
from lib.judge.pairs import CRITERIA, OUTCOMES
from lib.retention.records import label_of

PAPER, RUN = SOURCES = ("paper", "this run")
QUERIES = {"natural": 65, "entity-list": 85, "tabular": 41, ALL: 191}

# Table 1: queries, words per question and answer, entities (mean, min, max), words per entity
_TABLE1 = {"natural": (65, 18.09, 2.57), "entity-list": (85, 16.27, 16.72, 5.44, 1, 33, 3.12),
           "tabular": (41, 18.41, 3.07), ALL: (191, 17.35)}

# Table 5: correct of asked; natural (numeric, other), entity-list, tabular; their sums are Table 2
_TABLE5 = {"base": ((0, 19), (4, 46), (0, 2), (0, 83), (0, 18), (1, 23)),
           "dapt": ((2, 19), (15, 46), (0, 2), (11, 83), (1, 18), (2, 23)),
           "dapt-n": ((6, 19), (11, 46), (0, 2), (24, 83), (4, 18), (2, 23))}

# Table 3: mean and standard error in %
_TABLE3 = {
    "base": {"MMLU": (63.35, 0.38), "HellaSwag": (60.06, 0.49), "LAMBADA": (75.51, 0.60)},
    "dapt": {"MMLU": (62.33, None), "HellaSwag": (60.45, None), "LAMBADA": (73.67, None)},
    "dapt-n": {"MMLU": (62.41, None), "HellaSwag": (59.95, None), "LAMBADA": (73.26, None)}}

# the laboratory's tasks are of the same kinds
_KINDS = {"MMLU": "multiple choice", "HellaSwag": "continuation", "LAMBADA": "last word",
          "Choice": "multiple choice", "Continuation": "continuation", "Last word": "last word"}

# Table 4: % of queries in which A (the first arm), B or neither wins, by the two criteria
_TABLE4 = {
    ("base", "dapt"): {"natural": ((13.85, 47.69, 38.46), (24.62, 61.54, 13.85)),
                       "entity-list": ((9.41, 61.18, 29.41), (16.47, 68.24, 15.29)),
                       "tabular": ((9.76, 26.83, 63.41), (17.07, 68.29, 14.63)),
                       ALL: ((10.99, 49.21, 39.79), (19.37, 65.97, 14.66))},
    ("base", "dapt-n"): {"natural": ((15.38, 52.31, 32.31), (26.15, 60.00, 13.85)),
                         "entity-list": ((12.94, 64.71, 22.35), (16.47, 75.29, 8.24)),
                         "tabular": ((9.76, 36.59, 53.66), (34.15, 60.98, 4.88)),
                         ALL: ((13.09, 54.45, 32.46), (23.56, 67.02, 9.42))}}


def paper_rows() -> pd.DataFrame:
    """Return the paper's verdicts in the form of `lib.analyze.tables.joined`.

    Only sums of these rows are the paper's, which does not say which queries an arm got right. Each
    arm has its own query ids, so a paired test of two arms finds nothing to pair.
    """
    rows = [(arm, f"{arm}-{structure}-{kind}-{number}", structure, kind,
             "correct" if number < correct else "incorrect")
            for arm, cells in _TABLE5.items()
            for (structure, kind), (correct, asked) in zip(product(STRUCTURES, KINDS), cells,
                                                           strict=True)
            for number in range(asked)]
    columns = ["arm", "query_id", "structure", "kind", "verdict"]
    return pd.DataFrame(rows, columns=columns).assign(reason="published")


def paper_table1() -> pd.DataFrame:
    """Return Table 1 in the columns of `lib.analyze.tables.table1`; NaN if not printed."""
    columns = ["queries", "question_words", "answer_words", "entities_mean", "entities_min",
               "entities_max", "entity_words"]
    rows = [{"structure": structure, **dict(zip(columns, values, strict=False))}
            for structure, values in _TABLE1.items()]
    table = pd.DataFrame(rows, columns=["structure", *columns])
    return table.astype({"entities_min": "Int64", "entities_max": "Int64"})


def paper_table4() -> pd.DataFrame:
    """Return Table 4 as counts, in the columns of `lib.analyze.win_rates.table4`."""
    rows = []
    for (first, second), cells in _TABLE4.items():
        for structure, shares in cells.items():
            n = QUERIES[structure]
            for criterion, percents in zip(CRITERIA, shares, strict=True):
                rows += [(first, second, structure, criterion, outcome, n, 0, count, count / n,
                          *wilson(count, n))
                         for outcome, count in zip(OUTCOMES, recovered(percents, n), strict=True)]
    return pd.DataFrame(rows, columns=COLUMNS)


def recovered(percents: tuple[float, ...], n: int) -> list[int]:
    """Return the counts out of n that are printed as `percents`; unique below n = 5000.

    Raises ValueError if no counts that sum to n give these percentages.
    """
    counts = [round(percent * n / 100) for percent in percents]
    # half a hundredth may be rounded up or down: 9/64 prints as 14.06 or 14.07
    differ = [abs(100 * count / n - percent) > 0.005 + 1e-9
              for count, percent in zip(counts, percents, strict=True)]
    if sum(counts) != n or any(differ):
        raise ValueError(f"no counts of {n} print as {percents} %: check the percentages and n")
    return counts


def with_paper(ours: pd.DataFrame) -> pd.DataFrame:
    """Return the paper's table and then this run's, with a first column `source`.

    `ours` is the result of lib.analyze.tables.table1, table2 or table5 or
    lib.analyze.win_rates.table4, possibly empty; the paper's is the same table.
    """
    if "outcome" in ours:
        paper = paper_table4()
    elif "arm" not in ours:
        paper = paper_table1()
    else:
        paper = table5(paper_rows()) if "kind" in ours else table2(paper_rows())
    parts = [table.assign(source=source)
             for source, table in zip(SOURCES, (paper, ours), strict=True) if len(table)]
    return pd.concat(parts, ignore_index=True)[["source", *ours.columns]]


def formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format `with_paper`: for each cell the paper's row, then this run's, a dash if missing."""
    format_part = formatted_table4 if "outcome" in table else formatted_table
    parts = [format_part(part.drop(columns="source")).assign(source=source)
             for source, part in table.groupby("source", sort=False)]
    both = pd.concat(parts, ignore_index=True)
    keys = [key for key in ("pair", "structure", "kind") if key in both]
    others = [column for column in both if column not in ("source", *keys)]
    others = sorted_arms(others) if "arm" in table else others
    cell = both.groupby(keys, sort=False).ngroup()
    both = both.iloc[cell.argsort(kind="stable")].reset_index(drop=True)
    return both[[*keys, "source", *others]].fillna(DASH)


def table3_with_paper(ours: pd.DataFrame) -> pd.DataFrame:
    """Return Table 3 of the paper and then of this run.

    Columns are source, arm, kind, task, n, mean, error, difference, difference_error. `ours` is
    what lib.analyze.retention.table3 returned, possibly empty. Means and standard errors are in %,
    differences from the base in points. The paper's standard errors are given if known. Its
    differences have none, because two errors do not determine that of arms on the same items.
    """
    of_base = {task: mean for task, (mean, _) in _TABLE3[BASE].items()}
    paper = pd.DataFrame([
        (PAPER, arm, task, mean, error, mean - of_base[task] if arm != BASE else None)
        for arm, tasks in _TABLE3.items() for task, (mean, error) in tasks.items()],
        columns=["source", "arm", "task", "mean", "error", "difference"])
    parts = [paper]
    if len(ours):
        parts.append(pd.DataFrame({
            "source": RUN, "arm": ours.arm, "task": ours.task.map(label_of), "n": ours.n,
            "mean": 100 * ours.accuracy, "error": 100 * ours.stderr,
            "difference": ours.difference_points, "difference_error": ours.se_points}))
    both = pd.concat(parts, ignore_index=True)
    both["kind"] = both.task.map(_KINDS).fillna(both.task)
    numbers = ["n", "mean", "error", "difference", "difference_error"]
    both = both.reindex(columns=["source", "arm", "kind", "task", *numbers])
    return both.astype(dict.fromkeys(numbers, float)).astype({"n": "Int64"})


def formatted_table3(table: pd.DataFrame) -> pd.DataFrame:
    """Format `table3_with_paper`: "62.33" or "85.00 ± 2.53 (-1.00 ± 0.71)" from the base."""
    lines = []
    for source, rows in table.groupby("source", sort=False):
        names = {row.kind: row.task + ("" if pd.isna(row.n) else f" (n = {row.n})")
                 for row in rows.drop_duplicates("kind").itertuples()}
        lines.append({"source": source, "model": "task (items)", **names})
        for arm in sorted_arms(rows.arm):
            lines.append({"source": source, "model": arm, **{
                row["kind"]: _cell(row) for _, row in rows[rows.arm == arm].iterrows()}})
    return pd.DataFrame(lines).fillna(DASH)


def _cell(row: pd.Series) -> str:
    level = with_error(row["mean"], row["error"])
    if pd.isna(row["difference"]):
        return level
    return f"{level} ({with_error(row['difference'], row['difference_error'], sign='+')})"
