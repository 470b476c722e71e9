"""Let a reasoning model grade two arms' answers from 1 to 3, and compare them (Appendix C).

In the paper two models' grades differ by 0.34 in the mean, and by two or more in 12.5% of the
samples. Here each answer is graded by itself, so the grade depends on no order; an empty answer
has the grade 1 without a call.
"""

import random
import re
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import pandas as pd

from lib.analyze.format import DASH, estimate, fraction, number
from lib.analyze.stats import cluster_interval
from lib.core.arms import ALL
from lib.core.prompts import SPLIT, prompt_template
from lib.core.records import Record
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tablequest.analyze.matches import Shown, as_text
from lib.tablequest.ask.prompts import defused_slots
from lib.tablequest.ask.replies import Final, last_object
from lib.tablequest.records import LEVELS, Level, TableQuestion, by_id

FAILURES = ("none", "empty", "figures", "incomplete", "other")
TAGS = "passage|question|reference|answer"
_GRADE = re.compile(r"(grade|failure)(?=[\W_]{0,9}:)", re.I)  # '"grade": ' of an answer is split


class Grade(Record):
    """A grader's judgement of one arm's answer."""

    question_id: str
    passage_id: str
    level: Level
    arm: str
    grader: str
    grade: int | None  # 1 to 3; None if the reply could not be read
    failure: str  # one of FAILURES; "" without a grade
    words: str  # the grader's, or why there is no grade


def drawn(questions: Sequence[TableQuestion], per_level: int, seed: int) -> list[TableQuestion]:
    """Return at most `per_level` questions of each level, in a seeded order."""
    chance, found = random.Random(seed), []
    for level in LEVELS:
        pool = [question for question in questions if question.level == level]
        found += chance.sample(pool, min(per_level, len(pool)))
    return found


def graded(questions: Sequence[TableQuestion], finals: Mapping[str, Mapping[str, Final]],
           grader: str, calls: Calls, shown: Mapping[str, Shown]) -> list[Grade]:
    """Return a grade of every arm's answer to every question that all arms have a row for.

    `finals` is arm -> question_id -> final answer, `shown` maps question_id to what the grader
    sees. Raises Stopped as `complete` does.
    """
    pairs = [(question, arm, given[question.question_id])
             for question in questions for arm, given in finals.items()
             if all(question.question_id in other for other in finals.values())]
    asked = [(question, final) for question, _, final in pairs if final.text]
    replies = iter(complete([_request(question, final, shown[question.question_id])
                             for question, final in asked], grader, calls) if asked else [])
    return [Grade(question_id=question.question_id, passage_id=question.passage_id,
                  level=question.level, arm=arm, grader=grader,
                  **(_read(next(replies)) if final.text else
                     {"grade": 1, "failure": "empty", "words": "no answer"}))
            for question, arm, final in pairs]


def gap_table(grades: Sequence[Grade], first: str, second: str) -> pd.DataFrame:
    """Return the two arms' mean grades by level ("all" last), over questions with both grades.

    Columns level, n, lost (a grade is missing), first, second (means), gap (first - second), low,
    high (95% interval over passages), apart (how many differ by two).
    """
    wide = _paired(grades, first, second)
    rows = []
    for level in (*LEVELS, ALL):
        cell = wide[(wide.level == level) | (level == ALL)]
        both = cell.dropna(subset=[first, second])
        gaps = both[first] - both[second]
        ends = (cluster_interval(gaps, both.passage_id)
                if len(gaps) else (np.nan, np.nan))
        if len(cell):
            rows.append((level, len(both), len(cell) - len(both), both[first].mean(),
                         both[second].mean(), gaps.mean(), *ends, int((gaps.abs() >= 2).sum())))
    return pd.DataFrame(rows, columns=["level", "n", "lost", first, second, "gap", "low", "high",
                                       "apart"])


