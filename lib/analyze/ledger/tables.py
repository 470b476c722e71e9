"""The ledger as tables and in words: the funnel, and accuracy on what was in an arm's training (the ledger)."""

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from lib.analyze.ledger.matching import FORMS
from lib.analyze.ledger.trace import STAGES, LedgerRow
from lib.analyze.tables import COUNTS, accuracy
from lib.core.arms import ALL, sorted_arms
from lib.core.records import STRUCTURES, Query
from lib.core.text import listed

REACHED = ("in training", "not in training")


def funnel(ledger: list[LedgerRow]) -> pd.DataFrame:
    """Queries still whole at each stage: trained arm, structure ("all" last), stage, n, alive, share, low, high.

    The interval is Wilson's, 95%. NaN where a structure has no queries.
    """
    rows = []
    for arm, structure, cell in _cells(ledger):
        for index, stage in enumerate(STAGES):
            alive = sum(not row.lost_at or STAGES.index(row.lost_at) > index for row in cell)
            low, high = proportion_confint(alive, len(cell), method="wilson") if cell else (float("nan"),) * 2
            share = alive / len(cell) if cell else float("nan")
            rows.append({"trained arm": arm, "structure": structure, "stage": stage, "n": len(cell), "alive": alive,
                         "share": share, "low": min(low, share), "high": max(high, share)})
    return pd.DataFrame(rows, columns=["trained arm", "structure", "stage", "n", "alive", "share", "low", "high"])


def counts(ledger: list[LedgerRow]) -> pd.DataFrame:
    """The ledger in numbers: of n queries, how many were found, cut, dropped, rewritten how, held out, packed how."""
    return pd.DataFrame([{
        "trained arm": arm, "structure": structure, "n": len(cell),
        "in source": sum(row.source != "absent" for row in cell),
        "cut by a segment border": sum(row.segment == "cut" for row in cell),
        "segment dropped": sum(row.dropped != "" for row in cell),
        **{f"rewritten {form}": sum(row.rewritten == form for row in cell) for form in FORMS},
        "items rewritten": f"{sum(row.rewritten_items for row in cell)}/{sum(row.items for row in cell)}",
        "held out": sum(row.split != "training" for row in cell),
        "cut over blocks": sum(row.block == "cut" for row in cell),
        "subject beside it": f"{sum(row.subject_in_block is True for row in cell)}/"
                             f"{sum(row.subject_in_block is not None for row in cell)}",
        "in training": sum(row.lost_at == "" for row in cell)} for arm, structure, cell in _cells(ledger)])


def conditional(ledger: list[LedgerRow], verdicts: pd.DataFrame) -> pd.DataFrame:
    """Table 2 apart for answers whole in an arm's training and others: arm, structure, kind, then its columns.

    `verdicts` are rows of lib.analyze.tables.joined. Raises ValueError where an arm of the ledger has no verdict on a query.
    """
    said = {(row.arm, row.query_id): row.verdict for row in verdicts.itertuples()}
    missing = [row for row in ledger if (row.arm, row.query_id) not in said]
    if missing:
        raise ValueError(f"{len(missing)} rows of the ledger, {missing[0].query_id} of {missing[0].arm} first, have no "
                         "verdict: run 05_judge.ipynb for this arm again")
    rows = []
    for arm, structure, cell in _cells(ledger):
        for kind in REACHED:
            judged = [said[arm, row.query_id] for row in cell if (row.lost_at == "") == (kind == REACHED[0])]
            rows.append({"arm": arm, "structure": structure, "kind": kind,
                         **accuracy(pd.Series(judged, dtype="object"))})
    return pd.DataFrame(rows, columns=["arm", "structure", "kind", *COUNTS])


def lost_rows(ledger: list[LedgerRow], queries: list[Query], each: int) -> pd.DataFrame:
    """At most `each` rows of each arm and stage that lost something, for reading where HTML is escaped."""
    asked = {query.query_id: query for query in queries}
    table = pd.DataFrame([{
        "arm": row.arm, "lost at": row.lost_at, "question": asked[row.query_id].question,
        "answer": " ↵ ".join(asked[row.query_id].answer.splitlines()), "segments": ", ".join(row.segments),
        "passage": row.passage} for row in ledger if row.lost_at],
        columns=["arm", "lost at", "question", "answer", "segments", "passage"])
    return table.groupby(["arm", "lost at"], sort=False).head(each)


def right_and_wrong(ledger: list[LedgerRow], queries: list[Query], verdicts: pd.DataFrame, arm: str,
                    structure: str = "tabular", each: int = 6) -> pd.DataFrame:
    """The first `each` right and wrong answers of an arm beside what it was trained on, as the paper's section 5.2.

    Columns verdict, question, answer, rewritten, lost at, passage; for reading where HTML is escaped.
    """
    asked = {query.query_id: query for query in queries}
    said = {row.query_id: row.verdict for row in verdicts[verdicts.arm == arm].itertuples()}
    table = pd.DataFrame([{
        "verdict": said[row.query_id], "question": asked[row.query_id].question, "answer": asked[row.query_id].answer,
        "rewritten": row.rewritten, "lost at": row.lost_at, "passage": row.passage}
        for row in ledger if row.arm == arm and row.structure == structure],
        columns=["verdict", "question", "answer", "rewritten", "lost at", "passage"])
    return pd.concat([table[table.verdict == verdict].head(each) for verdict in ("correct", "incorrect")])


def sentences(ledger: list[LedgerRow], table: pd.DataFrame) -> str:
    """The ledger in words; `table` is what `conditional` gave. Every number is computed."""
    said = []
    for arm, structure, cell in _cells(ledger):
        if structure != ALL or not cell:
            continue
        reached = sum(row.lost_at == "" for row in cell)
        losses = [f"{n} at the {stage}" for stage in STAGES if (n := sum(row.lost_at == stage for row in cell))]
        said.append(f"Of {len(cell)} queries, {reached} ({reached / len(cell):.1%}) have their answer whole in a block "
                    f"that {arm} was trained on" + (f"; lost are {listed(losses)}." if losses else "."))
        cells = table[table.arm == arm].set_index(["structure", "kind"])
        for kind in REACHED:
            row = cells.loc[(ALL, kind)]
            scored = int(row.n - row.unscored)
            if scored:
                parts = [f"{name} {_rate(cells.loc[(name, kind)])}" for name in STRUCTURES
                         if cells.loc[(name, kind)].n > cells.loc[(name, kind)].unscored]
                said.append(f"Of those {kind}, {arm} answers {_rate(row)} correctly ({'; '.join(parts)}).")
    return " ".join(said) or "There is no trained arm, so there is no ledger."


def _rate(row: pd.Series) -> str:
    return (f"{row.accuracy:.1%} [{100 * row.low:.1f}, {100 * row.high:.1f}] "
            f"= {row.correct:.0f}/{row.n - row.unscored:.0f}")


def _cells(ledger: list[LedgerRow]):
    """(arm, structure, its rows), arms and structures in their order, "all" last."""
    for arm in sorted_arms([row.arm for row in ledger]):
        for structure in (*STRUCTURES, ALL):
            yield arm, structure, [row for row in ledger if row.arm == arm and structure in (row.structure, ALL)]
