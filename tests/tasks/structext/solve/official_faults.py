"""Where official answers differ from a literal reading, and by which documented fault."""

from collections.abc import Iterator

from lib.core.errors import BadInput
from lib.tasks.structext.records import Sample
from lib.tasks.structext.solve.documents import HEADINGS, Headings, ordinals, section
from lib.tasks.structext.solve.solver import solve

FAULTS = {  # number in the specification: what is wrong; the others change no answer
    "1": "LaTeX headings are one level too high: the question counts in the tree, not in the file",
    "2": "bold texts and images are in the order of a set",
    "3": "a heading below the third level is named only by the three above it",
    "1+3": "both: LaTeX headings too high, and a heading below the third level",
    "4": "an excerpt is re-indented as if it were at the outermost level",
}
UNEXPLAINED = "none"


def fault_of(sample: Sample) -> str:
    """Return the fault that gives the official answer, "" if the solver agrees, or UNEXPLAINED."""
    language, index = sample.task.split(".")
    official = sample.answer.strip()
    try:
        ours = solve(language, sample.question, sample.reference).strip()
    except BadInput:
        ours = None
    if ours == official:
        return ""
    if index == "1" and language in HEADINGS:
        return next(
            (fault for fault, excerpts in _meant(sample) if official in excerpts), UNEXPLAINED
        )
    if ours is None:
        return UNEXPLAINED
    if language in HEADINGS and sorted(set(ours.split("\n"))) == sorted(official.split("\n")):
        return "2"
    is_excerpt = index in "04" and language in ("json", "yaml", "xml")
    return "4" if is_excerpt and _outermost(ours) == _outermost(official) else UNEXPLAINED


def _outermost(excerpt: str) -> list[list[str]]:
    parts = []
    for part in excerpt.split("\n\n"):
        lines = part.split("\n")
        common = min((len(line) - len(line.lstrip()) for line in lines[1:]), default=0)
        parts.append([lines[0].strip(), *(line[common:] for line in lines[1:])])
    return parts


def _meant(sample: Sample) -> Iterator[tuple[str, set[str]]]:
    lines = sample.reference.split("\n")
    written = HEADINGS[sample.language](sample.reference)
    is_latex = sample.language == "latex"
    headings = _tree_levels(written, sample.depth, sample.width) if is_latex else written
    try:
        start, end = section(headings, len(lines), ordinals(sample.question))
    except BadInput:
        return
    own = [place for place, (_, line) in enumerate(headings) if start <= line < end]
    excerpts = [
        "\n".join(lines[slice(*_span(headings, place, len(lines)))]).strip() for place in own
    ]
    moved = headings != written
    if moved:
        yield "1", set(excerpts[:1])
    if sample.depth > 3:
        yield "1+3" if moved else "3", set(excerpts[1:])


def _span(headings: Headings, place: int, n_lines: int) -> tuple[int, int]:
    level, start = headings[place]
    after = [line for deep, line in headings[place + 1 :] if deep <= level]
    return start, after[0] if after else n_lines


def _tree_levels(written: Headings, depth: int, width: int) -> Headings:
    levels: list[int] = []

    def below(level: int) -> None:
        for _ in range(int(depth * width) if level <= depth else 0):
            levels.append(level)
            below(level + 1)

    below(1)
    if len(levels) != len(written):
        return written
    return [(level, line) for level, (_, line) in zip(levels, written, strict=True)]
