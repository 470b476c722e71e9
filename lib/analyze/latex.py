"""Tables for a journal: LaTeX (booktabs) that fits its column, with caption, label and notes."""

import re

import numpy as np
import pandas as pd

from lib.analyze.stats import TOO_FEW
from lib.core.arms import LOOK
from lib.core.store import package_file

_COLUMN = LOOK.get("column", "double")
# Inches that tables and figures fill: 8.5 cm, the text width of an A4 page, or the study's.
inches = [{"single": 3.35, "double": 6.3}.get(_COLUMN, _COLUMN)]
POINTS, SEPARATOR, SIZE = 72.27, 4, 8.5  # of an inch, beside a column, of \footnotesize
_CAPTIONS = pd.read_csv(package_file("analyze/captions.csv"), index_col="name").caption
_SHARE = re.compile(r"(?<!\d)(\d++)/(\d++) = [\d.]+%( \[[^]]*\])?.*")
_NUMBER = re.compile(r"[<+−-]?\.?\d|–?$")  # how a cell begins that is no name
KEYS = "pair source judge coverage structure kind level form".split()  # of a row
_SIGNS = (  # of letters that LaTeX has not
    r"\textbackslash{} \textasciitilde{} \textasciicircum{} ~ -- $-$ $\pm$ $\times$ / \ldots{} "
    r"$\leq$ $\geq$"
).split()
_LETTERS = {one: f"${one}$" for one in "<>|"} | {one: f"\\{one}" for one in "&%$#_{}"}
_LETTERS |= zip("\\~^\u00a0–−±×↵…≤≥", _SIGNS, strict=True)


def latex(study: str, name: str, numbers: pd.DataFrame, formatted: pd.DataFrame) -> str:
    """Write `formatted` as a table: a number and its interval in a cell, n and unscored in notes.

    A column with one value becomes a note; what is too wide continues in a second part.
    """
    table = formatted.map(_short).astype(str)  # of no rows, too
    alike = [key for key in table if len({*table[key]}) == 1 < len(table)][: table.shape[1] - 2]
    notes = [f"{key}: {table[key].iloc[0]}" for key in alike]
    notes += [f"*: {TOO_FEW}"] * ("*" in "".join(table.to_numpy().ravel()))
    caption = f"{_CAPTIONS.get(name, name)} (study {study})"
    star = "*" * (inches[0] > 4)
    lines = [
        "% needs \\usepackage{booktabs,array}",
        f"\\begin{{table{star}}}[tb]\\centering\\footnotesize\\tabcolsep={SEPARATOR}pt",
        f"\\caption{{{escaped(caption)}}}\\label{{tab:{study}-{name}}}",
        *map(_tabular, parts_of(table.drop(columns=alike))),
        f"\\raggedright {escaped('. '.join([*_counts(numbers), *notes]))}",
    ]
    return "\n".join([*lines, f"\\end{{table{star}}}\n"])


def _short(cell: object) -> str:
    cell = _SHARE.sub(_percent, str(cell))
    return re.sub(r"(?<=\d), (?=[-\d])", ",\u00a0", cell)  # an interval is not broken


def _percent(share: re.Match) -> str:
    few = "*" * (TOO_FEW in share[0])
    return f"{100 * int(share[1]) / int(share[2]):.1f}{share[3] or ''}{few}"


def _counts(numbers: pd.DataFrame) -> list[str]:
    if not {"n", "unscored"} <= {*numbers}:
        return []
    rows = numbers.filter(KEYS).astype(str).agg(" ".join, axis=1)
    most = numbers.groupby(rows, sort=False)[["n", "unscored"]].max()
    most = most.rename(columns={"unscored": "unscored, at most"})
    counts = most.loc[:, most.any()].apply(
        lambda own: ", ".join(f"{row} {n}" for row, n in own.items())
    )
    return ["Correct in % [95% interval]", *(f"{name}: {rows}" for name, rows in counts.items())]


def escaped(text: str) -> str:
    """Write plain text as LaTeX."""
    text = "".join(_LETTERS.get(letter, letter) for letter in text)
    return re.sub(r"(?<![\w-])-(?=\d)", "$-$", text)


def width(text: str) -> float:
    """The width of a line in points, rounded up."""
    return SIZE * sum(0.95 if one.isupper() or one in "mw%<>±" else 0.53 for one in text)


def _widths(table: pd.DataFrame) -> np.ndarray:
    # by column: of its longest cell, and of its longest word
    cells = [[name.replace(" ", "\n"), *table[name]] for name in table]
    words = [" ".join(one).split(" ") for one in cells]
    return np.array([[max(map(width, one)) for one in texts] for texts in (cells, words)])


def parts_of(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Cut `table` by columns into parts that fit; each begins with the columns that name a row."""
    is_value = [table[name].str.match(_NUMBER).mean() == 1 for name in table]
    n_keys = max(1, [*is_value[:3], True].index(True))
    keys, *others = range(n_keys), *range(n_keys, table.shape[1])
    needed, parts = _widths(table)[1] + 2 * SEPARATOR, [[*keys, *others[:1]]]
    for place in others[1:]:
        if needed[[*parts[-1], place]].sum() > POINTS * inches[0]:
            parts.append([*keys])
        parts[-1].append(place)
    return [table.iloc[:, part] for part in parts]


def _tabular(table: pd.DataFrame) -> str:
    wanted, needed = _widths(table)
    more = wanted - needed
    spare = POINTS * inches[0] - (needed + 2 * SEPARATOR).sum()
    own = needed + more * np.clip(spare / max(1, more.sum()), 0, 1)
    columns = "".join(f">{{\\raggedright\\arraybackslash}}p{{{one:.1f}pt}}" for one in own)
    rows = (" & ".join(map(escaped, row)) for row in [[*table], *table.to_numpy()])
    head, *body = (f"{{}}{row} \\\\\n" for row in rows)  # after a break, [ would begin a distance
    return (
        f"\\begin{{tabular}}{{@{{}}{columns}@{{}}}}\n\\toprule\n{head}\\midrule\n{''.join(body)}"
        "\\bottomrule\n\\end{tabular}\\par\\medskip"
    )
