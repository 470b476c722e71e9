"""Tabulate TableQuest: accuracy, word metrics, failures, lengths, and reading against learning."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd

from lib.analyze.format import DASH, estimate, fraction, number, percent
from lib.analyze.stats import cluster_interval, sign_flip_p
from lib.analyze.tables import counted
from lib.core.arms import ALL, sorted_arms
from lib.core.records import RECALL, Answer, Query, Verdict
from lib.tasks.tablequest.analyze.accuracy import TOLERANCE, assess
from lib.tasks.tablequest.analyze.failures import failure, failures, is_cut_away
from lib.tasks.tablequest.analyze.matches import Shown
from lib.tasks.tablequest.analyze.overlap import WORD_METRICS, bert_scores, word_scores
from lib.tasks.tablequest.ask.prompts import form_of, question_id_of, source_of
from lib.tasks.tablequest.ask.reader import ARM as LEXICAL
from lib.tasks.tablequest.ask.replies import Final, finals
from lib.tasks.tablequest.ask.serialize import serialized
from lib.tasks.tablequest.records import LEVELS, Filing, Grid, Passage, TableQuestion, by_id

SCORED = ["arm", "query_id", "question_id", "form", "level", "kind", "passage_id", "verdict",
          "reason", "mode", "cut", "by_judge", *WORD_METRICS]
OURS = "this study"
BOTH_WAYS = ["arm", "form", "n", "both", "only_read", "only_recalled", "neither",
             "difference_points", "low_points", "high_points", "p"]
# The paper's ratings. Its models and questions are not ours, so these only illustrate the scale.
PUBLISHED = pd.DataFrame([
    ("GPT-4o (baseline)", "all", 1000.0), ("GPT-4 Turbo", "all", 1164.35),
    ("Llama-3.1-70B", "all", 869.27), ("Llama-3.1-70B", "easy", 880.19),
    ("Llama-3.1-70B", "medium", 1008.80), ("Llama-3.1-70B", "hard", 703.98),
    ("Gemini-1.5 Pro", "easy", 967.86), ("Gemini-1.5 Pro", "hard", 779.98),
    ("Gemini-1.5 Flash", "easy", 880.19), ("Gemini-1.5 Flash", "hard", 779.98)],
    columns=["arm", "level", "elo"])


def scored(questions: Sequence[TableQuestion], queries: Sequence[Query],
           answers: Mapping[str, list[Answer]], passages: Sequence[Passage], grids: Sequence[Grid],
           verdicts: Sequence[Verdict] = (), tolerance: float = TOLERANCE,
           cut: Mapping[str, Sequence[Query]] = MappingProxyType({}),
           bertscore_model: str = "") -> pd.DataFrame:
    """Return one row per arm and query, with the columns SCORED.

    The verdict is from `accuracy`; word metrics are from 0 to 1. `cut` is arm
    -> the queries, as sent, whose passage lost its end before that arm was asked. A query without
    an answer row is unscored, with NaN metrics and mode "". A hard query has the verdict "",
    because no rule scores it. by_judge is the judge's verdict, "" if there is none. A
    `bertscore_model` adds the column bertscore. Raises as `finals` and `bert_scores` do.
    """
    asked, read, tables = by_id(questions), by_id(passages), by_id(grids)
    judged = {(row.arm, row.query_id): row.verdict for row in verdicts}
    rows, texts = [], {}
    for arm in arms_in_order(answers):
        found = finals(queries, answers[arm])
        truncated = {row.query_id for row in answers[arm] if row.truncated}
        short = {query.query_id: query.context for query in cut.get(arm, ())}
        for query in queries:
            question = asked[question_id_of(query.query_id)]
            final, is_cut = found.get(query.query_id), query.query_id in short
            row = {"arm": arm, "query_id": query.query_id, "question_id": question.question_id,
                   "form": form_of(query.query_id), "level": question.level, "kind": question.kind,
                   "passage_id": question.passage_id, "verdict": "unscored",
                   "reason": "no answer row", "mode": "", "cut": is_cut,
                   "by_judge": judged.get((arm, query.query_id), "")}
            if final is not None:
                is_lost = is_cut and is_cut_away(question, query.context, short[query.query_id],
                                                 tables)
                row["mode"] = failure(question, final, read[question.passage_id], tables,
                                      query.query_id in truncated, tolerance, is_lost)
                row["verdict"], row["reason"] = _verdict(question, final, tables, tolerance)
                row |= word_scores(question.answer, final.text)
                texts[len(rows)] = (question.answer, final.text)
            rows.append(row)
    table = pd.DataFrame(rows, columns=SCORED)
    if bertscore_model and texts:
        scores = bert_scores(*zip(*texts.values(), strict=True), bertscore_model)
        table["bertscore"] = pd.Series(scores, index=list(texts), dtype=float)
    return table


def _verdict(question: TableQuestion, final: Final, grids: Mapping[str, Grid],
             tolerance: float) -> tuple[str, str]:
    if question.level == "hard":
        return "", "no rule scores an analysis"
    if final.missing:
        return "incorrect", final.missing
    is_correct, reason = assess(question, final.text, grids, tolerance)
    return "correct" if is_correct else "incorrect", reason


def arms_in_order(arms: Sequence[str] | Mapping[str, object]) -> list[str]:
    """Sort arms as every table does, with the reader that needs no model last."""
    return sorted(sorted_arms(list(arms)), key=lambda arm: arm == LEXICAL)


def accuracy_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per arm, level (easy, medium) and form, with `counted`'s columns and more.

    low and high are the interval over passages, NaN with one passage. cut counts the prompts whose
    passage lost its end. whole counts the scored answers to questions whose prompts were
    complete and answered in every form, and whole_correct the correct ones among them; on these,
    forms can be compared. by_judge counts the answers that the judge calls correct, out of judged.
    """
    is_lost = rows.cut | ((rows.verdict == "unscored") & (rows.form != RECALL))
    rows = rows.assign(whole=~is_lost.groupby([rows.arm, rows.question_id]).transform("any"))
    cells, keys = [], ["arm", "level", "form"]
    for _, cell in rows[rows.level != "hard"].groupby(keys, sort=False):
        counts = counted(cell.assign(cluster=cell.passage_id), keys).iloc[0].to_dict()
        done = cell[cell.verdict != "unscored"]
        is_correct = done.verdict == "correct"
        cells.append({**counts,
                      "cut": int(cell.cut.sum()), "whole": int(done.whole.sum()),
                      "whole_correct": int((is_correct & done.whole).sum()),
                      "by_judge": int((cell.by_judge == "correct").sum()),
                      "judged": int(cell.by_judge.isin(["correct", "incorrect"]).sum())})
    return pd.DataFrame(cells)


