"""Write tables to figures/<study>, display them in notebooks, and name their sources."""

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from lib.analyze.format import as_csv, labelled
from lib.analyze.tables import formatted_table
from lib.core.artifacts import ARTIFACTS
from lib.core.files import write_text
from lib.core.paths import data_path, figures_path


def show(
    study: str, name: str, numbers: pd.DataFrame, formatted: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Write `numbers` as CSV, `formatted` as Markdown and LaTeX; return `formatted` for display.

    Without `formatted`, its cells are those of `formatted_table`.
    """
    formatted = labelled(formatted_table(numbers) if formatted is None else formatted)
    pd.set_option("display.max_colwidth", None)  # else a notebook cuts cells at 50 characters
    lines = [list(formatted), ["---"] * len(formatted.columns), *formatted.values.tolist()]
    cells = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    latex = formatted.rename(columns=lambda column: column.replace("_", " "))
    latex = latex.to_latex(index=False, escape=True).replace("–", "--")
    for ending, text in (
        ("csv", as_csv(numbers)),
        ("md", "".join(f"| {' | '.join(line)} |\n" for line in cells)),
        ("tex", latex),
    ):
        write_text(figures_path(study, f"{name}.{ending}"), text)
    return formatted


def remove_table(study: str, name: str) -> None:
    """Remove a table that an earlier run wrote."""
    for path in figures_path(study, name).parent.glob(f"{name}.*"):
        path.unlink()


def browse(table: pd.DataFrame, **options: object) -> None:
    """Display a searchable, sortable table, also offline in the HTML copy; cells are escaped."""
    import itables  # takes a second, and only notebooks browse

    itables.init_notebook_mode(all_interactive=False, connected=False)
    css = ".dt-container td, .dt-container th {text-align: left !important; vertical-align: top}"
    itables.show(
        table,
        **{
            "connected": False,
            "allow_html": False,
            "maxBytes": 0,
            "classes": "display compact",
            "style": "width:100%",
            "css": css,
            **options,
        },
    )


def source(study: str, arms: Iterable[str], judge: str) -> str:
    """Return one line with the commits and parameters behind the verdicts.

    They come from the records in data/<study>/stages; notebooks run by hand leave no record.
    """
    stages = {
        Path(notebook).name
        for name in ("documents", "queries", "normalized", "model", "answers", "verdicts")
        for notebook in ARTIFACTS[name].made_by
    }
    commits, settings = set(), []
    for path in sorted(data_path(study, "stages", "*").parent.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        stage, given = Path(record["notebook"]).stem, record["given"]
        is_of = given.get("arm") in (None, *arms) and given.get("judge", judge) == judge
        if stage in stages and is_of:
            changed = " with uncommitted changes" if record["dirty"] else ""
            commits.add(f"{(record['commit'] or 'unknown')[:7]}{changed}")
            values = [f"{name} {value}" for name, value in given.items()
                      if name != "study" and value != ""]
            settings.append(f"{stage}: {', '.join(values)}")
    if not settings:
        return "No stage of this study has a record of its commit and parameters."
    return f"Commit {', '.join(sorted(commits))}. {'; '.join(settings)}."
