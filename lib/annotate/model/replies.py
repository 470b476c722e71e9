"""Finds question-answer pairs in a model's reply, whatever stands around them, and undoes its slips in JSON."""

import json
import re
from dataclasses import dataclass, field

_FIELDS = "question|answer|source_reference|source_reference_type|entity_list_length"
_KNOWN = set(_FIELDS.split("|"))
_OPEN, _CLOSE = "[\"“„”']", "[\"“”']"
_START = re.compile(rf"\{{(?=\s*+{_OPEN}[\w -]{{1,40}}{_CLOSE}\s*+:)")  # of an object; a pair has a known field
_KEY = re.compile(rf"[\s,]*+{_OPEN}([\w -]{{1,40}}){_CLOSE}\s*+:\s*+")
_END = re.compile(r"[\s,]*+\}")
_BARE = re.compile(r"[^\s,{}\[\]\"“”]+")  # 3, null, true
_STRINGS = re.compile(r'\[\s*+(?:"(?:\\.|[^"\\])*+"[\s,]*+)*+\]', re.S)
_NO_PAIR = re.compile(r"(?:^|[:`]|json)[ \t]*+\[\s*+\][\s}`.]*+$", re.M)
_THOUGHT = re.compile(r"\A.*?</think(?:ing)?>|\A\s*<think(?:ing)?>.*\Z", re.S)  # drafts are no pairs
_CLOSED = re.compile(r"\}\s*+(?:[\],`]|\Z)")
_ESCAPE = re.compile(r"(?:\\\\)+|(?:\\u[0-9a-fA-F]{4})+|\\.", re.S)
_RUN = re.compile(r"\w{0,8}")
_MEANING = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "/": "/"}


def _string(close: str) -> re.Pattern[str]:
    """A string value up to the quote that ends it: the one before a key or the end of the pair, so that quotes that
    were left bare stay inside. A backslash before a quote that a known key follows is the last of a Windows path."""
    key, known = rf"{_OPEN}[\w -]{{1,40}}{_CLOSE}\s*+:", rf"{_OPEN}(?:{_FIELDS}){_CLOSE}\s*+:"
    ends = rf"{close}(?=\s*+,?\s*+(?:{key}|\}}))|\\{close}(?=\s*+,\s*+{known})"
    following = rf"\{{\s*+{close}(?:{_FIELDS}){close}\s*+:"  # a pair: the quote of this string is missing
    return re.compile(rf"((?:(?!{ends}|{following})(?:\\.|[^\\]))*+\\?){close}", re.S)


_STRING = {'"': _string('"'), "“": _string("[”“]"), "„": _string("[“”]"), "”": _string("”"), "'": _string("'")}


@dataclass
class Reading:
    """What a reply holds."""

    pairs: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)  # as written, and its fields
    broken: list[tuple[str, str]] = field(default_factory=list)  # what began as a pair, and why it is none
    is_empty: bool = False  # it says that there is no pair

    @property
    def is_readable(self) -> bool:
        """Whether the reply says its pairs, be it none."""
        return bool(self.pairs) or self.is_empty


class _Broken(ValueError):
    """Why what began as a pair is none."""


def read_pairs(reply: str, source: str) -> Reading:
    """Every pair of `reply` in order: in a bare array, in a fence, amid prose, in an object, alone, or one a line.

    Bare line breaks and quotes in strings, trailing commas, curly quotes and escapes that JSON does not know are
    mended. A backslash that JSON reads as an escape stays one where that is how it stands in `source`, the text asked
    about: the path C:\\temp has no tab. Numbers come as they are written, a list of strings as lines, null as None.
    """
    said, reading = _THOUGHT.sub("", reply), Reading()
    reading.is_empty = bool(_NO_PAIR.search(said))
    start = _START.search(said)
    while start:
        fields: dict[str, str | None] = {}
        following = _START.search(said, start.end())
        end = following.start() if following else len(said)
        try:
            end = _read(said, start.end(), source, fields)
        except _Broken as error:
            if _KNOWN & fields.keys():
                reading.broken.append((said[start.start():end].rstrip(" \n,"), str(error)))
        else:
            if _KNOWN & fields.keys():
                reading.pairs.append((said[start.start():end], fields))
            following = _START.search(said, end)
        start = following
    return reading


def _read(text: str, position: int, source: str, fields: dict[str, str | None]) -> int:
    """Put the fields of the object whose first key stands at text[position] into `fields`; where the object ends."""
    while not (end := _END.match(text, position)):
        key = _KEY.match(text, position)
        if not key:
            raise _Broken(_why(text, position))
        fields[key[1]] = None
        fields[key[1]], position = _value(text, key.end(), source)
    return end.end()


def _value(text: str, position: int, source: str) -> tuple[str | None, int]:
    if (string := _STRING.get(text[position:position + 1])) and (found := string.match(text, position + 1)):
        return _unescaped(found[1], source), found.end()
    if found := _STRINGS.match(text, position):
        items = re.findall(r'"((?:\\.|[^"\\])*+)"', found[0], re.S)
        return "\n".join(_unescaped(item, source) for item in items), found.end()
    if not string and (found := _BARE.match(text, position)):
        return (None if found[0] in ("null", "None") else found[0]), found.end()
    raise _Broken(_why(text, position))


def _why(text: str, position: int) -> str:
    """A pair that no other follows was cut off; any other is no JSON."""
    if _START.search(text, position) or _CLOSED.search(text, position):
        return f"the pair is not JSON: near {text[position:position + 40]!r}"
    return "the pair is cut off"


def _unescaped(raw: str, source: str) -> str:
    """The content of a JSON string, each escape read as `source` has it."""
    pieces, end, as_written = [], 0, 0  # raw[as_written:end] was taken as it is written
    for escape in _ESCAPE.finditer(raw):
        before, after = raw[max(as_written, escape.start() - 2):escape.start()], _RUN.match(raw, escape.end())[0]
        is_literal = re.search(r"[^\W_]", before + after) and before + escape[0] + after in source
        read = escape[0] if is_literal else _meaning(escape[0])
        pieces += [raw[end:escape.start()], read]
        end = escape.end()
        as_written = as_written if read == escape[0] else end
    return "".join([*pieces, raw[end:]])


def _meaning(escape: str) -> str:
    """What JSON means by an escape; one that it does not know stands for itself."""
    if escape[:2] == "\\\\":
        return escape[::2]
    if escape[1] == "u" and len(escape) > 2:
        return json.loads(f'"{escape}"')
    return _MEANING.get(escape[1], escape)
