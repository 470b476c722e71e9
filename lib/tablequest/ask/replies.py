"""The answer in a reply to prompts/tablequest/answer.md: JSON read leniently, never evaluated; no row is lost."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lib.core.records import Answer, Query
from lib.judge.verdicts import answers_of_one_arm

NO_REPLY = "there is no reply"
IN_THOUGHTS = "the reply ends in its thoughts"
NO_JSON = "no JSON with an answer in the reply"
NO_ANSWER = "the answer is empty"
_THOUGHTS = re.compile(r"\A.*</think>|\A\s*<think>.*\Z", re.S | re.I)
_NEXT = re.compile(r"</?(?:passage|question)>.*\Z", re.S | re.I)  # a base model goes on with tasks of its own
_COMMA = re.compile(r'("(?:\\.|[^"\\])*+")|,(?=\s*+[\]}])', re.S)  # a string, which stays, or a comma too many
_FIELD = re.compile(r"""["'“]answer["'”]\s*+:\s*+(?:"((?:\\.|[^"\\])*+)"|'((?:\\.|[^'\\])*+)'|([^\s,{}\[\]"']+))""",
                    re.S | re.I)  # where no object can be read: cut, or a slip elsewhere in it
_STEP = re.compile(r'"((?:\\.|[^"\\])*+)"\s*+[,\]]', re.S)
_LONGEST = 20_000  # characters of a reply that are looked at
_MOST_OBJECTS = 200  # opening braces that are tried


class Final(NamedTuple):
    """What a reply answers, the steps before it, and why there is no answer; `text` or `missing` is empty."""

    text: str
    steps: tuple[str, ...]
    missing: str


def read_reply(reply: str | None) -> Final:
    """The last object with a filled "answer" in `reply`: amid prose, in a code fence, with a comma too many.

    Thoughts up to </think> are not looked at, nor what follows a tag of the prompt. Where no object can be read, the
    field alone is looked for. A number or list as the answer counts as it is written, items a line each.
    """
    said = _NEXT.sub("", _THOUGHTS.sub("", (reply or "")[:_LONGEST])).strip()
    if not said:
        return Final("", (), IN_THOUGHTS if (reply or "").strip() else NO_REPLY)
    answered = [found for found in _objects(said) if "answer" in found]
    for found in reversed(answered):
        if text := _text(found["answer"]):
            return Final(text, _steps(found.get("steps")), "")
    for match in reversed(list(_FIELD.finditer(said))):
        if not answered and (text := _unescaped(next(part for part in match.groups(default="") if part or match[0]))):
            return Final(text, _loose_steps(said), "")
    return Final("", _loose_steps(said), NO_ANSWER if answered or _FIELD.search(said) else NO_JSON)


def finals(queries: Sequence[Query], answers: list[Answer]) -> dict[str, Final]:
    """query_id -> what one arm's reply answers; a closed-book reply is plain text and counts whole.

    Raises ValueError as `lib.judge.verdicts.judge` does.
    """
    _, replies = answers_of_one_arm(list(queries), answers)
    asked = {query.query_id: query for query in queries}
    return {query_id: read_reply(reply) if asked[query_id].context else _plain(reply)
            for query_id, reply in replies.items()}


def final_answers(queries: Sequence[Query], answers: list[Answer]) -> list[Answer]:
    """`answers` of one arm with the final answer alone, for 05_judge; "" where there is none, which is incorrect."""
    found = finals(queries, answers)
    return [row.model_copy(update={"answer": found[row.query_id].text}) for row in answers]


def _plain(reply: str) -> Final:
    text = _THOUGHTS.sub("", reply).strip()
    return Final(text, (), "" if text else IN_THOUGHTS if reply.strip() else NO_REPLY)


def objects(said: str) -> list[dict]:
    """The JSON objects of `said` in order, outermost only; commas before a closing bracket are left out."""
    return list(_objects(said[:_LONGEST]))


def _objects(said: str) -> Iterator[dict]:
    mended = _COMMA.sub(lambda match: match[1] or "", said)
    decoder = json.JSONDecoder(parse_float=str, parse_int=str, strict=False)  # digits stay as written
    start = mended.find("{")
    for _ in range(_MOST_OBJECTS):
        if start < 0:
            return
        try:
            found, end = decoder.raw_decode(mended, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield {str(key).strip().lower(): value for key, value in found.items()}
        start = mended.find("{", end)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, value)))
    if isinstance(value, dict):
        return "\n".join(f"{key}: {text}" for key, item in value.items() if (text := _text(item)))
    return value.strip() if isinstance(value, str) else ""


def _steps(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(filter(None, map(_text, items)))


def _loose_steps(said: str) -> tuple[str, ...]:
    """The whole strings of a list of steps that cannot be read as JSON, because the reply was cut, say."""
    _, _, rest = said.partition('"steps"')
    return tuple(filter(None, (_unescaped(match[1]) for match in _STEP.finditer(rest))))


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False)).strip()
    except ValueError:
        return text.strip()
