"""Appendix F on papers: the share of an answer from a table that its cited sentence contains."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
from jinja2 import Template

from lib.analyze.stats import share_interval
from lib.core.arms import ALL
from lib.core.errors import BadInput
from lib.core.prompts import prompt_template
from lib.documents.blocks import parse
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
from lib.tasks.tablequest.ask.prompts import defused_slots
from lib.tasks.tablequest.ask.replies import last_object, read_reply

LENGTHS = {"1–2": (1, 2), "3–5": (3, 5), "6–15": (6, 15), "16 and more": (16, np.inf)}  # tokens
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*%?|\w+")


def faithfulness(folder: Path, model: str, calls: Calls) -> pd.DataFrame:
    """Ask `model` for a question with its sentence per table, and the answer from the table alone.

    Columns paper, question, sentence, answer, n_tokens, n_found, missing (why there is no recall).
    Raises BadInput without a table in a Markdown file, and as `complete` does.
    """
    tables = [(path.stem, *found) for path in sorted(folder.rglob("*.md"))
              for found in _tables(path)]
    if not tables:
        raise BadInput(f"no table in a Markdown file (*.md) below {folder}: put papers there")
    cited = complete([_request(prompt_template("tablequest/cite"), paper, table, text=text)
                      for paper, text, table in tables], model, calls)
    asked = [{"question": "", "sentence": ""} | last_object(reply.text or "", "question")
             for reply in cited]
    replies = complete([_request(prompt_template("tablequest/from_table"), paper, table,
                                 question=str(one["question"]))
                        for one, (paper, _, table) in zip(asked, tables, strict=True)],
                       model, calls)
    return pd.DataFrame([_row(*one) for one in zip(tables, asked, replies, strict=True)])


def recall_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return recall by the answer's length in tokens; low and high are 95% over papers.

    of_tokens is the recall over the pooled tokens; tables without a recall count in none.
    """
    rows = rows[rows.missing == ""]
    groups = {name: rows[rows.n_tokens.between(*ends)] for name, ends in LENGTHS.items()}
    cells = []
    for name, cell in (groups | {ALL: rows}).items():
        shares = cell.n_found / cell.n_tokens
        low = high = of_tokens = np.nan
        if len(cell):
            low, high = share_interval(shares, cell.paper)
            of_tokens = cell.n_found.sum() / cell.n_tokens.sum()
        cells.append({"answer_length": name, "n": len(cell), "mean": shares.mean(), "low": low,
                      "high": high, "of_tokens": of_tokens})
    return pd.DataFrame(cells)


def _tables(path: Path) -> list[tuple[str, str]]:
    blocks = parse(path.read_text(encoding="utf-8-sig"))
    return [("\n".join(block.text for block in blocks if block.kind in ("prose", "list")
                       and block.headings == table.headings), table.text)
            for table in blocks if table.kind == "table"]


def _request(prompt: Template, paper: str, table: str, **texts: str) -> Request:
    slots = defused_slots("text|table|question", source=paper, table=table, **texts)
    return Request.ask(prompt.render(**slots))


def _row(table: tuple, asked: dict, reply) -> dict:
    paper, text, _ = table
    question, sentence = str(asked["question"]), str(asked["sentence"])
    final = read_reply(reply.text)
    known, tokens = (_TOKEN.findall(part.lower()) for part in (sentence, final.text))
    missing = ("no question" if not question else
               "its sentence is not in the text" if " ".join(sentence.split()) not in
               " ".join(text.split()) or not known else
               final.missing or ("" if tokens else "no answer from the table"))
    return {"paper": paper, "question": question, "sentence": sentence, "answer": final.text,
            "n_tokens": len(tokens), "n_found": sum(token in known for token in tokens),
            "missing": missing}
