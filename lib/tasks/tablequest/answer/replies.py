"""The answer in a reply to prompts/tablequest/answer.md, read as JSON; nothing is evaluated."""

import json
import re
from typing import NamedTuple

from lib.core.prompts import SPLIT

NO_REPLY, NO_ANSWER = "there is no reply", "the answer is empty"
NO_JSON = "no JSON with an answer in the reply"
_LONGEST = 20_000  # characters read per reply
_MOST_OBJECTS = 200  # opening braces tried per reply
_CUT = re.compile(r"[\"'“]?answer[\"'”]?\s*:\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s\"{}\[\],]+))", re.I)


class Final(NamedTuple):
    """A reply's answer and the steps before it, or why there is none; `text` or `missing` is ""."""

    text: str
    steps: tuple[str, ...]
    missing: str


def read_reply(reply: str | None) -> Final:
    """Return the answer of the last object with an "answer"; one without its end counts too.

    A number is kept as written; thoughts up to </think> are ignored.
    """
    text = (reply or "").rpartition("</think>")[2].strip()
    if not text:
        return Final("", (), NO_REPLY)
    found = last_object(text, "answer")
    if not found:
        pieces = [one[0] or one[1] for one in _CUT.findall(text[:_LONGEST])]
        return Final(pieces[-1], (), "") if pieces and pieces[-1] else Final("", (), NO_JSON)
    answer = _text(found["answer"])
    return Final(
        answer,
        tuple(filter(None, _text(found.get("steps")).splitlines())),
        "" if answer else NO_ANSWER
    )


def last_object(text: str, *keys: str) -> dict:
    """Return the last outermost JSON object of `text` that has one of `keys`, or {}.

    Its keys are in lower case, its numbers as written; commas before a closing bracket are ignored.
    """
    text = re.sub(r",(\s*[}\]])", r"\1", text.rpartition("</think>")[2].replace(SPLIT, ""))
    decoder = json.JSONDecoder(parse_float=str, parse_int=str, strict=False)
    text, found, start = text[:_LONGEST], {}, text.find("{")
    for _ in range(_MOST_OBJECTS):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value, end = {}, start + 1
        named = {str(key).strip().lower(): item for key, item in value.items()}
        found = named if named.keys() & {*keys} else found
        start = text.find("{", end)
    return found


def _text(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no"}.get(value, "")
    if isinstance(value, list | dict):
        items = value if isinstance(value, list) else value.values()
        return "\n".join(filter(None, map(_text, items)))
    return str(value).strip()
