"""Write the findings as text, from Tables 2 and 5, and list the answers behind them."""

from itertools import combinations, pairwise

import pandas as pd

from lib.analyze.format import one_line, percent
from lib.analyze.stats import ONE_CLUSTER
from lib.analyze.tables import KINDS
from lib.core.arms import ALL, sorted_arms
from lib.core.records import STRUCTURES, Answer, Query, Verdict
from lib.core.text import listed


def findings(table2: pd.DataFrame, table5: pd.DataFrame) -> str:
    """Return one paragraph: accuracy by arm, changes between arms, structures, numeric queries.

    Two accuracies differ if their 95% intervals, those of the tables, do not overlap. Cells
    without a scored answer are left out. Works for any arms and structures.
    """
    arms = sorted_arms(table2.arm)
    if not arms or not table2.n.sum():
        return "There are no verdicts, so there is nothing to report."
    sentences = [_overall(table2, arms), *(_change(table2, *pair) for pair in pairwise(arms)),
                 *(_within(table2, arm) for arm in arms), _numeric(table5, arms),
                 _unscored(table2)]
    caution = ("Percentages are of the scored answers. Overlapping intervals do not show that two "
               "accuracies are equal, only that these queries cannot distinguish them.")
    return " ".join([*filter(None, sentences), caution])


def browsable(queries: list[Query], answers: list[Answer],
              verdicts: list[Verdict]) -> pd.DataFrame:
    """Return one row per verdict with its texts, line breaks shown as ↵.

    The texts come from documents and models: display them only where HTML is escaped, as pandas and
    `lib.analyze.export.browse` do.
    """
    by_id = {query.query_id: query for query in queries}
    texts = {(answer.arm, answer.query_id): answer.answer for answer in answers}
    return pd.DataFrame([
        {"arm": verdict.arm, "structure": query.structure, "verdict": verdict.verdict,
         "question": query.question, "reference answer": one_line(query.answer),
         "answer": one_line(texts.get((verdict.arm, verdict.query_id), "")),
         "reason": verdict.reason, "query": verdict.query_id, "document": query.document_id}
        for verdict in verdicts for query in [by_id[verdict.query_id]]])


def _scored(table: pd.DataFrame, **keys: str) -> dict[str, object]:
    """Map structure to row, for cells of `table` that match `keys` and have scored answers."""
    for column, value in keys.items():
        table = table[table[column] == value]
    return {row.structure: row for row in table.itertuples() if row.n > row.unscored}


def _percent(row) -> str:
    return f"{percent(row.accuracy)} ({row.correct}/{row.n - row.unscored})"


def _have_intervals(*rows) -> bool:
    return not any(pd.isna(row.low) for row in rows)


def _differ(one, other) -> bool:
    return one.low > other.high or other.low > one.high  # False without an interval


def _overall(table: pd.DataFrame, arms: list[str]) -> str:
    n = table[table.arm == arms[0]].set_index("structure").n
    counts = listed([f"{n[structure]} {structure}" for structure in STRUCTURES if n[structure]])
    scored = [(arm, _scored(table, arm=arm).get(ALL)) for arm in arms]
    texts = [f"{arm} answers {_percent(row)}" for arm, row in scored if row]
    text = f"{listed(texts)} correctly" if texts else "no answer was scored"
    return f"Of {n[ALL]} queries ({counts}), {text}."


def _change(table: pd.DataFrame, before: str, after: str) -> str:
    old, new = _scored(table, arm=before), _scored(table, arm=after)
    shared = [name for name in (*STRUCTURES, ALL) if name in old and name in new]
    if not shared:
        return ""
    changes = [f"{100 * (new[name].accuracy - old[name].accuracy):+.1f} for {name}"
               for name in shared]
    pairs = {name: (old[name], new[name]) for name in shared}
    return (f"From {before} to {after}, accuracy changes by (percentage points) {listed(changes)}; "
            f"{_overlap(pairs)}.")


def _within(table: pd.DataFrame, arm: str) -> str:
    cells = {name: row for name, row in _scored(table, arm=arm).items() if name != ALL}
    pairs = list(combinations(sorted(cells, key=lambda name: -cells[name].accuracy), 2))
    if not pairs:
        return ""
    shares = listed([f"{_percent(row)} of {name}" for name, row in cells.items()])
    apart = [f"{better} is above {worse}" for better, worse in pairs
             if _differ(cells[better], cells[worse])]
    known = [pair for pair in pairs if _have_intervals(*map(cells.get, pair))]
    overlap = "" if len(apart) == len(known) else (
        f"all {'other ' * bool(apart)}intervals overlap")
    missing = _missing([name for name in cells if not _have_intervals(cells[name])], len(cells))
    return f"Within {arm}: {'; '.join(filter(None, [shares, listed(apart), overlap, missing]))}."


def _numeric(table: pd.DataFrame, arms: list[str]) -> str:
    kinds = {arm: [_scored(table, arm=arm, kind=kind).get(ALL) for kind in KINDS] for arm in arms}
    kinds = {arm: rows for arm, rows in kinds.items() if all(rows)}
    if not kinds:
        return ""
    texts = [f"{arm} {_percent(numeric)} compared with {_percent(other)}"
             for arm, (numeric, other) in kinds.items()]
    return f"Numeric compared with other queries: {listed(texts)}; {_overlap(kinds)}."


def _overlap(pairs: dict[str, tuple]) -> str:
    """Say for which names the intervals of two rows overlap, do not overlap, or are missing."""
    missing = [name for name, rows in pairs.items() if not _have_intervals(*rows)]
    apart = [name for name, rows in pairs.items() if _differ(*rows)]
    overlapping = [name for name in pairs if name not in missing + apart]
    texts = [f"the intervals do not overlap for {listed(apart)}"] * bool(apart)
    if overlapping:
        where = " in each case" * (len(pairs) > 1)
        if len(overlapping) < len(pairs):
            where = f" for {listed(overlapping)}"
        texts.append(f"{'they' if apart else 'the intervals'} overlap{where}")
    return "; ".join(filter(None, [*texts, _missing(missing, len(pairs))]))


def _missing(names: list[str], n: int) -> str:
    """Say which of `n` cells or pairs of cells have no interval."""
    where = f" for {listed(names)}" if len(names) < n else ""
    return f"there is no interval{where}, because {ONE_CLUSTER}" if names else ""


def _unscored(table: pd.DataFrame) -> str:
    rows = table[(table.structure == ALL) & (table.unscored > 0)]
    if rows.empty:
        return "Every answer was scored."
    counts = listed([f"{row.unscored} of {row.n} for {row.arm}" for row in rows.itertuples()])
    return f"Unscored, and in no percentage: {counts}."
