"""Measure without labels whether the text around a table gives the table's answers (Appendix F).

For each question, a sentence is cited from the paragraphs around the table; the answer is made from
table and question alone, without that sentence. Recall is the share of the answer's tokens that the
cited sentence contains. Tokens are those of nltk's word tokenizer, in lower case. The paper does
not say whether case, punctuation or repetitions count. Here punctuation is left out, and a repeated
token counts as often as it occurs, whether or not the sentence repeats it. In the paper a question
is written for its sentence; here the sentence is cited afterwards, by rules or a model.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from nltk.tokenize import NLTKWordTokenizer

from lib.analyze.stats import share_interval
from lib.annotate.model.grounding import places
from lib.core.prompts import prompt_template
from lib.core.records import Record
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
from lib.tablequest.ask.prompts import defused_slots
from lib.tablequest.ask.reader import read_by_rules, words_of
from lib.tablequest.ask.replies import last_object, read_reply
from lib.tablequest.ask.serialize import as_html
from lib.tablequest.records import LEVELS, Grid, Level, Passage, TableQuestion, by_id

LENGTHS = ((1, 2), (3, 5), (6, 15), (16, 10_000))  # answer tokens, from and to
_TOKENIZER = NLTKWordTokenizer()
_END = re.compile(r"(?<=[.!?])[\"”)]?\s+(?=[\"“(]?[A-Z])")  # "sales. Net"; not "sales. net"
# "Mr. ", "J. ", "U.S. "; not "sales. "
_ABBREVIATED = re.compile(r"(?:\b(?:[A-Z]|Inc|Corp|Co|Ltd|No|vs|Mr|Ms|Dr|Fig|e\.g|i\.e|approx|U\.S)"
                          r")\.$")


class Faithful(Record):
    """A question's cited sentence, its answer from the table, and the number of shared tokens."""

    question_id: str
    passage_id: str
    level: Level
    sentence: str  # cited verbatim from a paragraph of the passage
    answer: str  # made from table and question alone
    n_tokens: int  # tokens in the answer
    n_found: int  # how many of these the sentence contains
    missing: str  # why there is no recall; "" if there is one (n_found / n_tokens)


def tokens_of(text: str) -> list[str]:
    """Return nltk's word tokens in lower case that have a letter, digit or percent sign."""
    return [token for token in _TOKENIZER.tokenize(text.lower()) if re.search(r"[\w%]", token)]


def recalled(answer: str, sentence: str) -> tuple[int, int]:
    """Return how many tokens of `answer` are in `sentence`, and how many `answer` has."""
    known, tokens = set(tokens_of(sentence)), tokens_of(answer)
    return sum(token in known for token in tokens), len(tokens)


def sentences_of(passage: Passage) -> list[str]:
    """Return the sentences of the passage's paragraphs, not split at initials or abbreviations."""
    found = []
    for text in (block.text for block in passage.blocks if block.kind == "paragraph"):
        start = 0
        for match in _END.finditer(text):
            if not _ABBREVIATED.search(text[start:match.start()]):
                found.append(text[start:match.end()].strip())
                start = match.end()
        found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]


def cite_by_rules(question: str, passage: Passage) -> str:
    """Return the sentence that shares most with `question`, weighting words by inverse frequency.

    Ties go to the first sentence; the result is "" if none shares a word. The reference answer is
    not used.
    """
    sentences = sentences_of(passage)
    words = [set(words_of(sentence)) for sentence in sentences]
    frequency, asked = Counter(word for own in words for word in own), set(words_of(question))
    scores = [sum(np.log(1 + len(words) / frequency[word]) for word in own & asked)
              for own in words]
    return sentences[int(np.argmax(scores))] if scores and max(scores) > 0 else ""


def faithful_by_rules(questions: Sequence[TableQuestion], passages: Sequence[Passage],
                      grids: Sequence[Grid]) -> list[Faithful]:
    """Return one row per question, with `cite_by_rules` and the lexical reader."""
    read, tables = by_id(passages), by_id(grids)
    rows = []
    for question in questions:
        passage = read[question.passage_id]
        reply = read_by_rules(question.question, passage, tables)
        rows.append(_row(question, passage, cite_by_rules(question.question, passage), reply))
    return rows