def form_shown(queries: Sequence[Query], form: str = "") -> str:
    """Return `form`, or the first form sent. Raises ValueError if `form` was not sent."""
    forms = list(dict.fromkeys(form_of(query.query_id) for query in queries if query.context))
    if form and form not in forms:
        raise ValueError(f"no passage has tables as {form!r}: choose from {', '.join(forms)}, or "
                         "add it to `forms` where the questions are made")
    return form or forms[0]


def word_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean word metrics by arm, level and form; n counts the answers."""
    answered = rows[rows.f1.notna()]
    return answered.groupby(["arm", "level", "form"], sort=False, as_index=False).agg(
        n=("f1", "size"), **{metric: (metric, "mean") for metric in (*WORD_METRICS, "bertscore")
                             if metric in answered})


def failure_table(rows: pd.DataFrame, questions: Sequence[TableQuestion],
                  form: str) -> pd.DataFrame:
    """Return `failures` of every arm over its answers on passages in one form."""
    answered = rows[(rows.form == form) & (rows["mode"] != "")]
    modes = {arm: dict(zip(cell.question_id, cell["mode"], strict=True))
             for arm, cell in answered.groupby("arm", sort=False)}
    return pd.concat([failures(arm, questions, found) for arm, found in modes.items()],
                     ignore_index=True)


def finals_of(queries: Sequence[Query], answers: Mapping[str, list[Answer]],
              form: str) -> dict[str, dict[str, Final]]:
    """Return arm -> question_id -> final answer on passages in one form, for `matches`."""
    return {arm: {question_id_of(query_id): final
                  for query_id, final in finals(queries, answers[arm]).items()
                  if form_of(query_id) == form} for arm in arms_in_order(answers)}


def shown_of(questions: Sequence[TableQuestion], passages: Sequence[Passage],
             grids: Sequence[Grid], filings: Sequence[Filing], form: str) -> dict[str, Shown]:
    """Return question_id -> what a model as judge sees, with the complete passage."""
    read, tables = by_id(passages), by_id(grids)
    sources = {filing.filing_id: source_of(filing) for filing in filings}
    texts = {key: serialized(read[key], tables, form)
             for key in {question.passage_id for question in questions}}
    return {one.question_id: Shown(texts[one.passage_id], sources[one.filing_id])
            for one in questions}


def asked_both_ways(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the easy questions, scored by the rule for figures."""
    easy = rows[(rows.level == "easy") & (rows.verdict != "unscored")]
    return easy.assign(cluster=easy.passage_id, right=easy.verdict == "correct")


