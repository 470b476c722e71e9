"""Pages of executed notebooks, and the report, which says first what was found."""

import csv
import json
from contextlib import closing
from pathlib import Path

import jinja2

from lib.core.stages import STAGES
from lib.core.store import (
    REPOSITORY,
    data_path,
    figures_path,
    package_file,
    result_path,
    shown,
    write_text,
)
from lib.llm.cache import Cache

_SHOWN = (".csv", ".md", ".pdf", ".png", ".svg", ".tex")
_TEMPLATE = REPOSITORY / "lib" / "report_template"  # code folded, light and dark, printable
PAGES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_TEMPLATE), autoescape=jinja2.select_autoescape(["html.j2"])
)


def write_page(
    notebook: Path, page: Path, study: str, disclaimer: str = "", screen: str = ""
) -> None:
    """Write the executed `notebook` as one HTML file, with `disclaimer` below its heading.

    `screen` (Markdown) replaces the heading and cells tagged `not-in-report`; code is left out.
    """
    import nbformat
    from nbconvert import HTMLExporter

    executed = nbformat.read(notebook, nbformat.NO_CONVERT)
    head, *others = executed.cells
    title = f"{study}: {head.source.splitlines()[0].split(' · ')[-1].lstrip('# ')}"
    head.source = head.source.replace("# ", f"# {study} · ", 1)
    if screen:
        head.source = f"# {title}\n\n{screen}"
        others = [one for one in others if "not-in-report" not in one.metadata.get("tags", ())]
    if disclaimer:
        others.insert(0, nbformat.v4.new_markdown_cell(f"> **{disclaimer}**"))
    executed.cells = [head, *others]
    exporter = HTMLExporter(
        template_name=_TEMPLATE.name,
        mathjax_url="",
        require_js_url="",
        extra_template_basedirs=[str(_TEMPLATE.parent)],
        exclude_input=bool(screen),
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    write_text(page, exporter.from_notebook_node(executed, {"metadata": {"name": title}})[0])


def write_index(folder: Path) -> Path:
    """Write `folder`/index.html, which lists its figures and tables, the papers' own first."""
    paths = [path for path in sorted(folder.glob("*/*")) if path.suffix in _SHOWN]
    captions = dict(
        csv.reader(package_file("analyze/captions.csv").read_text("utf-8").splitlines())
    )
    captions |= {path.stem: path.read_text("utf-8") for path in folder.glob("*/*.txt")}
    page = PAGES.get_template("files.html.j2").render(
        study=folder.name, paths=paths, captions=captions
    )
    return write_text(folder / "index.html", page)


def ending(study: str, disclaimer: str, analysis: str, table: str) -> str:
    """Write the report; return what it says first, and where everything is."""
    report, pages = figures_path(study, "report.html"), data_path(study, "notebooks")
    if result_path(study, "each.csv").exists() and not disclaimer:
        from lib.analyze.verdict import found_in  # pandas takes 0.3 s

        told = found_in(study)
    else:
        answers = (
            figures_path(study, f"{analysis}.md"),
            figures_path(study, "report.md"),
            result_path(study, f"{table}.md"),
        )
        told = "\n\n".join(path.read_text("utf-8") for path in answers if path.exists())
    screen = PAGES.get_template("screen.md.j2").render(
        study=study,
        told=told,
        run=json.loads(data_path(study, "run.json").read_text("utf-8")),
        usd=usd(data_path(study, "llm.sqlite")),
        pages=[path.stem for path in pages.glob("*.html")],
        **{path.stem: path.read_bytes().count(b"\n") for path in pages.parent.glob("*.jsonl")},
    )
    write_page(pages / f"{analysis}.ipynb", report, study, screen=screen)
    places = {
        "report": report,
        "notebooks": pages,
        "tables": write_index(report.parent),
        "provenance": data_path(study, "run.json"),
        "to change it": REPOSITORY / "studies" / f"{study}.yaml",
    }
    return "\n".join([told, *(f"{name + ':':14}{shown(path)}" for name, path in places.items())])


def usd(path: Path) -> float:
    """Dollars that calls in a study's cache have cost."""
    if not path.exists():
        return 0
    with closing(Cache(path)) as cache:
        return sum(map(cache.spent, STAGES))
