"""Word StrucText-Eval: a question and a hint for each task, in sentences of our own.

The sentences are in questions.yaml. Excerpts are verbatim and run from the first character that is
not whitespace to the last.
"""

import yaml

from lib.core.store import package_file
from lib.tasks.structext.records import MODES, TASKS

NO_BOLD = "The file holds no bold text."
NO_IMAGE = "The file includes no image."
_LATEX_HEADINGS = ("section", "subsection", "subsubsection", "paragraph", "subparagraph")

_TEXTS = yaml.safe_load(package_file("tasks/structext/generate/questions.yaml").read_text("utf-8"))
_TEMPLATES = {
    "corrected": _TEXTS["corrected"],
    "hint": _TEXTS["hints"],
    "faithful": _TEXTS["corrected"] | _TEXTS["faithful"],
}


def _filled(kind: str, task: str) -> str:
    language, index = task.split(".")
    text = _TEMPLATES[kind][language][int(index)]
    for slot in ("file", "extent", "flaw"):
        text = text.replace(f"{{{slot}}}", _TEXTS[f"{slot}s"].get(language, ""))
    return text


HINTS = {task: _filled("hint", task) for task in TASKS}
QUESTIONS = {mode: {task: _filled(mode, task) for task in TASKS} for mode in MODES}


def section_place(language: str, ranks: list[int], is_corrected: bool) -> str:
    """Return the text for the slot {place} in a question about a section.

    `ranks` (from 0) are the positions of the section and its ancestors, outermost first. Faithful
    questions name at most three levels.
    """
    numbered = list(enumerate(ranks, 1))[::-1]
    if not is_corrected:
        return " under ".join(
            f"{rank + 1}th {'sub' * (level - 1)}section" for level, rank in numbered if level < 4
        )
    if language == "latex":
        return " under ".join(
            f"\\{latex_heading(level)} number {rank + 1}" for level, rank in numbered
        )
    return " under ".join(f"heading number {rank + 1} of level {level}" for level, rank in numbered)


def latex_heading(level: int) -> str:
    """Return the heading command of `level` 1-5 in a LaTeX article, without its backslash."""
    return _LATEX_HEADINGS[level - 1]
