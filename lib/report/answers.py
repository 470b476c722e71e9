"""Answer a study's question in at most five sentences, written from the numbers of its tables."""

from collections.abc import Callable

from lib.core.text import listed
from lib.report.sources import Source

Row = dict[str, str]
MOST_SENTENCES = 5


def answer(source: Source, kind: str) -> list[str]:
    """Return at most five sentences on what the study found, [] if it has no numbers."""
    return _BY_KIND[kind](source)[:MOST_SENTENCES]


def _points(row: Row, value: str, low: str, high: str) -> str:
    """Format a difference in points: "+7.8 points [+3.7, +11.8]"; without unknown ends."""
    ends = [row[low], row[high]]
    interval = f" [{float(ends[0]):+.1f}, {float(ends[1]):+.1f}]" if all(map(_known, ends)) else ""
    return f"{float(row[value]):+.1f} points{interval}"


def _known(text: str) -> bool:
    return text not in ("", "nan")


def _verdict(row: Row, low: str, high: str) -> str:
    """Say whether the interval includes 0."""
    if not (_known(row[low]) and _known(row[high])):
        return "without an interval"
    return "a difference" if float(row[low]) > 0 or float(row[high]) < 0 else (
        "no difference is shown")


def _chain(source: Source) -> list[str]:
    """Answer for the laboratory and for a person's documents."""
    spread = source.csv("seeds")
    share = "mean" if spread else "accuracy"
    rows = [row for row in spread or source.csv("table2") if _known(row[share])]
    overall = [row for row in rows if row["structure"] == "all"]
    if not overall:
        return []
    texts = [f"{row['arm']} {float(row[share]):.1%}" for row in overall]
    sentences = [f"Of {overall[0]['n']} questions about facts in the documents, these shares are "
                 f"answered correctly: {listed(texts)}."]
    pairs = {(row["first"], row["second"], row["structure"]): row
             for row in source.csv("seeds_paired")}
    dapt = [f"{float(row[share]):.1%} of {row['structure']}" for row in rows
            if row["arm"] == "dapt" and row["structure"] != "all"]
    if dapt:
        sentences.append(f"After training on the raw text, dapt answers {listed(dapt)}"
                         f"{_beyond(pairs.get(('base', 'dapt', 'tabular – natural')))}.")
    ends = ("difference_points", "low_points", "high_points")
    gains = [f"{second} {_points(row, *ends)} ({_verdict(row, *ends[1:])})"
             for (first, second, structure), row in pairs.items()
             if (first, structure) == ("dapt", "all")]
    if gains:
        sentences.append(f"Compared with dapt on all questions: {listed(gains)}.")
    return [*sentences, "Intervals are 95% and cover other questions and, if an arm has several "
            "seeds, other trainings; none covers another base model."]


def _beyond(row: Row | None) -> str:
    if not row:
        return ""
    return ("; training adds to tables, beyond what it adds to prose, "
            + _points(row, "difference_points", "low_points", "high_points"))


def _replicates(source: Source) -> list[str]:
    primary = [row for row in source.csv("summary") if row["is_primary"] == "True"]
    sentences = [f"{row['contrast']}: {_points(row, 'mean', 'low', 'high')} over "
                 f"{row['replicates']} laboratories, {_holm(row)}." for row in primary]
    return sentences and [*sentences[:MOST_SENTENCES - 1],
                          "Each laboratory has its own records, public world, base model and order "
                          "of training; intervals are Student's t over laboratories."]


def _holm(row: Row) -> str:
    """Say whether a hypothesis is found after Holm's correction, at 5%."""
    if not _known(row.get("p_holm", "")):
        return "exploratory"
    p = float(row["p_holm"])
    return (f"{'found' if p <= 0.05 else 'not shown'} (Holm's p "
            f"{'< 0.0001' if p < 1e-4 else f'= {p:.2g}'})")


def _controlled(source: Source) -> list[str]:
    """Answer for the controlled experiment: structures, then the arms."""
    within = [row for row in source.csv("contrasts") if row["measure"] == "correct"]
    pairs = [row for row in source.csv("beside") if row["family"] == "primary"]
    gains = [row for row in source.csv("interventions") if row["structure"] == "all"]
    ends, gained = ("estimate", "low", "high"), ("gain_points", "low_points", "high_points")
    sentences = []
    if within:
        texts = [f"{row['contrast']} {_points(row, *ends)}, {_holm(row)}" for row in within]
        sentences.append(f"The same facts after training on raw text: {'; '.join(texts)}.")
        sentences.append(f"Intervals and p are over bases, {within[0]['bases']} here.")
    for name, rows, column, keys in (("Between arms", pairs, "contrast", ends),
                                     ("Over raw text", gains, "arm", gained)):
        if rows:
            texts = [f"{row[column]} {_points(row, *keys)}, {_holm(row)}" for row in rows]
            sentences.append(f"{name}: {'; '.join(texts)}.")
    return sentences


