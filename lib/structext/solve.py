"""Answers to StrucText-Eval's questions from the text alone, by parsers and patterns.

It shares only the questions' wording with the generator, so an answer that both agree on is right
unless both are wrong in the same way. Questions in the official wording (v2, appendix) and in ours
are taken literally: what the text says, not what it was meant to say.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from io import StringIO
from xml.etree import ElementTree

import pandas as pd
import yaml

from lib.core.store import BadInput
from lib.structext.names import NO_BOLD, NO_IMAGE, Sample

KEY = "primeKey"
LEVELS = ("section", "subsection", "subsubsection", "paragraph", "subparagraph")  # LaTeX article
OFFICIAL_NONE = {  # what the official files say instead of an empty list
    "bold": "No bold texts presented in file.",
    "image": "No image file is included in the file.",
    "figure": "No figure file is included in the file.",
}
_STEP = re.compile(  # one heading as named in the official wording or in one of our two
    r"(?P<ordinal>(?<!\d)\d+)(?:st|nd|rd|th) (?P<subs>(?:sub)*)section"  # 2th subsection
    r"|heading number (?P<number>\d+) of level (?P<level>\d+)"
    rf"|\\(?P<command>{'|'.join(LEVELS)}) number (?P<rank>\d+)"  # \subsection number 2
)
Headings = list[tuple[int, int]]  # (level from 1, number of the line)


class Asked:
    """A question that was understood: its language, text and match, whose groups are its items."""

    def __init__(self, language: str, text: str, found: re.Match) -> None:
        self.language, self.text, self.found = language, text.strip("\r\n"), found

    def __getitem__(self, name: str | int) -> str:
        return self.found[name]


def solve(language: str, question: str, reference: str) -> str:
    """Answer `question` about `reference`, a text in `language` (a key of QUESTIONS).

    Raises BadInput for an unknown wording and for a text that does not answer the question.
    """
    _, read, found = _understood(language, question)
    try:
        return read(Asked(language, reference, found))
    except Exception as error:  # whatever a parser raises on an odd text
        raise BadInput(
            f"the {language} text does not answer {question[:120]!r} "
            f"({type(error).__name__}: {error})"
        ) from error


def task_of(language: str, question: str) -> str:
    """Return a question's task, such as "json.3". Raises BadInput if the wording is unknown."""
    return f"{language}.{_understood(language, question)[0]}"


def answers_of(samples: Iterable[Sample]) -> list[str]:
    """Return the answer to each sample, "" where its text does not answer the question."""
    answers = []
    for one in samples:
        try:
            answers.append(solve(one.language, one.question, one.reference))
        except BadInput:
            answers.append("")
    return answers


def _understood(language: str, question: str) -> tuple[int, Callable, re.Match]:
    asked = " ".join(question.split())
    for index, (read, *patterns) in enumerate(QUESTIONS.get(language, ())):
        for pattern in patterns:
            if found := re.search(pattern, asked):
                return index, read, found
    raise BadInput(
        f"no known question about {language}: {asked[:120]!r}; choose a language of "
        f"{', '.join(QUESTIONS)} and a wording in lib/structext/solve.py"
    )


# --- tables in CSV


def _people(text: str) -> pd.DataFrame:
    tables = [
        pd.read_csv(StringIO(part), dtype=str, keep_default_na=False)
        for part in re.split(r"\n[ \t\r]*\n", text.strip())
    ]
    return reduce(lambda one, other: one.merge(other, on=KEY), tables)


def _cell(asked: Asked) -> str:
    return _people(asked.text).set_index(KEY)[asked["field"]][asked["key"]]


def _earning(asked: Asked) -> str:
    return str((_people(asked.text).salary.astype(float) > float(asked["limit"])).sum())


def _of_gender(asked: Asked) -> str:
    return str((_people(asked.text).gender == asked["gender"]).sum())


def _taller(asked: Asked) -> str:
    people = _people(asked.text)
    here = people[people.location == asked["place"]]
    return str((here.height.astype(float) > float(asked["limit"])).sum())


# --- edges of trees


def _parents(asked: Asked) -> dict[str, str]:
    pairs = (line.partition("->")[::2] for line in asked.text.split("\n") if line.strip())
    return {child.strip(): parent.strip() for parent, child in pairs}


def _above(parents: dict[str, str], node: str) -> list[str]:
    return [*_above(parents, parents[node]), node] if node in parents else [node]


