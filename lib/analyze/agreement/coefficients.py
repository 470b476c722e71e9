"""How far two judges agree on the same answers: share, Cohen's kappa, Gwet's AC1, and where not (beside paper, 4.4).

A judge may be a person. Unscored is a third state: it is counted and shown, and is in no coefficient.
"""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from lib.core.arms import ALL, sorted_arms
from lib.core.records import STRUCTURES, Query, Verdict

SCORED = ("correct", "incorrect")
STATES = (*SCORED, "unscored")
COEFFICIENTS = ("agreement", "kappa", "ac1")


def paired_verdicts(queries: list[Query], first: Iterable[Verdict], second: Iterable[Verdict]) -> pd.DataFrame:
    """One row an answer that both judges judged, with the two verdicts and their reasons.

    Columns query_id, arm, document_id, structure, first, first_reason, second, second_reason.
    Raises ValueError where a judge judged an answer twice, a query is unknown, or no answer has both verdicts.
    """
    structures = {query.query_id: query.structure for query in queries}
    documents = {query.query_id: query.document_id for query in queries}
    frames = [_by_answer(verdicts, structures) for verdicts in (first, second)]
    rows = frames[0].merge(frames[1], left_index=True, right_index=True, suffixes=("_first", "_second")).reset_index()
    if rows.empty:
        raise ValueError("the two judges have no answer in common: run 05_judge.ipynb with both for the same arms")
    rows.insert(2, "document_id", rows.query_id.map(documents))
    rows.insert(3, "structure", rows.query_id.map(structures))
    return rows.rename(columns={"verdict_first": "first", "verdict_second": "second", "reason_first": "first_reason",
                                "reason_second": "second_reason"})


def _by_answer(verdicts: Iterable[Verdict], structures: dict[str, str]) -> pd.DataFrame:
    frame = pd.DataFrame([(row.query_id, row.arm, row.verdict, row.reason) for row in verdicts],
                         columns=["query_id", "arm", "verdict", "reason"]).set_index(["query_id", "arm"])
    unknown = set(frame.index.get_level_values("query_id")) - set(structures)
    if frame.index.has_duplicates or unknown:
        what = f"query {min(unknown)!r} is not in queries.jsonl" if unknown else "a judge has two verdicts on an answer"
        raise ValueError(f"{what}: run 05_judge.ipynb again for every arm")
    return frame


def compared(queries: list[Query], verdicts: dict[str, list[Verdict]]) -> dict[tuple[str, str], pd.DataFrame]:
    """`paired_verdicts` of any two judges of `verdicts`, which maps a judge to its verdicts; {} of one judge."""
    return {pair: paired_verdicts(queries, *(verdicts[judge] for judge in pair)) for pair in combinations(verdicts, 2)}


