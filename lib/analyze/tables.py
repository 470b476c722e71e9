"""Tables 1, 2 and 5 of the paper with intervals over clusters; numbers as text, tables as files."""

import re
from collections.abc import Iterable

import pandas as pd

from lib.analyze.latex import KEYS, latex
from lib.analyze.stats import LEAST_CLUSTERS, TOO_FEW, clusters_of, share_interval, wilson
from lib.core.arms import ALL, COVERAGE, LOOK, arm_label, sorted_arms
from lib.core.records import STRUCTURES, Answer, Fact, Query, Verdict, structure_label
from lib.core.store import BadInput, made_by, require_known, result_path, write_text
from lib.core.values import is_numeric

KINDS = ("numeric", "non-numeric")
_KEYS = ["arm", "query_id"]
COUNTS = "n correct unscored accuracy low high unscored_share upper_bound".split()
TABLE1 = (
    "queries question_words answer_words entities_mean entities_min entities_max entity_words"
).split()
DASH = "–"  # an unknown value
# whose ends are low and high
_ESTIMATES = (*"estimate mean share difference rouge_score".split(), ALL)
_TASKS = {
    "mmlu": "MMLU",
    "hellaswag": "HellaSwag",
    "lambada_openai": "LAMBADA",
    "general_choice": "General choice",
    "general_recall": "General recall",
    "lab_choice": "Multiple choice",
}
# the start of a formula in Excel, LibreOffice and Google Sheets
_FORMULA = re.compile(r"\t|\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def joined(
    queries: list[Query], verdicts: list[Verdict], facts: Iterable[Fact] = ()
) -> pd.DataFrame:
    """One row per verdict, with structure, kind and cluster of its query.

    Clusters are `stats.clusters_of`. Raises BadInput unless every arm has one verdict per query.
    """
    known = pd.DataFrame(map(vars, queries), columns=["query_id", "structure"])
    known["kind"] = [KINDS[not is_numeric(query)] for query in queries]
    known["cluster"] = known.query_id.map(clusters_of(queries, facts))
    rows = pd.DataFrame(map(vars, verdicts), columns=[*_KEYS, "verdict", "reason"])
    for arm, judged in rows.groupby("arm", sort=False).query_id:
        if sorted(judged) != sorted(known.query_id):
            raise BadInput(
                f"arm {arm}: {len(judged)} verdicts do not match the {len(known)} "
                f"queries one to one: run {made_by('verdicts')} for this arm again"
            )
    return rows.merge(known, on="query_id", how="left")


def by_group(rows: pd.DataFrame, by: list[str], value: str, cluster: str) -> pd.DataFrame:
    """Return n, mean, low and high of the known values of `value` in each group of columns `by`.

    The 95% interval is stats.share_interval over `cluster`; Wilson's if there is no such column.
    """
    found = []
    for key, part in rows.groupby(by, sort=False):
        known = part.dropna(subset=value)
        values, n = known[value].astype(float), len(known)
        if cluster in known:
            ends = share_interval(values, known[cluster])
        else:
            ends = wilson(values.sum(), n)
        found.append((*key, n, values.mean(), *ends))
    table = pd.DataFrame(found, columns=[*by, "n", "mean", "low", "high"])
    return table.astype(dict.fromkeys(("mean", "low", "high"), float))


