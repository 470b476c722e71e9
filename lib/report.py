"""Pages of executed notebooks, and the report: the page of a study's analysis."""

from pathlib import Path

from lib.core.store import REPOSITORY, data_path, figures_path, result_path, shown, write_text

_SHOWN = (".csv", ".md", ".pdf", ".png", ".svg", ".tex")
_TEMPLATE = REPOSITORY / "lib" / "report_template"  # code folded, light and dark, printable


def write_page(notebook: Path, page: Path, study: str, disclaimer: str = "") -> None:
    """Write the executed `notebook` as one HTML file, with `disclaimer` below its heading."""
    import nbformat
    from nbconvert import HTMLExporter

    executed = nbformat.read(notebook, nbformat.NO_CONVERT)
    title = f"{study}: {executed.cells[0].source.splitlines()[0].lstrip('# ')}"
    executed.cells[0].source = executed.cells[0].source.replace("# ", f"# {study} · ", 1)
    if disclaimer:
        executed.cells.insert(1, nbformat.v4.new_markdown_cell(f"> **{disclaimer}**"))
    exporter = HTMLExporter(
        template_name=_TEMPLATE.name,
        mathjax_url="",
        require_js_url="",
        extra_template_basedirs=[str(_TEMPLATE.parent)],
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    write_text(page, exporter.from_notebook_node(executed, {"metadata": {"name": title}})[0])


def write_index(folder: Path) -> Path:
    """Write `folder`/index.html, which lists its figures and tables, the papers' own first."""
    import jinja2

    paths = [path for path in sorted(folder.glob("*/*")) if path.suffix in _SHOWN]
    captions = {path.stem: path.read_text("utf-8") for path in folder.glob("*/*.txt")}
    pages = jinja2.Environment(loader=jinja2.FileSystemLoader(_TEMPLATE), autoescape=True)
    page = pages.get_template("files.html.j2")
    text = page.render(study=folder.name, paths=paths, captions=captions)
    return write_text(folder / "index.html", text)


def ending(study: str, analysis: str, table: str) -> str:
    """Write the report; return the answer, the main table (Markdown) and where everything is."""
    report = figures_path(study, "report.html")
    page = data_path(study, "notebooks", f"{analysis}.html")
    write_text(report, page.read_text("utf-8"))
    places = {
        "report": report,
        "notebooks": page.parent,
        "tables": write_index(report.parent),
        "provenance": data_path(study, "run.json"),
        "to change it": REPOSITORY / "studies" / f"{study}.yaml",
    }
    answers = (figures_path(study, "report.md"), result_path(study, f"{table}.md"))
    texts = [path.read_text("utf-8") for path in answers if path.exists()]
    return "\n".join([*texts, *(f"{name + ':':14}{shown(path)}" for name, path in places.items())])
