"""Readers that need no model, as arms of a study that reads: StrucText-Eval's solver, TableQuest's lexical reader.

The solver shows that each question can be answered from its text, and what the scores say of right answers; the lexical
reader, what matching words gets right.
"""

from collections.abc import Sequence
from functools import cache

from lib.core.files import read_records
from lib.core.paths import data_path, required
from lib.core.records import Answer, Query, Rejected

READERS = ("model", "rules")
NO_MEMORY = "asked without a text: this reader only reads"


def answer_by_rules(study: str, queries: list[Query], arm: str) -> tuple[list[Answer], list[Rejected]]:
    """A reply to each query that has a text to read, in order, in the form that the query's prompt asks for.

    What the reader cannot answer has an empty reply; the others, asked without a text, are the second list. No tokens
    are counted, since no model writes any.
    Raises MissingInput where `study` has neither asked.jsonl nor questions.jsonl, or not the files that belong to it.
    """
    if data_path(study, "asked.jsonl").exists():
        replies = _solved(study)
    else:
        required(data_path(study, "questions.jsonl"), "00_samples.ipynb or 01_questions.ipynb")
        replies = _looked_up(study, queries)
    unread = [Rejected(document_id=query.document_id, item=query.query_id, reason=NO_MEMORY)
              for query in queries if query.query_id not in replies]
    return [Answer(query_id=query.query_id, arm=arm, answer=replies[query.query_id], n_tokens=0, truncated=False)
            for query in queries if query.query_id in replies], unread


def _solved(study: str) -> dict[str, str]:
    """query_id -> the solver's reply to one of asked.jsonl; a sample is solved once for all settings."""
    from lib.structext.ask.prompts import REASONING, Asked
    from lib.structext.solve.solver import solve
    from lib.structext.solve.unsolvable import Unsolvable

    @cache
    def answer(language: str, question: str, reference: str) -> str:
        try:
            return solve(language, question, reference)
        except Unsolvable:
            return ""

    replies = {}
    for one in read_records(data_path(study, "asked.jsonl"), Asked, "00_samples.ipynb"):
        text = answer(one.sample.language, one.sample.question, one.sample.reference)
        replies[one.query_id] = f"<answer>\n{text}\n</answer>" if text and one.setting in REASONING else text
    return replies


def _looked_up(study: str, queries: Sequence[Query]) -> dict[str, str]:
    """query_id -> the lexical reader's reply to a query with a passage."""
    from lib.tablequest.ask.reader import answer_by_rules as looked_up
    from lib.tablequest.records import Grid, Passage, TableQuestion

    questions = read_records(data_path(study, "questions.jsonl"), TableQuestion, "01_questions.ipynb")
    passages = read_records(data_path(study, "passages.jsonl"), Passage, "00_filings.ipynb")
    grids = read_records(data_path(study, "grids.jsonl"), Grid, "00_filings.ipynb")
    return {row.query_id: row.answer for row in looked_up(queries, questions, passages, grids)}
