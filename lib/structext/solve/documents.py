"""Questions about documents: markdown-it for Markdown, small readers for LaTeX and Org (spec, latex, markdown, org)."""

import re
from collections.abc import Callable
from functools import lru_cache

from markdown_it import MarkdownIt

from lib.structext.generate.wording import NO_BOLD, NO_IMAGE
from lib.structext.solve.unsolvable import Unsolvable

LEVELS = ("section", "subsection", "subsubsection", "paragraph", "subparagraph")  # LaTeX's article class
OFFICIAL_NONE = {  # the sentences of the official files for an empty list
    "bold": "No bold texts presented in file.", "image": "No image file is included in the file.",
    "figure": "No figure file is included in the file."}
WAY = re.compile(  # one heading on the way, as the official wording and the two of ours name it
    r"(?P<ordinal>\d+)(?:st|nd|rd|th) (?P<subs>(?:sub)*)section"
    r"|heading number (?P<number>\d+) of level (?P<level>\d+)"
    rf"|\\(?P<command>{'|'.join(LEVELS)}) number (?P<rank>\d+)")
Headings = list[tuple[int, int]]  # (level from 1, number of the line)


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark")


def markdown_headings(text: str) -> Headings:
    """ATX and Setext headings as CommonMark has them."""
    return [(int(token.tag[1:]), token.map[0]) for token in _markdown().parse(text)
            if token.type == "heading_open" and token.level == 0]


def latex_headings(text: str) -> Headings:
    r"""Lines that begin with \section, \subsection, … , read literally."""
    found = re.compile(r"\\(" + "|".join(LEVELS) + r")\*?\s*\{")
    return [(LEVELS.index(match[1]) + 1, number) for number, line in enumerate(text.split("\n"))
            if (match := found.match(line.lstrip()))]


def org_headings(text: str) -> Headings:
    """Lines that begin with stars and a blank."""
    return [(len(match[1]), number) for number, line in enumerate(text.split("\n"))
            if (match := re.match(r"(\*+)\s", line))]


HEADINGS: dict[str, Callable[[str], Headings]] = {
    "markdown": markdown_headings, "latex": latex_headings, "org": org_headings}


def section(headings: Headings, n_lines: int, ordinals: list[int]) -> tuple[int, int]:
    """First and last line + 1 of the section that `ordinals` name: the i-th of level 1, in it the j-th of level 2, ….

    Raises Unsolvable where there is none.
    """
    inside = headings
    start, end = 0, n_lines
    for level, ordinal in enumerate(ordinals, 1):
        places = [place for place, (deep, _) in enumerate(inside) if deep == level]
        if not 1 <= ordinal <= len(places):
            raise Unsolvable(f"there are {len(places)} headings of level {level} where number {ordinal} is asked for")
        first = places[ordinal - 1]
        after = next((place for place in range(first + 1, len(inside)) if inside[place][0] <= level), None)
        start, end = inside[first][1], end if after is None else inside[after][1]
        inside = inside[first + 1:after]
    return start, end


def ordinals(question: str) -> list[int]:
    """[2, 1] of "1th subsection under 2th section". Raises Unsolvable where a level between is not named."""
    found = sorted((_level(way), int(way["ordinal"] or way["number"] or way["rank"]))
                   for way in WAY.finditer(question.lower()))
    if not found or [level for level, _ in found] != list(range(1, len(found) + 1)):
        raise Unsolvable(f"the question names no way from an outermost heading down: {question[:120]!r}")
    return [ordinal for _, ordinal in found]


def _level(way: re.Match) -> int:
    if way["ordinal"]:
        return way["subs"].count("sub") + 1
    return int(way["level"]) if way["level"] else LEVELS.index(way["command"]) + 1


def _section(language: str, text: str, asked: re.Match) -> str:
    lines = text.split("\n")
    start, end = section(HEADINGS[language](text), len(lines), ordinals(asked.string))
    return "\n".join(lines[start:end]).strip()


def _inline(text: str, kind: str) -> list:
    return [part for token in _markdown().parse(text) if token.type == "inline" for part in token.children or []
            if part.type.startswith(kind)]


def markdown_bold(text: str) -> list[str]:
    """What stands between strong markers, in document order."""
    found: list[str] = []
    is_open = False
    for token in _markdown().parse(text):
        for part in token.children or [] if token.type == "inline" else []:
            if part.type == "strong_open":
                is_open = True
                found.append("")
            elif part.type == "strong_close":
                is_open = False
            elif is_open:
                found[-1] += part.content
    return found


BOLD: dict[str, Callable[[str], list[str]]] = {
    "markdown": markdown_bold,
    "latex": lambda text: re.findall(r"\\textbf\{([^{}]*)\}", text),
    "org": lambda text: [found for line in text.split("\n") if not re.match(r"\*+\s", line)
                         for found in re.findall(r"\*([^*\s](?:[^*]*[^*\s])?)\*", line)],
}
IMAGES: dict[str, Callable[[str], list[str]]] = {
    "markdown": lambda text: [part.attrGet("src") for part in _inline(text, "image")],
    "latex": lambda text: re.findall(r"\\includegraphics(?:\[[^\]]*\])?\{([^{}]*)\}", text),
    "org": lambda text: re.findall(r"\[\[(?:file:)?([^\][]+)\](?:\[[^\]]*\])?\]", text),
}


def _bold(language: str, text: str, asked: re.Match) -> str:
    none = OFFICIAL_NONE["bold"] if asked[0].startswith("Extract") else NO_BOLD
    return "\n".join(BOLD[language](text)) or none


def _images(language: str, text: str, asked: re.Match) -> str:
    none = OFFICIAL_NONE[asked[1]] if asked[0].startswith("Extract") else NO_IMAGE
    return "\n".join(IMAGES[language](text)) or none


_DOCUMENT_QUESTIONS = [  # in the order of the tasks; of each, the official wording and ours
    (("Extract all bold texts", "Which texts are bold"), _bold),
    ((r"content of \d+th (?:sub)*section", r"file stands under .+\? Copy it", r"What does \d+th .+ say\? "), _section),
    (("Extract all included (image|figure) files", "Which image files are included"), _images),
]
QUESTIONS = {language: _DOCUMENT_QUESTIONS for language in HEADINGS}
