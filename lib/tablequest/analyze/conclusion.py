"""Write the short text that `make study` prints at its end, every rate with its denominator."""

import pandas as pd

from lib.analyze.format import aligned
from lib.reading.both_ways import learning_for_reading
from lib.tablequest.analyze.tables import OURS, accuracy_formatted, ratings_formatted


def conclusion(accuracy: pd.DataFrame, failing: pd.DataFrame, flipped: pd.DataFrame,
               ratings: pd.DataFrame, learned: pd.DataFrame, form: str, judge: str,
               cut: pd.DataFrame) -> str:
    """Return the findings in the analysis's tables as Markdown.

    Failures and ratings cover answers on tables in `form`. `flipped` and the study's own ratings
    have no rows if fewer than two arms were compared.
    """
    parts = ["Correct by the rule for figures, of all questions scored [95%]; recall: the "
             "easy questions without their passage.",
             aligned(accuracy_formatted(accuracy)), _lost(cut),
             "\n".join(f"How the answers of {arm} fail, tables as {form}: {_modes(cell)}."
                       for arm, cell in failing.groupby("arm", sort=False)),
             *_rated(ratings[ratings.source == OURS], flipped, form, judge)]
    if len(learned):
        parts += ["The same easy questions with their passage and from memory:",
                  aligned(learning_for_reading(learned))]
    return "\n\n".join([*parts, "Intervals are not corrected for multiplicity."]) + "\n"


def _lost(cut: pd.DataFrame) -> str:
    """Summarize, by arm, how many of the prompts with a passage did not fit."""
    counts = {column: ", ".join(f"{row[column]}/{row['prompts']} of {row['arm']}"
                                for row in cut.to_dict("records") if row[column])
              for column in ("cut", "unanswered")}
    text = ("Prompts truncated at the passage's end because they exceeded the context window: "
            f"{counts['cut'] or 'none'}.")
    if counts["cut"]:
        text += (" “Complete” counts the questions whose prompts were complete in every form; on "
                 "these, forms can be compared.")
    return text + (f" Unanswered: {counts['unanswered']}." if counts["unanswered"] else "")


def _rated(ours: pd.DataFrame, flipped: pd.DataFrame, form: str, judge: str) -> list[str]:
    if ours.empty:
        return ["No ratings: no pair of answers was scored."]
    total = flipped[flipped.level == "all"].iloc[0]
    flips = ("the rules see both answers at once, so no verdict can flip" if judge == "rules" else
             f"{total.flipped} of {total.both_orders} verdicts flipped with the order")
    return [f"Ratings of answers to tables as {form}, compared in pairs by {judge} ({flips}):",
            aligned(ratings_formatted(ours).drop(columns="source"))]


def _modes(cell: pd.DataFrame) -> str:
    """Return "31 wrong cell, 4 format of 160 easy and medium; 80 incomplete of 80 hard"."""
    texts = []
    for name, rows in (("easy and medium", cell[cell.level != "hard"]),
                       ("hard", cell[cell.level == "hard"])):
        failed = rows[~rows["mode"].isin(["right", "answered"])]
        counts = failed.groupby("mode", sort=False)["count"].sum()
        modes = ", ".join(f"{count} {mode}" for mode, count in counts.items() if count) or "none"
        if n := int(rows.drop_duplicates("level").n.sum()):
            texts.append(f"{modes} of {n} {name}")
    return "; ".join(texts)
