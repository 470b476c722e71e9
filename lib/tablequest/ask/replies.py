"""Read the answer in a reply to prompts/tablequest/answer.md as lenient JSON; evaluate nothing."""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from lib.core.records import Answer, Query
from lib.judge.verdicts import answers_of_one_arm

NO_REPLY = "there is no reply"
IN_THOUGHTS = "the reply ends in its thoughts"
NO_JSON = "no JSON with an answer in the reply"
NO_ANSWER = "the answer is empty"
_THOUGHTS = re.compile(r"\A.*</think>|\A\s*<think>.*\Z", re.S | re.I)
# a base model goes on to write tasks of its own
_NEXT = re.compile(r"</?(?:passage|question)>.*\Z", re.S | re.I)
# a trailing comma, or a string, which is kept: '["a", ]' has such a comma, '"a, ]"' has none
_COMMA = re.compile(r'("(?:\\.|[^"\\])*+")|,(?=\s*+[\]}])', re.S)
# '"answer": "5", "x', for objects that are truncated or faulty elsewhere
_FIELD = re.compile(r"""["'“]answer["'”]\s*+:\s*+"""
                    r"""(?:"((?:\\.|[^"\\])*+)"|'((?:\\.|[^'\\])*+)'|([^\s,{}\[\]"']+))""",
                    re.S | re.I)
_STEP = re.compile(r'"((?:\\.|[^"\\])*+)"\s*+[,\]]', re.S)
_LONGEST = 20_000  # characters read per reply
_MOST_OBJECTS = 200  # opening braces tried per reply


class Final(NamedTuple):
    """A reply's answer and the steps before it, or why there is none; `text` or `missing` is ""."""

    text: str
    steps: tuple[str, ...]
    missing: str


def read_reply(reply: str | None) -> Final:
    """Return the answer of the last object with a filled "answer".

    The object may be in prose or a code fence and have trailing commas. Thoughts up to </think> are
    ignored, as is anything after a tag of the prompt. If no object can be read, the field "answer"
    is searched for, in double quotes only. A number is kept as written; a list has one item a line.
    """
    text = _NEXT.sub("", _THOUGHTS.sub("", (reply or "")[:_LONGEST])).strip()
    if not text:
        return Final("", (), IN_THOUGHTS if (reply or "").strip() else NO_REPLY)
    answered = [found for found in objects(text) if "answer" in found]
    for found in reversed(answered):
        if answer := _text(found["answer"]):
            return Final(answer, _steps(found.get("steps")), "")
    # the strings of a list of steps that is not valid JSON, because the reply was truncated
    written = [_unescaped(match[1]) for match in _STEP.finditer(text.partition('"steps"')[2])]
    steps, fields = tuple(filter(None, written)), list(_FIELD.finditer(text))
    for match in reversed(fields):
        if not answered and (answer := _unescaped(match[1] or "")):
            return Final(answer, steps, "")
    return Final("", steps, NO_ANSWER if answered or fields else NO_JSON)


def finals(queries: Sequence[Query], answers: list[Answer]) -> dict[str, Final]:
    """Return query_id -> one arm's final answer; closed-book replies are read as plain text.

    Raises ValueError as `answers_of_one_arm` does.
    """
    _, replies = answers_of_one_arm(list(queries), answers)
    asked = {query.query_id: query for query in queries}
    return {query_id: read_reply(reply) if asked[query_id].context else _plain(reply)
            for query_id, reply in replies.items()}


def _plain(reply: str) -> Final:
    text = _THOUGHTS.sub("", reply).strip()
    return Final(text, (), "" if text else IN_THOUGHTS if reply.strip() else NO_REPLY)


def objects(text: str) -> list[dict]:
    """Return the outermost JSON objects of `text` in order, their keys in lower case.

    Commas before a closing bracket are ignored, and numbers stay as written.
    """
    mended = _COMMA.sub(lambda match: match[1] or "", text[:_LONGEST])
    decoder = json.JSONDecoder(parse_float=str, parse_int=str, strict=False)
    found, start = [], mended.find("{")
    for _ in range(_MOST_OBJECTS):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(mended, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            found.append({str(key).strip().lower(): item for key, item in value.items()})
        start = mended.find("{", end)
    return found


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, value)))
    if isinstance(value, dict):
        return "\n".join(f"{key}: {text}" for key, item in value.items() if (text := _text(item)))
    return value.strip() if isinstance(value, str) else ""


def _steps(value: object) -> tuple[str, ...]:
    return tuple(filter(None, map(_text, value if isinstance(value, list) else [value])))


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False)).strip()
    except ValueError:
        return text.strip()
