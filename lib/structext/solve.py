"""Answers to StrucText-Eval's questions from the text alone, by parsers and patterns.

It shares only the questions' wording with the generator, so an answer that both agree on is right
unless both are wrong in the same way. Questions in the official wording (v2, appendix) and in ours
are taken literally: what the text says, not what it was meant to say.
"""

import json
import re
from collections.abc import Callable, Iterable
from functools import partial, reduce
from io import StringIO
from typing import NamedTuple
from xml.etree import ElementTree

import pandas as pd
import yaml

from lib.core.store import BadInput
from lib.structext.names import NO_BOLD, NO_IMAGE, PATTERNS, PROCEDURES, Sample

KEY = "primeKey"
LEVELS = ("section", "subsection", "subsubsection", "paragraph", "subparagraph")  # LaTeX article
OFFICIAL_NONE = {  # what the official files say instead of an empty list
    "bold": "No bold texts presented in file.",
    "image": "No image file is included in the file.",
    "figure": "No figure file is included in the file.",
}
_STEP = re.compile(  # one heading as named in the official wording (2th subsection) or in ours
    r"(?<!\d)(\d+)(?:st|nd|rd|th) ((?:sub)*section)"
    r"|heading number (\d+) of level (\d+)"
    rf"|\\({'|'.join(LEVELS)}) number (\d+)"
)
Headings = list[tuple[int, int]]  # (level from 1, number of the line)
Solved = tuple  # the answer, then what its reader met on the way, in the order of PROCEDURES


class Asked(NamedTuple):
    """A question that was understood: its language, text and match, whose groups are its items."""

    language: str
    text: str
    found: re.Match


def solve(language: str, question: str, reference: str) -> Solved:
    """Answer `question` about `reference`, a text in `language` (a key of READERS).

    What the reader met follows the answer. Raises BadInput for an unknown wording and for a text
    that does not answer the question.
    """
    _, read, found = _understood(language, question)
    try:
        return read(Asked(language, reference.strip("\r\n"), found))
    except Exception as error:  # whatever a parser raises on an odd text
        raise BadInput(
            f"the {language} text does not answer {question[:120]!r} "
            f"({type(error).__name__}: {error})"
        ) from error


def task_of(language: str, question: str) -> str:
    """Return a question's task, such as "json.3". Raises BadInput if the wording is unknown."""
    return f"{language}.{_understood(language, question)[0]}"


def attempt(sample: Sample) -> Solved:
    """Return `solve` of a sample; its answer is "" if the text does not answer the question."""
    try:
        return solve(sample.language, sample.question, sample.reference)
    except BadInput:
        return ("",)


def procedure(sample: Sample) -> str:
    """Return the solver's steps to a sample's answer, in words; "" if they lead elsewhere."""
    answer, *met = attempt(sample)
    told = [", ".join(words) or "none" for words in met]
    return PROCEDURES[sample.task].format(*told, answer=answer) if answer == sample.answer else ""


def _understood(language: str, question: str) -> tuple[int, Callable, re.Match]:
    asked = " ".join(question.split())
    for index, pattern in enumerate(PATTERNS.get(language, ())):
        if found := re.search(pattern, asked):
            return index, READERS[language][index], found
    raise BadInput(
        f"no known question about {language}: {asked[:120]!r}; choose a language of "
        f"{', '.join(PATTERNS)} and a wording in lib/structext/questions.yaml"
    )


# --- tables in CSV


def _people(text: str) -> pd.DataFrame:
    tables = [
        pd.read_csv(StringIO(part), dtype=str, keep_default_na=False)
        for part in re.split(r"\n[ \t\r]*\n", text.strip())
    ]
    return reduce(lambda one, other: one.merge(other, on=KEY), tables).set_index(KEY)


def _cell(asked: Asked) -> Solved:
    row = _people(asked.text).loc[asked.found["key"]]
    return row[asked.found["field"]], map(" ".join, row.items())


def _count(column: str) -> Callable[[Asked], Solved]:
    def read(asked: Asked) -> Solved:
        people, items = _people(asked.text), asked.found.groupdict()
        if "place" in items:
            people = people[people.location == items["place"]]
        values, limit = people[column], items.get("limit")
        counted = values.astype(float) > float(limit) if limit else values == items["gender"]
        return str(counted.sum()), map(" ".join, values.items()), values.index[counted]

    return read


# --- edges of trees


