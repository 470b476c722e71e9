"""Tables 1, 2 and 5 of the paper from queries and verdicts, with counts, Wilson intervals and denominators.

`python -m lib.analyze.tables <study>` prints Table 2 and where everything of a finished study lies.
"""

import sys
from pathlib import Path

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from lib.core.arms import ALL, sorted_arms
from lib.core.files import write_text
from lib.core.numeric import is_numeric
from lib.core.paths import figures_path, output_root, required, shown
from lib.core.records import STRUCTURES, Query, Verdict

KINDS = ("numeric", "non-numeric")
COUNTS = ["n", "correct", "unscored", "accuracy", "low", "high"]


def joined(queries: list[Query], verdicts: list[Verdict]) -> pd.DataFrame:
    """One row a query and arm: arm, query_id, structure, kind (numeric or non-numeric), verdict, reason.

    Raises ValueError unless every arm has exactly one verdict for every query.
    """
    asked = {query.query_id: (query.structure, KINDS[0] if is_numeric(query) else KINDS[1]) for query in queries}
    for arm in dict.fromkeys(verdict.arm for verdict in verdicts):
        judged = [verdict.query_id for verdict in verdicts if verdict.arm == arm]
        if sorted(judged) != sorted(asked):
            raise ValueError(f"arm {arm}: {len(judged)} verdicts do not match the {len(asked)} queries one to one: "
                             "run 05_judge.ipynb for this arm again")
    rows = [(verdict.arm, verdict.query_id, *asked[verdict.query_id], verdict.verdict, verdict.reason)
            for verdict in verdicts]
    return pd.DataFrame(rows, columns=["arm", "query_id", "structure", "kind", "verdict", "reason"])


def accuracy(verdicts: pd.Series) -> dict[str, float]:
    """n, correct, unscored, accuracy, low, high of a cell's verdicts; the last three as fractions of 1.

    n counts all queries of the cell; accuracy is correct / (n - unscored) with its Wilson 95% interval, and NaN
    where nothing was scored. Unscored queries are thus never counted as incorrect.
    """
    n, correct = len(verdicts), int((verdicts == "correct").sum())
    unscored = int((verdicts == "unscored").sum())
    if n == unscored:
        return dict(zip(COUNTS, (n, correct, unscored, float("nan"), float("nan"), float("nan")), strict=True))
    low, high = proportion_confint(correct, n - unscored, method="wilson")
    accuracy = correct / (n - unscored)
    low, high = min(low, accuracy), max(high, accuracy)  # at 0 and 1 the float formula misses its bound by 1e-17
    return dict(zip(COUNTS, (n, correct, unscored, accuracy, low, high), strict=True))


def table1(queries: list[Query]) -> pd.DataFrame:
    """Queries by structure: mean words of questions and answers, entities (mean, min, max), words an entity.

    A word is what stands between blanks. Words an entity is the mean over queries of answer words / entities; the
    paper's 3.12 is not its 16.72 / 5.44, so it averages over queries too. Means have two decimals, as in the paper.
    """
    rows = []
    for structure in (*STRUCTURES, ALL):
        cell = [query for query in queries if structure in (query.structure, ALL)]
        lists = [query for query in cell if query.structure == "entity-list"] if structure != ALL else []
        entities = pd.Series([len([line for line in query.answer.splitlines() if line.strip()]) for query in lists],
                             dtype="int64")
        asked = pd.Series([len(query.question.split()) for query in cell], dtype="float64")
        words = pd.Series([len(query.answer.split()) for query in cell], dtype="float64")
        rows.append({"structure": structure, "queries": len(cell),
                     "question_words": asked.mean(),
                     "answer_words": words.mean(), "entities_mean": entities.mean(),
                     "entities_min": entities.min(), "entities_max": entities.max(),
                     "entity_words": (words / entities).mean() if lists else float("nan")})
    table = pd.DataFrame(rows).round(2)
    return table.astype({"entities_min": "Int64", "entities_max": "Int64"})


