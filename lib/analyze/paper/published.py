"""The paper's own results as data (its Tables 1-5), and beside them a run's, with the same intervals recomputed.

The paper prints counts in Tables 2 and 5, percentages in Table 4 and means with standard errors in Table 3. How arms
pair up on single queries it does not print, so nothing here can be fed to a paired test.
"""

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from lib.analyze.retention import label_of
from lib.analyze.tables import KINDS, for_reading, table2, table5
from lib.core.arms import ALL, sorted_arms
from lib.core.records import STRUCTURES
from lib.analyze.win_rates import formatted_table4
from lib.judge.pairs import CRITERIA, OUTCOMES

PAPER, RUN = SOURCES = ("paper", "this run")
QUERIES = {"natural": 65, "entity-list": 85, "tabular": 41, ALL: 191}

# Table 1: queries, words a question, words an answer, entities (mean, min, max), words an entity
_TABLE1 = {"natural": (65, 18.09, 2.57), "entity-list": (85, 16.27, 16.72, 5.44, 1, 33, 3.12),
           "tabular": (41, 18.41, 3.07), ALL: (191, 17.35)}

# Table 5: correct of asked, numeric and then other queries; their sums are Table 2
_TABLE5 = {"base": {"natural": ((0, 19), (4, 46)), "entity-list": ((0, 2), (0, 83)), "tabular": ((0, 18), (1, 23))},
           "dapt": {"natural": ((2, 19), (15, 46)), "entity-list": ((0, 2), (11, 83)), "tabular": ((1, 18), (2, 23))},
           "dapt-n": {"natural": ((6, 19), (11, 46)), "entity-list": ((0, 2), (24, 83)), "tabular": ((4, 18), (2, 23))}}

# Table 3: mean and standard error in %
_TABLE3 = {"base": {"MMLU": (63.35, 0.38), "HellaSwag": (60.06, 0.49), "LAMBADA": (75.51, 0.60)},
           "dapt": {"MMLU": (62.33, None), "HellaSwag": (60.45, None), "LAMBADA": (73.67, None)},
           "dapt-n": {"MMLU": (62.41, None), "HellaSwag": (59.95, None), "LAMBADA": (73.26, None)}}

# the laboratory's tasks are of the same kinds
_KINDS = {"MMLU": "multiple choice", "HellaSwag": "continuation", "LAMBADA": "last word",
          "Choice": "multiple choice", "Continuation": "continuation", "Last word": "last word"}

# Table 4: % of the queries in which A (the first arm), B or neither wins, by the two criteria
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
    """The paper's verdicts in the form of `lib.analyze.tables.joined`, one row a query and arm.

    Only sums of rows are the paper's: which queries an arm has right is not published. Each arm has query ids of its
    own, so that a paired test of two arms finds nothing to pair.
    """
    rows = [(arm, f"{arm}-{structure}-{kind}-{number}", structure, kind, "correct" if number < correct else "incorrect")
            for arm, cells in _TABLE5.items() for structure in STRUCTURES
            for kind, (correct, asked) in zip(KINDS, cells[structure], strict=True) for number in range(asked)]
    return pd.DataFrame(rows, columns=["arm", "query_id", "structure", "kind", "verdict"]).assign(reason="published")


def paper_table1() -> pd.DataFrame:
    """Table 1 in the columns of `lib.analyze.tables.table1`; what the paper does not print is missing."""
    columns = ["queries", "question_words", "answer_words", "entities_mean", "entities_min", "entities_max",
               "entity_words"]
    table = pd.DataFrame([{"structure": structure, **dict(zip(columns, values, strict=False))}
                          for structure, values in _TABLE1.items()], columns=["structure", *columns])
    return table.astype({"entities_min": "Int64", "entities_max": "Int64"})


def beside_table3(ours: pd.DataFrame) -> pd.DataFrame:
    """Table 3 of the paper and then of this run: source, arm, kind, task, n, mean, error, difference, difference_error.

    `ours` is what lib.analyze.retention.table3 returns, perhaps without rows. Means and standard errors are in %, differences
    against the base in points. The paper's error is missing where we do not have it, and that of its differences
    everywhere: its arms were asked the same items, so that two arms' errors do not give it.
    """
    paper = pd.DataFrame([(PAPER, arm, task, mean, error, mean - _TABLE3["base"][task][0] if arm != "base" else None)
                          for arm, tasks in _TABLE3.items() for task, (mean, error) in tasks.items()],
                         columns=["source", "arm", "task", "mean", "error", "difference"])
    run = pd.DataFrame({"source": RUN, "arm": ours.arm, "task": ours.task.map(label_of), "n": ours.n,
                        "mean": 100 * ours.accuracy, "error": 100 * ours.stderr, "difference": ours.difference_points,
                        "difference_error": ours.se_points}) if len(ours) else paper.iloc[:0]
    both = pd.concat([table for table in (paper, run) if len(table)], ignore_index=True)
    both["kind"] = both.task.map(_KINDS).fillna(both.task)
    columns = ["source", "arm", "kind", "task", "n", "mean", "error", "difference", "difference_error"]
    return both.reindex(columns=columns).astype(dict.fromkeys(columns[4:], float)).astype({"n": "Int64"})