def counted(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return COUNTS of the verdicts in each group: accuracy is correct / n, see `by_group`.

    `upper_bound` is (correct + unscored) / n. A verdict of None is left out of the accuracy.
    `clusters` follows if rows have them.
    """
    scores = rows.verdict.map({"correct": 1.0, "incorrect": 0.0, "unscored": 0.0})
    rows = rows.assign(score=scores, lost=~rows.verdict.isin(["correct", "incorrect"]))
    table = by_group(rows, by, "score", "cluster").rename(columns={"mean": "accuracy"})
    groups = rows.groupby(by, sort=False)
    n, unscored = groups.size().to_numpy(), groups.lost.sum().to_numpy()
    correct = groups.score.sum().astype(int).to_numpy()
    shares = {"unscored_share": unscored / n, "upper_bound": (correct + unscored) / n}
    table = table.assign(n=n, correct=correct, unscored=unscored, **shares)[[*by, *COUNTS]]
    if "cluster" in rows:
        table["clusters"] = groups.cluster.nunique().to_numpy()
    return table


def crossed(rows: pd.DataFrame, levels: dict[str, Iterable[str]]) -> pd.DataFrame:
    """Return COUNTS of every combination of `levels` (column: its values); n may be 0.

    Structures are known and need no values; "all" comes last. Raises ValueError for another one.
    """
    require_known("structure", filter(None, rows.structure), STRUCTURES)  # "": a task without
    levels = {**levels, "structure": (*STRUCTURES, ALL)}
    table = counted(pd.concat([rows, rows.assign(structure=ALL)]), list(levels))
    cells = pd.MultiIndex.from_product(levels.values(), names=levels)
    table = table.set_index(list(levels)).reindex(cells)
    whole = {name: 0 for name in ("n", "correct", "unscored", "clusters") if name in table}
    return table.fillna(whole).astype(dict.fromkeys(whole, int)).reset_index()


def table1(queries: list[Query]) -> pd.DataFrame:
    """Return by structure: queries, mean words of questions and answers, and entities.

    entity_words is the mean over queries of answer words / entities, as in the paper.
    """
    found = []
    for name in (*STRUCTURES, ALL):
        own = [query for query in queries if name in (query.structure, ALL)]
        texts = pd.DataFrame([(one.question, one.answer) for one in own], columns=["asked", "own"])
        words = texts.map(lambda text: len(text.split())).astype(float)
        n = pd.Series([one.entity_count for one in own if name != ALL], dtype=float)
        means = words.asked.mean(), words.own.mean(), n.mean(), n.min(), n.max()
        found.append((name, len(own), *means, (words.own / n).mean()))
    table = pd.DataFrame(found, columns=["structure", *TABLE1]).round(2)
    return table.astype(dict.fromkeys(("entities_min", "entities_max"), "Int64"))


def table2(rows: pd.DataFrame, **more: Iterable[str]) -> pd.DataFrame:
    """Return accuracy by arm and structure, "all" last, and columns `more` with these values."""
    return crossed(rows, {"arm": sorted_arms(rows.arm), "structure": (), **more})


def table5(rows: pd.DataFrame) -> pd.DataFrame:
    """Return Table 2 split by the column kind: arm, structure, kind, COUNTS."""
    return table2(rows, kind=KINDS)


def _coverage(rows: pd.DataFrame, labels: pd.DataFrame) -> pd.Series:
    require_known("coverage", labels.coverage, COVERAGE)
    short = labels.query_id.str.rpartition("/")[2]  # without a folder above the study's
    return rows.query_id.map(
        dict(zip([*short, *labels.query_id], [*labels.coverage] * 2, strict=True))
    )


def with_coverage(rows: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """The rows, and again with their coverage as `structure`, so that contrasts can name it."""
    covered = rows.assign(structure=_coverage(rows, labels)).dropna(subset="structure")
    return pd.concat([rows, covered])


def by_coverage(rows: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Return Table 2 split by coverage (labels: query_id, coverage); empty if none is."""
    named = rows.assign(coverage=_coverage(rows, labels))
    levels = [one for one in reversed(COVERAGE) if (named.coverage == one).any()]
    if levels in ([], list(COVERAGE[:1])):
        return pd.DataFrame(columns=["arm", "structure", "coverage"])
    return table2(named, coverage=levels)


def formatted_table(table: pd.DataFrame, only_counts: object = "") -> pd.DataFrame:
    """Format a table: floats with two decimals; Tables 2 and 5 with one column per arm.

    Their cells read "17/65 = 26.15% [17.0, 38.0]; 2 unscored (3.1%): at most 29.2%", or
    "17/65, 2 unscored" where `only_counts`. TOO_FEW is said of under LEAST_CLUSTERS.
    """
    if not {"arm", "accuracy"} <= set(table):
        return pd.DataFrame({name: [*map(number, table[name])] for name in table})
    texts = [
        f"{row.correct}/{row.n}, {row.unscored} unscored"
        if only_counts
        else fraction(row.correct, row.n, row.low, row.high)
        + f"; {TOO_FEW}" * (row.n > 0 and getattr(row, "clusters", LEAST_CLUSTERS) < LEAST_CLUSTERS)
        + (
            f"; {row.unscored} unscored ({row.unscored_share:.1%}): at most {row.upper_bound:.1%}"
            if row.unscored
            else ""
        )
        for row in table.itertuples()
    ]
    keys = [key for key in KEYS if key in table]
    wide = table.assign(text=texts).pivot(index=keys, columns="arm", values="text").fillna("")
    wide = wide[sorted_arms(table.arm)].rename_axis(columns=None)
    return table[keys].drop_duplicates(ignore_index=True).join(wide, on=keys)


def with_texts(
    rows: pd.DataFrame, queries: Iterable[Query], answers: Iterable[Answer]
) -> pd.DataFrame:
    """Return `rows` (query_id, arm, …) with question, reference answer and answer, ↵ for breaks.

    The texts come from documents and models: display them only where HTML is escaped.
    """
    asked = pd.DataFrame(map(vars, queries), columns=["query_id", "question", "answer"])
    asked = asked.rename(columns={"answer": "reference answer"})
    texts = pd.DataFrame(map(vars, answers), columns=[*_KEYS, "answer"])
    table = rows.merge(asked, "left", "query_id").merge(texts, "left", _KEYS).fillna({"answer": ""})
    return table.assign(**table[["reference answer", "answer"]].map(one_line))


def estimate(
    value: float,
    low: float | None = None,
    high: float | None = None,
    *,
    digits: int = 1,
    sign: str = "",
) -> str:
    """Format an estimate with its interval: "31.5 [26.0, 37.0]"; without `low`, the value alone.

    Unknown is a dash, an interval with an unknown end "[–]". With `sign` "+", plus is shown.
    """
    if pd.isna(value):
        return DASH
    pattern = f"{sign}.{digits}f"
    if low is None:
        return f"{value:{pattern}}"
    ends = DASH if pd.isna([low, high]).any() else f"{low:{pattern}}, {high:{pattern}}"
    return f"{value:{pattern}} [{ends}]"


def percent(share: float, low: float | None = None, high: float | None = None) -> str:
    """Format a fraction as percent: "26.2%", or with its interval "26.2 [17.0, 38.0]"."""
    if low is None:
        return DASH if pd.isna(share) else f"{share:.1%}"
    return estimate(100 * share, 100 * low, 100 * high)


def fraction(
    count: int, n: int, low: float | None = None, high: float | None = None, digits: int = 2
) -> str:
    """Format a count and its share: "17/65 = 26.15%", or with "[17.0, 38.0]"; a dash without n.

    `low` and `high` are fractions of 1 and appear in percent.
    """
    if pd.isna(n) or not n:
        return DASH
    ends = "" if pd.isna([low, high]).any() else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{count:.0f}/{n:.0f} = {count / n:.{digits}%}{ends}"


def p_value(p: float) -> str:
    """Format a p value with two digits, never as 0."""
    if pd.isna(p):
        return DASH
    return "<0.0001" if p < 1e-4 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def number(value: object) -> str:
    """Format a cell of a table: floats with two digits, a dash for NaN, anything else as text."""
    if isinstance(value, list):
        return ", ".join(map(number, value))
    if pd.isna(value):
        return DASH
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def compact(table: pd.DataFrame, digits: int = 1) -> pd.DataFrame:
    """Format a table: an estimate and its interval (low, high; x_low, x_high) in one cell.

    Estimates below 1, unless in points or percent, have three digits, others `digits`; p values
    two.
    """
    names = {re.sub("_(points|percent)$", "", column): column for column in table}
    plain = next((name for name in _ESTIMATES if name in names), "")
    cells = {}
    for name, column in names.items():
        prefix = "" if name == plain else f"{name}_"
        ends = [names.get(f"{prefix}{end}") for end in ("low", "high")]
        if all(ends):
            places = 3 if name == column and table[column].abs().max() <= 1 else digits
            rows = table[[column, *ends]].itertuples(index=False)
            cells[f"{column} [95%]"] = [estimate(*row, digits=places) for row in rows]
        elif not re.search("(^|_)(low|high)$", name):
            write = p_value if re.match("p(_|$)", name) else number
            cells[column] = [*map(write, table[column])]
    return pd.DataFrame(cells)


def in_words(name: object) -> object:
    """Return what a person reads for a structure, arm, task, or difference of two; else `name`."""
    if not isinstance(name, str):
        return name
    return " – ".join(
        LOOK.get("labels", {}).get(part) or _TASKS.get(part) or arm_label(structure_label(part))
        for part in name.split(" – ")
    )


def labelled(table: pd.DataFrame) -> pd.DataFrame:
    """Replace names of structures and arms, as columns or cells, by what a person reads."""
    return table.map(in_words).rename(columns=in_words)


def one_line(text: str) -> str:
    """Show a text of several lines on one line, with ↵ for each line break."""
    return " ↵ ".join(text.splitlines())


def as_csv(table: pd.DataFrame, **options: object) -> str:
    """Return `table` as CSV without its index; no text in it can start a spreadsheet's formula."""
    texts = table.select_dtypes(["object", "string"]).map(_harmless)
    return table.assign(**texts).to_csv(index=False, lineterminator="\n", **options)


def _harmless(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    text = re.sub(r"\r\n?", "\n", cell)  # a bare return starts a row, unquoted
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """Return a cell's text without the quote that `as_csv` writes before a formula."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text[1:]) else text


def show(
    study: str, name: str, numbers: pd.DataFrame, formatted: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Write `numbers` as CSV, `formatted` as Markdown and LaTeX below figures/<study>.

    Return `formatted` for display. Without it, its cells are those of `formatted_table`.
    """
    formatted = labelled(formatted_table(numbers) if formatted is None else formatted)
    formatted = formatted.rename(columns=lambda name: name.replace("_", " "))
    pd.set_option("display.max_colwidth", None, "display.max_rows", None)  # a table is shown whole
    pd.set_option("display.max_columns", None)
    lines = [list(formatted), ["---"] * len(formatted.columns), *formatted.values.tolist()]
    cells = [[one_line(str(cell).replace("|", "\\|")) for cell in line] for line in lines]
    texts = {
        "csv": as_csv(numbers),
        "md": "".join(f"| {' | '.join(line)} |\n" for line in cells),
        "tex": latex(study, name, labelled(numbers), formatted),
    }
    for ending, text in texts.items():
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
