"""Count what people wrote into the sheets of questions: what is right, and how far they agree.

Each person fills in a copy of the sheet that lib.tablequest.questions.review writes: the sheet
itself, or a file beside it with a name of its own, questions-anna.csv.
"""

import hashlib
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from lib.analyze.agreement.coefficients import SCORED, by_document, clustered_coefficients
from lib.analyze.agreement.sheet import read_labels
from lib.analyze.agreement.spreadsheet import header_of, lines_of
from lib.analyze.format import estimate, fraction
from lib.analyze.stats import share_interval
from lib.core.arms import ALL
from lib.core.paths import shown
from lib.tablequest.records import LEVELS, TableQuestion

MAJORITY = "most people"
ASKED = {"label": "answer is right", "fits": "level fits"}
_YES, _NO = SCORED  # the states of both columns, as read_labels names them
_FITS = {**dict.fromkeys(("yes", "y", "true", "1"), _YES),
         **dict.fromkeys(("no", "n", "false", "0"), _NO), "": ""}


def sheets_of(path: Path) -> dict[str, Path]:
    """Return person -> sheet: the one at `path`, and those beside it that add "-person"."""
    found = {path.stem: path} if path.exists() else {}
    for other in sorted(path.parent.glob(f"{path.stem}-*")):
        if other.suffix in (".csv", ".xlsx"):
            found[other.stem.removeprefix(f"{path.stem}-")] = other
    return found


def read_reviews(sheets: dict[str, Path],
                 questions: Iterable[TableQuestion] = ()) -> pd.DataFrame:
    """Return one row per person and item with an entry.

    Columns are person, item, level, question, label and fits (correct, incorrect, unsure or ""),
    and passage: that of the question, or the item if the question is not among `questions`. Raises
    ValueError as `read_labels` does, and for a "level fits" that is neither yes nor no.
    """
    passages, rows = {one.question.strip(): one.passage_id for one in questions}, []
    for person, path in sheets.items():
        labels, lines = read_labels(path), lines_of(path, path.suffix)
        for number, line in enumerate(lines[1:], 2):
            row = dict(zip(header_of(lines), map(str.strip, line), strict=False))
            word = row.get("level fits", "").casefold()
            if word not in _FITS:
                raise ValueError(f"{shown(path)}, row {number}: level fits is {word!r}: write yes "
                                 "or no, or leave it empty")
            item = row.get("item", "")
            label, fits = labels.get(item, ""), _FITS[word]
            if item and (label or fits):
                asked = row.get("question", "")
                rows.append((person, item, row.get("level", ""), asked, label, fits,
                             passages.get(asked.removeprefix("'"), item)))
    return pd.DataFrame(rows, columns=["person", "item", "level", "question", "label", "fits",
                                       "passage"])


def digest(sheets: dict[str, Path]) -> str:
    """Return a digest of the sheets' bytes if one has an entry or cannot be read, else ""."""
    try:
        if read_reviews(sheets).empty:
            return ""
    except (ValueError, ImportError):
        pass  # the notebook says what is wrong
    return hashlib.sha256(b"".join(path.read_bytes() for path in sheets.values())).hexdigest()


