"""Appendix F on papers: the share of an answer from a table that its cited sentence contains."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
from jinja2 import Template

from lib.analyze.metrics import words_in
from lib.analyze.tables import by_group
from lib.core.errors import BadInput
from lib.core.prompts import prompt_template
from lib.documents.markdown import parse
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tasks.tablequest.answer.prompts import defused_slots, last_object, read_reply


def faithfulness(folder: Path, model: str, calls: Calls) -> pd.DataFrame:
    """Ask `model` for a question with its sentence per table, and the answer from the table alone.

    Columns paper, question, sentence, answer, recall, missing (why there is no recall). Raises
    BadInput without a table in a Markdown file, and as `complete` does.
    """
    tables = [
        (path.stem, *found) for path in sorted(folder.rglob("*.md")) for found in _tables(path)
    ]
    if not tables:
        raise BadInput(f"no table in a Markdown file (*.md) below {folder}: put papers there")
    cite, answer = prompt_template("tablequest/cite"), prompt_template("tablequest/from_table")
    requests = [_request(cite, paper, table, text=text) for paper, text, table in tables]
    asked = [
        {"question": "", "sentence": ""} | last_object(reply.text or "", "question")
        for reply in complete(requests, model, calls)
    ]
    requests = [
        _request(answer, paper, table, question=str(one["question"]))
        for one, (paper, _, table) in zip(asked, tables, strict=True)
    ]
    replies = complete(requests, model, calls)
    return pd.DataFrame([_row(*one) for one in zip(tables, asked, replies, strict=True)])


def recall_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean recall, its 95% interval over papers, and how many tables have none."""
    why = rows.missing[rows.missing != ""].value_counts()
    table = by_group(rows.assign(tables=len(rows)), ["tables"], "recall", "paper")
    return table.rename(columns={"mean": "recall"}).assign(**why)


def _tables(path: Path) -> list[tuple[str, str]]:
    # with the paragraphs that name the table ("Table 2"), else those under its heading
    blocks = parse(path.read_text(encoding="utf-8-sig"))
    prose = [block for block in blocks if block.kind in ("prose", "list")]
    found = []
    for place, table in enumerate(blocks):
        if table.kind != "table":
            continue
        around = " ".join(one.text for one in blocks[max(0, place - 1) : place + 2] if one in prose)
        name = re.search(r"\bTable\s+\d+", around)
        chunks = [
            one.text
            for one in prose
            if (re.search(rf"\b{name[0]}\b", one.text) if name else one.headings == table.headings)
        ]
        found.append(("\n".join(chunks), table.text))
    return found


def _request(prompt: Template, paper: str, table: str, **texts: str) -> Request:
    return Request.ask(
        prompt.render(**defused_slots("text|table|question", source=paper, table=table, **texts))
    )


def _row(table: tuple, asked: dict, reply: Reply) -> dict:
    paper, text, _ = table
    question, sentence = str(asked["question"]), str(asked["sentence"])
    final = read_reply(reply.text)
    known, tokens = words_in(sentence), words_in(final.text)
    missing = (
        "no question"
        if not question
        else "its sentence is not in the text"
        if not known or " ".join(sentence.split()) not in " ".join(text.split())
        else final.missing or ("" if tokens else "no answer from the table")
    )
    recall = np.nan if missing else np.mean([token in known for token in tokens])
    return {
        "paper": paper,
        "question": question,
        "sentence": sentence,
        "answer": final.text,
        "recall": recall,
        "missing": missing,
    }
