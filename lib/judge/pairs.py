"""Win-rate: which of two arms' answers is better, asked in both orders, a flip being a tie (paper, 4.4 and Table 4)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, get_args

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from lib.core.arms import ALL
from lib.core.records import STRUCTURES, Answer, Document, Query, Record
from lib.judge.pairs_rules import correctness_by_rules, relevance_by_rules
from lib.judge.verdicts import answers_of_one_arm

if TYPE_CHECKING:
    from lib.llm.calls import Calls

Criterion = Literal["correctness", "domain relevance"]
Choice = Literal["A", "B", "tie", "unscored"]  # A: the first arm's answer is better
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
OUTCOMES: tuple[Choice, ...] = ("A", "B", "tie")


class Preference(Record):
    """One judge's word on two arms' answers to one query, by one criterion; A is the first arm, in either order."""

    query_id: str
    first_arm: str
    second_arm: str
    judge: str
    criterion: Criterion
    verdict: Choice  # unscored where either order is; a flip is a tie
    is_flipped: bool  # both orders were scored, and differently
    is_asked: bool  # False: nothing had to be asked, `reason` says why
    as_first: Choice  # where the first arm's answer is shown first
    as_second: Choice  # where it is shown second
    reason: str
    reason_as_second: str


def prefer(queries: list[Query], first: list[Answer], second: list[Answer], documents: list[Document],
           judge: str = "rules", calls: "Calls | None" = None) -> list[Preference]:
    """One preference a query and criterion, queries in order, by `judge`: "rules", or a model asked with `calls`.

    `documents` are the study's: their words are the domain of the rules' relevance; a model does not see them.
    A query that an arm has no row for is unscored, and two equal answers are a tie without a question.
    Raises ValueError where an arm's answers do not fit the queries (as lib.judge.verdicts.judge does), where both are of one
    arm, and for a model without `calls`; CallsStopped as `lib.llm.complete` does.
    """
    (arm, given), (other, given_other) = (answers_of_one_arm(queries, answers) for answers in (first, second))
    if arm == other:
        raise ValueError(f"both sets of answers are of arm {arm}: give first_arm and second_arm two different names")
    settled = {query.query_id: _settled(given.get(query.query_id), given_other.get(query.query_id))
               for query in queries}
    open_queries = [query for query in queries if settled[query.query_id] is None]
    pairs = [(given[query.query_id], given_other[query.query_id]) for query in open_queries]
    rows = []
    for criterion, decisions in _decided(open_queries, pairs, documents, judge, calls).items():
        decided = dict(zip((query.query_id for query in open_queries), decisions, strict=True))
        for query in queries:
            named = {"query_id": query.query_id, "first_arm": arm, "second_arm": other, "judge": judge,
                     "criterion": criterion}
            decision = settled[query.query_id]
            rows.append(_preference(named, decision, decision, False) if decision else
                        _preference(named, *decided[query.query_id], True))
    place = {query.query_id: number for number, query in enumerate(queries)}
    return sorted(rows, key=lambda row: place[row.query_id])


def _settled(answer: str | None, other: str | None) -> tuple[Choice, str] | None:
    """What needs no judge: a missing row, or two answers that are the same."""
    if answer is None or other is None:
        return "unscored", "no answer row of an arm: run 04_infer.ipynb for this query"
    return ("tie", "both answers are the same") if answer.split() == other.split() else None


def _decided(queries: list[Query], pairs: list[tuple[str, str]], documents: list[Document], judge: str,
             calls: "Calls | None") -> dict[Criterion, list[tuple[tuple[Choice, str], tuple[Choice, str]]]]:
    """criterion -> for each query what is said with the first arm's answer shown first, and shown second."""
    if judge != "rules":
        from lib.judge.pairs_model import prefer_by_model  # the rules need no client
        return prefer_by_model(queries, pairs, CRITERIA, judge, calls)
    decided = {"correctness": correctness_by_rules(queries, pairs),
               "domain relevance": relevance_by_rules(queries, pairs, documents)}
    return {criterion: [(decision, decision) for decision in decisions] for criterion, decisions in decided.items()}


def _preference(named: dict[str, str], as_first: tuple[Choice, str], as_second: tuple[Choice, str],
                is_asked: bool) -> Preference:
    choices = {as_first[0], as_second[0]}
    is_flipped = len(choices) > 1 and "unscored" not in choices
    verdict = "unscored" if "unscored" in choices else "tie" if is_flipped else as_first[0]
    return Preference(**named, verdict=verdict, is_flipped=is_flipped, is_asked=is_asked, as_first=as_first[0],
                      as_second=as_second[0], reason=as_first[1], reason_as_second=as_second[1])


