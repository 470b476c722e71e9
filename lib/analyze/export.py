"""Write tables to figures/<study> and display them in notebooks (section 5)."""

from pathlib import Path

import pandas as pd

from lib.analyze.tables import formatted_table
from lib.core.files import write_text
from lib.core.paths import figures_path


def show(study: str, name: str, numbers: pd.DataFrame,
         formatted: pd.DataFrame | None = None) -> pd.DataFrame:
    """Write a table to figures/<study>/<name> and return what a notebook displays.

    `numbers` becomes the CSV; `formatted` (cells of text; by default as `formatted_table` has them)
    becomes Markdown and LaTeX, and is returned.
    """
    formatted = formatted_table(numbers) if formatted is None else formatted
    csv = numbers.to_csv(index=False, lineterminator="\n")
    latex = formatted.rename(columns=lambda column: column.replace("_", " ")).to_latex(
        index=False, escape=True).replace("–", "--")
    for ending, text in (("csv", csv), ("md", markdown(formatted)), ("tex", latex)):
        write_text(figures_path(study, f"{name}.{ending}"), text)
    return formatted


def markdown(table: pd.DataFrame) -> str:
    """Return a table as Markdown."""
    lines = [list(table.columns), ["---"] * len(table.columns), *table.values.tolist()]
    cells = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    return "".join("| " + " | ".join(line) + " |\n" for line in cells)


def browse(table: pd.DataFrame, **options: object) -> None:
    """Display a table to search and sort, also offline in the HTML copy; cells are escaped."""
    import itables  # takes a second, and only notebooks browse

    itables.init_notebook_mode(all_interactive=False, connected=False)
    css = ".dt-container td, .dt-container th {text-align: left !important; vertical-align: top}"
    itables.show(table, **{"connected": False, "allow_html": False, "maxBytes": 0,
                           "classes": "display compact", "style": "width:100%", "css": css,
                           **options})


def export_table(study: str, name: str, numbers: pd.DataFrame, reading: pd.DataFrame) -> Path:
    """The old name of `show`, until its callers have moved."""
    show(study, name, numbers, reading)
    return figures_path(study, f"{name}.csv")
