"""Compare a person's labels with each judge: agreement, and leniency by structure (paper, 4.4)."""

from collections import Counter

import numpy as np
import pandas as pd
from scipy.special import ndtri

from lib.analyze.agreement.coefficients import SCORED, coefficients
from lib.analyze.agreement.sheet import Item
from lib.analyze.format import estimate, in_points, percent
from lib.analyze.stats import ALPHA
from lib.core.arms import ALL
from lib.core.records import STRUCTURES, Verdict

N_RESAMPLES = 9999  # permutations, so the smallest p value is 1/10,000


def labelled(items: list[Item], labels: dict[str, str],
             judges: dict[str, list[Verdict]]) -> pd.DataFrame:
    """Return one row per judge and labelled answer.

    Columns are judge, item, query_id, arm, structure, person, verdict, weight. `items` are all of
    the study's answers, `judges` maps judges to verdicts. weight is the number of answers that a
    labelled one represents: the size of its stratum / the number labelled in it; strata without a
    label are not represented. Labels of items that no longer exist are left out.
    """
    drawn = [item for item in items if item.item in labels]
    n_all, n_drawn = (Counter(map(_stratum, part)) for part in (items, drawn))
    rows = []
    for judge, verdicts in judges.items():
        verdict_on = {(row.query_id, row.arm): row.verdict for row in verdicts}
        rows += [(judge, item.item, item.query_id, item.arm, item.structure, labels[item.item],
                  verdict_on.get((item.query_id, item.arm), "unscored"),
                  n_all[_stratum(item)] / n_drawn[_stratum(item)]) for item in drawn]
    return pd.DataFrame(rows, columns=["judge", "item", "query_id", "arm", "structure", "person",
                                       "verdict", "weight"])


def _stratum(item: Item) -> tuple[str, str, str]:
    return item.structure, item.arm, item.verdict


def human_agreement(rows: pd.DataFrame, items: list[Item]) -> pd.DataFrame:
    """Return each judge's agreement with the person by structure ("all" last).

    `rows` is what `labelled` returned for `items`, the study's answers with a text. Columns are
    judge, structure, answers (of the structure), covered (of these, in strata with a label); in the
    sample: labelled, unsure (the person), unscored (the judge), scored (by both), agreed, lenient
    (judge correct, person incorrect), strict (the reverse), effective_n; for the covered answers:
    agreement, kappa, ac1 and leniency, with low and high. Strata were not drawn in proportion, so
    each answer counts with its weight, and the table of weights is scaled to Kish's effective
    sample size (sum w)^2 / sum w^2 (L. Kish, Survey Sampling, 1965, 11.2).
    """
    table = []
    for judge in rows.judge.unique():
        for structure in (*STRUCTURES, ALL):
            cell = rows[(rows.judge == judge) & rows.structure.isin(_members(structure))]
            if cell.empty:
                continue
            both = _both_scored(cell)
            weighted = _weighted(both)
            estimates = coefficients(weighted) | leniency(weighted)
            del estimates["scored"], estimates["agreed"]
            table.append({
                "judge": judge, "structure": structure,
                "answers": sum(item.structure in _members(structure) for item in items),
                "covered": round(cell.weight.sum()), "labelled": len(cell),
                "unsure": int((cell.person == "unsure").sum()),
                "unscored": int((cell.verdict == "unscored").sum()), "scored": len(both),
                "agreed": int((both.person == both.verdict).sum()),
                "lenient": int((_leniencies(both) > 0).sum()),
                "strict": int((_leniencies(both) < 0).sum()),
                "effective_n": weighted.sum(), **estimates})
    return pd.DataFrame(table)


def _members(structure: str) -> tuple[str, ...]:
    return STRUCTURES if structure == ALL else (structure,)


def _both_scored(cell: pd.DataFrame) -> pd.DataFrame:
    return cell[cell.person.isin(SCORED) & cell.verdict.isin(SCORED)]


def _leniencies(both: pd.DataFrame) -> pd.Series:
    """Score each answer +1 (lenient), -1 (strict) or 0."""
    return (both.verdict == "correct").astype(int) - (both.person == "correct").astype(int)


def _weighted(both: pd.DataFrame) -> np.ndarray:
    """Sum the weights by the judge's and the person's verdict, scaled to the effective size."""
    table = np.zeros((2, 2))
    for row in both.itertuples():
        table[SCORED.index(row.verdict), SCORED.index(row.person)] += row.weight
    return table * both.weight.sum() / (both.weight ** 2).sum() if len(both) else table