def table4(queries: list[Query], preferences: Iterable[Preference]) -> pd.DataFrame:
    """The paper's Table 4: a row a pair of arms, structure ("all" last), criterion and outcome (A, B, tie).

    Columns first_arm, second_arm, structure, criterion, outcome, n, unscored, count, share, low, high. share is
    count / (n - unscored), NaN where nothing was scored; low and high are the Wilson 95% interval of each share alone,
    not of the three at once. Several pairs may be given; each must be of one judge.
    Raises ValueError where a pair has not one preference for every query and criterion.
    """
    structures = {query.query_id: query.structure for query in queries}
    rows = pd.DataFrame([preference.model_dump() for preference in preferences], columns=list(Preference.model_fields))
    cells = []
    for (first_arm, second_arm), pair in rows.groupby(["first_arm", "second_arm"], sort=False):
        for criterion in CRITERIA:
            judged = pair[pair.criterion == criterion]
            if sorted(judged.query_id) != sorted(structures):
                raise ValueError(f"{first_arm} and {second_arm}, {criterion}: {len(judged)} preferences do not match "
                                 f"the {len(structures)} queries one to one: run 01_pairs.ipynb for this pair and one "
                                 "judge again")
        of = pair.query_id.map(structures)
        for structure in (*STRUCTURES, ALL):
            cell = pair if structure == ALL else pair[of == structure]
            for criterion in CRITERIA:
                shares = _shares(cell.verdict[cell.criterion == criterion])
                cells += [{"first_arm": first_arm, "second_arm": second_arm, "structure": structure,
                           "criterion": criterion, **share} for share in shares]
    return pd.DataFrame(cells, columns=["first_arm", "second_arm", "structure", "criterion", "outcome", "n",
                                        "unscored", "count", "share", "low", "high"])


def _shares(verdicts: pd.Series) -> list[dict]:
    n, unscored = len(verdicts), int((verdicts == "unscored").sum())
    return [{"outcome": outcome, "n": n, "unscored": unscored,
             **_share(int((verdicts == outcome).sum()), n - unscored)} for outcome in OUTCOMES]


def _share(count: int, of: int) -> dict[str, float]:
    """count, share, low, high: a share and its Wilson 95% interval, NaN where nothing was counted."""
    if not of:
        return {"count": count, "share": float("nan"), "low": float("nan"), "high": float("nan")}
    low, high = proportion_confint(count, of, method="wilson")
    return {"count": count, "share": count / of, "low": min(low, count / of), "high": max(high, count / of)}


def table4_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """Table 4 in the paper's layout: a row a pair and structure, "21/191 = 10.99% [7.3, 16.2]" a criterion and outcome.

    The denominator is what was scored; a structure without queries is left out.
    """
    there = table[table.n > 0]
    texts = there.assign(pair=there.first_arm + " (A) vs " + there.second_arm + " (B)",
                         column=there.criterion + ": " + there.outcome,
                         text=[f"{row.count_}/{row.n - row.unscored} = {row.share:.2%} "
                               f"[{100 * row.low:.1f}, {100 * row.high:.1f}]" if row.n > row.unscored else "–"
                               for row in there.rename(columns={"count": "count_"}).itertuples()])
    keys = texts[["pair", "structure"]].drop_duplicates()
    wide = texts.pivot(index=["pair", "structure"], columns="column", values="text")
    columns = [f"{criterion}: {outcome}" for criterion in CRITERIA for outcome in OUTCOMES]
    wide = wide.reindex(index=pd.MultiIndex.from_frame(keys), columns=columns).reset_index()
    wide.columns.name = None
    return wide


def flips(preferences: Iterable[Preference]) -> pd.DataFrame:
    """How often a verdict changed with the order, by criterion, of the pairs that were asked and scored in both orders.

    Columns criterion, asked, unscored, both_orders, flipped, rate, low, high (Wilson 95%), first_shown and
    second_shown (flips in which whatever was shown there won both times). The rules see both answers at once and have
    no order: their rate is 0 by construction, says nothing about them, and has no interval.
    """
    cells = []
    preferences = list(preferences)
    for criterion in CRITERIA:
        asked = [row for row in preferences if row.criterion == criterion and row.is_asked]
        scored = [row for row in asked if row.verdict != "unscored"]
        share = _share(sum(row.is_flipped for row in scored), len(scored))
        if all(row.judge == "rules" for row in scored):
            share |= {"low": float("nan"), "high": float("nan")}
        cells.append({"criterion": criterion, "asked": len(asked), "unscored": len(asked) - len(scored),
                      "both_orders": len(scored), "flipped": share["count"], "rate": share["share"],
                      "low": share["low"], "high": share["high"],
                      "first_shown": sum((row.as_first, row.as_second) == ("A", "B") for row in scored),
                      "second_shown": sum((row.as_first, row.as_second) == ("B", "A") for row in scored)})
    return pd.DataFrame(cells)


def readable(queries: list[Query], first: list[Answer], second: list[Answer],
             preferences: Iterable[Preference]) -> pd.DataFrame:
    """One row a preference with question, reference and both answers, for reading; a line's end is shown as ↵.

    The texts come from documents and models: show them only where HTML is escaped (pandas and itables do by default).
    """
    asked = {query.query_id: query for query in queries}
    said, said_by_other = ({row.query_id: " ↵ ".join(row.answer.splitlines()) for row in rows}
                           for rows in (first, second))
    return pd.DataFrame([
        {"criterion": row.criterion, "structure": asked[row.query_id].structure, "verdict": row.verdict,
         "flipped": row.is_flipped, "question": asked[row.query_id].question,
         "reference answer": " ↵ ".join(asked[row.query_id].answer.splitlines()),
         f"A: {row.first_arm}": said.get(row.query_id, ""), f"B: {row.second_arm}": said_by_other.get(row.query_id, ""),
         "reason": row.reason} for row in preferences])
