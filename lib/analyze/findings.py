"""What was found, in words written from the numbers of Tables 2 and 5, and the rows behind it (paper, section 5)."""

from itertools import combinations, pairwise

import pandas as pd

from lib.analyze.tables import KINDS
from lib.core.arms import ALL, sorted_arms
from lib.core.records import STRUCTURES, Answer, Query, Verdict
from lib.core.text import listed


def findings(table2: pd.DataFrame, table5: pd.DataFrame) -> str:
    """One paragraph: accuracy by arm, what changes from arm to arm, structures within an arm, numeric queries.

    Two accuracies are called apart where their Wilson 95% intervals do not overlap; cells without a scored answer
    are left out. Works for any arms and structures.
    """
    arms = sorted_arms(list(table2.arm.unique()))
    if not arms or not table2.n.sum():
        return "There are no verdicts, so nothing can be said."
    sentences = [_overall(table2, arms), *(_change(table2, *pair) for pair in pairwise(arms)),
                 *(_within(table2, arm) for arm in arms), _numbers(table5, arms), _unscored(table2)]
    caution = ("Percentages are of the scored answers; intervals that overlap do not show that two accuracies are "
               "equal, only that these queries cannot tell them apart.")
    return " ".join([sentence for sentence in sentences if sentence] + [caution])


def browsable(queries: list[Query], answers: list[Answer], verdicts: list[Verdict]) -> pd.DataFrame:
    """One row a query and arm, for reading; a line's end in an answer is shown as ↵.

    The texts come from documents and models: show them only where HTML is escaped (pandas and itables do by default).
    """
    asked = {query.query_id: query for query in queries}
    said = {(answer.arm, answer.query_id): answer.answer for answer in answers}
    return pd.DataFrame([
        {"arm": verdict.arm, "structure": asked[verdict.query_id].structure, "verdict": verdict.verdict,
         "question": asked[verdict.query_id].question, "reference answer": _on_one_line(asked[verdict.query_id].answer),
         "answer": _on_one_line(said.get((verdict.arm, verdict.query_id), "")), "reason": verdict.reason,
         "query": verdict.query_id, "document": asked[verdict.query_id].document_id} for verdict in verdicts])


def _on_one_line(text: str) -> str:
    return " ↵ ".join(text.splitlines())


def _cells(table: pd.DataFrame, **keys: str) -> dict[str, object]:
    """structure -> row, of the cells of `table` that match `keys` and have scored answers."""
    for column, value in keys.items():
        table = table[table[column] == value]
    return {row.structure: row for row in table.itertuples() if row.n > row.unscored}


def _percent(row) -> str:
    return f"{row.accuracy:.1%} ({row.correct}/{row.n - row.unscored})"


def _is_apart(one, other) -> bool:
    return one.low > other.high or other.low > one.high


def _overall(table: pd.DataFrame, arms: list[str]) -> str:
    first = table[table.arm == arms[0]].set_index("structure").n
    counts = listed([f"{first[structure]} {structure}" for structure in STRUCTURES if first[structure]])
    scored = [(arm, _cells(table, arm=arm).get(ALL)) for arm in arms]
    said = [f"{arm} answers {_percent(row)}" for arm, row in scored if row]
    return f"Of {first[ALL]} queries ({counts}), {listed(said) + ' correctly' if said else 'no answer was scored'}."


def _change(table: pd.DataFrame, before: str, after: str) -> str:
    old, new = _cells(table, arm=before), _cells(table, arm=after)
    there = [structure for structure in (*STRUCTURES, ALL) if structure in old and structure in new]
    if not there:
        return ""
    moves = [f"{100 * (new[place].accuracy - old[place].accuracy):+.1f} for {place}" for place in there]
    apart = [place for place in there if _is_apart(old[place], new[place])]
    return f"From {before} to {after}, accuracy moves, in percentage points, {listed(moves)}; {_told(apart, there)}."


def _within(table: pd.DataFrame, arm: str) -> str:
    cells = {place: row for place, row in _cells(table, arm=arm).items() if place != ALL}
    pairs = list(combinations(sorted(cells, key=lambda place: -cells[place].accuracy), 2))
    if not pairs:
        return ""
    stands = listed([f"{_percent(row)} of {place}" for place, row in cells.items()])
    apart = [f"{better} is above {worse}" for better, worse in pairs if _is_apart(cells[better], cells[worse])]
    rest = "" if len(apart) == len(pairs) else ", which is all that the intervals tell apart"
    return f"Within {arm}: {stands}; {listed(apart) + rest if apart else 'the intervals tell no two apart'}."


def _numbers(table: pd.DataFrame, arms: list[str]) -> str:
    kinds = {arm: [_cells(table, arm=arm, kind=kind).get(ALL) for kind in KINDS] for arm in arms}
    kinds = {arm: rows for arm, rows in kinds.items() if all(rows)}
    if not kinds:
        return ""
    said = listed([f"{arm} {_percent(numeric)} against {_percent(other)}" for arm, (numeric, other) in kinds.items()])
    return f"Numeric against other queries: {said}; {_told([arm for arm in kinds if _is_apart(*kinds[arm])], kinds)}."


def _told(apart: list[str], compared: list[str] | dict) -> str:
    if not apart:
        return "the intervals overlap" + (" in each" if len(compared) > 1 else "")
    overlapping = [place for place in compared if place not in apart]
    rest = f" and overlap for {listed(overlapping)}" if overlapping else ""
    return f"the intervals are apart for {listed(apart)}{rest}"


def _unscored(table: pd.DataFrame) -> str:
    rows = table[(table.structure == ALL) & (table.unscored > 0)]
    if rows.empty:
        return "Every answer was scored."
    counts = listed([f"{row.unscored} of {row.n} for {row.arm}" for row in rows.itertuples()])
    return f"Unscored, and in no percentage: {counts}."