def leniency(table: np.ndarray) -> dict[str, float]:
    """Return leniency with low and high, from (2, 2) counts by judge and person, correct first.

    leniency is the share that the judge calls correct and the person incorrect, less the share of
    the reverse. It equals the judge's accuracy less the person's. Its 95% interval adds half an
    answer to each of the four cells, so that it has a width even if the two agree: A. Agresti and
    Y. Min, Simple improved confidence intervals for comparing matched proportions, Statistics in
    Medicine 24 (2005) 729-740.
    """
    lenient, strict, n = float(table[0, 1]), float(table[1, 0]), float(table.sum())
    names = ("leniency", "leniency_low", "leniency_high")
    if not n:
        return dict.fromkeys(names, float("nan"))
    more, less, padded = lenient + 0.5, strict + 0.5, n + 2
    middle = (more - less) / padded
    error = np.sqrt(more + less - (more - less) ** 2 / padded) / padded
    reach = ndtri(0.975) * error
    values = ((lenient - strict) / n, max(-1.0, middle - reach), min(1.0, middle + reach))
    return dict(zip(names, map(float, values), strict=True))


def leniency_test(rows: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    """Test whether leniency differs by structure; columns judge, n, structures, differing, p.

    Each answer scores +1 (lenient), -1 (strict) or 0; the statistic is the sum of squares between
    structures, and p the share of random permutations that reach it (scipy.stats.permutation_test),
    which needs no large counts. structures counts those with two or more answers that both scored;
    only these are tested. p is NaN if there are fewer than two or nothing differs.
    Answers are treated as independent and unweighted: the sample draws the same strata for every
    structure.
    """
    table = []
    for judge, cell in rows.groupby("judge", sort=False):
        both = _both_scored(cell)
        scores = _leniencies(both)
        groups = [scores[both.structure == structure].to_numpy() for structure in STRUCTURES
                  if (both.structure == structure).sum() > 1]
        p = float("nan")
        if len(groups) > 1 and np.concatenate(groups).any():
            from scipy.stats import permutation_test  # slow to import, and only labels need it

            p = float(permutation_test(
                groups, _between, permutation_type="independent", alternative="greater",
                n_resamples=N_RESAMPLES, vectorized=True, rng=np.random.default_rng(seed)).pvalue)
        table.append((judge, len(both), len(groups), int((scores != 0).sum()), p))
    return pd.DataFrame(table, columns=["judge", "n", "structures", "differing", "p"])


def _between(*groups: np.ndarray, axis: int = 0) -> np.ndarray:
    """Return the sum of n × mean², which ranks a fixed total like the squares between groups."""
    return sum(group.shape[axis] * group.mean(axis=axis) ** 2 for group in groups)


def formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format the table of `human_agreement`; each count is shown with its denominator."""
    return pd.DataFrame([{
        "judge": row.judge, "structure": row.structure,
        "labelled (unsure, unscored)": f"{row.labelled} ({row.unsure}, {row.unscored})",
        "agreed": f"{row.agreed}/{row.scored}", "weighted to": f"{row.covered} of {row.answers}",
        "agreement, weighted (%)": percent(row.agreement, row.agreement_low, row.agreement_high),
        "kappa": estimate(row.kappa, row.kappa_low, row.kappa_high, digits=2),
        "AC1": estimate(row.ac1, row.ac1_low, row.ac1_high, digits=2),
        "lenient, strict": f"{row.lenient}, {row.strict}",
        "leniency, weighted (points)": _leniency_text(row)} for row in table.itertuples()])


def _leniency_text(row) -> str:
    return in_points(100 * row.leniency, 100 * row.leniency_low, 100 * row.leniency_high)


def human_findings(table: pd.DataFrame, tests: pd.DataFrame, without_text: int) -> str:
    """Summarize both tables as text; neither has the `without_text` answers without a text."""
    if table.empty:
        return "No answer is labelled, so no judge is compared with a person."
    sentences = []
    for row in table[table.structure == ALL].itertuples():
        test = tests[tests.judge == row.judge].iloc[0]
        if not row.scored:
            sentences.append(f"{row.judge} and the person have scored no answer in common.")
            continue
        sentences.append(
            f"{row.judge} agrees with the person on {row.agreed} of {row.scored} labelled answers, "
            f"and is lenient in {row.lenient} and strict in {row.strict} of them. Re-weighted to "
            f"{row.covered} of {row.answers} answers (the strata with a label), it agrees on "
            f"{percent(row.agreement, row.agreement_low, row.agreement_high)}%, and its accuracy "
            f"less the person's is {_leniency_text(row)} points.")
        if np.isnan(test.p):
            sentences.append(
                "Whether leniency differs by structure cannot be tested: the two differ on "
                f"{test.differing} of {test.n} answers, and {test.structures} of "
                f"{len(STRUCTURES)} structures have two answers that both scored.")
        else:
            verb = "differs" if test.p <= ALPHA else "is not shown to differ"
            sentences.append(
                f"Leniency {verb} by structure (permutation test, p = {test.p:.4f}, "
                f"n = {test.n}, {test.differing} of them differing).")
    if without_text:
        sentences.append(f"{without_text} further answers have no text, so no person judges them.")
    return " ".join(sentences)
