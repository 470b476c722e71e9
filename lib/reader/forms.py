"""Compare serializations: which is read best, which is learned best, over readers."""

from itertools import combinations

import pandas as pd
from scipy.stats import spearmanr

from lib.analyze.format import estimate, in_points
from lib.analyze.stats import holm, t_over
from lib.core.text import listed

TASKS = ("read", "learned", "practised")
_CELLS = [0, 6, 16, 10**6]  # upper bounds of the bins of table sizes
_DISTANCES = [-1, 100, 300, 10**9]


def by_form(rows: pd.DataFrame, by: tuple[str, ...] = ()) -> pd.DataFrame:
    """Return the share of right answers in percent by task, form and `by`, with t over readers.

    `rows` are of `lib.reader.records.CellAnswer` with `seed`, the reader's. Columns: task, form,
    *by, answers, and those of `t_over`. A reader counts once, with the mean over its answers.
    """
    keys = ["task", "form", *by]
    each = rows.groupby([*keys, "seed"], observed=True).correct.agg(["mean", "size"])
    return pd.DataFrame([
        {**dict(zip(keys, key, strict=True)), "answers": int(group["size"].sum()),
         **t_over(100 * group["mean"])} for key, group in each.groupby(keys, observed=True)])


def binned(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `rows` with the columns `cells` and `characters`, bins of n_cells and distance."""
    return rows.assign(cells=pd.cut(rows.n_cells, _CELLS, labels=["1–6", "7–16", "17 or more"]),
                       characters=pd.cut(rows.distance, _DISTANCES,
                                         labels=["to 100", "101–300", "more"]))


def differences(rows: pd.DataFrame, task: str) -> pd.DataFrame:
    """Return the difference in points of every pair of forms on the same questions, over readers.

    Columns: first, second, those of `t_over`, and p_holm over all pairs. The first form of a pair
    has the higher mean.
    """
    shares = rows[rows.task == task].groupby(["seed", "form"]).correct.mean().unstack() * 100
    order = shares.mean().sort_values(ascending=False, kind="stable").index
    table = pd.DataFrame([{"task": task, "first": first, "second": second,
                           **t_over(shares[first] - shares[second])}
                          for first, second in combinations(order, 2)])
    return table.assign(p_holm=holm(table.p) if table.p.notna().all() else float("nan"))


def conclusion(forms: pd.DataFrame, pairs: pd.DataFrame) -> str:
    """Say which form is read best and which is learned best; `pairs` has both tasks' rows."""
    lines = []
    for task, verb in (("read", "reads"), ("learned", "has learned")):
        table = forms[forms.task == task].sort_values("estimate", ascending=False, kind="stable")
        best, last = table.iloc[0], table.iloc[-1]
        if best.estimate == last.estimate:
            lines.append(f"- A reader {verb} every form equally: {_share(best)}.")
            continue
        found = pairs[(pairs.task == task) & (pairs["first"] == best.form) & (pairs.p_holm < 0.05)]
        lines.append(
            f"- A reader {verb} {best.form} best, {_share(best)}, and {last.form} least, "
            f"{_share(last)}. {_apart(found)}")
    both = forms.pivot(index="form", columns="task", values="estimate")
    found = set(pairs[pairs.p_holm < 0.05].task)
    if missing := [task for task in ("read", "learned") if task not in found]:
        lines.append("- Whether the form that is read best is also learned best is not known: in "
                     f"what is {listed(missing)}, no difference between two forms is found.")
    else:
        rank = spearmanr(both.read, both.learned).statistic
        same = both.read.idxmax() == both.learned.idxmax()
        lines.append(f"- The form that is read best is {'also' if same else 'not'} the one that is "
                     f"learned best; over the {len(both)} forms, Spearman's correlation of the two "
                     f"is {estimate(rank, digits=2)}, without an interval because the forms are "
                     "not a sample.")
    return "\n".join(lines) + "\n"


def _share(row) -> str:
    return f"{estimate(row.estimate, row.low, row.high)}% of {row.answers} answers"


def _apart(found: pd.DataFrame) -> str:
    if found.empty:
        return ("No difference between it and another form is found (t over readers, Holm over "
                "all pairs).")
    told = "; ".join(f"{row.second} {in_points(row.estimate, row.low, row.high)}"
                     for row in found.itertuples())
    return f"It is found to be better than {told} points."
