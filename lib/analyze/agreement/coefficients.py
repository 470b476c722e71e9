"""Measure how far two judges agree on the same answers: share, kappa and AC1 (paper, 4.4).

A judge may be a person. Unscored is a third state, which is counted and shown but is part of no
coefficient.
"""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from lib.analyze.format import estimate, fraction, one_line
from lib.analyze.stats import share_interval, wilson
from lib.core.arms import ALL, sorted_arms
from lib.core.files import made_by
from lib.core.records import STRUCTURES, Query, Verdict

SCORED = ("correct", "incorrect")
STATES = (*SCORED, "unscored")
COEFFICIENTS = ("agreement", "kappa", "ac1")
NAN = float("nan")


def compared(queries: list[Query],
             verdicts: dict[str, list[Verdict]]) -> dict[tuple[str, str], pd.DataFrame]:
    """Return `paired_verdicts` by pair of judges; `verdicts` maps each judge to its verdicts."""
    return {pair: paired_verdicts(queries, *(verdicts[judge] for judge in pair))
            for pair in combinations(verdicts, 2)}


def paired_verdicts(queries: list[Query], first: Iterable[Verdict],
                    second: Iterable[Verdict]) -> pd.DataFrame:
    """Return one row per answer that both judges judged, with their verdicts and reasons.

    Columns are query_id, arm, document_id, structure, first, first_reason, second, second_reason.
    Raises ValueError if a judge has judged an answer twice, a query is unknown, or no answer has
    both verdicts.
    """
    asked = {query.query_id: query for query in queries}
    left, right = _by_answer("first", first, asked), _by_answer("second", second, asked)
    rows = left.merge(right, left_index=True, right_index=True).reset_index()
    if rows.empty:
        raise ValueError("the two judges have no answer in common: run "
                         f"{made_by('verdicts')} with both for the same arms")
    rows.insert(2, "document_id", [asked[name].document_id for name in rows.query_id])
    rows.insert(3, "structure", [asked[name].structure for name in rows.query_id])
    return rows


def _by_answer(judge: str, verdicts: Iterable[Verdict], asked: dict[str, Query]) -> pd.DataFrame:
    frame = pd.DataFrame([(row.query_id, row.arm, row.verdict, row.reason) for row in verdicts],
                         columns=["query_id", "arm", judge, f"{judge}_reason"])
    unknown = set(frame.query_id) - set(asked)
    frame = frame.set_index(["query_id", "arm"])
    if frame.index.has_duplicates or unknown:
        what = (f"query {min(unknown)!r} is not in queries.jsonl" if unknown
                else "a judge has two verdicts on an answer")
        raise ValueError(f"{what}: run {made_by('verdicts')} again for every arm")
    return frame