def faithful_by_model(questions: Sequence[TableQuestion], passages: Sequence[Passage],
                      grids: Sequence[Grid], sources: Mapping[str, str], model: str,
                      calls: Calls) -> list[Faithful]:
    """Return one row per question from two separate calls of `model`, one to cite, one to answer.

    `sources` is filing_id -> the document's description. If a citation is not in the passage or a
    reply cannot be read, the row has a reason instead of a recall. Raises Stopped as
    `complete` does.
    """
    read, tables = by_id(passages), by_id(grids)
    requests = []
    for question in questions:
        passage, source = read[question.passage_id], sources[question.filing_id]
        requests += [_citing(question, passage, source),
                     _answering(question, passage, tables, source)]
    replies = complete(requests, model, calls)
    rows = []
    for question, cited, answered in zip(questions, replies[::2], replies[1::2], strict=True):
        passage = read[question.passage_id]
        if reason := cited.reason or answered.reason:
            rows.append(_row(question, passage, "", "", f"no complete reply, {reason}"))
        else:
            sentence = str(last_object(cited.text, "sentence").get("sentence", ""))
            rows.append(_row(question, passage, sentence, answered.text))
    return rows


def recall_table(rows: Sequence[Faithful]) -> pd.DataFrame:
    """Return recall by level and answer length.

    Columns group, value, questions, n, mean, low, high, of_tokens. n counts the questions with a
    recall; the others have a reason instead. low and high are the 95% interval over passages,
    NaN with one passage; of_tokens is the recall over the group's pooled tokens.
    """
    frame = pd.DataFrame([row.model_dump() for row in rows], columns=list(Faithful.model_fields))
    has_recall = frame.missing == ""
    groups = [("level", level, frame.level == level) for level in LEVELS]
    groups += [("answer length", f"{low}–{high}" if high < 10_000 else f"{low} and more",
                has_recall & frame.n_tokens.between(low, high)) for low, high in LENGTHS]
    groups.append(("all", "all", frame.level.notna()))
    cells = []
    for group, value, which in groups:
        cell = frame[which & has_recall]
        mean = low = high = of_tokens = np.nan
        if len(cell):
            shares = (cell.n_found / cell.n_tokens).astype(float)
            mean, of_tokens = shares.mean(), cell.n_found.sum() / cell.n_tokens.sum()
            low, high = share_interval(shares, cell.passage_id)
        cells.append({"group": group, "value": value, "questions": int(which.sum()),
                      "n": len(cell), "mean": mean, "low": low, "high": high,
                      "of_tokens": of_tokens})
    return pd.DataFrame(cells)


def _citing(question: TableQuestion, passage: Passage, source: str) -> Request:
    text = "\n".join(sentences_of(passage))
    return Request.ask(prompt_template("tablequest/cite").render(
        **defused_slots("text|question", text=text, question=question.question, source=source)))


def _answering(question: TableQuestion, passage: Passage, tables: Mapping[str, Grid],
               source: str) -> Request:
    used = list(dict.fromkeys(ref.grid_id for ref in question.cells.values())) or passage.grid_ids
    table = "\n\n".join(as_html(tables[key]) for key in used)
    return Request.ask(prompt_template("tablequest/from_table").render(
        n_tables=len(used), **defused_slots("table|question", table=table,
                                            question=question.question, source=source)))


def _row(question: TableQuestion, passage: Passage, sentence: str, reply: str,
         missing: str = "") -> Faithful:
    final = read_reply(reply)
    n_found, n_tokens = recalled(final.text, sentence)
    text = "\n".join(sentences_of(passage))
    missing = missing or final.missing
    if not missing:
        missing = ("no sentence is cited" if not sentence.strip() else
                   "the cited sentence is not in the passage"
                   if not places(sentence, text, 0, len(text)) else
                   "no answer from the table" if not n_tokens else "")
    return Faithful(question_id=question.question_id, passage_id=question.passage_id,
                    level=question.level, sentence=sentence, answer=final.text, n_tokens=n_tokens,
                    n_found=n_found, missing=missing)
