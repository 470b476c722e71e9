"""Write tables below figures/<study>, and display them in notebooks."""

import pandas as pd

from lib.analyze.format import as_csv, labelled
from lib.analyze.tables import formatted_table
from lib.core.store import result_path, write_text


def show(
    study: str, name: str, numbers: pd.DataFrame, formatted: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Write `numbers` as CSV, `formatted` as Markdown and LaTeX; return `formatted` for display.

    Without `formatted`, its cells are those of `formatted_table`.
    """
    formatted = labelled(formatted_table(numbers) if formatted is None else formatted)
    formatted = formatted.rename(columns=lambda name: name.replace("_", " "))
    pd.set_option("display.max_colwidth", None)  # else a notebook cuts cells at 50 characters
    lines = [list(formatted), ["---"] * len(formatted.columns), *formatted.values.tolist()]
    cells = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    latex = formatted.to_latex(index=False, escape=True).replace("–", "--")
    for ending, text in (
        ("csv", as_csv(numbers)),
        ("md", "".join(f"| {' | '.join(line)} |\n" for line in cells)),
        ("tex", latex),
    ):
        write_text(result_path(study, f"{name}.{ending}"), text)
    return formatted.set_axis([""] * len(formatted))  # rows have no numbers


def remove_table(study: str, name: str) -> None:
    """Remove a table that an earlier run wrote."""
    for path in result_path(study, name).parent.glob(f"{name}.*"):
        path.unlink()


def browse(table: pd.DataFrame) -> None:
    """Display a searchable, sortable table, also offline in the HTML copy; cells are escaped."""
    import itables  # takes a second, and only notebooks browse

    coded = labelled(table.filter(["arm", "structure"]))  # other cells are verbatim
    itables.init_notebook_mode(all_interactive=False, connected=False)
    css = ".dt-container td, .dt-container th {text-align: left !important; vertical-align: top}"
    itables.show(
        table.assign(**coded),
        connected=False,
        allow_html=False,
        maxBytes=0,
        classes="display compact",
        style="width:100%",
        css=css,
    )
