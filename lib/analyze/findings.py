"""The answer to the study's question in two sentences, and the answers behind it as a table."""

from collections.abc import Iterable

import pandas as pd

from lib.analyze.format import one_line, percent
from lib.core.arms import ALL, BASE, arm_label, sorted_arms
from lib.core.records import Answer, Query
from lib.core.structures import structure_label
from lib.core.text import listed


def answer_to_question(table2: pd.DataFrame) -> str:
    """Return two sentences from Table 2: the first trained arm by structure, then the others."""
    arms = sorted_arms(table2.arm)
    if not arms or not table2.n.sum():
        return "There are no verdicts, so there is nothing to report."
    first = next((arm for arm in arms if arm != BASE), arms[0])
    others = [
        f"with {arm_label(arm)} on {_accuracies(table2[table2.arm == arm], arm == BASE)}"
        for arm in arms
        if arm != first
    ]
    second = f" For comparison: {'; '.join(others)}." if others else ""
    return (
        f"The correct share of the answers [95% interval] is with {arm_label(first)} on "
        f"{_accuracies(table2[table2.arm == first])}.{second}"
    )


def _accuracies(table: pd.DataFrame, only_all: bool = False) -> str:
    cells = table[(table.n > 0) & ((table.structure == ALL) | (not only_all))]
    return listed(
        [
            f"{structure_label(row.structure)} {percent(row.accuracy)}"
            + (
                ""
                if pd.isna(row.low)
                else f" [{percent(row.low, digits=0)} to {percent(row.high, digits=0)}]"
            )
            for row in cells.itertuples()
        ]
    )


def with_texts(
    rows: pd.DataFrame, queries: Iterable[Query], answers: Iterable[Answer]
) -> pd.DataFrame:
    """Return `rows` (query_id, arm, …) with question, reference answer and answer, ↵ for breaks.

    The texts come from documents and models: display them only where HTML is escaped.
    """
    asked = {query.query_id: (query.question, query.answer) for query in queries}
    texts = {(answer.query_id, answer.arm): answer.answer for answer in answers}
    return rows.assign(
        **{
            "question": [asked[name][0] for name in rows.query_id],
            "reference answer": [one_line(asked[name][1]) for name in rows.query_id],
            "answer": [
                one_line(texts.get(key, "")) for key in zip(rows.query_id, rows.arm, strict=True)
            ],
        }
    )
