"""Score replies to the published samples as the official code does, next to our scores.

The official code passes the complete reply to the scorer. An empty reply, or a long one, raises
there, and its row leaves the mean. Ours scores the final answer in the reply, and every question
stays in its denominator.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from lib.core.records import Answer
from lib.structext.analyze.scores import score
from lib.structext.analyze.tables import ordered, summary
from lib.structext.ask.plan import OFFICIAL
from lib.structext.ask.prompts import Prompted

BY = ["suite", "prompt", "arm"]


def side_by_side(rows: pd.DataFrame, asked: Sequence[Prompted],
                 answers: Mapping[str, Sequence[Answer]]) -> pd.DataFrame:
    """Return both scores of the suite OFFICIAL by suite, prompt and arm; no rows if not asked.

    Further columns: n, texts, rouge_score, low and high are ours (`summary`); replies counts the
    answer rows, lost those that the official code cannot score, and official is its mean score of
    the others (a fraction; NaN if all are lost). `rows` are from `rows_of`.
    """
    own = rows[rows.suite == OFFICIAL]
    references = {one.query_id: one.sample.answer for one in asked if one.suite == OFFICIAL}
    found = pd.DataFrame([
        (arm, reply.query_id, scored.rouge_score, scored.official_fails)
        for arm, replies in answers.items() for reply in replies if reply.query_id in references
        for scored in [score(references[reply.query_id], reply.answer)]],
        columns=["arm", "query_id", "as_official", "is_lost"])
    both = own[[*BY, "query_id"]].astype({"arm": str}).merge(found, on=["arm", "query_id"])
    both = both.assign(kept=both.as_official.mask(both.is_lost.astype(bool)))
    table = both.groupby(BY, observed=True).agg(
        replies=("is_lost", "size"), lost=("is_lost", "sum"), official=("kept", "mean"))
    ours = summary(own, BY)[[*BY, "n", "texts", "rouge_score", "low", "high"]]
    merged = ours.astype({"arm": str}).merge(table.reset_index(), how="left", on=BY)
    return ordered(merged.fillna({"replies": 0, "lost": 0}).astype({"replies": int, "lost": int}),
                   rows, BY)
