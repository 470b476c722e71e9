"""Lines of a PDF's page: words on one baseline, and the text that they make together."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lib.documents.convert.markdown import code_span, inline

_UNSPACED = re.compile(r"[\u3001-\u30ff\u4e00-\u9fff\uff01-\uff60]{2}")  # Chinese, Japanese


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
    rules: list[tuple[float, float]] = field(default_factory=list)  # below it, as (x0, x1)

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
    columns: list[float]  # the left edges
    headed: bool = False  # its first row is bold


def lines_of(words: Sequence[Word], bullets: Sequence[tuple[float, float]],
             page: int) -> list[Line]:
    """Group words by their baseline, from top to bottom."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda one: (one.top + one.bottom) / 2):
        middle = (word.top + word.bottom) / 2
        for row in rows[-3:]:
            first = row[0]
            if abs(middle - (first.top + first.bottom) / 2) < 0.4 * min(word.size, first.size):
                row.append(word)
                break
        else:
            rows.append([word])
    lines = [Line(sorted(row, key=lambda one: one.x0), page) for row in rows]
    for line in lines:
        marks = [x for x, y in bullets if line.x0 - 30 < x < line.x0
                 and abs(y - line.middle) < 0.5 * line.size]
        line.bullet = max(marks, default=None)
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

    A hyphen at the end of a line is removed if the document writes the word without it elsewhere,
    or nothing else speaks for it; monospaced words become code.
    """
    runs: list[tuple[bool, str]] = []
    glue = ""
    for at, words in enumerate(lines):
        for before, word in zip([None, *words], words, strict=False):
            if before is not None:  # a word may be in several fonts
                glue = "" if word.x0 - before.x1 < 0.12 * word.size else " "
            if runs and runs[-1][0] == word.mono:
                runs[-1] = word.mono, runs[-1][1] + glue + word.text
            else:
                runs.append((word.mono, word.text if not runs else glue + word.text))
        if at + 1 < len(lines) and words and lines[at + 1]:
            mono, text = runs[-1]
            kept, glue = _joined(text, lines[at + 1][0].text, known)
            runs[-1] = mono, kept
    return " ".join("".join(_marked(mono, text) for mono, text in runs).split())


def _marked(mono: bool, text: str) -> str:
    lead = " " if text[:1].isspace() else ""
    return lead + (code_span(text) if mono else inline(text))


def _joined(text: str, following: str, known: frozenset[str]) -> tuple[str, str]:
    if text.endswith(("\u2010", "\u00ad")) and text[-2:-1].isalnum():
        return text[:-1], ""
    if text.endswith("-") and text[-2:-1].isalpha() and following[:1].islower():
        first = re.findall(r"[^\W\d_]+(?=-$)", text)[-1:] or [""]
        second = re.match(r"[^\W\d_]*", following)[0]
        whole = f"{first[0]}{second}".lower()
        apart = {first[0].lower(), second.lower()} <= known or "-" in following
        return (text, "") if apart and whole not in known else (text[:-1], "")
    if re.search(r"\w[-/]$", text) and following[:1].isalnum() or _UNSPACED.fullmatch(
            text[-1:] + following[:1]):
        return text, ""
    return text, " "
