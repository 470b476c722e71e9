"""Answer questions about documents: markdown-it reads Markdown, our parsers LaTeX and Org."""

import re
from collections.abc import Callable
from functools import lru_cache

from markdown_it import MarkdownIt

from lib.core.errors import BadInput
from lib.tasks.structext.generate.wording import NO_BOLD, NO_IMAGE

LEVELS = ("section", "subsection", "subsubsection", "paragraph", "subparagraph")  # LaTeX article
OFFICIAL_NONE = {  # what the official files say instead of an empty list
    "bold": "No bold texts presented in file.",
    "image": "No image file is included in the file.",
    "figure": "No figure file is included in the file.",
}
_STEP = re.compile(  # one heading as named in the official wording or in one of our two
    r"(?P<ordinal>\d+)(?:st|nd|rd|th) (?P<subs>(?:sub)*)section"  # 2th subsection
    r"|heading number (?P<number>\d+) of level (?P<level>\d+)"
    rf"|\\(?P<command>{'|'.join(LEVELS)}) number (?P<rank>\d+)"
)  # \subsection number 2
Headings = list[tuple[int, int]]  # (level from 1, number of the line)


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark")


def _markdown_headings(text: str) -> Headings:
    return [
        (int(token.tag[1:]), token.map[0])
        for token in _markdown().parse(text)
        if token.type == "heading_open" and token.level == 0
    ]


def _latex_headings(text: str) -> Headings:
    pattern = re.compile(rf"\\({'|'.join(LEVELS)})\*?\s*\{{")
    return [
        (LEVELS.index(found[1]) + 1, number)
        for number, line in enumerate(text.split("\n"))
        if (found := pattern.match(line.lstrip()))
    ]


def _org_headings(text: str) -> Headings:
    return [
        (len(found[1]), number)
        for number, line in enumerate(text.split("\n"))
        if (found := re.match(r"(\*+)\s", line))
    ]


HEADINGS: dict[str, Callable[[str], Headings]] = {
    "markdown": _markdown_headings,
    "latex": _latex_headings,
    "org": _org_headings,
}


def section(headings: Headings, n_lines: int, ordinals: list[int]) -> tuple[int, int]:
    """Return the first line, and the last + 1, of the section that `ordinals` name.

    [i, j] names the j-th heading of level 2 under the i-th of level 1, and so on. Raises BadInput
    if there is no such section.
    """
    inside = headings
    start, end = 0, n_lines
    for level, ordinal in enumerate(ordinals, 1):
        places = [place for place, (deep, _) in enumerate(inside) if deep == level]
        if not 1 <= ordinal <= len(places):
            raise BadInput(
                f"the question is about heading {ordinal} of level {level}, but there "
                f"are {len(places)} headings of level {level}"
            )
        first = places[ordinal - 1]
        after = next(
            (place for place in range(first + 1, len(inside)) if inside[place][0] <= level), None
        )
        start, end = inside[first][1], end if after is None else inside[after][1]
        inside = inside[first + 1 : after]
    return start, end


def ordinals(question: str) -> list[int]:
    """Return [2, 1] for "1th subsection under 2th section".

    Raises BadInput if a level is missing.
    """
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


def _section(language: str, text: str, asked: re.Match) -> str:
    lines = text.split("\n")
    start, end = section(HEADINGS[language](text), len(lines), ordinals(asked.string))
    return "\n".join(lines[start:end]).strip()


def _inline(text: str) -> list:
    return [
        part
        for token in _markdown().parse(text)
        if token.type == "inline"
        for part in token.children or []
    ]


def _markdown_bold(text: str) -> list[str]:
    found: list[str] = []
    is_open = False
    for part in _inline(text):
        if part.type == "strong_open":
            is_open = True
            found.append("")
        elif part.type == "strong_close":
            is_open = False
        elif is_open:
            found[-1] += part.content
    return found


_BOLD: dict[str, Callable[[str], list[str]]] = {
    "markdown": _markdown_bold,
    "latex": lambda text: re.findall(r"\\textbf\{([^{}]*)\}", text),
    "org": lambda text: [
        found
        for line in text.split("\n")
        if not re.match(r"\*+\s", line)
        for found in re.findall(r"\*([^*\s](?:[^*]*[^*\s])?)\*", line)
    ],
}
_IMAGES: dict[str, Callable[[str], list[str]]] = {
    "markdown": lambda text: [
        part.attrGet("src") for part in _inline(text) if part.type.startswith("image")
    ],
    "latex": lambda text: re.findall(r"\\includegraphics(?:\[[^\]]*\])?\{([^{}]*)\}", text),
    "org": lambda text: re.findall(r"\[\[(?:file:)?([^\][]+)\](?:\[[^\]]*\])?\]", text),
}


def _bold(language: str, text: str, asked: re.Match) -> str:
    none = OFFICIAL_NONE["bold"] if asked[0].startswith("Extract") else NO_BOLD
    return "\n".join(_BOLD[language](text)) or none


def _images(language: str, text: str, asked: re.Match) -> str:
    if language == "org" and "Write their names" in asked.string:
        text = re.sub(r"\[\[(?!file:)", "", text)
    none = OFFICIAL_NONE[asked[1]] if asked[0].startswith("Extract") else NO_IMAGE
    return "\n".join(_IMAGES[language](text)) or none


_DOCUMENT_QUESTIONS = [  # in the order of the tasks, each in the official wording and ours
    (("Extract all bold texts", "Which texts are bold"), _bold),
    (
        (
            r"content of \d+th (?:sub)*section",
            r"file stands under .+\? Copy it",
            r"What does \d+th .+ say\? ",
        ),
        _section,
    ),
    (("Extract all included (image|figure) files", "Which image files are included"), _images),
]
QUESTIONS = {language: _DOCUMENT_QUESTIONS for language in HEADINGS}
