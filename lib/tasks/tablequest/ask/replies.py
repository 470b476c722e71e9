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
# Tokens of an object that is not valid JSON. A quote closes a string only before a comma, colon or
# bracket, so "Alm's" and "the "net" loss" are whole; a string without its end goes on to the last.
_QUOTED = "|".join(rf"{begin}(?P<{name}>(?:\\.|(?!{end}\s*+(?:[,:}}\]]|\Z))[^\\])*+)"
                   rf"(?:{end}|(?P<cut_{name}>\Z))"
                   for name, begin, end in (("double", '["“]', '["”]'), ("single", "['‘]", "['’]")))
_TOKEN = re.compile(rf"""\s*+(?:(?P<mark>[{{}}\[\]:,])|{_QUOTED}|(?P<bare>[^\s{{}}\[\]:,"'“‘]"""
                    r"[^{}\[\]:,\n]*+))", re.S)
_MOST_DEPTH = 50
_LONGEST = 20_000  # characters read per reply
_MOST_OBJECTS = 200  # opening braces tried per reply
_MOST_FAULTY = 20  # those of them that are no valid JSON


class Final(NamedTuple):
    """A reply's answer and the steps before it, or why there is none; `text` or `missing` is ""."""

    text: str
    steps: tuple[str, ...]
    missing: str


def read_reply(reply: str | None) -> Final:
    """Return the answer of the last object with a filled "answer".

    The object may be in prose or a code fence, have trailing commas, single quotes or bare keys, or
    lack its end (see `objects`). Thoughts up to </think> are ignored, as is anything after a tag of
    the prompt. A number is kept as written; a list has one item a line.
    """
    text = _NEXT.sub("", _THOUGHTS.sub("", (reply or "")[:_LONGEST])).strip()
    text = text.removesuffix("```").rstrip()
    if not text:
        return Final("", (), IN_THOUGHTS if (reply or "").strip() else NO_REPLY)
    found = objects(text)
    answered = [one for one in found if "answer" in one]
    for one in reversed(answered):
        if answer := _text(one["answer"]):
            return Final(answer, _steps(one.get("steps")), "")
    steps = _steps(found[-1].get("steps")) if found else ()
    return Final("", steps, NO_ANSWER if answered else NO_JSON)


def finals(queries: Sequence[Query], answers: list[Answer]) -> dict[str, Final]:
    """Return query_id -> one arm's final answer; closed-book replies are read as plain text.

    Raises ValueError as `answers_of_one_arm` does.
    """
    _, replies = answers_of_one_arm(list(queries), answers)
    asked = {query.query_id: query for query in queries}
    return {name: final_of(asked[name], reply) for name, reply in replies.items()}


def final_of(query: Query, reply: str) -> Final:
    """Return the final answer in a reply; a closed-book reply is plain text."""
    return read_reply(reply) if query.context else _plain(reply)


def _plain(reply: str) -> Final:
    text = _THOUGHTS.sub("", reply).strip()
    return Final(text, (), "" if text else IN_THOUGHTS if reply.strip() else NO_REPLY)


def last_object(text: str, *keys: str) -> dict:
    """Return the last of the `objects` of `text` that has one of `keys`, or {}."""
    return next((found for found in reversed(objects(text)) if found.keys() & {*keys}), {})


def objects(text: str) -> list[dict]:
    """Return the outermost objects of `text` in order, their keys in lower case.

    Numbers stay as written. Where an object is not valid JSON, single quotes, bare words, trailing
    commas and quotes within strings are understood, and a missing end is added; a last value that
    may have been cut inside a number is left out. Nothing is evaluated.
    """
    text = text[:_LONGEST]
    decoder = json.JSONDecoder(parse_float=str, parse_int=str, strict=False)
    found, start, n_faulty = [], text.find("{"), 0
    for _ in range(_MOST_OBJECTS):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            n_faulty += 1
            value, end = _lenient(text, start) if n_faulty <= _MOST_FAULTY else ({}, start + 1)
        if value:
            found.append({str(key).strip().lower(): item for key, item in value.items()})
        start = text.find("{", end if value else start + 1)
    return found


def _lenient(text: str, start: int) -> tuple[dict, int]:
    """Return the object that begins at `start` and its end; {} if it has no key with a value."""
    tokens, place = [], start
    depth = 0
    while match := _TOKEN.match(text, place):
        tokens.append(match)
        place = match.end()
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match["mark"] or "", 0)
        if not 0 < depth <= _MOST_DEPTH:
            break
    if depth > _MOST_DEPTH:
        return {}, start + 1
    value, _ = _value(tokens, 0, len(text))
    return value if isinstance(value, dict) else {}, place


def _value(tokens: Sequence[re.Match], place: int, end: int) -> tuple[object, int]:
    """Return the value that begins with token `place`, None if there is none, and what follows."""
    if place >= len(tokens):
        return None, place
    token = tokens[place]
    if token["mark"] in ("{", "["):
        return _members(tokens, place + 1, end, is_object=token["mark"] == "{")
    if token["mark"]:
        return None, place
    if token["bare"]:
        word = token["bare"].strip()
        is_cut = token.end() >= end
        known = {"true": True, "false": False, "null": None, "none": None}
        return (None if is_cut else known.get(word.lower(), word)), place + 1
    text = _unescaped(token["double"] if token["double"] is not None else token["single"])
    is_cut = token["cut_double"] is not None or token["cut_single"] is not None
    return (None if is_cut and re.search(r"\d[.,]?\Z", text) else text), place + 1


def _members(tokens: Sequence[re.Match], place: int, end: int,
             is_object: bool) -> tuple[object, int]:
    """Return the members up to the closing bracket or the last token, and what follows."""
    found: dict[str, object] = {}
    items: list[object] = []
    while place < len(tokens) and tokens[place]["mark"] not in ("}", "]"):
        if tokens[place]["mark"] == ",":
            place += 1
            continue
        key, after = _value(tokens, place, end)
        is_key = after < len(tokens) and tokens[after]["mark"] == ":"
        if is_key and not is_object:
            return items, place  # the list was not closed: the rest is the object's
        if is_key:
            value, after = _value(tokens, after + 1, end)
            if isinstance(key, str) and value is not None:
                found[key] = value
        else:
            items.append(key)
        place = max(after, place + 1)
    return (found if is_object else items), place + 1


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
        quoted = re.sub(r'(?<!\\)"', r'\\"', text.replace("\\'", "'"))
        return str(json.loads(f'"{quoted}"', strict=False)).strip()
    except ValueError:
        return text.strip()
