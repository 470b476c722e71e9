"""Read what a study has written: its tables, Markdown, figures and the records of its stages."""

import base64
import csv
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

from lib.core.paths import REPOSITORY, output_root

MOST_ROWS = 1_000  # of a table on the page
# Users' texts may be in it: no raw HTML, and nothing that loads a file or leads elsewhere.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable(
    ["image", "link", "autolink", "html_inline", "html_block", "reference"])


@dataclass(frozen=True)
class Table:
    """A table of text; `left_out` counts the rows that are not shown."""

    header: list[str]
    rows: list[list[str]]
    left_out: int = 0

    @property
    def is_searched(self) -> bool:
        """Return whether the page offers a field to search its rows."""
        return len(self.rows) > 3


@dataclass(frozen=True)
class Source:
    """The folders of one study; links are relative to its report in figures/<study>."""

    study: str

    @property
    def figures(self) -> Path:
        """Return figures/<study>."""
        return output_root() / "figures" / self.study

    @property
    def data(self) -> Path:
        """Return data/<study>."""
        return output_root() / "data" / self.study

    def link(self, path: Path) -> str:
        """Return the link from the report to `path`, "" if there is no such file."""
        return Path(os.path.relpath(path, self.figures)).as_posix() if path.exists() else ""

    def copy_of(self, stage: str) -> str:
        """Return the link to the executed copy of `stage`: its HTML, or else the notebook.

        A stage of another study is named <study>/<stage>.
        """
        owner, _, name = stage.rpartition("/")
        folder = self.data.parent / (owner or self.study) / "notebooks"
        if not folder.is_dir() and "-" in name:  # one replicate's: data/<study>/<seed>/notebooks
            folder = self.data / name.split("-")[1] / "notebooks"
        return self.link(folder / f"{name}.html") or self.link(folder / f"{name}.ipynb")

    def run(self) -> dict:
        """Return run.json, {} if there is none."""
        path = self.data / "run.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def stages(self) -> dict[str, dict]:
        """Return the records of the stages by name, from run.json or, without it, data/<study>."""
        folder = self.data / "stages"
        return self.run().get("stages") or {
            path.stem: json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(folder.glob("*.json"))}

    def csv(self, name: str) -> list[dict[str, str]]:
        """Return the rows of figures/<study>/<name>.csv, [] if there is no such file."""
        path = self.figures / f"{name}.csv"
        if not path.exists():
            return []
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def text(self, name: str) -> str:
        """Return the text of figures/<study>/<name>, "" if there is no such file."""
        path = self.figures / name
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def table(self, name: str) -> Table | None:
        """Return the first table of figures/<study>/<name>.md, else <name>.csv, else None."""
        rows = self.csv(name)
        return first_table(self.text(f"{name}.md")) or (Table(
            list(rows[0]), [[_rounded(cell) for cell in row.values()] for row in rows[:MOST_ROWS]],
            max(0, len(rows) - MOST_ROWS)) if rows else None)

    def picture(self, name: str) -> str:
        """Return figures/<study>/<name>.png as a data URI, "" if there is no such file."""
        path = self.figures / f"{name}.png"
        if not path.exists():
            return ""
        return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"

    def makers(self, stages: dict[str, str]) -> dict[str, str]:
        """Return the stage that writes each table and figure, by the name of its files.

        `stages` maps a stage's name to its notebook's path in the repository. A notebook passes
        the name as a literal after `study`: show(study, "table2", …).
        """
        found: dict[str, str] = {}
        for stage, notebook in stages.items():
            path = REPOSITORY / notebook
            if path.exists():
                code = path.read_text(encoding="utf-8").replace('\\"', '"')
                for name in re.findall(r'\(study, f?"([^"{]+?)(?:\.md|-?\{arm\})?"', code):
                    found.setdefault(name, stage)
        return found


def _rounded(cell: str) -> str:
    """Shorten a decimal number to four digits; leave any other text unchanged."""
    return f"{float(cell):.4g}" if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", cell) else cell


def first_table(text: str) -> Table | None:
    """Return the first Markdown table in `text`, its cells without padding; None without one."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith("| ")), len(lines))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        cells = re.split(r"(?<!\\)\|", line.strip())[1:-1]
        rows.append([cell.strip().replace("\\|", "|") for cell in cells])
    if len(rows) < 2:
        return None
    body = rows[2:]
    return Table(rows[0], body[:MOST_ROWS], max(0, len(body) - MOST_ROWS))


def section(text: str, heading: str) -> str:
    """Return what is below a heading of Markdown, up to the next heading of any level."""
    found = re.search(rf"^#+ {re.escape(heading)}$\n(.*?)(?=^#+ |\Z)", text, re.M | re.S)
    return found[1].strip() if found else ""


def prose(text: str) -> Markup:
    """Return Markdown as HTML, without its tables and pictures; everything else is escaped."""
    kept = [line for line in text.splitlines() if not line.startswith(("|", "!["))]
    return Markup(_MARKDOWN.render("\n".join(kept)))


def alternatives(text: str) -> dict[str, str]:
    """Return the alternative texts that Markdown gives for pictures, by the picture's name."""
    return {name: words for words, name in re.findall(r"^!\[(.*?)\]\((.*?)\.png\)$", text, re.M)}