def _trail(asked: Asked) -> list[str]:
    parents, node = _parents(asked), asked["node"]
    if node not in (*parents, *parents.values()):
        raise BadInput(f"the tree has no node {node!r}")
    return _above(parents, node)


def _height(asked: Asked) -> str:
    parents = _parents(asked)
    return str(max(len(_above(parents, node)) for node in parents) - 1)


# --- objects in JSON and YAML, tags in XML; excerpts are cut from the text


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


def _read_objects(asked: Asked) -> Object:
    if asked.language == "json":
        json.loads(asked.text)  # YAML reads JSON too, and more than JSON
    return _from_yaml(yaml.compose(asked.text, yaml.CBaseLoader), "obj", asked.text)


def _from_yaml(node: yaml.MappingNode, path: str, text: str) -> Object:
    start, end = node.start_mark.index, node.end_mark.index
    made = Object(path, start, start + len(text[start:end].rstrip()))
    for key, item in node.value:
        inner = f'{path}["{key.value}"]'
        if isinstance(item, yaml.ScalarNode):
            made.fields[key.value] = item.value
        else:
            made.below += [
                _from_yaml(part, f"{inner}[{number}]", text)
                for number, part in enumerate(item.value)
            ]
    return made


def _read_xml(asked: Asked) -> ElementTree.Element:
    return ElementTree.fromstring(asked.text.lstrip())


def _excerpt(asked: Asked, one: Object) -> str:
    dash = None
    if "with the dash" in asked.found.string:
        dash = re.search(r"-[ ]+$", asked.text[max(0, one.start - 8) : one.start])
    return (dash[0] if dash else "") + asked.text[one.start : one.end]


def _object(asked: Asked) -> str:
    objects = _read_objects(asked).walk()
    return _excerpt(asked, next(one for one in objects if one.fields.get("id") == asked["id"]))


def _is_broken(asked: Asked) -> str:
    try:
        (_read_xml if asked.language == "xml" else _read_objects)(asked)
    except (ValueError, yaml.YAMLError, ElementTree.ParseError):
        return "True"
    return "False"


def _path(asked: Asked) -> str:
    held = [
        (value, key == "id", f'{one.path}["{key}"]')
        for one in _read_objects(asked).walk()
        for key, value in one.fields.items()
    ]
    # an id only if no other field has the value; official YAML values end in a comma
    wanted = [(asked["value"] + end, is_id) for is_id in (False, True) for end in ("", ",")]
    return next(path for each in wanted for *this, path in held if (*this,) == each)


def _leaves(asked: Asked) -> str:
    objects = _read_objects(asked).walk()
    return "\n\n".join(_excerpt(asked, one) for one in objects if not one.below)


def _content(asked: Asked) -> str:
    _read_xml(asked)
    # no element has the name of one around it
    tag = re.escape(asked["tag"])
    found = re.search(rf"<{tag}(?:\s[^>]*?)?(?:/>|>(.*?)</{tag}\s*>)", asked.text, re.S)
    return (found[1] or "").strip()


def _with_value(asked: Asked) -> str:
    tags = _read_xml(asked).iter()
    return next(tag.tag for tag in tags if asked["value"] in tag.attrib.values())


# --- documents


def _headings(pattern: str, level: Callable[[str], int]) -> Callable[[str], Headings]:
    return lambda text: [
        (level(found[1]), number)
        for number, line in enumerate(text.split("\n"))
        if (found := re.match(pattern, line))
    ]


HEADINGS = {
    "markdown": _headings(r"(#{1,6})\s", len),
    "latex": _headings(
        rf"\s*\\({'|'.join(LEVELS)})\*?\s*\{{", lambda command: LEVELS.index(command) + 1
    ),
    "org": _headings(r"(\*+)\s", len),
}


def section(headings: Headings, n_lines: int, ordinals: list[int]) -> tuple[int, int]:
    """Return the first line, and the last + 1, of the section that `ordinals` name.

    [i, j] names the j-th heading of level 2 under the i-th of level 1, and so on. Raises BadInput
    if there is no such section.
    """
    start, end = -1, n_lines
    for level, ordinal in enumerate(ordinals, 1):
        inside = [(deep, line) for deep, line in headings if start < line < end]
        lines = [line for deep, line in inside if deep == level]
        if not 1 <= ordinal <= len(lines):
            raise BadInput(
                f"the question is about heading {ordinal} of level {level}, but there "
                f"are {len(lines)} headings of level {level}"
            )
        start = lines[ordinal - 1]
        end = next((line for deep, line in inside if line > start and deep <= level), end)
    return start, end