def _augment(source: Source) -> list[str]:
    """Answer for texts added to raw records: the hypotheses, then the best arm."""
    decided, arms = source.csv("hypotheses"), source.csv("augmentations")
    mean = "mean" if decided and "mean" in decided[0] else "estimate"  # of an earlier version
    found = [row for row in decided if row["p_holm"] and float(row["p_holm"]) <= 0.05]
    texts = [f"{row['contrast']} {_points(row, mean, 'low', 'high')}" for row in decided]
    worst: dict[str, float] = {}
    for row in arms:
        if _known(row["unpaired_percent"]):
            worst[row["arm"]] = min(worst.get(row["arm"], 100.0), float(row["unpaired_percent"]))
    sentences = [f"Of {len(decided)} hypotheses, {len(found)} are found after Holm's correction: "
                 f"{'; '.join(texts)}."] * bool(decided)
    if worst:
        best = max(worst, key=worst.get)
        sentences += [f"On facts without a pair, {best} is best in its worst structure: "
                      f"{worst[best]:.1f}% answered.",
                      f"It is the best of {len(worst)} arms on the same bases, so this is "
                      "probably too high."]
    return sentences


def _structext(source: Source) -> list[str]:
    """Answer with the scores by suite, and with each arm's distance from the floor if it is there.
    """
    rows = [row for row in source.csv("prompts") if row["prompt"] == "base"]
    floors = [row for row in source.csv("above_floor") if row["prompt"] == "base"]
    ends = ("difference_points", "low_points", "high_points")
    sentences = []
    for suite in dict.fromkeys(row["suite"] for row in rows):
        own = [row for row in rows if row["suite"] == suite]
        texts = [f"{row['arm']} {float(row['rouge_score']):.1%}" for row in own]
        apart = [f"{row['arm']} {_points(row, *ends)} ({_above(row)})" for row in floors
                 if row["suite"] == suite and _known(row[ends[0]])]
        compared = f"; compared with blind on the same questions: {listed(apart)}" if apart else ""
        sentences.append(f"Mean ROUGE-L (0 below 0.75) on {suite}, {own[0]['n']} questions: "
                         f"{listed(texts)}{compared}.")
    return sentences[:4] and [*sentences[:4], "The arm blind reads nothing: a score at or below "
                              "its score is no evidence of reading."]


def _above(row: Row) -> str:
    return ("above the floor" if _known(row["low_points"]) and float(row["low_points"]) > 0
            else "not shown to be above the floor")


def _tablequest(source: Source) -> list[str]:
    sentences = []
    rows = source.csv("tablequest_accuracy")
    for level, form in dict.fromkeys((row["level"], row["form"]) for row in rows):
        own = [row for row in rows if (row["level"], row["form"]) == (level, form)]
        texts = [f"{row['arm']} {float(row['accuracy']):.1%}" for row in own
                 if _known(row["accuracy"])]
        if texts:
            given = "without the passage" if form == "recall" else f"with the tables as {form}"
            sentences.append(f"Of {own[0]['n']} {level} questions {given}, these shares are "
                             f"answered correctly: {listed(texts)}.")
    return sentences


def _reader(source: Source) -> list[str]:
    sentences, keys = [], ("first", "task", "second")  # a contrast has no task: all are read
    pairs = [row if "first" in row else row | dict(zip(keys, row["contrast"].partition(" - "),
                                                       strict=True)) | {"task": "read"}
             for row in source.csv("differences")]
    for task, verb in (("read", "reads"), ("learned", "has learned")):
        rows = sorted((row for row in source.csv("forms") if row.get("task", "read") == task),
                      key=lambda row: -float(row["estimate"]))
        if not rows:
            continue
        best, last = rows[0], rows[-1]
        found = [row["second"] for row in pairs if row["task"] == task
                 and row["first"] == best["form"] and _known(row["p_holm"])
                 and float(row["p_holm"]) <= 0.05]
        than = f"better than {listed(found)}" if found else "not shown to be better than another"
        sentences.append(f"A reader {verb} {best['form']} best ({float(best['estimate']):.1f}% of "
                         f"{best['answers']} answers) and {last['form']} least "
                         f"({float(last['estimate']):.1f}%); the best is {than} (Holm).")
    return sentences


_BY_KIND: dict[str, Callable[[Source], list[str]]] = {
    "lab": _chain, "documents": _chain, "replicates": _replicates, "controlled": _controlled,
    "augment": _augment, "structext": _structext, "tablequest": _tablequest, "reader": _reader}