def gaps_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format the table of `gap_table`, with the paper's figures as its last row."""
    first, second = table.columns[3:5]
    rows = [{"level": row["level"], "questions": str(row["n"]), f"mean grade of {first}":
             number(row[first]), f"of {second}": number(row[second]),
             "gap": estimate(row["gap"], row["low"], row["high"], digits=2, sign="+"),
             "two or more apart": fraction(row["apart"], row["n"], digits=1)}
            for row in table.to_dict("records")]
    return pd.DataFrame([*rows, dict(zip(rows[0], (
        "paper: GPT-4 Turbo, Llama-3.1-70B", DASH, DASH, DASH, "+0.34", "12.5%"), strict=True))])


def failure_counts(grades: Sequence[Grade]) -> pd.DataFrame:
    """Return how often each arm's answers failed in each way, one column per way."""
    rows = pd.DataFrame([(row.arm, row.failure or "no grade") for row in grades],
                        columns=["arm", "failure"])
    counts = pd.crosstab(rows.arm, rows.failure)
    return counts.reindex(columns=[name for name in (*FAILURES, "no grade") if name in counts])


def side_by_side(grades: Sequence[Grade], questions: Sequence[TableQuestion],
                 finals: Mapping[str, Mapping[str, Final]], first: str, second: str,
                 most: int = 12) -> str:
    """Return an HTML table of the questions whose grades differ most, with the grader's words.

    All texts are escaped.
    """
    wide, asked = _paired(grades, first, second).dropna(subset=[first, second]), by_id(questions)
    order = (wide[first] - wide[second]).abs().sort_values(ascending=False, kind="stable").index
    of = {(row.question_id, row.arm): row for row in grades}
    lines = [f"<tr><th>question, reference</th><th>{escape(first)}</th><th>{escape(second)}</th>"
             "</tr>"]
    for key in order[:most]:
        question = asked[key]
        cells = [f"<p>{escape(question.level)}: {escape(question.question)}</p>"
                 f"<p><b>{escape(question.answer)}</b></p>"]
        for arm in (first, second):
            final, row = finals[arm][key], of[key, arm]
            cells.append(f"<p>{_lines(as_text(final.steps, final.text))}</p><p><b>{row.grade}</b> "
                         f"({escape(row.failure)}): <i>{_lines(row.words)}</i></p>")
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    style = "text-align:left; vertical-align:top; overflow-wrap:anywhere; width:33%"
    return ("<table style='table-layout:fixed; width:100%'>" + "".join(lines).replace(
        "<td>", f"<td style='{style}'>") + "</table>")


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _paired(grades: Sequence[Grade], first: str, second: str) -> pd.DataFrame:
    """Return question_id -> level, passage_id and the grades of both arms, NaN where missing."""
    rows = pd.DataFrame([(row.question_id, row.level, row.passage_id, row.arm, row.grade)
                         for row in grades], columns=["key", "level", "passage_id", "arm", "grade"])
    of_question = rows.drop_duplicates("key").set_index("key")[["level", "passage_id"]]
    wide = rows.pivot(index="key", columns="arm", values="grade").reindex(columns=[first, second])
    return of_question.join(wide.astype(float))


def _request(question: TableQuestion, final: Final, shown: Shown) -> Request:
    slots = defused_slots(TAGS, question=question.question, passage=shown.passage,
                          source=shown.source, answer=as_text(final.steps, final.text),
                          reference=as_text(question.steps, question.answer))
    slots["answer"] = _GRADE.sub(lambda found: found[0][0] + SPLIT + found[0][1:], slots["answer"])
    return Request.ask(prompt_template("tablequest/grade").render(**slots), max_tokens=16_384)


def _read(reply: Reply) -> dict[str, object]:
    """Return the fields of a Grade from the last object with a grade in `reply`."""
    found = last_object(reply.text or "", "grade")
    missing = (f"no complete reply, {reply.reason}" if reply.reason else "no JSON with a grade"
               if not found else "")
    grade = str(found.get("grade")).strip()
    if not missing and grade not in ("1", "2", "3"):
        missing = f"the grade is neither 1, 2 nor 3: {grade[:50]!r}"
    if missing:
        return {"grade": None, "failure": "", "words": missing}
    failure = str(found.get("failure", "")).strip().lower()
    words = " ".join(str(found.get("words", "")).split())
    return {"grade": int(grade), "failure": failure if failure in FAILURES else "other",
            "words": words or "no words are given"}
