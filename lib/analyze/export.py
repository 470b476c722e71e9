"""A table whose numbers and reading differ: CSV with the numbers, Markdown and LaTeX as they are read (section 5)."""

from pathlib import Path

import pandas as pd

from lib.analyze.tables import write_table
from lib.core.files import write_text
from lib.core.paths import figures_path


def export_table(study: str, name: str, numbers: pd.DataFrame, reading: pd.DataFrame) -> Path:
    """figures/<study>/<name>: `numbers` as CSV, `reading` (texts only, no column "arm") as Markdown and LaTeX."""
    write_table(study, name, reading)
    return write_text(figures_path(study, f"{name}.csv"), numbers.to_csv(index=False, lineterminator="\n"))
