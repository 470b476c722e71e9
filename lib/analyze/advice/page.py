"""Write the page of advice as Markdown and as self-contained HTML, with all texts escaped."""

import base64
import re
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from markupsafe import Markup, escape

from lib.core.files import write_text
from lib.core.pages import page
from lib.core.paths import figures_path, package_file


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs (Markdown's ** and ` only), tables of text, and a picture (PNG)."""

    heading: str
    paragraphs: list[str]
    tables: list[pd.DataFrame] = field(default_factory=list)
    picture: Path | None = None
    alternative: str = ""  # text in place of the picture


def write_page(study: str, title: str, sections: list[Section]) -> list[Path]:
    """Write figures/<study>/advice.md and advice.html, and return both paths.

    The Markdown links to its picture, the HTML contains it. The first section is highlighted.
    """
    slots = [{"heading": one.heading, "paragraphs": map(_marked, one.paragraphs),
              "tables": [Markup(table.to_html(index=False, escape=True, border=0))
                         for table in one.tables if len(table)],
              "picture": base64.b64encode(one.picture.read_bytes()).decode() if one.picture else "",
              "alternative": one.alternative} for one in sections]
    template = package_file("analyze/advice/page.html.j2")
    return [write_text(figures_path(study, "advice.md"), _markdown(title, sections)),
            write_text(figures_path(study, "advice.html"),
                       page(template, title=title, sections=slots))]


def _marked(text: str) -> Markup:
    """Escape `text`, then mark its bold words and its code."""
    html = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", str(escape(text)))
    return Markup(re.sub(r"`(.+?)`", r"<code>\1</code>", html))


def _markdown(title: str, sections: list[Section]) -> str:
    lines = [f"# {title}"]
    for section in sections:
        lines += [f"## {section.heading}", *section.paragraphs]
        for table in (table for table in section.tables if len(table)):
            rows = (table.columns, ["---"] * len(table.columns), *table.to_numpy())
            lines.append("\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows))
        if section.picture:
            lines.append(f"![{section.alternative}]({section.picture.name})")
    return "\n\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")