def stacked(tables: dict[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of pairs of judges as one, which begins with first_judge, second_judge."""
    together = pd.concat(tables, names=["first_judge", "second_judge"])
    return together.reset_index([0, 1]).reset_index(drop=True)


def agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the agreement in `paired_verdicts` by structure over all arms, then by arm.

    Columns are arm, structure, n (answers with both verdicts), unscored_first, unscored_second,
    and those of `clustered_coefficients` over the answers that both scored.
    """
    arms = sorted_arms(rows.arm)
    parts = [(ALL, structure, rows[rows.structure == structure]) for structure in STRUCTURES]
    parts += [(ALL, ALL, rows)]
    parts += [(arm, ALL, rows[rows.arm == arm]) for arm in arms if len(arms) > 1]
    return pd.DataFrame([{
        "arm": arm, "structure": structure, "n": len(part),
        "unscored_first": int((part["first"] == "unscored").sum()),
        "unscored_second": int((part["second"] == "unscored").sum()),
        **clustered_coefficients(by_document(part))}
        for arm, structure, part in parts if len(part)])


def by_document(cell: pd.DataFrame) -> np.ndarray:
    """Count answers that both scored, by document and both verdicts: (documents, 2, 2)."""
    both = cell[cell["first"].isin(SCORED) & cell["second"].isin(SCORED)]
    codes, names = pd.factorize(both.document_id)
    tables = np.zeros((len(names), 2, 2))
    states = [(both[judge] == "incorrect").to_numpy(int) for judge in ("first", "second")]
    np.add.at(tables, (codes, *states), 1)
    return tables


def confusion_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Count answers by structure ("all" last), first judge's state and (in columns) second's."""
    parts = []
    for structure in (*STRUCTURES, ALL):
        cell = rows[(rows.structure == structure) | (structure == ALL)]
        if len(cell):
            counts = pd.crosstab(cell["first"], cell["second"])
            counts = counts.reindex(index=STATES, columns=STATES, fill_value=0).rename_axis("first")
            parts.append(counts.reset_index().assign(structure=structure))
    return pd.concat(parts, ignore_index=True)[["structure", "first", *STATES]].rename_axis(
        None, axis="columns")


def formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format the table of `agreement`, keeping any columns before arm."""
    keys = list(table.columns[:table.columns.get_loc("arm")])
    return pd.DataFrame([{
        **{key: getattr(row, key) for key in keys}, "answers of": row.arm,
        "structure": row.structure, "answers": str(row.n),
        "unscored by first, second": f"{row.unscored_first}, {row.unscored_second}",
        "agreement": fraction(row.agreed, row.scored, row.agreement_low, row.agreement_high),
        "kappa": estimate(row.kappa, row.kappa_low, row.kappa_high, digits=2),
        "AC1": estimate(row.ac1, row.ac1_low, row.ac1_high, digits=2)}
        for row in table.itertuples()])


def coefficients(table: np.ndarray) -> dict[str, float]:
    """Return scored, agreed, agreement, kappa and ac1, the last three with 95% low and high.

    `table` has counts, shape (q, q). The interval is Wilson's for agreement, the asymptotic one of
    statsmodels for kappa, and that of `gwet_ac1` for ac1; all treat answers as independent. A
    coefficient is NaN if chance alone would always agree (kappa: one state only). An interval is
    NaN if its variance is 0, because an interval without width would claim certainty.
    """
    table = np.asarray(table, dtype=float)
    total, agreed = float(table.sum()), float(np.trace(table))
    found = {"scored": total, "agreed": agreed}
    if not total:
        return found | dict.fromkeys([f"{name}{end}" for name in COEFFICIENTS
                                      for end in ("", "_low", "_high")], NAN)
    from statsmodels.stats.inter_rater import cohens_kappa

    kappa, error = _kappa(table), 0.0
    if not np.isnan(kappa):
        with np.errstate(invalid="ignore"):  # a variance of -1e-18 if all agree
            error = float(np.nan_to_num(cohens_kappa(table).std_kappa))
    ac1, ac1_error = gwet_ac1(table)
    return (found | _share(agreed / total, total)
            | _with_interval("kappa", kappa, error, ndtri(0.975))
            | _with_interval("ac1", ac1, ac1_error, stdtrit(max(1, total - 1), 0.975)))


def clustered_coefficients(tables: np.ndarray) -> dict[str, float]:
    """Return `coefficients` of the sum of `tables`, with intervals clustered by document.

    `tables` has shape (documents, q, q). Answers about one document are correlated, so standard
    errors come from the jackknife over documents (B. Efron and R. Tibshirani, An Introduction to
    the Bootstrap, 1993, ch. 11). kappa and ac1 have t intervals of documents - 1 degrees of
    freedom; agreement has stats.share_interval. With one document there is no interval.
    """
    total, documents = tables.sum(axis=0), len(tables)
    found = coefficients(total)
    if not total.sum():
        return found
    if documents < 2:
        return found | {key: NAN for key in found if key.endswith(("_low", "_high"))}
    left_out = np.array([_values(total - table) for table in tables])  # (documents, 3)
    with np.errstate(invalid="ignore"):
        squares = ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
        errors = np.sqrt((documents - 1) / documents * squares)
    sizes = tables.sum(axis=(1, 2)).astype(int)
    agreed = np.trace(tables, axis1=1, axis2=2)
    is_agreed = [number < count for size, count in zip(sizes, agreed, strict=True)
                 for number in range(size)]
    ends = share_interval(is_agreed, np.repeat(np.arange(documents), sizes))
    found |= dict(zip(("agreement_low", "agreement_high"), ends, strict=True))
    for name, error in zip(COEFFICIENTS[1:], np.nan_to_num(errors[1:]), strict=True):
        found |= _with_interval(name, found[name], error, stdtrit(documents - 1, 0.975))
    return found


def _values(table: np.ndarray) -> tuple[float, float, float]:
    """Return agreement, kappa and ac1; NaN for an empty table."""
    if not table.sum():
        return NAN, NAN, NAN
    return np.trace(table) / table.sum(), _kappa(table), gwet_ac1(table)[0]


def _kappa(table: np.ndarray) -> float:
    """Return Cohen's kappa, NaN if both raters gave one state only."""
    from statsmodels.stats.inter_rater import cohens_kappa  # slow to import

    n_states = ((table.sum(axis=0) + table.sum(axis=1)) > 0).sum()
    return float(cohens_kappa(table, return_results=False)) if n_states > 1 else NAN


def _share(share: float, n: float) -> dict[str, float]:
    low, high = wilson(share * n, n)
    return {"agreement": share, "agreement_low": low, "agreement_high": high}


def _with_interval(name: str, value: float, error: float, factor: float) -> dict[str, float]:
    reach = float(factor) * error if error > 1e-6 else NAN
    low, high = np.clip([value - reach, value + reach], -1.0, 1.0)
    return {name: value, f"{name}_low": float(low), f"{name}_high": float(high)}


def gwet_ac1(table: np.ndarray) -> tuple[float, float]:
    """Return Gwet's AC1 of two raters and its standard error, from counts of shape (q, q).

    AC1 = (a - e) / (1 - e), with a the share agreed and e = sum_k p_k (1 - p_k) / (q - 1), p_k the
    mean of both raters' shares of category k. The variance is conditional on these raters, without
    finite correction: K. L. Gwet, Computing inter-rater reliability and its variance in the
    presence of high agreement, Brit. J. Math. Stat. Psychol. 61 (2008) 29-48, in the form of the
    author's R package irrCAC. No library installed here provides it.
    """
    table = np.asarray(table, dtype=float)
    n, q = table.sum(), len(table)
    shares = table / n
    mean = (shares.sum(0) + shares.sum(1)) / 2  # p_k, shape (q,)
    agreed, chance = np.trace(shares), (mean * (1 - mean)).sum() / (q - 1)
    value = (agreed - chance) / (1 - chance)
    pull = 2 * (1 - value) * (1 - (mean[:, None] + mean[None, :]) / 2) / (q - 1)  # (q, q)
    variance = ((shares * (np.eye(q) - pull) ** 2).sum()
                - (agreed - 2 * (1 - value) * chance) ** 2)
    return float(value), float(np.sqrt(max(0.0, variance) / n) / (1 - chance))


def disagreements(rows: pd.DataFrame, queries: list[Query],
                  answers: dict[tuple[str, str], str]) -> pd.DataFrame:
    """Return the answers on which the two judges differ, those that both scored first.

    `answers` maps (query_id, arm) to a text. Texts come from documents and models: display them
    escaped only.
    """
    asked = {query.query_id: query for query in queries}
    differ = rows[rows["first"] != rows["second"]]
    order = (differ[["first", "second"]] == "unscored").any(axis=1).sort_values(kind="stable").index
    return pd.DataFrame(
        [(row.structure, row.arm, row.first, row.second, asked[row.query_id].question,
          one_line(asked[row.query_id].answer), one_line(answers.get((row.query_id, row.arm), "")),
          row.first_reason, row.second_reason, row.query_id)
         for row in differ.loc[order].itertuples()],
        columns=["structure", "arm", "first", "second", "question", "reference answer", "answer",
                 "first's reason", "second's reason", "query"])