def _parents(asked: Asked) -> dict[str, str]:
    pairs = (line.partition("->")[::2] for line in asked.text.split("\n") if line.strip())
    return {child.strip(): parent.strip() for parent, child in pairs}


def _above(parents: dict[str, str], node: str) -> list[str]:
    return [*_above(parents, parents[node]), node] if node in parents else [node]


def _depth(asked: Asked) -> Solved:
    # of the node asked about, or of the deepest one
    parents, node = _parents(asked), asked.found.groupdict().get("node")
    if node not in (None, *parents, *parents.values()):
        raise BadInput(f"the tree has no node {node!r}")
    way = max((_above(parents, one) for one in ([node] if node else parents)), key=len)
    return str(len(way) - 1), way[::-1], ["->".join(way)]


def _way(asked: Asked) -> Solved:
    _, up, (way,) = _depth(asked)
    return way, up


# --- objects in JSON and YAML, tags in XML; excerpts are cut from the text


class Object(NamedTuple):
    """An object of the file: its scalar fields in order, the objects below it, and its path."""

    path: str  # obj["subs"][0]…
    start: int  # place of its first character in the text
    end: int  # place after its last character
    fields: dict[str, str]
    below: list["Object"]


def _read_objects(asked: Asked) -> list[Object]:
    # in document order
    if asked.language == "json":
        json.loads(asked.text)  # YAML reads JSON too, and more than JSON
    return _from_yaml(yaml.compose(asked.text, yaml.CBaseLoader), "obj", asked.text)


def _from_yaml(node: yaml.MappingNode, path: str, text: str) -> list[Object]:
    start, end = node.start_mark.index, node.end_mark.index
    made = Object(path, start, start + len(text[start:end].rstrip()), {}, [])
    found = [made]
    for key, item in node.value:
        if isinstance(item, yaml.ScalarNode):
            made.fields[key.value] = item.value
            continue
        for number, part in enumerate(item.value):
            objects = _from_yaml(part, f'{path}["{key.value}"][{number}]', text)
            made.below.append(objects[0])
            found += objects
    return found


def _read_xml(asked: Asked) -> ElementTree.Element:
    return ElementTree.fromstring(asked.text.lstrip())


def _excerpt(asked: Asked, one: Object) -> str:
    start = one.start
    if "with the dash" in asked.found.string:
        start = re.search(r"(- +)?\Z", asked.text[:start]).start()
    return asked.text[start : one.end]


def _ids(objects: Iterable[Object]) -> list[str]:
    return [one.fields.get("id", "") for one in objects]


def _object(asked: Asked) -> Solved:
    objects = _read_objects(asked)
    ids = _ids(objects)
    place = ids.index(asked.found["id"])
    return _excerpt(asked, objects[place]), ids[: place + 1]


def _first(asked: Asked) -> Solved:
    ids = _ids(_read_objects(asked)[0].below)
    return ids[0], ids


def _is_broken(asked: Asked) -> Solved:
    try:
        (_read_xml if asked.language == "xml" else _read_objects)(asked)
    except (json.JSONDecodeError, yaml.YAMLError, ElementTree.ParseError) as error:
        return "True", [f"what does not fit is {_misfit(asked, str(error))}"]
    return "False", ["the text ends, and nothing is open"]


def _misfit(asked: Asked, message: str) -> str:
    places = re.findall(r"line (\d+),? column (\d+)", message)
    if not places:
        return "a character that is not allowed"
    line, column = map(int, places[-1])
    first, *others = [*asked.text.split("\n")[line - 1 :], ""]
    is_left = any(others) or first[column - (asked.language != "xml") :]  # XML's begin at 0
    return first.strip() if is_left else "the end of the text"


def _path(asked: Asked) -> Solved:
    held = {}
    for one in _read_objects(asked):
        for key, value in one.fields.items():
            held.setdefault((value, key == "id"), f'{one.path}["{key}"]')
    # an id only if no other field has the value; official YAML values end in a comma
    wanted = [(asked.found["value"] + end, is_id) for is_id in (False, True) for end in ("", ",")]
    path = next(held[each] for each in wanted if each in held)
    return path, re.findall(r"\[(\d+)\]", path)


def _leaves(asked: Asked) -> Solved:
    leaves = [one for one in _read_objects(asked) if not one.below]
    return "\n\n".join(_excerpt(asked, one) for one in leaves), _ids(leaves)