def review_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of questions that are right, by person (several: MAJORITY first) and level.

    Columns person, asked (of ASKED), level, n (decided), yes, unsure, share, low, high: the 95%
    interval over passages (stats.share_interval), NaN with one. By MAJORITY a question is decided
    if more people say one thing than the other; a tie counts as unsure.
    """
    people = list(rows.person.unique())
    parts = {person: rows[rows.person == person] for person in people}
    if len(people) > 1:
        parts = {MAJORITY: _majority(rows), **parts}
    table = []
    for person, part in parts.items():
        for column, asked in ASKED.items():
            for level in (*LEVELS, ALL):
                cell = part[(part.level == level) | (level == ALL)]
                decided = cell[cell[column].isin(SCORED)]
                is_yes = decided[column] == _YES
                table.append((person, asked, level, len(decided), int(is_yes.sum()),
                              int((cell[column] == "unsure").sum()), is_yes.mean(),
                              *share_interval(is_yes, decided.passage)))
    return pd.DataFrame(table, columns=["person", "asked", "level", "n", "yes", "unsure", "share",
                                        "low", "high"])


def _majority(rows: pd.DataFrame) -> pd.DataFrame:
    def decided(states: pd.Series) -> str:
        yes, no = (states == _YES).sum(), (states == _NO).sum()
        return _YES if yes > no else _NO if no > yes else "unsure" if (states != "").any() else ""

    return rows.groupby("item", sort=False, as_index=False).agg(
        level=("level", "first"), passage=("passage", "first"), label=("label", decided),
        fits=("fits", decided))


def agreement_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how far people agree by level: Cohen's kappa of each pair, Fleiss' of three or more.

    Columns asked, people, level, n (questions that all of these decided), agreed (all said the
    same), kappa, low, high: its 95% interval over passages, NaN with one. Fleiss' kappa
    (statsmodels) has none; kappa is NaN if only one thing was ever said. Questions that somebody
    left open do not count.
    """
    people, table = list(rows.person.unique()), []
    rows = rows.assign(passage=rows.groupby("item").passage.transform("first"))  # one per question
    groups = [*combinations(people, 2), *([tuple(people)] if len(people) > 2 else [])]
    for column, asked in ASKED.items():
        wide = rows.pivot(index=["item", "level", "passage"], columns="person", values=column)
        for group in groups:
            both = wide[list(group)]
            both = both[both.isin(SCORED).all(axis=1)]
            for level in (*LEVELS, ALL):
                cell = both if level == ALL else both[both.index.get_level_values("level") == level]
                table.append((asked, ", ".join(group), level, len(cell),
                              int((cell.nunique(axis=1) == 1).sum()), *_kappa(cell)))
    return pd.DataFrame(table, columns=["asked", "people", "level", "n", "agreed", "kappa", "low",
                                        "high"])


def _kappa(cell: pd.DataFrame) -> tuple[float, float, float]:
    """Return kappa and its 95% interval of the answers (questions, people)."""
    if cell.shape[1] == 2:
        found = clustered_coefficients(by_document(pd.DataFrame({
            "first": cell.iloc[:, 0], "second": cell.iloc[:, 1],
            "document_id": cell.index.get_level_values("passage")})))
        return found["kappa"], found["kappa_low"], found["kappa_high"]
    counts, states = aggregate_raters((cell == _YES).to_numpy(int)) if len(cell) else ([], [])
    return (fleiss_kappa(counts) if len(states) > 1 else np.nan), np.nan, np.nan


def review_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format the table of `review_table`: a row per person and question asked, columns by level."""
    texts = table.assign(text=[fraction(row.yes, row.n, row.low, row.high, digits=1)
                               + (f" ({row.unsure} unsure)" if row.unsure else "")
                               for row in table.itertuples()])
    wide = texts.pivot(index=["person", "asked"], columns="level", values="text")
    index = pd.MultiIndex.from_frame(table[["person", "asked"]].drop_duplicates())
    return wide.reindex(index=index, columns=[*LEVELS, ALL]).rename_axis(
        columns=None).reset_index()


def agreement_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format the table of `agreement_table`."""
    return pd.DataFrame([{
        "asked": row.asked, "people": row.people, "level": row.level,
        "agreed": fraction(row.agreed, row.n, digits=1),
        "kappa": estimate(row.kappa, row.low, row.high, digits=2)} for row in table.itertuples()],
        columns=["asked", "people", "level", "agreed", "kappa"])


def disputed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the questions on which people said different things, with what each said."""
    people = list(rows.person.unique())
    wide = rows.assign(said=rows.label + " / level " + rows.fits.replace(
        {_YES: "fits", _NO: "does not fit", "": "open"})).pivot(
        index=["item", "level", "question"], columns="person", values="said")[people].droplevel(0)
    return wide[wide.nunique(axis=1) > 1].reset_index().rename_axis(columns=None)
