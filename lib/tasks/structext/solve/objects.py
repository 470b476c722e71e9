"""Solve objects (JSON, YAML) and XML with real parsers; excerpts are cut from the text."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

import yaml


@dataclass
class Object:
    """An object of the file: its scalar fields in order, the objects below it, and its path."""

    path: str  # obj["subs"][0]…
    start: int  # place of its first character in the text
    end: int  # place after its last character
    fields: dict[str, str] = field(default_factory=dict)
    below: list["Object"] = field(default_factory=list)

    def walk(self) -> Iterator["Object"]:
        """Yield this object and all below it, in document order."""
        yield self
        for one in self.below:
            yield from one.walk()


@dataclass
class Tag:
    """An XML element, with the bytes at which its content begins and ends in the UTF-8 text."""

    name: str
    attributes: dict[str, str]
    start: int = -1
    end: int = -1


def _read_json(text: str) -> Object:
    json.loads(text)  # YAML reads JSON too, and more than JSON
    return _read_yaml(text)


def _read_yaml(text: str) -> Object:
    return _from_yaml(yaml.compose(text, yaml.CBaseLoader), "obj", text)


def _from_yaml(node: yaml.MappingNode, path: str, text: str) -> Object:
    start, end = node.start_mark.index, node.end_mark.index
    made = Object(path, start, start + len(text[start:end].rstrip()))
    for key, item in node.value:
        inner = f'{path}["{key.value}"]'
        if isinstance(item, yaml.MappingNode):
            made.below.append(_from_yaml(item, inner, text))
        elif isinstance(item, yaml.ScalarNode):
            made.fields[key.value] = item.value
        else:
            made.below += [
                _from_yaml(part, f"{inner}[{number}]", text)
                for number, part in enumerate(item.value)
                if isinstance(part, yaml.MappingNode)
            ]
    return made


def _read_xml(text: str) -> tuple[bytes, list[Tag]]:
    source = text.lstrip().encode()
    parser = expat.ParserCreate("utf-8")
    tags: list[Tag] = []
    opened: list[Tag] = []
    new: list[Tag] = []

    def here(*_: object) -> None:
        """After a start tag, record this place as the beginning of the tag's content."""
        if new:
            new.pop().start = parser.CurrentByteIndex

    def begin(name: str, attributes: dict[str, str]) -> None:
        here()
        tag = Tag(name, attributes)
        for waiting in (tags, opened, new):
            waiting.append(tag)

    def finish(_: str) -> None:
        here()
        opened.pop().end = parser.CurrentByteIndex

    parser.StartElementHandler, parser.EndElementHandler = begin, finish
    parser.CharacterDataHandler = parser.CommentHandler = here
    parser.Parse(source, True)
    return source, tags


_READERS = {"json": _read_json, "yaml": _read_yaml, "xml": _read_xml}


def _excerpt(text: str, one: Object, asked: re.Match) -> str:
    dash = None
    if "with the dash" in asked.string:
        dash = re.search(r"-[ ]+$", text[max(0, one.start - 8) : one.start])
    return (dash[0] if dash else "") + text[one.start : one.end]


def _with_id(language: str, text: str, name: str) -> Object:
    return next(one for one in _READERS[language](text).walk() if one.fields.get("id") == name)


def _object(language: str, text: str, asked: re.Match) -> str:
    return _excerpt(text, _with_id(language, text, asked["id"]), asked)


def _first_below(language: str, text: str, asked: re.Match) -> str:
    return _READERS[language](text).below[0].fields["id"]


def _is_broken(language: str, text: str, asked: re.Match) -> str:
    try:
        _READERS[language](text)
    except (ValueError, yaml.YAMLError, expat.ExpatError):
        return "True"
    return "False"


def _path(language: str, text: str, asked: re.Match) -> str:
    held = [
        (one, key, value)
        for one in _READERS[language](text).walk()
        for key, value in one.fields.items()
    ]
    wanted = (asked["value"], asked["value"] + ",")
    one, key = next(
        (one, key)
        for is_id in (False, True)
        for text in wanted
        for one, key, value in held
        if value == text and (key == "id") == is_id
    )
    return f'{one.path}["{key}"]'


def _leaves(language: str, text: str, asked: re.Match) -> str:
    return "\n\n".join(
        _excerpt(text, one, asked) for one in _READERS[language](text).walk() if not one.below
    )


def _content(language: str, text: str, asked: re.Match) -> str:
    source, tags = _read_xml(text)
    tag = next(tag for tag in tags if tag.name == asked["tag"])
    return source[tag.start : tag.end].decode().strip()


def _with_value(language: str, text: str, asked: re.Match) -> str:
    return next(tag.name for tag in _read_xml(text)[1] if asked["value"] in tag.attributes.values())


_BROKEN = (
    ("any structural error in this", "have a structural error", "wrong with the structure of this"),
    _is_broken,
)
_OBJECT_QUESTIONS = [  # in the order of the tasks, each in the official wording and ours
    (
        (r"object with id (?P<id>.+?)\? The", r"object has the id (?P<id>.+?)\? (?:Copy|Give)"),
        _object,
    ),
    (("first object's id of subs", "id of the first object in"), _first_below),
    _BROKEN,
    (
        (
            r'access value "(?P<value>.*)"\? Answer',
            r'leads to the value "(?P<value>.*)"\? Write',
            r'is the value "(?P<value>.*)" reached\?',
        ),
        _path,
    ),
    (
        (
            "most deeply nested objects",
            "have no objects in their subs",
            "objects are nested deepest",
        ),
        _leaves,
    ),
]
_XML_QUESTIONS = [
    (
        (
            r"content of tag (?P<tag>\S+)\? ",
            r"content of the tag (?P<tag>\S+)\? ",
            r"does the tag (?P<tag>\S+) hold\?",
        ),
        _content,
    ),
    (
        (
            r"tag with attribute of value (?P<value>.+)\?$",
            r'has an attribute with the value "(?P<value>.+)"\? Answer',
            r"has an attribute of value (?P<value>.+)\?$",
        ),
        _with_value,
    ),
    _BROKEN,
]
QUESTIONS = {"json": _OBJECT_QUESTIONS, "yaml": _OBJECT_QUESTIONS, "xml": _XML_QUESTIONS}