def reading_and_learning(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per arm and form over the questions scored both ways; columns BOTH_WAYS.

    `rows` has one row per scored answer, with arm, question_id, form (how the passage was written,
    or RECALL), cluster and right. difference_points is recalled - read, with its 95% interval over
    clusters; p is from flipping the signs of whole clusters (see stats.sign_flip_p).
    """
    cells = []
    for arm in rows.arm.unique():
        of_arm = rows[rows.arm == arm]
        sides = of_arm.pivot(index="question_id", columns="form", values="right")
        cluster_of = rows.drop_duplicates("question_id").set_index("question_id").cluster
        for form in rows.form.unique():
            if form == RECALL or not {form, RECALL} <= {*sides}:
                continue
            pair = sides[[form, RECALL]].dropna().astype(bool)
            read, recalled = pair[form], pair[RECALL]
            change, clusters = recalled.astype(float) - read, cluster_of.reindex(pair.index)
            low, high = cluster_interval(change, clusters, 1) if len(pair) else (np.nan, np.nan)
            counts = [int(cell.sum()) for cell in (read & recalled, read & ~recalled,
                                                   recalled & ~read, ~read & ~recalled)]
            cells.append((arm, form, len(pair), *counts, 100 * (recalled.mean() - read.mean()),
                          100 * low, 100 * high, sign_flip_p(change, clusters)))
    return pd.DataFrame(cells, columns=BOTH_WAYS)


def with_published(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return our ratings and the paper's; source, arm, level, rating, low, high, elo and note."""
    ours = ratings.rename(columns={"bradley_terry": "rating"}).assign(source=OURS)
    theirs = PUBLISHED.assign(source="paper", rating=np.nan, low=np.nan, high=np.nan, note="")
    columns = ["source", "arm", "level", "rating", "low", "high", "elo", "note"]
    return pd.concat([ours[columns], theirs[columns]], ignore_index=True)


def answer(table: pd.DataFrame, form: str) -> str:
    """Return two sentences: the accuracy of easy and of medium questions in one form, by arm."""
    shown = table[table.form == form]
    easy, medium = ("; ".join(
        f"{row.arm} {percent(row.accuracy, row.low, row.high)}"
        for row in shown[shown.level == level].itertuples()) for level in ("easy", "medium"))
    return (f"With the tables as {form}, easy questions (find a figure) are answered correctly in "
            f"% [95% over passages]: {easy}. Medium questions (compute): {medium}.")


def accuracy_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format accuracy, one row per level and form, one column per arm.

    A cell reads "17/65 = 26.2% [17.0, 38.0]" and counts unscored and truncated prompts.
    """
    keys = ["level", "form"]
    texts = table.assign(text=[_accuracy_text(row) for row in table.itertuples()])
    wide = texts.pivot(index=keys, columns="arm", values="text")
    index = pd.MultiIndex.from_frame(table[keys].drop_duplicates())
    wide = wide.reindex(index=index, columns=table.arm.unique()).fillna(DASH)
    return wide.rename_axis(columns=None).reset_index()


def _accuracy_text(row) -> str:
    scored = row.n - row.unscored
    text = fraction(row.correct, scored, row.low, row.high, digits=1)
    if scored and row.unscored:
        text += f" ({row.unscored} unscored)"
    if row.whole < scored:
        text += f"; {row.cut} truncated, complete {row.whole_correct}/{row.whole}"
    return text


def ratings_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format ratings, one row per level and model, with the published ones below."""
    order = {level: place for place, level in enumerate((*LEVELS, ALL))}
    table = table.assign(is_theirs=table.source != OURS, place=table.level.map(order))
    table = table.sort_values(["is_theirs", "place"], kind="stable")
    return pd.DataFrame([{
        "source": row.source, "level": row.level, "model": row.arm,
        "Bradley–Terry [95%]": _rating(row), "sequential ELO": number(row.elo, ".0f"),
        "note": row.note} for row in table.itertuples()])


def _rating(row) -> str:
    if np.isnan(row.rating) and not np.isnan(row.low):
        return f"at least {row.low:.0f}" if np.isfinite(row.low) else f"at most {row.high:.0f}"
    return estimate(row.rating, row.low, row.high, digits=0).replace(
        f" [{DASH}]", "").replace("inf", "∞")


def numbers_formatted(table: pd.DataFrame, pattern: str = ".3f") -> pd.DataFrame:
    """Format a table with its floats by `pattern`; the column "arm" is called model."""
    return pd.DataFrame({("model" if name == "arm" else name.replace("_", " ")):
                         [number(value, pattern) for value in table[name]] for name in table})
