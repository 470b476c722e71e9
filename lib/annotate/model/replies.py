"""Find question-answer pairs in a model's reply, whatever surrounds them, and repair its JSON."""

import json
import re
from dataclasses import dataclass, field

from lib.core.errors import BadReply

_FIELDS = "question|answer|source_reference|source_reference_type|entity_list_length"
_KNOWN = set(_FIELDS.split("|"))
_OPEN, _CLOSE = "[\"“„”']", "[\"“”']"
_NAME = rf"{_OPEN}[\w -]{{1,40}}{_CLOSE}\s*+:"
_START = re.compile(rf"\{{(?=\s*+{_NAME})")  # of an object; a pair has a known field
_KEY = re.compile(rf"[\s,]*+{_OPEN}([\w -]{{1,40}}){_CLOSE}\s*+:\s*+")
_END = re.compile(r"[\s,]*+\}")
_BARE = re.compile(r"[^\s,{}\[\]\"“”]+")  # 3, null, true
_STRINGS = re.compile(r'\[\s*+(?:"(?:\\.|[^"\\])*+"[\s,]*+)*+\]', re.S)
_NO_PAIR = re.compile(r"(?:^|[:`]|json)[ \t]*+\[\s*+\][\s}`.]*+$", re.M)
_THOUGHT = re.compile(  # reasoning, whose drafts are not pairs
    r"\A.*?</think(?:ing)?>|\A\s*<think(?:ing)?>.*\Z", re.S
)
_CLOSED = re.compile(r"\}\s*+(?:[\],`]|\Z)")
_ESCAPE = re.compile(r"(?:\\\\)+|(?:\\u[0-9a-fA-F]{4})+|\\.", re.S)
_RUN = re.compile(r"\w{0,8}")
_MEANING = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "/": "/"}


# That quote is the one before a key or the end of the pair, so bare quotes stay inside:
#   "sets "a" here", "answer":   ends at the third quote from the right
#   "C:\dir\", "answer":         ends there: a known key follows backslash and quote
#   "no end {"question":         does not end: the next pair begins
def _string(close: str) -> re.Pattern[str]:
    known = rf"{_OPEN}(?:{_FIELDS}){_CLOSE}\s*+:"
    ends = rf"{close}(?=\s*+,?\s*+(?:{_NAME}|\}}))|\\{close}(?=\s*+,\s*+{known})"
    next_pair = rf"\{{\s*+{close}(?:{_FIELDS}){close}\s*+:"
    return re.compile(rf"((?:(?!{ends}|{next_pair})(?:\\.|[^\\]))*+\\?){close}", re.S)


_STRING = {
    '"': _string('"'),
    "“": _string("[”“]"),
    "„": _string("[“”]"),
    "”": _string("”"),
    "'": _string("'"),
}


@dataclass
class Reading:
    """The contents of a reply."""

    pairs: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)  # text, fields
    broken: list[tuple[str, str]] = field(default_factory=list)  # text, why it is not a pair
    is_empty: bool = False  # it says that there is no pair

    @property
    def is_readable(self) -> bool:
        """Return whether the reply contains pairs or says that there are none."""
        return bool(self.pairs) or self.is_empty


def read_pairs(reply: str, source: str) -> Reading:
    """Return every pair of `reply`: in an array, a fence, prose or an object, or one per line.

    Bare line breaks and quotes in strings, trailing commas, curly quotes and unknown escapes are
    repaired. A backslash that JSON reads as an escape is kept if it is in `source`, the text asked
    about: the path C:\\temp contains no tab. Numbers stay as written, a list of strings becomes
    lines, null becomes None.
    """
    text = _THOUGHT.sub("", reply)
    reading = Reading(is_empty=bool(_NO_PAIR.search(text)))
    start = _START.search(text)
    while start:
        fields: dict[str, str | None] = {}
        following = _START.search(text, start.end())
        try:
            end = _read(text, start.end(), source, fields)
        except BadReply as error:
            end = following.start() if following else len(text)
            if _KNOWN & fields.keys():
                reading.broken.append((text[start.start() : end].rstrip(" \n,"), str(error)))
        else:
            following = _START.search(text, end)
            if _KNOWN & fields.keys():
                reading.pairs.append((text[start.start() : end], fields))
        start = following
    return reading


def _read(text: str, position: int, source: str, fields: dict[str, str | None]) -> int:
    while not (end := _END.match(text, position)):
        key = _KEY.match(text, position)
        if not key:
            raise BadReply(_why(text, position))
        fields[key[1]] = None
        fields[key[1]], position = _value(text, key.end(), source)
    return end.end()


def _value(text: str, position: int, source: str) -> tuple[str | None, int]:
    string = _STRING.get(text[position : position + 1])
    if string and (found := string.match(text, position + 1)):
        return _unescaped(found[1], source), found.end()
    if found := _STRINGS.match(text, position):
        items = re.findall(r'"((?:\\.|[^"\\])*+)"', found[0], re.S)
        return "\n".join(_unescaped(item, source) for item in items), found.end()
    if not string and (found := _BARE.match(text, position)):
        return (None if found[0] in ("null", "None") else found[0]), found.end()
    raise BadReply(_why(text, position))


def _why(text: str, position: int) -> str:
    if _START.search(text, position) or _CLOSED.search(text, position):
        return f"the pair is not JSON: near {text[position : position + 40]!r}"
    return "the pair is truncated"


def _unescaped(raw: str, source: str) -> str:
    pieces, end, as_written = [], 0, 0  # raw[as_written:end] was taken verbatim
    for escape in _ESCAPE.finditer(raw):
        before = raw[max(as_written, escape.start() - 2) : escape.start()]
        after = _RUN.match(raw, escape.end())[0]
        is_verbatim = re.search(r"[^\W_]", before + after) and before + escape[0] + after in source
        read = escape[0] if is_verbatim else _meaning(escape[0])
        pieces += [raw[end : escape.start()], read]
        end = escape.end()
        as_written = as_written if read == escape[0] else end
    return "".join([*pieces, raw[end:]])


def _meaning(escape: str) -> str:
    if escape[:2] == "\\\\":
        return escape[::2]
    if escape[1] == "u" and len(escape) > 2:
        return json.loads(f'"{escape}"')
    return _MEANING.get(escape[1], escape)
