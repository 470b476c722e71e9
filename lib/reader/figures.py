"""Draw how well a reader reads, against the tokens that it was trained on."""

import pandas as pd
from matplotlib.figure import Figure

from lib.analyze.figures.style import COLORS, MARKERS, legend, panels, styled
from lib.reader.lessons import TABLE_FORMS

_TITLES = {"grid": "Made-up tables", "report": "Made-up reports", "structext": "StrucText-Eval"}


@styled
def draw_reading(curve: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw the share of right answers in percent against tokens, by serialization.

    `curve` has rows of `lib.reader.training.Read`; there is one panel per kind of lesson. There is
    no band, because the questions share texts.
    """
    counts = curve.groupby(["kind", "form", "tokens"], as_index=False)[["correct", "n"]].sum()
    counts["percent"] = 100 * counts.correct / counts.n
    names = dict.fromkeys([*TABLE_FORMS, *counts.form])  # colours as in `draw_forms`
    looks = {form: (COLORS[n % len(COLORS)], MARKERS[n % len(MARKERS)])
             for n, form in enumerate(names)}
    figure, axes = panels(counts.kind.nunique(), 3.0, sharey=True)
    for panel, (kind, rows) in zip(axes, counts.groupby("kind"), strict=True):
        for form in (form for form in names if form in set(rows.form)):
            line, (color, symbol) = rows[rows.form == form], looks[form]
            panel.plot(line.tokens / 1e6, line.percent, marker=symbol, color=color, markersize=3.5,
                       label=form)
        counted = " to ".join(map(str, sorted({rows.n.min(), rows.n.max()})))
        panel.set(title=f"{_TITLES[kind]}\n(n = {counted} each)",
                  xlabel="Million tokens", ylim=(0, 102))
    axes[0].set_ylabel("Right answers (%)")
    legend(figure, axes[0])
    legend(figure, axes[-1], loc="outside lower center")
    return figure, counts


@styled
def draw_forms(forms: pd.DataFrame, sizes: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw reading against learning by form, and reading by the number of cells; t over readers.

    `forms` and `sizes` are from `lib.reader.forms.by_form`, the second by `cells`.
    """
    figure, (both, by_size) = panels(2, 3.0)
    sizes = sizes[sizes.task == "read"]
    for color, symbol, form in zip(COLORS, MARKERS, TABLE_FORMS, strict=False):
        read, learned = (forms[(forms.form == form) & (forms.task == task)].iloc[0]
                         for task in ("read", "learned"))
        both.errorbar(read.estimate, learned.estimate, label=form, color=color, marker=symbol,
                      xerr=_reach(read), yerr=_reach(learned), elinewidth=0.7, capsize=1.5)
        line = sizes[sizes.form == form]
        by_size.plot(line.cells.astype(str), line.estimate, marker=symbol, color=color)
    both.set(title="Read and learned", xlabel="Read in the prompt (%)",
             ylabel="Recalled after training (%)", xlim=(0, 102), ylim=(0, 102))
    by_size.set(title="Read, by size", xlabel="Cells of the table", ylim=(0, 102))
    legend(figure, both, columns=6)
    return figure, pd.concat([forms.assign(cells="all"), sizes])


def _reach(row: pd.Series) -> list[list[float]] | None:
    """Return how far an interval reaches to both sides; None if there is none."""
    return None if pd.isna(row.low) else [[row.estimate - row.low], [row.high - row.estimate]]
