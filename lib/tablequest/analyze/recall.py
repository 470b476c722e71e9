"""Appendix F: is the answer that a table gives also what the text around it says? Recall, without human labels.

A sentence of the paragraphs around its table is cited for each question; the answer is made from table and question
alone, without that sentence. Recall is the share of the answer's tokens that the cited sentence contains. Tokens are
nltk's (its word tokenizer), in lower case; the paper does not say whether case, punctuation or repeats count: here
punctuation is left out, and a token that is repeated is counted as often, whether or not the sentence repeats it.
In the paper a question is written to its sentence; here the sentence is cited afterwards, by rules or a model.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd
from jinja2 import Template
from nltk.tokenize import NLTKWordTokenizer

from lib.analyze.stats import cluster_interval
from lib.annotate.model.grounding import places
from lib.core.prompts import prompt_template
from lib.core.records import Record
from lib.core.untrusted import defused
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
from lib.tablequest.ask.reader import read_by_rules, words_of
from lib.tablequest.ask.replies import objects, read_reply
from lib.tablequest.ask.serialize import as_html
from lib.tablequest.records import LEVELS, Grid, Level, Passage, TableQuestion

LENGTHS = ((1, 2), (3, 5), (6, 15), (16, 10_000))  # answer tokens, from and to
_TOKENIZER = NLTKWordTokenizer()
_END = re.compile(r"(?<=[.!?])[\"”)]?\s+(?=[\"“(]?[A-Z])")
_ABBREVIATED = re.compile(r"(?:\b(?:[A-Z]|Inc|Corp|Co|Ltd|No|vs|Mr|Ms|Dr|Fig|e\.g|i\.e|approx|U\.S))\.$")


class Faithful(Record):
    """One question's grounding sentence, the answer from the table alone, and how much of it the sentence has."""

    question_id: str
    passage_id: str
    level: Level
    sentence: str  # cited, word for word from a paragraph of the passage
    answer: str  # from table and question alone
    n_tokens: int  # of the answer
    n_found: int  # of these, how many the sentence contains
    missing: str  # why there is no recall; "" where there is one: n_found / n_tokens


def tokens_of(text: str) -> list[str]:
    """nltk's word tokens in lower case, without those that hold no letter, digit or percent sign."""
    return [token for token in _TOKENIZER.tokenize(text.lower()) if re.search(r"[\w%]", token)]


def recalled(answer: str, sentence: str) -> tuple[int, int]:
    """(tokens of `answer` that `sentence` contains, all tokens of `answer`)."""
    there, said = set(tokens_of(sentence)), tokens_of(answer)
    return sum(token in there for token in said), len(said)


def sentences_of(passage: Passage) -> list[str]:
    """The sentences of the passage's paragraphs, in order; a stop after an initial or a short form ends none."""
    found = []
    for block in passage.blocks:
        if block.kind == "paragraph":
            start = 0
            for match in _END.finditer(block.text):
                if not _ABBREVIATED.search(block.text[start:match.start()]):
                    found.append(block.text[start:match.end()].strip())
                    start = match.end()
            found.append(block.text[start:].strip())
    return [sentence for sentence in found if sentence]


def cite_by_rules(question: str, passage: Passage) -> str:
    """The sentence that shares most with `question`, by the inverse frequencies of its words; "" where none shares any.

    The reference answer plays no part. Of equal ones the first.
    """
    sentences = sentences_of(passage)
    words = [set(words_of(sentence)) for sentence in sentences]
    frequency, asked = Counter(word for own in words for word in own), set(words_of(question))
    scores = [sum(np.log(1 + len(words) / frequency[word]) for word in own & asked) for own in words]
    return sentences[int(np.argmax(scores))] if scores and max(scores) > 0 else ""


