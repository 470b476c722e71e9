"""Summarize the ledger in tables and text: the funnel, and accuracy on what was trained on."""

from collections.abc import Iterator, Mapping

import pandas as pd

from lib.analyze.format import fraction, one_line
from lib.analyze.ledger.matching import FORMS
from lib.analyze.ledger.trace import STAGES, LedgerRow
from lib.analyze.stats import share_interval
from lib.analyze.tables import COUNTS, accuracy
from lib.core.arms import ALL, sorted_arms
from lib.core.files import made_by
from lib.core.records import STRUCTURES, Query
from lib.core.text import listed

REACHED = ("in training", "not in training")


def funnel(ledger: list[LedgerRow], clusters: Mapping[str, str]) -> pd.DataFrame:
    """Return the queries still complete after each stage, with their share and 95% interval.

    Columns are trained arm, structure ("all" last), stage, n, alive, share, low, high. The interval
    is stats.share_interval over `clusters` (query_id -> cluster, see paired.clusters_of), NaN with
    one; the last three are NaN if a structure has no queries.
    """
    rows = []
    for arm, structure, cell in _cells(ledger):
        lost, of = [row.lost_at for row in cell], [clusters[row.query_id] for row in cell]
        for place, stage in enumerate(STAGES, 1):
            alive = pd.Series([at not in STAGES[:place] for at in lost], dtype=float)
            rows.append((arm, structure, stage, len(cell), int(alive.sum()), alive.mean(),
                         *share_interval(alive, of)))
    return pd.DataFrame(rows, columns=["trained arm", "structure", "stage", "n", "alive", "share",
                                       "low", "high"])


def counts(ledger: list[LedgerRow]) -> pd.DataFrame:
    """Count the answers that were found, cut, dropped, rewritten, held out and packed."""
    return pd.DataFrame([{
        "trained arm": arm, "structure": structure, "n": len(cell),
        "in source": sum(row.source != "absent" for row in cell),
        "cut by a segment border": sum(row.segment == "cut" for row in cell),
        "segment dropped": sum(row.dropped != "" for row in cell),
        **{f"rewritten {form}": sum(row.rewritten == form for row in cell) for form in FORMS},
        "items rewritten": _ratio([(row.rewritten_items, row.items) for row in cell]),
        "held out": sum(row.split != "training" for row in cell),
        "cut over blocks": sum(row.block == "cut" for row in cell),
        "subject beside it": _ratio([(row.subject_in_block, 1) for row in cell
                                     if row.subject_in_block is not None]),
        "in training": sum(row.lost_at == "" for row in cell)}
        for arm, structure, cell in _cells(ledger)])


def _ratio(pairs: list[tuple[int, int]]) -> str:
    return f"{sum(part for part, _ in pairs)}/{sum(of for _, of in pairs)}"


def conditional(ledger: list[LedgerRow], verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return Table 2 split by whether the answer was in an arm's training; its kinds are REACHED.

    `verdicts` are rows of lib.analyze.tables.joined; intervals are over their clusters. Raises
    ValueError if an arm of the ledger has no verdict on a query.
    """
    judged = verdicts.set_index(["arm", "query_id"])
    missing = [row for row in ledger if (row.arm, row.query_id) not in judged.index]
    if missing:
        raise ValueError(f"{len(missing)} rows of the ledger, {missing[0].query_id} of "
                         f"{missing[0].arm} first, have no verdict: "
                         f"run {made_by('verdicts', arm=missing[0].arm)} again")
    rows = []
    for arm, structure, cell in _cells(ledger):
        for kind in REACHED:
            part = judged.reindex([(arm, row.query_id) for row in cell
                                   if (row.lost_at == "") == (kind == REACHED[0])])
            rows.append({"arm": arm, "structure": structure, "kind": kind,
                         **accuracy(part.verdict, part.get("cluster"))})
    return pd.DataFrame(rows, columns=["arm", "structure", "kind", *COUNTS])


def lost_rows(ledger: list[LedgerRow], queries: list[Query], each: int) -> pd.DataFrame:
    """Return at most `each` lost rows per arm and stage; display them only with HTML escaped."""
    columns = ["arm", "lost at", "question", "answer", "segments", "passage"]
    lost = _readable([row for row in ledger if row.lost_at], queries)[columns]
    return lost.groupby(["arm", "lost at"], sort=False).head(each)


def right_and_wrong(ledger: list[LedgerRow], queries: list[Query], verdicts: pd.DataFrame, arm: str,
                    structure: str = "tabular", each: int = 6) -> pd.DataFrame:
    """Return the first `each` right and wrong answers of an arm with what it was trained on.

    They are chosen as in the paper's section 5.2. Display them only where HTML is escaped.
    """
    own = verdicts[verdicts.arm == arm]
    rows = [row for row in ledger if row.arm == arm and row.structure == structure]
    table = _readable(rows, queries)
    table.insert(0, "verdict", table["query"].map(own.set_index("query_id").verdict))
    table = table.drop(columns=["arm", "query", "segments"])
    return pd.concat([table[table.verdict == verdict].head(each)
                      for verdict in ("correct", "incorrect")])


def _readable(ledger: list[LedgerRow], queries: list[Query]) -> pd.DataFrame:
    asked = {query.query_id: query for query in queries}
    rows = [(row.arm, row.query_id, asked[row.query_id].question,
             one_line(asked[row.query_id].answer), row.rewritten, row.lost_at,
             ", ".join(row.segments), row.passage) for row in ledger]
    return pd.DataFrame(rows, columns=["arm", "query", "question", "answer", "rewritten", "lost at",
                                       "segments", "passage"])


def sentences(ledger: list[LedgerRow], table: pd.DataFrame) -> str:
    """Summarize the ledger as text; `table` is what `conditional` returned."""
    texts = []
    for arm in sorted_arms(row.arm for row in ledger):
        own = [row for row in ledger if row.arm == arm]
        reached = sum(row.lost_at == "" for row in own)
        losses = [f"{n} at the {stage}" for stage in STAGES
                  if (n := sum(row.lost_at == stage for row in own))]
        texts.append(f"Of {len(own)} queries, {reached} ({reached / len(own):.1%}) have their "
                     f"complete answer in a block that {arm} was trained on"
                     + (f"; lost are {listed(losses)}." if losses else "."))
        for kind in REACHED:
            cells = table[(table.arm == arm) & (table.kind == kind) & (table.n > table.unscored)]
            rates = {row.structure: fraction(row.correct, row.n - row.unscored, row.low, row.high,
                                             digits=1) for row in cells.itertuples()}
            if ALL in rates:
                each = "; ".join(f"{name} {rates[name]}" for name in STRUCTURES if name in rates)
                texts.append(f"Of those {kind}, {arm} answers {rates[ALL]} correctly ({each}).")
    return " ".join(texts) or "There is no trained arm, so there is no ledger."


def _cells(ledger: list[LedgerRow]) -> Iterator[tuple[str, str, list[LedgerRow]]]:
    """Yield (arm, structure, its rows), arms and structures in their order, "all" last."""
    for arm in sorted_arms(row.arm for row in ledger):
        for structure in (*STRUCTURES, ALL):
            yield arm, structure, [row for row in ledger
                                   if row.arm == arm and structure in (row.structure, ALL)]
