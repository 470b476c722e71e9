"""Answer questions about objects (json.0-4, yaml.0-4, TOML), using json, libyaml and tomllib.

Excerpts are cut from the text at the objects' places.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat

import yaml

from lib.structext.solve.unsolvable import Broken, Unsolvable, only
from lib.structext.solve.yaml_nodes import compose_yaml, plain

CHILDREN = "subs"


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
        waiting = [self]
        while waiting:
            one = waiting.pop()
            yield one
            waiting.extend(reversed(one.below))


def _read_json(text: str) -> Object:
    """Parse JSON; an object extends from brace to brace."""
    value = _parsed(text, json.loads, "JSON")
    braces, opened = [], []
    for found in re.finditer(r'"(?:[^"\\]|\\.)*"|[{}]', text):
        if found[0] == "{":
            opened.append(len(braces))
            braces.append([found.start(), 0])
        elif found[0] == "}":
            braces[opened.pop()][1] = found.end()
    return _root(value, braces)


def _read_toml(text: str) -> Object:
    """Parse TOML, without the objects' places in the text."""
    return _root(_parsed(text, tomllib.loads, "TOML"), repeat([0, 0]))


def _parsed(text: str, parse: Callable[[str], object], name: str) -> object:
    """Parse `text`. Raises Broken if it is not well-formed, Unsolvable if it is nested too deep."""
    try:
        return parse(text)
    except ValueError as error:
        raise Broken(f"the reference is not {name}: {error}") from error
    except RecursionError as error:
        raise Unsolvable(f"the reference is nested too deep for a {name} parser") from error


def _root(value: object, braces: Iterable[list[int]]) -> Object:
    if not isinstance(value, dict):
        raise Unsolvable("the reference is a list or a single value, not an object")
    try:
        return _from_json(value, "obj", iter(braces))
    except RecursionError as error:
        raise Unsolvable("the reference is nested too deep") from error


def _from_json(value: dict, path: str, braces: Iterator[list[int]]) -> Object:
    made = Object(path, *next(braces))
    for key, item in value.items():
        inner = f'{path}["{key}"]'
        for number, part in enumerate(item if isinstance(item, list) else [item]):
            place = f"{inner}[{number}]" if isinstance(item, list) else inner
            if isinstance(part, dict):
                made.below.append(_from_json(part, place, braces))
            elif not isinstance(item, list):
                made.fields[key] = part if isinstance(part, str) else json.dumps(part, default=str)
    return made


def _read_yaml(text: str) -> Object:
    """Parse YAML without implicit types. Raises as `compose_yaml` does."""
    root = compose_yaml(text)
    if not isinstance(root, yaml.MappingNode):
        raise Unsolvable("the reference is a list or a single value, not an object")
    return _from_yaml(root, "obj", text)


def _from_yaml(node: yaml.MappingNode, path: str, text: str) -> Object:
    start, end = node.start_mark.index, node.end_mark.index
    made = Object(path, start, start + len(text[start:end].rstrip()))
    for key, item in node.value:
        name = str(plain(key))  # a key may be a list or a mapping
        inner = f'{path}["{name}"]'
        if isinstance(item, yaml.MappingNode):
            made.below.append(_from_yaml(item, inner, text))
        elif isinstance(item, yaml.ScalarNode):
            made.fields[name] = item.value
        else:
            made.below += [_from_yaml(part, f"{inner}[{number}]", text)
                           for number, part in enumerate(item.value)
                           if isinstance(part, yaml.MappingNode)]
    return made


_READERS = {"json": _read_json, "yaml": _read_yaml, "toml": _read_toml}


def _excerpt(text: str, one: Object, asked: re.Match) -> str:
    """Cut an object out of the text; keep a YAML object's dash if the question asks for it."""
    dash = None
    if "with the dash" in asked.string:
        dash = re.search(r"-[ ]+$", text[max(0, one.start - 8):one.start])
    return (dash[0] if dash else "") + text[one.start:one.end]


def _with_id(language: str, text: str, name: str) -> Object:
    found = [one for one in _READERS[language](text).walk() if one.fields.get("id") == name]
    return only(found, f"object with id {name!r}")


def _object(language: str, text: str, asked: re.Match) -> str:
    return _excerpt(text, _with_id(language, text, asked["id"]), asked)


def _value(language: str, text: str, asked: re.Match) -> str:
    fields, name = _with_id(language, text, asked["id"]).fields, asked["name"]
    return only([fields[key] for key in fields if key == name], f"{name!r} in that object")


def _first_below(language: str, text: str, asked: re.Match) -> str:
    first = only(_READERS[language](text).below, f"object in {CHILDREN}")
    if "id" not in first.fields:
        raise Unsolvable(f"the first object in {CHILDREN} has no id")
    return first.fields["id"]


def _is_broken(language: str, text: str, asked: re.Match) -> str:
    try:
        _READERS[language](text)
    except Broken:
        return "True"
    return "False"


def _path(language: str, text: str, asked: re.Match) -> str:
    """Return the path to a value equal to the one asked for, or with a final comma (official YAML).

    An object's id counts only if no other value matches.
    """
    held = [(one, key, value) for one in _READERS[language](text).walk()
            for key, value in one.fields.items()]
    wanted = (asked["value"], asked["value"] + ",")
    found = [(one, key) for is_id in (False, True) for text in wanted for one, key, value in held
             if value == text and (key == "id") == is_id]
    one, key = only(found, f"value {wanted[0]!r}")
    return f'{one.path}["{key}"]'


def _leaves(language: str, text: str, asked: re.Match) -> str:
    return "\n\n".join(_excerpt(text, one, asked) for one in _READERS[language](text).walk()
                       if not one.below)


STRUCTURAL_ERROR = ("any structural error in this", "have a structural error",
                    "wrong with the structure of this")
_OBJECT_QUESTIONS = [  # in the order of the tasks, each in the official wording and ours
    ((r"object with id (?P<id>.+?)\? The", r"object has the id (?P<id>.+?)\? (?:Copy|Give)"),
     _object),
    (("first object's id of subs", "id of the first object in"), _first_below),
    (STRUCTURAL_ERROR, _is_broken),
    ((r'access value "(?P<value>.*)"\? Answer', r'leads to the value "(?P<value>.*)"\? Write',
      r'is the value "(?P<value>.*)" reached\?'), _path),
    (("most deeply nested objects", "have no objects in their subs", "objects are nested deepest"),
     _leaves),
]
_TOML_VALUE = ((r"value of (?P<name>.+) in the object with the id (?P<id>.+)\?$",), _value)
QUESTIONS = {"json": _OBJECT_QUESTIONS, "yaml": _OBJECT_QUESTIONS,
             "toml": [_TOML_VALUE, *_OBJECT_QUESTIONS[1:4]]}