def faithful_by_rules(questions: Sequence[TableQuestion], passages: Sequence[Passage],
                      grids: Sequence[Grid]) -> list[Faithful]:
    """One row a question: its sentence by cite_by_rules, its answer by the reader that matches words."""
    read, tables = {one.passage_id: one for one in passages}, {one.grid_id: one for one in grids}
    rows = []
    for question in questions:
        passage = read[question.passage_id]
        sentence = cite_by_rules(question.question, passage)
        final = read_reply(read_by_rules(question.question, passage, tables))
        rows.append(_row(question, passage, sentence, final.text, final.missing))
    return rows


def faithful_by_model(questions: Sequence[TableQuestion], passages: Sequence[Passage], grids: Sequence[Grid],
                      sources: Mapping[str, str], model: str, calls: Calls) -> list[Faithful]:
    """One row a question: its sentence cited and its answer written by `model`, in two calls apart from each other.

    `sources` is filing_id -> the document in words. A citation that does not stand in the passage, and a reply that
    cannot be read, leave the row without a recall, with the reason. Raises CallsStopped as `lib.llm.complete` does.
    """
    read, tables = {one.passage_id: one for one in passages}, {one.grid_id: one for one in grids}
    written = lru_cache(len(grids) or 1)(lambda key: as_html(tables[key]))
    requests = []
    for question in questions:
        passage, source = read[question.passage_id], sources[question.filing_id]
        used = list(dict.fromkeys(where.grid_id for where in question.cells.values())) or [
            block.grid_id for block in passage.blocks if block.kind == "table"]
        requests += [Request.ask(_filled(prompt_template("tablequest/cite"), "text", "\n".join(sentences_of(passage)), question, source)),
                     Request.ask(_filled(prompt_template("tablequest/from_table"), "table", "\n\n".join(map(written, used)), question, source,
                                         n_tables=len(used)))]
    replies = complete(requests, model, calls)
    rows = []
    for question, cited, answered in zip(questions, replies[::2], replies[1::2], strict=True):
        if cited.reason or answered.reason:
            rows.append(_row(question, read[question.passage_id], "", "",
                             f"no whole reply, {cited.reason or answered.reason}"))
            continue
        sentence = next((str(found["sentence"]) for found in reversed(objects(cited.text)) if "sentence" in found), "")
        final = read_reply(answered.text)
        rows.append(_row(question, read[question.passage_id], sentence, final.text, final.missing))
    return rows


def recall_table(rows: Sequence[Faithful], resamples: int = 2000, seed: int = 1) -> pd.DataFrame:
    """Mean recall by level and by answer length: group, value, questions, n, mean, low, high, of_tokens.

    n counts the questions with a recall, the others have a reason instead; low and high are the 95% interval of a
    bootstrap over passages, NaN where nothing varies; of_tokens is the recall over all tokens of the group at once.
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
        shares = (cell.n_found / cell.n_tokens).astype(float)
        low, high = cluster_interval(shares, cell.passage_id, resamples=resamples, seed=seed) if len(cell) else (
            np.nan, np.nan)
        cells.append({"group": group, "value": value, "questions": int(which.sum()), "n": len(cell),
                      "mean": shares.mean() if len(shares) else np.nan, "low": low, "high": high,
                      "of_tokens": cell.n_found.sum() / cell.n_tokens.sum() if len(cell) else np.nan})
    return pd.DataFrame(cells)


def _row(question: TableQuestion, passage: Passage, sentence: str, answer: str, missing: str) -> Faithful:
    found, n_tokens = recalled(answer, sentence)
    text = "\n".join(sentences_of(passage))
    if not missing:
        missing = ("no sentence is cited" if not sentence.strip() else
                   "the cited sentence does not stand in the passage" if not places(sentence, text, 0, len(text)) else
                   "no answer from the table" if not n_tokens else "")
    return Faithful(question_id=question.question_id, passage_id=question.passage_id, level=question.level,
                    sentence=sentence, answer=answer, n_tokens=n_tokens, n_found=found, missing=missing)


def _filled(template: Template, tag: str, text: str, question: TableQuestion, source: str, **slots: object) -> str:
    tags = f"{tag}|question"
    return template.render(**{tag: defused(text, tags)}, question=defused(question.question, tags),
                    source=defused(source, tags), **slots)
