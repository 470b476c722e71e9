"""A person's labels against each judge: agreement, leniency, and leniency by structure (beside paper, 4.4)."""

from collections import Counter

import numpy as np
import pandas as pd
from scipy import stats

from lib.analyze.agreement.coefficients import SCORED, coefficients, value_text
from lib.analyze.agreement.sheet import Item
from lib.core.arms import ALL
from lib.core.records import STRUCTURES, Verdict

N_RESAMPLES = 9999  # of the permutation test: its smallest p value is 1/10,000


def labelled(items: list[Item], labels: dict[str, str], judges: dict[str, list[Verdict]]) -> pd.DataFrame:
    """One row a judge and labelled answer: judge, item, query_id, arm, structure, person, verdict, weight.

    `items` are all answers of the study, `judges` maps a judge to its verdicts. weight is how many answers a labelled
    one stands for: those of its stratum over the labelled ones of it; no label speaks for a stratum without one. Labels
    of items that are not there any more are left out.
    """
    there = [item for item in items if item.item in labels]
    whole, drawn = (Counter((item.structure, item.arm, item.verdict) for item in part) for part in (items, there))
    rows = []
    for judge, verdicts in judges.items():
        said = {(row.query_id, row.arm): row.verdict for row in verdicts}
        for item in there:
            stratum = (item.structure, item.arm, item.verdict)
            rows.append((judge, item.item, item.query_id, item.arm, item.structure, labels[item.item],
                         said.get((item.query_id, item.arm), "unscored"), whole[stratum] / drawn[stratum]))
    return pd.DataFrame(rows, columns=["judge", "item", "query_id", "arm", "structure", "person", "verdict", "weight"])


def human_agreement(rows: pd.DataFrame, items: list[Item]) -> pd.DataFrame:
    """Each judge against the person by structure ("all" last), over answers that both scored.

    `rows` is what `labelled` gives for `items`, the study's answers with a text. Columns judge, structure, answers (of
    the structure), covered (of these, in strata with a label), then counts of the sample: labelled, unsure (the
    person), unscored (the judge), scored, agreed, lenient (judge correct, person incorrect), strict (the reverse);
    effective_n; then agreement, kappa, ac1 and leniency with low and high as estimates for the covered answers. Strata
    were not drawn in proportion, so each answer counts with its weight, and the table of weights is scaled to Kish's
    effective sample size (sum w)^2 / sum w^2 (L. Kish, Survey Sampling, 1965, 11.2) before
    `lib.analyze.agreement.coefficients.coefficients` and `leniency`.
    """
    table, whole = [], Counter(item.structure for item in items)
    for judge in rows.judge.unique():
        for structure in (*STRUCTURES, ALL):
            cell = rows[(rows.judge == judge) & ((rows.structure == structure) | (structure == ALL))]
            if cell.empty:
                continue
            both = _both_scored(cell)
            weighted = _weighted(both)
            estimates = {key: value for key, value in (coefficients(weighted) | leniency(weighted)).items()
                         if key not in ("scored", "agreed")}
            table.append({"judge": judge, "structure": structure,
                          "answers": whole.total() if structure == ALL else whole[structure],
                          "covered": round(cell.weight.sum()), "labelled": len(cell),
                          "unsure": int((cell.person == "unsure").sum()),
                          "unscored": int((cell.verdict == "unscored").sum()), "scored": len(both),
                          "agreed": int((both.person == both.verdict).sum()),
                          "lenient": int(((both.verdict == "correct") & (both.person == "incorrect")).sum()),
                          "strict": int(((both.verdict == "incorrect") & (both.person == "correct")).sum()),
                          "effective_n": weighted.sum(), **estimates})
    return pd.DataFrame(table)


def _both_scored(cell: pd.DataFrame) -> pd.DataFrame:
    return cell[cell.person.isin(SCORED) & cell.verdict.isin(SCORED)]


def _weighted(cell: pd.DataFrame) -> np.ndarray:
    """Weights by the judge's and the person's word, shape (2, 2), scaled to the effective sample size."""
    table = np.zeros((2, 2))
    for row in cell.itertuples():
        table[SCORED.index(row.verdict), SCORED.index(row.person)] += row.weight
    return table * cell.weight.sum() / (cell.weight ** 2).sum() if len(cell) else table


