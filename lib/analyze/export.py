"""A table whose numbers and reading differ: CSV with the numbers, Markdown and LaTeX as they are read (section 5)."""

from pathlib import Path

import pandas as pd

from lib.analyze.format import number
from lib.analyze.tables import write_table
from lib.core.files import write_text
from lib.core.paths import figures_path


def export_table(study: str, name: str, numbers: pd.DataFrame, reading: pd.DataFrame) -> Path:
    """figures/<study>/<name>: `numbers` as CSV, `reading` (texts only, no column "arm") as Markdown and LaTeX."""
    write_table(study, name, reading)
    return write_text(figures_path(study, f"{name}.csv"), numbers.to_csv(index=False, lineterminator="\n"))


def show(study: str, name: str, numbers: pd.DataFrame,
         formatted: pd.DataFrame | None = None) -> pd.DataFrame:
    """Export a table to figures/<study>/<name> and return what a notebook displays.

    Writes `numbers` as CSV, and `formatted` (text cells, no column "arm"; default: the numbers with
    two decimals) as Markdown and LaTeX; returns the formatted table.
    """
    if formatted is None:
        formatted = pd.DataFrame({column: [number(value) for value in numbers[column]]
                                  for column in numbers})
    export_table(study, name, numbers, formatted)
    return formatted


def browse(table: pd.DataFrame, **options: object) -> None:
    """Display a table to search and sort, also offline in the HTML copy; cells are escaped."""
    import itables  # a second, and only notebooks browse

    itables.init_notebook_mode(all_interactive=False, connected=False)
    css = ".dt-container td, .dt-container th {text-align: left !important; vertical-align: top}"
    itables.show(table, **{"connected": False, "allow_html": False, "maxBytes": 0,
                           "classes": "display compact", "style": "width:100%", "css": css,
                           **options})