def ordinals(question: str) -> list[int]:
    """Return [2, 1] for "1th subsection under 2th section"; BadInput if a level is missing."""
    found = sorted(
        (_level(step), int(step["ordinal"] or step["number"] or step["rank"]))
        for step in _STEP.finditer(question.lower())
    )
    if not found or [level for level, _ in found] != list(range(1, len(found) + 1)):
        raise BadInput(
            f"the question does not name a path from an outermost heading down: {question[:120]!r}"
        )
    return [ordinal for _, ordinal in found]


def _level(step: re.Match) -> int:
    if step["ordinal"]:
        return step["subs"].count("sub") + 1
    return int(step["level"]) if step["level"] else LEVELS.index(step["command"]) + 1


def _section(asked: Asked) -> str:
    lines = asked.text.split("\n")
    headings = HEADINGS[asked.language](asked.text)
    start, end = section(headings, len(lines), ordinals(asked.found.string))
    return "\n".join(lines[start:end]).strip()


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


def _bold(asked: Asked) -> str:
    none = OFFICIAL_NONE["bold"] if asked[0].startswith("Extract") else NO_BOLD
    return "\n".join(filter(None, re.findall(_BOLD[asked.language], asked.text))) or none


def _images(asked: Asked) -> str:
    text = asked.text
    if asked.language == "org" and "Write their names" in asked.found.string:
        text = re.sub(r"\[\[(?!file:)", "", text)
    none = OFFICIAL_NONE[asked[1]] if asked[0].startswith("Extract") else NO_IMAGE
    return "\n".join(re.findall(_IMAGES[asked.language], text)) or none


_BROKEN = (
    _is_broken,
    "any structural error in this|have a structural error|wrong with the structure of this",
)
_OBJECTS = [
    (_object, r"object (?:with|has the) id (?P<id>.+?)\? (?:The|Copy|Give)"),
    (
        lambda asked: _read_objects(asked).below[0].fields["id"],
        "first object's id of subs|id of the first object in",
    ),
    _BROKEN,
    (
        _path,
        r'(?:access|leads to the) value "(?P<value>.*)"\? (?:Answer|Write)',
        r'is the value "(?P<value>.*)" reached\?',
    ),
    (_leaves, "most deeply nested objects|no objects in their subs|objects are nested deepest"),
]
_DOCUMENT = [
    (_bold, "Extract all bold texts|Which texts are bold"),
    (
        _section,
        r"content of \d+th (?:sub)*section|stands under .+\? Copy it|What does \d+th .+ say\? ",
    ),
    (_images, "Extract all included (image|figure) files|Which image files are included"),
]
# In the order of the tasks: a reader, and patterns of the official wording and of ours
QUESTIONS = {
    "csv": [
        (
            _cell,
            r"What is the (?P<field>.+?) (?:of|in) (?:the )?record (?:with primeKey|whose primeKey "
            r"is) (?P<key>.+?)\??$",
        ),
        (_earning, r"salary (?:more than|above) (?P<limit>\d+)\?"),
        (_of_gender, r"How many people are (?P<gender>\S+?)\?"),
        (
            _taller,
            r"(?:who work in|whose location is) (?P<place>.+) are taller than (?P<limit>\d+)\?",
        ),
    ],
    "tree": [
        (_height, "What is the height of the root"),
        (
            lambda asked: str(len(_trail(asked)) - 1),
            r"depth of (?:the )?node (?P<node>.+?)(?:\? |, where)",
        ),
        (
            lambda asked: "->".join(_trail(asked)),
            r"from the root (?:node )?to the node (?P<node>.+?)(?:\. Answer|\? Write)",
        ),
    ],
    "json": _OBJECTS,
    "yaml": _OBJECTS,
    "xml": [
        (
            _content,
            r"content of (?:the )?tag (?P<tag>\S+)\? ",
            r"does the tag (?P<tag>\S+) hold\?",
        ),
        (
            _with_value,
            r"tag with attribute of value (?P<value>.+)\?$",
            r'has an attribute with the value "(?P<value>.+)"\? Answer',
            r"has an attribute of value (?P<value>.+)\?$",
        ),
        _BROKEN,
    ],
} | dict.fromkeys(HEADINGS, _DOCUMENT)