def leniency(table: np.ndarray) -> dict[str, float]:
    """leniency with low and high, of counts by the judge's word and the person's, shape (2, 2), correct first.

    leniency is the share where the judge says correct and the person incorrect less the share of the reverse: by how
    much the judge's accuracy is above the person's. Its 95% interval adds half an answer to each of the four cells, so
    that it has a width where nobody differs: A. Agresti and Y. Min, Simple improved confidence intervals for comparing
    matched proportions, Statistics in Medicine 24 (2005) 729-740.
    """
    lenient, strict, n = float(table[0, 1]), float(table[1, 0]), float(table.sum())
    names = ("leniency", "leniency_low", "leniency_high")
    if not n:
        return dict.fromkeys(names, float("nan"))
    more, less, padded = lenient + 0.5, strict + 0.5, n + 2
    middle, deviation = (more - less) / padded, np.sqrt(more + less - (more - less) ** 2 / padded) / padded
    reach = stats.norm.ppf(0.975) * deviation
    values = ((lenient - strict) / n, max(-1.0, middle - reach), min(1.0, middle + reach))
    return dict(zip(names, map(float, values), strict=True))


def leniency_test(rows: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    """Whether leniency differs by structure, a row a judge: judge, n, structures, differing, p, says.

    Each answer scores +1 (lenient), -1 (strict) or 0; the statistic is the sum of squares between structures, and p its
    share among random permutations of the structures (scipy.stats.permutation_test), which needs no large counts. NaN
    where fewer than two structures are labelled or nobody differs, because then there is nothing to test. Answers are
    taken as independent and unweighted: the sample draws the same strata of every structure.
    """
    table = []
    for judge, cell in rows.groupby("judge", sort=False):
        both = _both_scored(cell)
        scores = ((both.verdict == "correct").astype(int) - (both.person == "correct").astype(int))
        groups = [scores[both.structure == structure].to_numpy() for structure in STRUCTURES
                  if (both.structure == structure).any()]
        p = float("nan")
        if len(groups) > 1 and scores.any():
            p = float(stats.permutation_test(groups, _between, permutation_type="independent", alternative="greater",
                                             n_resamples=N_RESAMPLES, vectorized=True,
                                             rng=np.random.default_rng(seed)).pvalue)
        table.append({"judge": judge, "n": len(both), "structures": len(groups), "differing": int((scores != 0).sum()),
                      "p": p})
    return pd.DataFrame(table, columns=["judge", "n", "structures", "differing", "p"])


def _between(*groups: np.ndarray, axis: int = 0) -> np.ndarray:
    """Sum over groups of n × mean²: with the total fixed, it orders as the sum of squares between groups does."""
    return sum(group.shape[axis] * group.mean(axis=axis) ** 2 for group in groups)


def human_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """The table of `human_agreement` as text, a row a judge and structure, each count with its denominator."""
    return pd.DataFrame([
        {"judge": row.judge, "structure": row.structure, "labelled (unsure, unscored)":
            f"{row.labelled} ({row.unsure}, {row.unscored})", "agreed": f"{row.agreed}/{row.scored}",
         "weighed to": f"{row.covered} of {row.answers}",
         "agreement, weighed (%)": value_text(100 * row.agreement, 100 * row.agreement_low, 100 * row.agreement_high),
         "kappa": value_text(row.kappa, row.kappa_low, row.kappa_high),
         "AC1": value_text(row.ac1, row.ac1_low, row.ac1_high), "lenient, strict": f"{row.lenient}, {row.strict}",
         "leniency, weighed (points)": value_text(100 * row.leniency, 100 * row.leniency_low, 100 * row.leniency_high)}
        for row in table.itertuples()])


def human_findings(table: pd.DataFrame, tests: pd.DataFrame, without_text: int) -> str:
    """What the labels say, in sentences made from the two tables; `without_text` answers are in neither of them."""
    if table.empty:
        return "No answer is labelled, so no judge is compared with a person."
    sentences = []
    for row in table[table.structure == ALL].itertuples():
        test = tests[tests.judge == row.judge].iloc[0]
        if not row.scored:
            sentences.append(f"{row.judge} and the person have scored no answer in common.")
            continue
        sentences.append(
            f"{row.judge} agrees with the person on {row.agreed} of {row.scored} labelled answers and is lenient in "
            f"{row.lenient} and strict in {row.strict} of them. Weighed to the {row.covered} of {row.answers} "
            f"answers in strata with a label, it agrees on {row.agreement:.1%} [{100 * row.agreement_low:.1f}, "
            f"{100 * row.agreement_high:.1f}], and its accuracy is "
            f"{100 * row.leniency:+.1f} points [{100 * row.leniency_low:+.1f}, {100 * row.leniency_high:+.1f}] off the "
            "person's.")
        if test.p != test.p:
            sentences.append("Whether leniency differs by structure cannot be tested: the two differ on "
                             f"{test.differing} of {test.n} answers, and {test.structures} of {len(STRUCTURES)} "
                             "structures are labelled.")
        else:
            is_found = "differs" if test.p < 0.05 else "is not shown to differ"
            sentences.append(f"Leniency {is_found} by structure (permutation test, p = {test.p:.4f}, n = {test.n}, "
                             f"{test.differing} of them differing).")
    if without_text:
        sentences.append(f"Apart from these, {without_text} answers have no text, so no person judges them.")
    return " ".join(sentences)
