"""Lines of a PDF's page: words on one baseline, and the text that they make together."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from lib.documents.convert.markdown import code_span, inline

_UNSPACED = re.compile(r"[\u3001-\u30ff\u4e00-\u9fff\uff01-\uff60]{2}")  # Chinese, Japanese
_CUT_WORD = re.compile(r"[^\W\d_]+[-\u2010\u00ad]$")


@dataclass(frozen=True)
class Word:
    """A word and its box in points."""

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    mono: bool
    bold: bool
    face: str  # the font's name


@dataclass
class Line:
    """Words from left to right; `bullet` is the x of a mark that is drawn left of them."""

    words: list[Word]
    page: int
    bullet: float | None = None

    def __post_init__(self):
        widest = max(self.words, key=lambda word: word.x1 - word.x0)
        self.size = round(max((word.size for word in self.words if not word.mono),
                              default=widest.size), 1)
        self.x0, self.x1 = self.words[0].x0, max(word.x1 for word in self.words)
        self.top = min(word.top for word in self.words)
        self.bottom = max(word.bottom for word in self.words)
        self.middle = (widest.top + widest.bottom) / 2
        self.mono = all(word.mono for word in self.words)
        self.bold = all(word.bold for word in self.words)
        faces = {word.face for word in self.words}
        self.face = faces.pop() if len(faces) == 1 else ""  # "" of several
        self.text = " ".join(word.text for word in self.words)


@dataclass
class Grid:
    """A table with rulings."""

    rows: list[list[str]]
    x0: float
    x1: float
    top: float
    bottom: float
    page: int


def lines_of(words: Sequence[Word], bullets: Sequence[tuple[float, float]],
             page: int) -> list[Line]:
    """Group words by their baseline, from top to bottom."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda one: one.top + one.bottom):
        for row in rows[-3:]:
            apart = abs(word.top + word.bottom - row[0].top - row[0].bottom) / 2
            if apart < 0.4 * min(word.size, row[0].size):
                row.append(word)
                break
        else:
            rows.append([word])
    lines = [Line(sorted(row, key=lambda one: one.x0), page) for row in rows]
    for line in lines:
        line.bullet = max((x for x, y in bullets if line.x0 - 30 < x < line.x0
                           and abs(y - line.middle) < 0.5 * line.size), default=None)
    return sorted(lines, key=lambda one: one.top)


def segments(line: Line, least: float) -> list[list[Word]]:
    """Cut a line where the blank is at least `least` wide."""
    parts = [[line.words[0]]]
    for word in line.words[1:]:
        if word.x0 - parts[-1][-1].x1 >= least:
            parts.append([])
        parts[-1].append(word)
    return parts


def words_text(lines: Sequence[Sequence[Word]], known: frozenset[str] = frozenset()) -> str:
    """Return lines of words as one paragraph of inline Markdown.

    A hyphen at the end of a line is removed, unless the word with it is among the `known`;
    monospaced words become code.
    """
    runs: list[tuple[bool, str]] = []
    for words, following in pairwise([*lines, ()]):
        for before, word in pairwise([None, *words]):
            glued = before and word.x0 - before.x1 < 0.12 * word.size  # a word in several fonts
            runs.append((word.mono, "" if glued or not before else " "))
            runs.append((word.mono, word.text))
        if following:
            mono, text = runs.pop()
            kept, glue = _joined(text, following[0].text, known)
            runs += [(mono, kept), (following[0].mono, glue)]
    shown = ""
    for mono, group in groupby(runs, key=lambda run: run[0]):
        text = "".join(part for _, part in group)
        shown += " " * text[:1].isspace() + (code_span(text) if mono else inline(text))
    return " ".join(shown.split())


def _joined(text: str, following: str, known: frozenset[str]) -> tuple[str, str]:
    if _CUT_WORD.search(text) and following[:1].islower():
        is_whole = text.lower() + re.match(r"[\w-]*", following)[0].lower() in known
        return (text if is_whole else text[:-1]), ""
    is_glued = re.search(r"\w[-/]$", text) and following[:1].isalnum() or _UNSPACED.fullmatch(
        text[-1:] + following[:1])
    return text, "" if is_glued else " "
