"""What a run of TableQuest says, as the short text that `make study` prints: every rate with its denominator."""

import pandas as pd

from lib.reading.both_ways import learning_for_reading
from lib.tablequest.analyze.tables import accuracy_for_reading, ratings_for_reading

OURS = "this study"


def conclusion(accuracy: pd.DataFrame, failing: pd.DataFrame, turned: pd.DataFrame, ratings: pd.DataFrame,
               learned: pd.DataFrame, form: str, judge: str, cut: pd.DataFrame) -> str:
    """Markdown from the tables of 02_analyze; failures and ratings are of answers to the tables as `form`.

    `turned` and the study's own ratings have no row where fewer than two arms were compared.
    """
    parts = ["Right by the rule for figures, of all that was asked [Wilson 95%]; recall: the easy questions without "
             "their passage.", _table(accuracy_for_reading(accuracy)), _lost(cut),
             "\n".join(f"How {arm} fails, tables as {form}: {_modes(cell)}." for arm, cell in failing.groupby(
                 "arm", sort=False)),
             *_rated(ratings[ratings.source == OURS], turned, form, judge)]
    if len(learned):
        parts += ["The same easy questions read and recalled:", _table(learning_for_reading(learned))]
    return "\n\n".join([*parts, "Intervals are not corrected for their number."]) + "\n"


def _lost(cut: pd.DataFrame) -> str:
    """What did not fit, by arm, of the prompts with a passage."""
    shortened = ", ".join(f"{row.cut}/{row.prompts} of {row.arm}" for row in cut.itertuples() if row.cut)
    unanswered = ", ".join(f"{row.unanswered}/{row.prompts} of {row.arm}" for row in cut.itertuples() if row.unanswered)
    said = f"Prompts cut at the passage's end, because they did not fit the window: {shortened or 'none'}."
    if shortened:
        said += " “Whole” counts the questions whose prompts were uncut in every form: on these, forms compare."
    return f"{said} Without an answer: {unanswered}." if unanswered else said


def _rated(ours: pd.DataFrame, turned: pd.DataFrame, form: str, judge: str) -> list[str]:
    if ours.empty:
        return ["No ratings: one arm alone has no pairs."]
    whole = turned[turned.level == "all"].iloc[0]
    flips = (f"{whole.flipped} of {whole.both_orders} verdicts flipped with the order" if judge != "rules"
             else "the rules see both answers at once, so that no verdict can flip")
    return [f"Ratings of answers to tables as {form}, compared in pairs by {judge} ({flips}):",
            _table(ratings_for_reading(ours).drop(columns="source"))]


def _modes(cell: pd.DataFrame) -> str:
    """"31 wrong cell, 4 format of 160 easy and medium; 80 incomplete of 80 hard"."""
    texts = []
    for names, rows in ((("easy", "medium"), cell[cell.level != "hard"]), (("hard",), cell[cell.level == "hard"])):
        counts = rows[~rows["mode"].isin(["right", "answered"])].groupby("mode", sort=False)["count"].sum()
        n = int(rows.drop_duplicates("level").n.sum())
        said = ", ".join(f"{count} {mode}" for mode, count in counts.items() if count) or "none"
        texts += [f"{said} of {n} {' and '.join(names)}"] if n else []
    return "; ".join(texts)


def _table(table: pd.DataFrame) -> str:
    lines = [list(table.columns), ["---"] * len(table.columns), *table.astype(str).values.tolist()]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.columns))]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
                     for line in lines)
