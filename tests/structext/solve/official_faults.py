"""Where the official answers differ from a literal reading, and by which documented fault (spec, Known faults).

A disagreement is put down to a fault only where that fault, applied to the text, gives the official answer exactly.
"""

from collections.abc import Iterator

import pandas as pd

from lib.structext.records import Sample
from lib.structext.solve.documents import HEADINGS, Headings, ordinals, section
from lib.structext.solve.solver import solve
from lib.structext.solve.unsolvable import Unsolvable

FAULTS = {  # number in the specification: what is wrong; the others change no answer
    "1": "LaTeX headings are printed a level too high: the question counts in the tree, not in the file",
    "2": "bold texts and images come in the order of a set",
    "3": "a heading below the third level is asked for by the names of the three above it",
    "1+3": "both: LaTeX headings too high, and a heading below the third level",
    "4": "an excerpt is indented anew as if it stood at the outermost level",
}
UNEXPLAINED = "none"


def disagreements(samples: list[Sample]) -> pd.DataFrame:
    """One row a sample whose answer is not the solver's but for blanks around it.

    Columns id, task, depth, fault (a key of FAULTS, or UNEXPLAINED), official, ours (or why there is none).
    """
    rows = []
    for sample in samples:
        try:
            ours = solve(sample.language, sample.question, sample.reference)
        except Unsolvable as error:
            ours = f"unsolvable: {error}"
        if ours.strip() != sample.answer.strip():
            rows.append((sample.id, sample.task, sample.depth, fault_of(sample, ours), sample.answer, ours))
    return pd.DataFrame(rows, columns=["id", "task", "depth", "fault", "official", "ours"])


def by_fault(samples: list[Sample]) -> pd.DataFrame:
    """Disagreements counted: columns task, fault, what, n, out_of (samples of the task); a last row for agreement.

    Rows that no fault explains stand under UNEXPLAINED, whose number should be 0.
    """
    found = disagreements(samples)
    totals = pd.Series([sample.task for sample in samples]).value_counts()
    rows = [(task, fault, FAULTS.get(fault, "no documented fault gives this answer"), n, int(totals[task]))
            for (task, fault), n in found.groupby(["task", "fault"]).size().items()]
    rows.append(("all", "", "the solver agrees", len(samples) - len(found), len(samples)))
    return pd.DataFrame(rows, columns=["task", "fault", "what", "n", "out_of"])


def fault_of(sample: Sample, ours: str) -> str:
    """The fault that turns the solver's answer `ours` into the official one, or UNEXPLAINED."""
    language, index = sample.task.split(".")
    official = sample.answer.strip()
    if index == "1" and language in HEADINGS:
        return next((fault for fault, excerpts in _meant(sample) if official in excerpts), UNEXPLAINED)
    if language in HEADINGS and sorted(set(ours.split("\n"))) == sorted(official.split("\n")):
        return "2"
    if index in "04" and language in ("json", "yaml", "xml") and _outermost(ours) == _outermost(official):
        return "4"
    return UNEXPLAINED


def _outermost(excerpt: str) -> list[list[str]]:
    """Each part of an excerpt without the indentation of all its lines; the first one may have lost its own."""
    parts = []
    for part in excerpt.strip().split("\n\n"):
        lines = part.split("\n")
        common = min((len(line) - len(line.lstrip()) for line in lines[1:]), default=0)
        parts.append([lines[0].strip(), *(line[common:] for line in lines[1:])])
    return parts


def _meant(sample: Sample) -> Iterator[tuple[str, set[str]]]:
    """The excerpts that faults 1 and 3 would give: of the named heading in the tree, or of any heading below it."""
    lines = sample.reference.split("\n")
    written = HEADINGS[sample.language](sample.reference)
    headings = _tree_levels(written, sample.depth, sample.width) if sample.language == "latex" else written
    try:
        start, end = section(headings, len(lines), ordinals(sample.question))
    except Unsolvable:
        return
    own = [place for place, (_, line) in enumerate(headings) if start <= line < end]
    excerpts = ["\n".join(lines[slice(*_span(headings, place, len(lines)))]).strip() for place in own]
    moved = headings != written
    if moved:
        yield "1", set(excerpts[:1])
    if sample.depth > 3:
        yield "1+3" if moved else "3", set(excerpts[1:])


def _span(headings: Headings, place: int, n_lines: int) -> tuple[int, int]:
    level, start = headings[place]
    return start, next((line for deep, line in headings[place + 1:] if deep <= level), n_lines)


def _tree_levels(written: Headings, depth: int, width: int) -> Headings:
    """The headings with their levels in the complete tree: int(depth · width) below each (spec, Dials)."""
    levels: list[int] = []

    def below(level: int) -> None:
        if level > depth:
            return
        for _ in range(int(depth * width)):
            levels.append(level)
            below(level + 1)

    below(1)
    if len(levels) != len(written):
        return written
    return [(level, line) for level, (_, line) in zip(levels, written, strict=True)]
