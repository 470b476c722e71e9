"""The tables of lib.analyze.advice.gains and lib.analyze.advice.costs as they are read: every rate with its denominator or interval."""

import numpy as np
import pandas as pd

from lib.analyze.advice.gains import WHAT
from lib.analyze.format import in_points, p_value

_NO_QUERIES = {"other": "raw HTML, blanks"}


def shares_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`lib.analyze.advice.costs.shares` as text, a row a kind of block."""
    tokens, statements, queries = table.tokens.sum(), table.statements.sum(), table.queries.sum()
    return pd.DataFrame([{
        "blocks": f"{row.kind} ({row.structure or _NO_QUERIES.get(row.kind, 'not asked about')})",
        "number": f"{row.blocks:,}",
        f"of {tokens:,} tokens": f"{row.tokens:,} = {row.text_share:.1%}",
        f"of {statements:,} sentences, items and rows":
            f"{row.statements:,} = {row.statement_share:.1%}" if row.structure else "–",
        f"of {queries:,} queries": f"{row.queries:,} = {row.query_share:.1%}" if row.structure else "–"}
        for row in table.itertuples()])


def gains_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """Gains by structure (columns lib.analyze.advice.gains.GAINS) as text, a row an intervention and evidence."""
    rows = []
    for (intervention, evidence), cells in table.groupby(["intervention", "evidence"], sort=False):
        rows.append({"change": what(intervention), "evidence": evidence, "seeds": f"{cells.seeds.min():.0f}", **{
            f"{row.structure}, points [95%]": f"{in_points(row.gain_points, row.low_points, row.high_points)} "
                                              f"(n = {row.n})" for row in cells.itertuples()}})
    return pd.DataFrame(rows, columns=None if rows else ["change"]).fillna("–")


def ranked_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`lib.analyze.advice.gains.ranked` as text, best first."""
    return pd.DataFrame([{
        "change": what(row.intervention), "evidence": row.evidence,
        "gain on my mix, points [95%]": in_points(row.gain_points, row.low_points, row.high_points),
        "p (Holm)": p_value(row.p_holm), "so it": row.verdict, "share of my queries measured": f"{row.known_share:.0%}",
        "training tokens": _percent(row.tokens_added_percent),
        "points for 1% more tokens": "–" if np.isnan(row.points_per_percent) else f"{row.points_per_percent:+.2f}"}
        for row in table.itertuples()], columns=None if len(table) else ["change"])


def training_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`lib.analyze.advice.costs.training_costs` as text."""
    return pd.DataFrame([{
        "change": what(row.intervention), "these documents, tokens": f"{row.tokens_before:,} → {row.tokens_after:,}",
        "added": _percent(row.tokens_added_percent),
        "my corpus, tokens an epoch": f"{row.corpus_before:,} → {row.corpus_after:,}"} for row in table.itertuples()])


def model_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`lib.analyze.advice.costs.model_costs` as text."""
    return pd.DataFrame([{
        "sent to the model": row.sent, "calls": f"{row.segments:,}", "tokens in": f"{row.tokens_in:,}",
        "of them instructions": f"{row.segments * row.overhead_tokens:,}", "tokens out": f"{row.tokens_out:,}",
        "dollars": dollars(row.usd), "as a batch": dollars(row.usd_batch)} for row in table.itertuples()])


def what(intervention: str) -> str:
    """An intervention in words; its name where there are none."""
    return WHAT.get(intervention, intervention)


def dollars(amount: float) -> str:
    """"$0.0042", "$12.30"; "price unknown", never $0, where it is."""
    return "price unknown" if np.isnan(amount) else f"${amount:,.2f}" if amount >= 0.1 else f"${amount:.2g}"


def _percent(added: float) -> str:
    return "–" if np.isnan(added) else f"{added:+.1f}%"