def _content(asked: Asked) -> Solved:
    _read_xml(asked)
    # no element has the name of one around it
    tag = re.escape(asked.found["tag"])
    found = re.search(rf"(<{tag}(?:\s[^>]*?)?/?>)(?:(?<!/>)(.*?)</{tag}\s*>)?", asked.text, re.S)
    return (found[2] or "").strip(), [found[1]]


def _with_value(asked: Asked) -> Solved:
    return next(
        (tag.tag, [name])
        for tag in _read_xml(asked).iter()
        for name, value in tag.attrib.items()
        if value == asked.found["value"]
    )


# --- documents


HEADINGS = {
    "markdown": r"(#{1,6})\s",
    "latex": rf"\s*\\({'|'.join(LEVELS)})\*?\s*\{{",
    "org": r"(\*+)\s",
}


def headings(language: str, text: str) -> Headings:
    """Return the headings of a text, in order."""
    found = [re.match(HEADINGS[language], line) for line in text.split("\n")]
    return [
        (LEVELS.index(one[1]) + 1 if language == "latex" else len(one[1]), number)
        for number, one in enumerate(found)
        if one
    ]


def section(headings: Headings, n_lines: int, ordinals: list[int]) -> tuple[list[int], int]:
    """Return the lines of the headings that `ordinals` name, and the last line + 1 of the section.

    [i, j] names the j-th heading of level 2 under the i-th of level 1, and so on. Raises BadInput
    if there is no such section.
    """
    starts, end = [-1], n_lines
    for level, ordinal in enumerate(ordinals, 1):
        inside = [(deep, line) for deep, line in headings if starts[-1] < line < end]
        lines = [line for deep, line in inside if deep == level]
        if not 1 <= ordinal <= len(lines):
            raise BadInput(
                f"the question is about heading {ordinal} of level {level}, but there "
                f"are {len(lines)} headings of level {level}"
            )
        starts.append(lines[ordinal - 1])
        end = next((line for deep, line in inside if line > starts[-1] and deep <= level), end)
    return starts[1:], end


def ordinals(question: str) -> list[int]:
    """Return [2, 1] for "1th subsection under 2th section"; BadInput if a level is missing."""
    steps = _STEP.findall(question.lower())
    found = sorted(
        (int(level or LEVELS.index(name + command) + 1), int(ordinal + number + rank))
        for ordinal, name, number, level, command, rank in steps
    )
    if not found or [level for level, _ in found] != list(range(1, len(found) + 1)):
        raise BadInput(
            f"the question does not name a path from an outermost heading down: {question[:120]!r}"
        )
    return [ordinal for _, ordinal in found]


def _section(asked: Asked) -> Solved:
    lines = asked.text.split("\n")
    places = ordinals(asked.found.string)
    starts, end = section(headings(asked.language, asked.text), len(lines), places)
    after = lines[end : end + 1] or ["the end of the file"]
    return "\n".join(lines[starts[-1] : end]).strip(), [lines[start] for start in starts], after


_BOLD = {
    "markdown": r"\*\*([^*]+)\*\*",
    "latex": r"\\textbf\{([^{}]*)\}",
    "org": r"(?m)^\*+\s.*|\*([^*\s](?:[^*\n]*[^*\s])?)\*",  # a heading is no bold text
}
_IMAGES = {
    "markdown": r"!\[[^\]]*\]\(([^\s)]+)",
    "latex": r"\\includegraphics(?:\[[^\]]*\])?\{([^{}]*)\}",
    "org": r"\[\[(?:file:)?([^\][]+)\](?:\[[^\]]*\])?\]",
}


def _marks(patterns: dict[str, str], none: str, asked: Asked) -> Solved:
    text = asked.text
    if "Write their names" in asked.found.string:  # here Org's links are no images
        text = re.sub(r"\[\[(?!file:)", "", text)
    marks = [*filter(None, re.findall(patterns[asked.language], text))]
    return "\n".join(marks) or OFFICIAL_NONE.get(asked.found["kind"], none), marks


_OBJECTS = (_object, _first, _is_broken, _path, _leaves)
# In the order of the tasks; the wordings that each reads are `patterns` in questions.yaml
READERS = {
    "csv": (_cell, _count("salary"), _count("gender"), _count("height")),
    "tree": (_depth, _depth, _way),
    "json": _OBJECTS,
    "yaml": _OBJECTS,
    "xml": (_content, _with_value, _is_broken),
} | dict.fromkeys(
    HEADINGS,
    (partial(_marks, _BOLD, NO_BOLD), _section, partial(_marks, _IMAGES, NO_IMAGE)),
)
