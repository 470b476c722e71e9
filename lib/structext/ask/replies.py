"""The final answer in a reply to one of the six prompts, and its score: no row is lost for want of an answer."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from lib.core.records import Answer
from lib.judge.verdicts import answers_of_one_arm
from lib.structext.analyze.scores import Scored, score
from lib.structext.ask.prompts import REASONING, SETTINGS, Asked, as_queries

NO_ANSWER = "no <answer> in the reply"
NO_ROW = "no answer row: the query was not asked, or its call failed"
_TAG = re.compile(r"\\?<\s?(/?)\s?answer\s?\\?>", re.I)  # a backslash: escaped Markdown
_NEXT = re.compile(r"(?<=</answer>)\s*<(?:text|question)>.*", re.I | re.S)  # a base model goes on with tasks of its own
_THOUGHTS_END = re.compile(r"</think>", re.I)
_THOUGHTS = re.compile(r"\s*<think>", re.I)


class Final(NamedTuple):
    """What a reply answers, without blanks at both ends, and why that is nothing; one of the two is empty."""

    text: str
    missing: str


def final_answer(reply: str | None, setting: str) -> Final:
    """The answer in `reply`, to be scored; where `missing` says why there is none, the score is 0.

    Where a setting has the model reason, it is what the last <answer> holds that holds something; a last one may lack
    its end, because the reply was cut there or stopped at it. Elsewhere the prompt ends with <answer>, and it is the
    reply up to an end tag; one that opens the tag again is read as above. Thoughts up to </think> are not looked at.
    Raises ValueError for an unknown setting.
    """
    if setting not in SETTINGS:
        raise ValueError(f"setting {setting!r} is unknown: choose one of {', '.join(SETTINGS)}")
    thoughts_end = max((found.end() for found in _THOUGHTS_END.finditer(reply or "")), default=0)
    said = _NEXT.sub("", (reply or "")[thoughts_end:]).strip()
    if not said or _THOUGHTS.match(said):
        return Final("", "the reply ends in its thoughts" if said else "there is no reply")
    tags = list(_TAG.finditer(said))
    if setting in REASONING:
        text, missing = _last_held(said, tags), "the <answer> is empty" if tags else NO_ANSWER
    else:
        ends = [tag for tag in tags if tag[1]]
        begins_held = tags[:1] == ends[:1]
        text = said[:ends[0].start()].strip() if ends and begins_held else _last_held(said, tags)
        text, missing = text or ("" if ends else said), "the <answer> is empty"
    return Final(text, "" if text else missing)


def finals(asked: Sequence[Asked], answers: list[Answer]) -> dict[str, Final]:
    """query_id -> what one arm's reply answers. Raises ValueError as `lib.judge.verdicts.judge` does."""
    _, replies = answers_of_one_arm(as_queries(asked), answers)
    return {one.query_id: final_answer(replies[one.query_id], one.setting) for one in asked if one.query_id in replies}


def final_answers(asked: Sequence[Asked], answers: list[Answer]) -> list[Answer]:
    """`answers` with the final answer alone, for a judge; "" where there is none, which is incorrect."""
    found = finals(asked, answers)
    return [row.model_copy(update={"answer": found[row.query_id].text}) for row in answers]


def scored(asked: Sequence[Asked], answers: list[Answer]) -> list[Scored]:
    """The score of each of `asked`, in order, by query_id; without an answer it is 0 and `error` says why.

    Raises ValueError as `lib.judge.verdicts.judge` does.
    """
    found, rows = finals(asked, answers), []
    for one in asked:
        final = found.get(one.query_id, Final("", NO_ROW))
        row = score(one.sample.answer, final.text, one.query_id)
        rows.append(row.model_copy(update={"error": final.missing}) if final.missing else row)
    return rows


def _last_held(said: str, tags: list[re.Match]) -> str:
    """What the last <answer> holds that holds something.

    One without an end counts where it is the last tag and opens a line: "I write it in <answer> tags." opens none.
    """
    for number in range(len(tags) - 1, -1, -1):
        tag, following = tags[number], tags[number + 1] if number + 1 < len(tags) else None
        opens_a_line = not said[said.rfind("\n", 0, tag.start()) + 1:tag.start()].strip(" \t*`>")
        is_held = following[1] if following else opens_a_line
        held = said[tag.end():following.start() if following else None].strip()
        if not tag[1] and is_held and held:
            return held
    return ""
