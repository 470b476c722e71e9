"""Appendix C: a reasoning model grades two arms' answers from 1 to 3."""

import random
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib.analyze.stats import cluster_interval
from lib.core.arms import ALL
from lib.core.prompts import SPLIT, prompt_template
from lib.core.records import Record
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.tasks.tablequest.analyze.matches import Shown, as_text
from lib.tasks.tablequest.ask.prompts import defused_slots
from lib.tasks.tablequest.ask.replies import Final, last_object
from lib.tasks.tablequest.records import LEVELS, Level, TableQuestion

_GRADE = re.compile(r"grade(?=[\W_]{0,9}:)", re.I)  # '"grade": ' of an answer is split


class Grade(Record):
    """A grader's judgement of one arm's answer."""

    question_id: str
    passage_id: str
    level: Level
    arm: str
    grader: str
    grade: int | None  # 1 to 3; None if the reply could not be read
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

    `finals` is arm -> question_id -> final answer, `shown` question_id -> what the grader sees.
    An empty answer has grade 1 without a call. Raises as `complete` does.
    """
    pairs = [(question, arm, given[question.question_id])
             for question in questions for arm, given in finals.items()
             if all(question.question_id in other for other in finals.values())]
    asked = [_request(question, final, shown[question.question_id])
             for question, _, final in pairs if final.text]
    replies = iter(complete(asked, grader, calls) if asked else [])
    return [Grade(question_id=question.question_id, passage_id=question.passage_id,
                  level=question.level, arm=arm, grader=grader,
                  **(_read(next(replies)) if final.text else {"grade": 1, "words": "no answer"}))
            for question, arm, final in pairs]


def gap_table(grades: Sequence[Grade], first: str, second: str) -> pd.DataFrame:
    """Return the two arms' mean grades by level ("all" last), over questions with both grades.

    Columns level, n, lost (a grade is missing), first, second (means), gap (first - second), low,
    high (95% interval over passages), apart (how many differ by two).
    """
    rows = pd.DataFrame([row.model_dump() for row in grades])
    wide = rows.pivot(index=["question_id", "level", "passage_id"], columns="arm", values="grade")
    wide = wide[[first, second]].astype(float).reset_index()
    cells = []
    for level in (*LEVELS, ALL):
        cell = wide[(wide.level == level) | (level == ALL)]
        both = cell.dropna(subset=[first, second])
        gaps = both[first] - both[second]
        ends = cluster_interval(gaps, both.passage_id) if len(gaps) else (np.nan, np.nan)
        if len(cell):
            cells.append((level, len(both), len(cell) - len(both), both[first].mean(),
                          both[second].mean(), gaps.mean(), *ends, int((gaps.abs() >= 2).sum())))
    return pd.DataFrame(cells, columns=["level", "n", "lost", first, second, "gap", "low", "high",
                                        "apart"])


def _request(question: TableQuestion, final: Final, shown: Shown) -> Request:
    slots = defused_slots("passage|question|reference|answer", question=question.question,
                          passage=shown.passage, source=shown.source,
                          answer=as_text(final.steps, final.text),
                          reference=as_text(question.steps, question.answer))
    slots["answer"] = _GRADE.sub(lambda found: found[0][0] + SPLIT + found[0][1:], slots["answer"])
    return Request.ask(prompt_template("tablequest/grade").render(**slots), max_tokens=16_384)


def _read(reply: Reply) -> dict[str, object]:
    found = last_object(reply.text or "", "grade")
    grade = str(found.get("grade")).strip()
    if grade in ("1", "2", "3"):
        return {"grade": int(grade), "words": " ".join(str(found.get("words", "")).split())}
    return {"grade": None, "words": f"no complete reply, {reply.reason}" if reply.reason else
            f"the grade is neither 1, 2 nor 3: {grade[:50]!r}" if found else "no JSON with a grade"}
