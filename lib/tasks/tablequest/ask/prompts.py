"""Write each question's prompt in each serialization, truncated to a small context window.

A passage and its question are data, so anything in them that could pass for a part of the prompt is
split (lib.core.prompts).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import pandas as pd

from lib.core.files import made_by
from lib.core.prompts import defused, prompt_template
from lib.core.records import RECALL, Query, Rejected
from lib.infer.window import Tokenizer, lengths_of
from lib.tasks.tablequest.ask.serialize import FORMS, serialized
from lib.tasks.tablequest.records import Filing, Grid, Passage, TableQuestion, by_id

TAGS = "passage|question"
_START, _END = "<passage>\n", "\n</passage>"  # each occurs once, because passages are defused
COLUMNS = ["level", "form", "n", "fits", "cut", "left_out", "median_tokens", "longest_tokens",
           "median_words"]


@dataclass(frozen=True)
class Fit:
    """The queries that fit a context window, complete or truncated, and those that do not."""

    queries: list[Query]  # those that fit, in order
    cut: list[Query]  # those of `queries` whose passage lost its end
    left_out: list[Rejected]
    table: pd.DataFrame  # COLUMNS, one row per level and form, with lengths of complete prompts


def as_queries(questions: Sequence[TableQuestion], passages: Sequence[Passage],
               grids: Sequence[Grid], filings: Sequence[Filing], serializations: Sequence[str],
               ) -> list[Query]:
    """Return each question in each form ("<question_id>:<form>"); `context` is the prompt.

    An easy question is also asked without a context, as "<question_id>:recall", after its forms.
    Raises ValueError for an unknown or repeated serialization and for a question
    whose passage or filing is missing.
    """
    if unknown := [form for form in serializations if form not in FORMS]:
        raise ValueError(f"serialization {unknown[0]!r} is unknown: choose from {', '.join(FORMS)}")
    if len(set(serializations)) < len(serializations):
        raise ValueError(f"serializations {', '.join(serializations)}: name each once")
    read, of_filing, tables = by_id(passages), by_id(filings), by_id(grids)

    @lru_cache(len(serializations) or 1)
    def written(passage_id: str, form: str) -> str:
        return serialized(read[passage_id], tables, form)

    queries = []
    for question in questions:
        if question.passage_id not in read or question.filing_id not in of_filing:
            raise ValueError(
                f"question {question.question_id}: its passage {question.passage_id} or filing "
                f"{question.filing_id} is missing; run {made_by('filings')} and "
                f"{made_by('questions')} again")
        source = source_of(of_filing[question.filing_id])
        queries += [_query(question, form, prompt_of(
            question.question, written(question.passage_id, form), source))
            for form in serializations]
        if question.level == "easy":
            queries.append(_query(question, RECALL, ""))
    return queries


def prompt_of(question: str, passage: str, source: str) -> str:
    """Return the prompt "tablequest/answer" with its slots filled and its material defused."""
    raw = {"question": question, "passage": passage, "source": source}
    slots = defused_slots(TAGS, **raw)
    return prompt_template("tablequest/answer").render(**slots, is_split=slots != raw)


def defused_slots(tags: str, **texts: str) -> dict[str, str]:
    """Return the slots of a prompt, each defused for `tags` (see lib.core.prompts)."""
    return {name: defused(text, tags) for name, text in texts.items()}


def source_of(filing: Filing) -> str:
    """Describe a passage's source, as in "the 10-K of Apple Inc. for September 28, 2024"."""
    period = f" for {filing.period}" if filing.period else ""
    return f"the {filing.form} of {filing.company}{period}"


def question_id_of(query_id: str) -> str:
    """Return the id of a query's question."""
    return query_id.rpartition(":")[0]


def form_of(query_id: str) -> str:
    """Return the serialization of a query's passage, or RECALL."""
    return query_id.rpartition(":")[2]


def fits(queries: Sequence[Query], questions: Sequence[TableQuestion], tokenizer: Tokenizer,
         window: int, answer_budget: int, style: str = "auto", is_cut: bool = False) -> Fit:
    """Return which of `queries` fit `window` tokens with `answer_budget` for the reply.

    The others are left out. With `is_cut`, their passages instead lose words at the end until they
    fit, as in the paper; a query is then left out only if no word of its passage would remain.
    Closed-book queries are kept. Raises ValueError for a window or budget below 1.
    """
    if window < 1 or answer_budget < 1:
        raise ValueError(f"window {window}, answer_budget {answer_budget}: each must be at least "
                         "1 token")
    levels = {question.question_id: question.level for question in questions}
    counted = lengths_of([query.context for query in queries if query.context], tokenizer, style)
    lengths, room = iter(counted), window - answer_budget
    kept, cut, left_out, rows = [], [], [], []
    for query in queries:
        if not query.context:
            kept.append(query)
            continue
        length = next(lengths)
        short = None
        if length <= room:
            kept.append(query)
        elif is_cut and (short := _shortened(query, tokenizer, room, style)):
            kept.append(short)
            cut.append(short)
        else:
            left_out.append(Rejected(
                document_id=query.document_id, item=query.query_id,
                reason=f"{length:,} tokens and {answer_budget:,} for the reply do not fit in "
                       f"{window:,}"))
        rows.append((levels[question_id_of(query.query_id)], form_of(query.query_id),
                     length > room and not short, bool(short), length, len(query.context.split())))
    return Fit(kept, cut, left_out, _table(rows))


def _table(rows: list[tuple]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["level", "form", "gone", "short", "tokens", "words"])
    table = frame.groupby(["level", "form"], as_index=False, sort=False).agg(
        n=("gone", "size"), left_out=("gone", "sum"), cut=("short", "sum"),
        median_tokens=("tokens", "median"), longest_tokens=("tokens", "max"),
        median_words=("words", "median"))
    return table.assign(fits=table.n - table.cut - table.left_out)[COLUMNS]


def _shortened(query: Query, tokenizer: Tokenizer, room: int, style: str) -> Query | None:
    start = query.context.index(_START) + len(_START)
    end = query.context.rindex(_END)
    passage = query.context[start:end]
    ends = [place for place, (before, after) in enumerate(pairwise(passage), 1)
            if after.isspace() > before.isspace()]

    def of(count: int) -> str:
        return query.context[:start] + passage[:ends[count]] + query.context[end:]

    # ends[low] fits and ends[high] does not; longer text has more tokens, give or take one.
    low, high = -1, len(ends)
    while high - low > 1:
        middle = (low + high) // 2
        is_short = lengths_of([of(middle)], tokenizer, style)[0] <= room
        low, high = (middle, high) if is_short else (low, middle)
    return query.model_copy(update={"context": of(low)}) if low >= 0 else None


def _query(question: TableQuestion, form: str, context: str) -> Query:
    return Query(query_id=f"{question.question_id}:{form}", document_id=question.passage_id,
                 question=question.question, answer=question.answer,
                 source_reference="", start=0, end=0, entity_count=None, block_type="table",
                 context=context)