def table2(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by arm and structure, "all" last: arm, structure, n, correct, unscored, accuracy, low, high."""
    return pd.DataFrame([
        {"arm": arm, "structure": structure, **accuracy(_of(rows, arm, structure).verdict)}
        for arm in sorted_arms(list(rows.arm.unique())) for structure in (*STRUCTURES, ALL)],
        columns=["arm", "structure", *COUNTS])


def table5(rows: pd.DataFrame) -> pd.DataFrame:
    """Table 2 apart for numeric and other queries: arm, structure, kind, then the columns of Table 2."""
    cells = []
    for arm in sorted_arms(list(rows.arm.unique())):
        for structure in (*STRUCTURES, ALL):
            cell = _of(rows, arm, structure)
            cells += [{"arm": arm, "structure": structure, "kind": kind, **accuracy(cell.verdict[cell.kind == kind])}
                      for kind in KINDS]
    return pd.DataFrame(cells, columns=["arm", "structure", "kind", *COUNTS])


def _of(rows: pd.DataFrame, arm: str, structure: str) -> pd.DataFrame:
    return rows[(rows.arm == arm) & ((rows.structure == structure) | (structure == ALL))]


def for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """Any of the three tables as text: Tables 2 and 5 with a column an arm and "17/65 = 26.15% [17.0, 38.0]"."""
    if "arm" not in table:
        return pd.DataFrame({column: [_number_text(value) for value in table[column]] for column in table})
    keys = [key for key in ("structure", "kind") if key in table]
    texts = table.assign(text=[_cell_text(row) for row in table.itertuples()])
    wide = texts.set_index([*keys, "arm"]).text.unstack("arm")
    order = texts[keys].drop_duplicates()
    wide = wide.loc[list(order.itertuples(index=False, name=None)) if len(keys) > 1 else list(order[keys[0]])]
    wide = wide.reindex(columns=sorted_arms(list(table.arm.unique()))).reset_index()
    wide.columns.name = None
    return wide


def _number_text(value) -> str:
    if pd.isna(value):
        return "–"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _cell_text(row) -> str:
    note = f" ({row.unscored} unscored)" if row.unscored else ""
    if row.n == row.unscored:
        return "–" + note
    return (f"{row.correct}/{row.n - row.unscored} = {row.accuracy:.2%} "
            f"[{100 * row.low:.1f}, {100 * row.high:.1f}]{note}")


def write_table(study: str, name: str, table: pd.DataFrame) -> Path:
    """Write figures/<study>/<name> as CSV (the numbers), Markdown and LaTeX (for reading); returns the CSV's path."""
    reading = for_reading(table)
    lines = [list(reading.columns), ["---"] * len(reading.columns), *reading.values.tolist()]
    markdown = "".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |\n" for line in lines)
    write_text(figures_path(study, f"{name}.md"), markdown)
    write_text(figures_path(study, f"{name}.tex"), reading.rename(columns=lambda name: name.replace("_", " "))
               .to_latex(index=False, escape=True).replace("–", "--"))
    return write_text(figures_path(study, f"{name}.csv"), table.to_csv(index=False, lineterminator="\n"))


def summary(study: str) -> str:
    """Table 2 of a finished study as aligned text, and the paths of its figures, tables and HTML copies.

    Raises MissingInput where the study has no table2.csv.
    """
    folder = output_root() / "figures" / study
    table = pd.read_csv(required(folder / "table2.csv", "06_analyze.ipynb"))
    reading = for_reading(table)
    widths = [max(map(len, [column, *reading[column]])) for column in reading]
    lines = [list(reading.columns), *reading.values.tolist()]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    pages = sorted((output_root() / "data" / study / "notebooks").glob("*.html"))
    paths = [*sorted(path for path in folder.iterdir() if not path.name.startswith(".")), *pages]
    return "\n".join([f"Accuracy, study {study}: correct/scored = % [Wilson 95%]", *text, "", *map(shown, paths)])


def main(arguments: list[str]) -> int:
    """Print the summary of the one study named in `arguments`; 0, or 2 with a message on stderr."""
    if len(arguments) != 1:
        print("usage: python -m lib.analyze.tables <study>", file=sys.stderr)
        return 2
    try:
        print(summary(arguments[0]))
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