def reading_table3(table: pd.DataFrame) -> pd.DataFrame:
    """`beside_table3` as text, a row a source and model: "62.33", "85.00 ± 2.53 (-1.00 ± 0.71)" against the base."""
    lines = []
    for source, rows in table.groupby("source", sort=False):
        tasks = rows.drop_duplicates("kind")
        lines.append({"source": source, "model": "task (items)", **{
            row.kind: row.task + ("" if pd.isna(row.n) else f" (n = {row.n})") for row in tasks.itertuples()}})
        for arm in sorted_arms(list(rows.arm.unique())):
            cells = {row.kind: _with_error(row.mean_, row.error) + (
                "" if pd.isna(row.difference) else f" ({_with_error(row.difference, row.difference_error, '+')})")
                for row in rows[rows.arm == arm].rename(columns={"mean": "mean_"}).itertuples()}
            lines.append({"source": source, "model": arm, **cells})
    return pd.DataFrame(lines).fillna("–")


def _with_error(value: float, error: float, sign: str = "") -> str:
    return f"{value:{sign}.2f}" + ("" if pd.isna(error) else f" ± {error:.2f}")


def paper_table4() -> pd.DataFrame:
    """Table 4 as counts, in the columns of `lib.analyze.win_rates.table4`: A is the first arm, nothing is unscored."""
    rows = []
    for (first, second), cells in _TABLE4.items():
        for structure, criteria in cells.items():
            n = QUERIES[structure]
            for criterion, percents in zip(CRITERIA, criteria, strict=True):
                rows += [(first, second, structure, criterion, outcome, n, 0, count, count / n,
                          *proportion_confint(count, n, method="wilson"))
                         for outcome, count in zip(OUTCOMES, recovered(percents, n), strict=True)]
    return pd.DataFrame(rows, columns=["first_arm", "second_arm", "structure", "criterion", "outcome", "n", "unscored",
                                       "count", "share", "low", "high"])


def recovered(percents: tuple[float, ...], n: int) -> list[int]:
    """The counts out of n that are printed as these `percents` of two decimals; below n = 5000 there is one at most.

    Raises ValueError where no counts that sum to n print so.
    """
    counts = [round(percent * n / 100) for percent in percents]
    # a half-cent either way may be rounded up or down: 9/64 prints as 14.06 or 14.07
    if sum(counts) != n or any(abs(100 * count / n - percent) > 0.005 + 1e-9
                               for count, percent in zip(counts, percents, strict=True)):
        raise ValueError(f"no counts of {n} print as {percents} %: check the percentages and n")
    return counts


def beside(ours: pd.DataFrame) -> pd.DataFrame:
    """The paper's table and then this run's, told apart by a column `source`: Table 1, 2, 4 or 5, whichever `ours` is.

    `ours` is what lib.analyze.tables.table1, table2 or table5 or lib.analyze.win_rates.table4 returns, perhaps without rows. The paper's
    cells are its counts with our intervals.
    """
    if "outcome" in ours:
        paper = paper_table4()
    elif "arm" not in ours:
        paper = paper_table1()
    else:
        paper = table5(paper_rows()) if "kind" in ours else table2(paper_rows())
    tables = dict(zip(SOURCES, (paper, ours), strict=True))
    return pd.concat([table.assign(source=source) for source, table in tables.items() if len(table)],
                     ignore_index=True)[["source", *ours.columns]]


def reading(table: pd.DataFrame) -> pd.DataFrame:
    """`beside` as text: the paper's and this run's row of a cell one under the other; a dash where there is none."""
    read = formatted_table4 if "outcome" in table else for_reading
    parts = {source: part.drop(columns="source") for source, part in table.groupby("source")}
    both = pd.concat([read(parts[source]).assign(source=source) for source in SOURCES if source in parts],
                     ignore_index=True)
    keys = [key for key in ("pair", "structure", "kind") if key in both]
    cells = list(both[keys].itertuples(index=False, name=None))
    places = list(dict.fromkeys(cells))
    both = both.iloc[sorted(range(len(both)), key=lambda row: (places.index(cells[row]), SOURCES.index(
        both.source[row])))]
    others = [column for column in both if column not in ("source", *keys)]
    return both[[*keys, "source", *(sorted_arms(others) if "arm" in table else others)]].fillna("–").reset_index(drop=True)