def stacked(tables: dict[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """The tables of pairs of judges one below the other, with columns first_judge and second_judge in front."""
    parts = [table.assign(first_judge=first, second_judge=second) for (first, second), table in tables.items()]
    whole = pd.concat(parts, ignore_index=True)
    return whole[["first_judge", "second_judge", *(name for name in whole if not name.endswith("_judge"))]]


def agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """Agreement by structure over all arms and, for all structures, by arm: what `paired_verdicts` gives, in numbers.

    Columns arm, structure, n (answers with both verdicts), unscored_first, unscored_second, then those of
    `clustered_coefficients`, which are over the answers that both scored.
    """
    arms = sorted_arms(list(rows.arm.unique()))
    cells = [(ALL, structure) for structure in (*STRUCTURES, ALL)] + [(arm, ALL) for arm in arms if len(arms) > 1]
    table = []
    for arm, structure in cells:
        cell = rows[((rows.arm == arm) | (arm == ALL)) & ((rows.structure == structure) | (structure == ALL))]
        if len(cell):
            table.append({"arm": arm, "structure": structure, "n": len(cell),
                          "unscored_first": int((cell["first"] == "unscored").sum()),
                          "unscored_second": int((cell["second"] == "unscored").sum()),
                          **clustered_coefficients(_by_document(cell))})
    return pd.DataFrame(table)


def _by_document(cell: pd.DataFrame) -> np.ndarray:
    """Counts by document, the first judge's word and the second's, of answers that both scored: (documents, 2, 2)."""
    both = cell[cell["first"].isin(SCORED) & cell["second"].isin(SCORED)]
    codes, names = pd.factorize(both.document_id)
    tables = np.zeros((len(names), 2, 2))
    np.add.at(tables, (codes, *((both[judge] == "incorrect").to_numpy(int) for judge in ("first", "second"))), 1)
    return tables


def confusion(rows: pd.DataFrame) -> pd.DataFrame:
    """Counts of answers by the first judge's state (rows) and the second's (columns), unscored last."""
    table = pd.crosstab(pd.Categorical(rows["first"], STATES), pd.Categorical(rows["second"], STATES), dropna=False)
    return table.reindex(index=STATES, columns=STATES, fill_value=0).rename_axis("first").rename_axis(
        "second", axis="columns")


def confusion_table(rows: pd.DataFrame) -> pd.DataFrame:
    """`confusion` by structure ("all" last) as one table: structure, first, then a column a state of the second."""
    parts = []
    for structure in (*STRUCTURES, ALL):
        cell = rows[(rows.structure == structure) | (structure == ALL)]
        if len(cell):
            parts.append(confusion(cell).reset_index().assign(structure=structure))
    return pd.concat(parts, ignore_index=True)[["structure", "first", *STATES]].rename_axis(None, axis="columns")


def agreement_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """The table of `agreement` as text, with any columns that stand before arm; each share with its denominator."""
    keys = list(table.columns[:table.columns.get_loc("arm")])
    return pd.DataFrame([
        {**{key: row[key] for key in keys}, "answers of": row.arm, "structure": row.structure, "answers": str(row.n),
         "unscored by first, second": f"{row.unscored_first}, {row.unscored_second}",
         "agreement": f"{row.agreed:.0f}/{row.scored:.0f} = {row.agreement:.2%} "
                      f"[{100 * row.agreement_low:.1f}, {100 * row.agreement_high:.1f}]" if row.scored else "–",
         "kappa": value_text(row.kappa, row.kappa_low, row.kappa_high),
         "AC1": value_text(row.ac1, row.ac1_low, row.ac1_high)} for _, row in table.iterrows()])


def value_text(value: float, low: float, high: float) -> str:
    """"0.85 [0.76, 0.94]"; without an interval where there is none, and a dash where there is no value."""
    if pd.isna(value):
        return "–"
    return f"{value:.2f}" + ("" if pd.isna(low) else f" [{low:.2f}, {high:.2f}]")


def coefficients(table: np.ndarray) -> dict[str, float]:
    """scored, agreed, then agreement, kappa and ac1 with low and high (95%) of a square table of counts, shape (q, q).

    agreement has its Wilson interval, kappa the asymptotic one of statsmodels, ac1 the one of `gwet_ac1`; all take the
    answers as independent. A coefficient is NaN where chance alone would agree always (kappa: one state only), and an
    interval is NaN where its variance is 0, because an interval without width would claim to be certain.
    """
    table = np.asarray(table, dtype=float)
    total, agreed = float(table.sum()), float(np.trace(table))
    found = {"scored": total, "agreed": agreed}
    if not total:
        return found | {f"{name}{end}": float("nan") for name in COEFFICIENTS for end in ("", "_low", "_high")}
    found |= _wilson(agreed / total, total)
    kappa, deviation = _kappa(table), 0.0
    if kappa == kappa:
        with np.errstate(invalid="ignore"):  # a variance of -1e-18 where all agree
            deviation = float(np.nan_to_num(cohens_kappa(table).std_kappa))
    found |= _with_interval("kappa", kappa, deviation, stats.norm.ppf(0.975))
    return found | _with_interval("ac1", *gwet_ac1(table), stats.t.ppf(0.975, max(1, total - 1)))


def clustered_coefficients(tables: np.ndarray) -> dict[str, float]:
    """`coefficients` of the sum of `tables`, one a document, shape (documents, q, q), with intervals for documents.

    Answers about one document are alike, so the standard errors are those of the jackknife that leaves out a document
    at a time (B. Efron and R. Tibshirani, An Introduction to the Bootstrap, 1993, ch. 11), the intervals of kappa and
    ac1 t intervals of documents - 1 degrees of freedom, and agreement's is Wilson's with the number of independent
    answers that has this standard error, at most all. With one document the intervals are those of `coefficients`.
    """
    whole = tables.sum(axis=0)
    found, documents = coefficients(whole), len(tables)
    if documents < 2 or not whole.sum():
        return found
    left_out = np.array([_values(whole - table) for table in tables])  # (documents, 3)
    with np.errstate(invalid="ignore"):
        errors = np.sqrt((documents - 1) / documents * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    share = found["agreement"]
    if errors[0] > 0:
        found |= _wilson(share, min(found["scored"], 1 + share * (1 - share) / errors[0] ** 2))
    for name, error in zip(COEFFICIENTS[1:], np.nan_to_num(errors[1:]), strict=True):
        found |= _with_interval(name, found[name], error, stats.t.ppf(0.975, documents - 1))
    return found


def _values(table: np.ndarray) -> tuple[float, float, float]:
    """agreement, kappa and ac1, NaN of an empty table."""
    if not table.sum():
        return (float("nan"),) * 3
    return np.trace(table) / table.sum(), _kappa(table), gwet_ac1(table)[0]


def _kappa(table: np.ndarray) -> float:
    """Cohen's kappa, NaN where both raters gave one state only."""
    n_states = ((table.sum(axis=0) + table.sum(axis=1)) > 0).sum()
    return float(cohens_kappa(table, return_results=False)) if n_states > 1 else float("nan")


def _wilson(share: float, n: float) -> dict[str, float]:
    low, high = proportion_confint(share * n, n, method="wilson")
    return {"agreement": share, "agreement_low": min(low, share), "agreement_high": max(high, share)}


def _with_interval(name: str, value: float, deviation: float, factor: float) -> dict[str, float]:
    reach = float(factor) * deviation if deviation > 1e-6 else float("nan")
    return {name: value, f"{name}_low": max(-1.0, value - reach) if reach == reach else reach,
            f"{name}_high": min(1.0, value + reach) if reach == reach else reach}


def gwet_ac1(table: np.ndarray) -> tuple[float, float]:
    """Gwet's AC1 of two raters and its standard error, from a square table of counts, shape (q, q).

    AC1 = (a - e) / (1 - e), with a the share agreed and e = sum_k p_k (1 - p_k) / (q - 1), p_k the mean of both raters'
    shares of category k; the variance conditional on these raters, without finite correction: K. L. Gwet, Computing
    inter-rater reliability and its variance in the presence of high agreement, Brit. J. Math. Stat. Psychol. 61 (2008)
    29-48; in the form of the author's R package irrCAC. No library that this study installs has it.
    """
    table = np.asarray(table, dtype=float)
    n, q = table.sum(), len(table)
    shares = table / n
    mean = (shares.sum(0) + shares.sum(1)) / 2  # p_k, shape (q,)
    agreed, chance = np.trace(shares), (mean * (1 - mean)).sum() / (q - 1)
    value = (agreed - chance) / (1 - chance)
    pull = 2 * (1 - value) * (1 - (mean[:, None] + mean[None, :]) / 2) / (q - 1)  # (q, q)
    spread = (shares * (np.eye(q) - pull) ** 2).sum() - (agreed - 2 * (1 - value) * chance) ** 2
    return float(value), float(np.sqrt(max(0.0, spread) / n) / (1 - chance))


def disagreements(rows: pd.DataFrame, queries: list[Query], answers: dict[tuple[str, str], str]) -> pd.DataFrame:
    """The answers on which the two judges differ, to read: one row each, both scored ones first.

    `answers` maps (query_id, arm) to a text. Texts come from documents and models: show them escaped only.
    """
    asked = {query.query_id: query for query in queries}
    differ = rows[rows["first"] != rows["second"]]
    order = (differ[["first", "second"]] == "unscored").any(axis=1).sort_values(kind="stable").index
    return pd.DataFrame([
        {"structure": row.structure, "arm": row.arm, "first": row.first, "second": row.second,
         "question": asked[row.query_id].question, "reference answer": _on_one_line(asked[row.query_id].answer),
         "answer": _on_one_line(answers.get((row.query_id, row.arm), "")),
         "first's reason": row.first_reason, "second's reason": row.second_reason, "query": row.query_id}
        for row in differ.loc[order].itertuples()],
        columns=["structure", "arm", "first", "second", "question", "reference answer", "answer", "first's reason",
                 "second's reason", "query"])


def _on_one_line(text: str) -> str:
    return " ↵ ".join(text.splitlines())
