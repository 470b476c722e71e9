"""What a model is asked about a passage: the ready-made prompt of each question in each serialization, cut if told so.

A passage and its question are data: what in them could pass for a part of the prompt is split (lib.core.untrusted).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import pandas as pd

from lib.core.prompts import prompt_template
from lib.core.records import RECALL, Query, Rejected
from lib.core.untrusted import defused
from lib.reading.context_window import Tokenizer, lengths_of
from lib.tablequest.ask.serialize import FORMS, serialized
from lib.tablequest.records import Filing, Grid, Passage, TableQuestion

TAGS = "passage|question"
_END = "\n</passage>"  # stands once in a prompt, because the passage is defused
COLUMNS = ["level", "form", "n", "fits", "cut", "left_out", "median_tokens", "longest_tokens", "median_words"]


@dataclass(frozen=True)
class Fit:
    """What a model can be asked, what not and why, and a table of both."""

    queries: list[Query]  # those that fit, as they are or cut, in order
    left_out: list[Rejected]
    cut: list[Rejected]  # query and what was taken from its passage's end
    table: pd.DataFrame  # COLUMNS, one row a level and serialization; lengths are of the prompts before any cut


def as_queries(questions: Sequence[TableQuestion], passages: Sequence[Passage], grids: Sequence[Grid],
               filings: Sequence[Filing], serializations: Sequence[str], closed_book: bool = True) -> list[Query]:
    """Each question in each of `serializations` ("<question_id>:<form>"), `context` being the whole prompt.

    With `closed_book` an easy question has a twin without a context, "<question_id>:recall", after its others.
    Raises ValueError for an unknown or doubled serialization and for a question without its passage or filing.
    """
    if unknown := [form for form in serializations if form not in FORMS]:
        raise ValueError(f"serialization {unknown[0]!r} is unknown: choose from {', '.join(FORMS)}")
    if len(set(serializations)) < len(serializations):
        raise ValueError(f"serializations {', '.join(serializations)}: name each once")
    read, of_filing = {passage.passage_id: passage for passage in passages}, {one.filing_id: one for one in filings}
    tables = {grid.grid_id: grid for grid in grids}
    written = lru_cache(len(serializations) or 1)(lambda key, form: serialized(read[key], tables, form))
    queries = []
    for question in questions:
        if question.passage_id not in read or question.filing_id not in of_filing:
            raise ValueError(f"question {question.question_id}: its passage {question.passage_id} or filing "
                             f"{question.filing_id} is not there; run 00_filings.ipynb and 01_questions.ipynb again")
        source = source_of(of_filing[question.filing_id])
        queries += [_query(question, form, prompt_of(question.question, written(question.passage_id, form), source))
                    for form in serializations]
        if closed_book and question.level == "easy":
            queries.append(_query(question, RECALL, ""))
    return queries


def prompt_of(question: str, passage: str, source: str) -> str:
    """prompts/tablequest/answer.md with its slots filled, the material defused."""
    raw = (question, passage, source)
    shown = tuple(defused(text, TAGS) for text in raw)
    return prompt_template("tablequest/answer").render(question=shown[0], passage=shown[1], source=shown[2], is_split=shown != raw)


def source_of(filing: Filing) -> str:
    """What the passage is taken from, in words: "the 10-K of Apple Inc. for September 28, 2024"."""
    if filing.form == "paper":
        return f"the paper “{filing.company}”"
    return f"the {filing.form} of {filing.company}" + (f" for {filing.period}" if filing.period else "")


def question_id_of(query_id: str) -> str:
    """The question that a query asks."""
    return query_id.rpartition(":")[0]


def form_of(query_id: str) -> str:
    """The serialization of a query's passage, or RECALL."""
    return query_id.rpartition(":")[2]


def fits(queries: Sequence[Query], questions: Sequence[TableQuestion], tokenizer: Tokenizer, window: int,
         answer_budget: int, style: str = "auto", is_cut: bool = False) -> Fit:
    """Which of `queries` stand, with `answer_budget` tokens for the reply, in a model's `window` (tokens).

    What does not is left out; with `is_cut` its passage loses words at the end until it fits (the paper cuts the
    input), and it is left out only where no word of the passage would stay. Closed-book queries are kept untouched.
    Raises ValueError for a window or budget below 1.
    """
    if window < 1 or answer_budget < 1:
        raise ValueError(f"window {window}, answer_budget {answer_budget}: both are tokens, at least 1")
    levels = {question.question_id: question.level for question in questions}
    read = [query for query in queries if query.context]
    lengths = dict(zip((query.query_id for query in read),
                       lengths_of([query.context for query in read], tokenizer, style), strict=True))
    kept, left_out, cut = [], [], []
    for query in queries:
        length = lengths.get(query.query_id, 0)
        short = query if length + answer_budget <= window else None
        if short is None and is_cut:
            short = _shortened(query, tokenizer, window - answer_budget, style)
            if short:
                cut.append(Rejected(document_id=query.document_id, item=query.query_id,
                                    reason=f"{len(query.context) - len(short.context):,} of {len(query.context):,} "
                                           "characters cut from the passage's end"))
        if short is None:
            left_out.append(Rejected(document_id=query.document_id, item=query.query_id,
                                     reason=f"{length:,} tokens and {answer_budget:,} for the reply do not fit in "
                                            f"{window:,}"))
        else:
            kept.append(short)
    gone, shortened = ({row.item for row in rows} for rows in (left_out, cut))
    rows = pd.DataFrame([(levels[question_id_of(query.query_id)], form_of(query.query_id), query.query_id in gone,
                          query.query_id in shortened, lengths[query.query_id], len(query.context.split()))
                         for query in read], columns=["level", "form", "gone", "short", "tokens", "words"])
    return Fit(kept, left_out, cut, _table(rows))


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    table = rows.groupby(["level", "form"], as_index=False, sort=False).agg(
        n=("gone", "size"), left_out=("gone", "sum"), cut=("short", "sum"), median_tokens=("tokens", "median"),
        longest_tokens=("tokens", "max"), median_words=("words", "median"))
    return table.assign(fits=table.n - table.cut - table.left_out)[COLUMNS]


def _shortened(query: Query, tokenizer: Tokenizer, room: int, style: str) -> Query | None:
    """`query` with the longest beginning of its passage that fits `room` tokens; None where no word of it does."""
    start = query.context.index("<passage>\n") + len("<passage>\n")
    end = query.context.rindex(_END)
    passage = query.context[start:end]
    ends = [place for place, (before, after) in enumerate(pairwise(passage), 1) if after.isspace() > before.isspace()]

    def of(count: int) -> str:
        return query.context[:start] + passage[:ends[count]] + query.context[end:]

    low, high = -1, len(ends)  # ends[low] fits, ends[high] does not; lengths grow with the text but for a token or two
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if lengths_of([of(middle)], tokenizer, style)[0] <= room else (low, middle)
    return query.model_copy(update={"context": of(low)}) if low >= 0 else None


def _query(question: TableQuestion, form: str, context: str) -> Query:
    return Query(query_id=f"{question.question_id}:{form}", document_id=question.passage_id,
                 question=question.question, answer=question.answer, structure="tabular", source_reference="", start=0,
                 end=0, entity_count=None, block_type="table", context=context)
