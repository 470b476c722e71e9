"""The page of advice as Markdown and as one HTML file that is read without a network; every text in it is escaped."""

import base64
import html
import re
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from lib.core.files import write_text
from lib.core.paths import figures_path

_STYLE = """<style>
body {font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222}
h1 {font-size: 1.6rem} h2 {font-size: 1.2rem; margin-top: 2rem}
.table {overflow-x: auto} table {border-collapse: collapse; font-size: .85rem; margin: .6rem 0}
td, th {border: 1px solid #ccc; padding: .3rem .5rem; text-align: left; vertical-align: top}
th {background: #f3f3f3} img {max-width: 100%; height: auto} code {background: #f3f3f3; padding: 0 .2rem}
.first {border-left: 4px solid #0173b2; padding: .1rem 1rem; background: #f5f9fc}
</style>"""


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs (Markdown's ** and ` only), then tables of texts, then a picture (a PNG's path)."""

    heading: str
    paragraphs: list[str]
    tables: list[pd.DataFrame] = field(default_factory=list)
    picture: Path | None = None
    alternative: str = ""  # the picture in words


def write_page(study: str, title: str, sections: list[Section]) -> list[Path]:
    """Write figures/<study>/advice.md and advice.html; the first section is set off. Returns both paths.

    The Markdown names its picture by file, the HTML holds it.
    """
    return [write_text(figures_path(study, "advice.md"), _markdown(title, sections)),
            write_text(figures_path(study, "advice.html"), _page(title, sections))]


def _markdown(title: str, sections: list[Section]) -> str:
    lines = [f"# {title}"]
    for section in sections:
        lines += [f"## {section.heading}", *section.paragraphs]
        lines += ["\n".join(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in (
            table.columns, ["---"] * len(table.columns), *table.to_numpy())) for table in section.tables if len(table)]
        lines += [f"![{section.alternative}]({section.picture.name})"] if section.picture else []
    return "\n\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def _page(title: str, sections: list[Section]) -> str:
    body = "".join(_html(section, is_first=index == 0) for index, section in enumerate(sections))
    name = html.escape(title)
    return ("<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
            "<meta name='viewport' content='width=device-width, initial-scale=1'>"
            f"<title>{name}</title>{_STYLE}</head><body><h1>{name}</h1>{body}</body></html>\n")


def _html(section: Section, *, is_first: bool) -> str:
    paragraphs = "".join(f"<p>{_inline(text)}</p>" for text in section.paragraphs)
    tables = "".join(f"<div class='table'>{table.to_html(index=False, escape=True, border=0)}</div>"
                     for table in section.tables if len(table))
    picture = ""
    if section.picture:
        data = base64.b64encode(section.picture.read_bytes()).decode("ascii")
        picture = f"<img alt='{html.escape(section.alternative, quote=True)}' src='data:image/png;base64,{data}'>"
    place = " class='first'" if is_first else ""
    return f"<section{place}><h2>{html.escape(section.heading)}</h2>{paragraphs}{tables}{picture}</section>"


def _inline(text: str) -> str:
    """`text` escaped, then with its bold words and its code."""
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", html.escape(text))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", text)
