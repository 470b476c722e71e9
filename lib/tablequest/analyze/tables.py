"""What a study of TableQuest shows: tables of accuracy, words, failures, lengths, and reading beside learning."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd

from lib.analyze.stats import cluster_interval
from lib.analyze.tables import accuracy
from lib.core.arms import ALL, sorted_arms
from lib.core.records import Answer, Query, Verdict
from lib.tablequest.analyze.accuracy import TOLERANCE, assess, word_scores
from lib.tablequest.analyze.failures import failure, failures, is_cut_away
from lib.tablequest.analyze.matches import Shown
from lib.tablequest.ask.prompts import RECALL, form_of, question_id_of, source_of
from lib.tablequest.ask.reader import ARM as LEXICAL
from lib.tablequest.ask.replies import Final, finals
from lib.tablequest.ask.serialize import serialized
from lib.tablequest.records import LEVELS, Filing, Grid, Passage, TableQuestion

WORD_METRICS = ("exact_match", "f1", "bleu", "rouge_l")
SCORED = ["arm", "query_id", "question_id", "form", "level", "kind", "passage_id", "verdict", "reason", "mode",
          "cut", "by_judge", *WORD_METRICS]
# As the paper prints them: other models and other questions, so that they show no more than what its scale looks like.
PUBLISHED = pd.DataFrame([
    ("GPT-4o (baseline)", "all", 1000.0), ("GPT-4 Turbo", "all", 1164.35), ("Llama-3.1-70B", "all", 869.27),
    ("Llama-3.1-70B", "easy", 880.19), ("Llama-3.1-70B", "medium", 1008.80), ("Llama-3.1-70B", "hard", 703.98),
    ("Gemini-1.5 Pro", "easy", 967.86), ("Gemini-1.5 Pro", "hard", 779.98), ("Gemini-1.5 Flash", "easy", 880.19),
    ("Gemini-1.5 Flash", "hard", 779.98)], columns=["arm", "level", "elo"])


def scored(questions: Sequence[TableQuestion], queries: Sequence[Query], answers: Mapping[str, list[Answer]],
           passages: Sequence[Passage], grids: Sequence[Grid], verdicts: Sequence[Verdict] = (),
           tolerance: float = TOLERANCE, cut: Mapping[str, Sequence[Query]] = MappingProxyType({})) -> pd.DataFrame:
    """One row an arm and query, columns SCORED: verdict by lib.tablequest.analyze.accuracy, mode, word metrics 0 to 1.

    `cut` is arm -> the queries whose passage lost its end before that arm was asked, as they were asked (column cut).
    A query without an answer row is unscored with NaN metrics and mode ""; a hard one has the verdict "", since no
    rule scores it. by_judge is the verdict of 05_judge, "" where there is none. Raises ValueError as `finals` does.
    """
    asked, read = {one.question_id: one for one in questions}, {one.passage_id: one for one in passages}
    tables = {grid.grid_id: grid for grid in grids}
    judged = {(row.arm, row.query_id): row.verdict for row in verdicts}
    rows = []
    for arm in arms_in_order(answers):
        found = finals(queries, answers[arm])
        truncated = {row.query_id for row in answers[arm] if row.truncated}
        short = {query.query_id: query.context for query in cut.get(arm, ())}
        for query in queries:
            question = asked[question_id_of(query.query_id)]
            named = (arm, query.query_id, question.question_id, form_of(query.query_id), question.level, question.kind,
                     question.passage_id)
            final = found.get(query.query_id)
            is_cut, by_judge = query.query_id in short, judged.get((arm, query.query_id), "")
            if final is None:
                rows.append((*named, "unscored", "no answer row", "", is_cut, by_judge, *[np.nan] * len(WORD_METRICS)))
                continue
            is_lost = is_cut and is_cut_away(question, query.context, short[query.query_id], tables)
            mode = failure(question, final, read[question.passage_id], tables, query.query_id in truncated, tolerance,
                           is_lost)
            rows.append((*named, *_verdict(question, final, tables, tolerance), mode, is_cut, by_judge,
                         *word_scores(question.answer, final.text).values()))
    return pd.DataFrame(rows, columns=SCORED)


def arms_in_order(arms: Sequence[str] | Mapping[str, object]) -> list[str]:
    """As in every table, the reader without a model last."""
    return sorted(sorted_arms(list(arms)), key=lambda arm: arm == LEXICAL)


def accuracy_table(rows: pd.DataFrame, resamples: int = 2000, seed: int = 17) -> pd.DataFrame:
    """One row an arm, level (easy, medium) and form: n, correct, unscored, accuracy, low, high as lib.analyze.tables has them.

    low and high are Wilson's, which take questions as independent; cluster_low and cluster_high draw passages, NaN
    where nothing varies. cut counts the prompts that lost their passage's end. whole counts the scored answers to
    questions whose prompts were uncut and answered in every form, whole_correct the right ones of these: on them forms
    compare. by_judge counts what 05_judge calls correct, of judged.
    """
    cells, is_lost = [], rows.cut | ((rows.verdict == "unscored") & (rows.form != RECALL))
    rows = rows.assign(whole=~is_lost.groupby([rows.arm, rows.question_id]).transform("any"))
    for (arm, level, form), cell in rows[rows.level != "hard"].groupby(["arm", "level", "form"], sort=False):
        done = cell[cell.verdict != "unscored"]
        low, high = cluster_interval((done.verdict == "correct").astype(float), done.passage_id, resamples=resamples,
                                     seed=seed) if len(done) else (np.nan, np.nan)
        cells.append({"arm": arm, "level": level, "form": form, **accuracy(cell.verdict), "cluster_low": low,
                      "cluster_high": high, "cut": int(cell.cut.sum()), "whole": int(done.whole.sum()),
                      "whole_correct": int((done.verdict[done.whole] == "correct").sum()),
                      "by_judge": int((cell.by_judge == "correct").sum()),
                      "judged": int(cell.by_judge.isin(["correct", "incorrect"]).sum())})
    return pd.DataFrame(cells)


def cut_table(rows: pd.DataFrame) -> pd.DataFrame:
    """arm, prompts (with a passage, of all levels), cut, unanswered: what an arm's window did to its prompts."""
    read = rows[rows.form != RECALL]
    return read.assign(unanswered=read["mode"] == "").groupby("arm", sort=False, as_index=False).agg(
        prompts=("cut", "size"), cut=("cut", "sum"), unanswered=("unanswered", "sum"))


def form_shown(queries: Sequence[Query], form: str = "") -> str:
    """`form`, or the first in which passages were asked. Raises ValueError where none was asked in `form`."""
    forms = list(dict.fromkeys(form_of(query.query_id) for query in queries if query.context))
    if form and form not in forms:
        raise ValueError(f"no passage was asked with tables as {form!r}: choose from {', '.join(forms)}, or add it to "
                         "serializations of 01_questions.ipynb")
    return form or forms[0]


def word_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean word metrics by arm, level and form, n being the answers that are there."""
    there = rows[rows.f1.notna()]
    return there.groupby(["arm", "level", "form"], sort=False, as_index=False).agg(
        n=("f1", "size"), **{metric: (metric, "mean") for metric in WORD_METRICS})


def failure_table(rows: pd.DataFrame, questions: Sequence[TableQuestion], form: str) -> pd.DataFrame:
    """lib.tablequest.analyze.failures.failures of every arm, for the answers on passages in one form."""
    there = rows[(rows.form == form) & (rows["mode"] != "")]
    return pd.concat([failures(arm, questions, dict(zip(cell.question_id, cell["mode"], strict=True)))
                      for arm, cell in there.groupby("arm", sort=False)], ignore_index=True)


def finals_of(queries: Sequence[Query], answers: Mapping[str, list[Answer]], form: str) -> dict[str, dict[str, Final]]:
    """arm -> question_id -> its final answer on passages in one form, for lib.tablequest.analyze.matches.matches."""
    return {arm: {question_id_of(query_id): final for query_id, final in finals(queries, answers[arm]).items()
                  if form_of(query_id) == form} for arm in arms_in_order(answers)}


def shown_of(questions: Sequence[TableQuestion], passages: Sequence[Passage], grids: Sequence[Grid],
             filings: Sequence[Filing], form: str) -> dict[str, Shown]:
    """question_id -> what a judge that is a model sees beside the answers: the whole passage, uncut."""
    read, tables = {one.passage_id: one for one in passages}, {one.grid_id: one for one in grids}
    sources = {filing.filing_id: source_of(filing) for filing in filings}
    texts = {key: serialized(read[key], tables, form) for key in {question.passage_id for question in questions}}
    return {one.question_id: Shown(texts[one.passage_id], sources[one.filing_id]) for one in questions}


def length_table(queries: Sequence[Query], questions: Sequence[TableQuestion],
                 tokens_of: Callable[[list[str]], list[int]] | None = None) -> pd.DataFrame:
    """Prompt lengths by level and form: n, then median, mean and longest in characters, words and, if counted, tokens.

    A word is what stands between blanks, of which HTML has few.
    """
    levels = {question.question_id: question.level for question in questions}
    read = [query for query in queries if query.context]
    rows = pd.DataFrame([(levels[question_id_of(query.query_id)], form_of(query.query_id), len(query.context),
                          len(query.context.split())) for query in read],
                        columns=["level", "form", "characters", "words"])
    if tokens_of:
        rows["tokens"] = tokens_of([query.context for query in read])
    measures = {f"{name}_{unit}": (unit, how) for unit in ("characters", "words", "tokens") if unit in rows
                for name, how in (("median", "median"), ("mean", "mean"), ("longest", "max"))}
    return rows.groupby(["level", "form"], sort=False, as_index=False).agg(n=("words", "size"), **measures)


def asked_both_ways(rows: pd.DataFrame) -> pd.DataFrame:
    """The easy questions as lib.reading.both_ways compares them, by this module's rules: numbers within the tolerance count."""
    easy = rows[(rows.level == "easy") & (rows.verdict != "unscored")]
    return easy.assign(cluster=easy.passage_id, right=easy.verdict == "correct")


def beside_published(ratings: pd.DataFrame) -> pd.DataFrame:
    """Ours and the paper's ratings, a row each: source, arm, level, rating, low, high, elo."""
    ours = ratings.rename(columns={"bradley_terry": "rating"}).assign(source="this study")
    theirs = PUBLISHED.assign(source="paper", rating=np.nan, low=np.nan, high=np.nan)
    columns = ["source", "arm", "level", "rating", "low", "high", "elo"]
    return pd.concat([ours[columns], theirs[columns]], ignore_index=True)


def accuracy_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """A row a level and form, a column an arm: "17/65 = 26.2% [17.0, 38.0]", and what was whole where not all was."""
    texts = table.assign(text=[
        "–" if row.n == row.unscored else
        f"{row.correct}/{row.n - row.unscored} = {row.accuracy:.1%} [{100 * row.low:.1f}, {100 * row.high:.1f}]"
        + (f" ({row.unscored} unscored)" if row.unscored else "")
        + (f"; {row.cut} cut, whole {row.whole_correct}/{row.whole}" if row.whole < row.n - row.unscored else "")
        for row in table.itertuples()])
    wide = texts.pivot(index=["level", "form"], columns="arm", values="text").reindex(columns=table.arm.unique())
    wide = wide.reindex(pd.MultiIndex.from_frame(table[["level", "form"]].drop_duplicates())).fillna("–").reset_index()
    wide.columns.name = None
    return wide


def ratings_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """Ratings as text, a row a level and model, the published ones below."""
    def interval(middle: float, low: float, high: float) -> str:
        return "–" if np.isnan(middle) else f"{middle:.0f}" + ("" if np.isnan(low) else f" [{low:.0f}, {high:.0f}]")

    order = {level: place for place, level in enumerate((*LEVELS, ALL))}
    table = table.sort_values(["source", "level"], key=lambda column: column.map(order) if column.name == "level"
                              else column != "this study", kind="stable")
    return pd.DataFrame([{"source": row.source, "level": row.level, "model": row.arm,
                          "Bradley–Terry [95%]": interval(row.rating, row.low, row.high),
                          "sequential ELO": interval(row.elo, np.nan, np.nan)} for row in table.itertuples()])


def numbers_for_reading(table: pd.DataFrame, **shown: str) -> pd.DataFrame:
    """A table with its numbers as text: shares and means with three decimals, or as `shown` formats a column."""
    return pd.DataFrame({("model" if name == "arm" else name.replace("_", " ")): [
        "–" if isinstance(value, float) and np.isnan(value) else format(value, shown.get(
            name, ".3f" if isinstance(value, float) else "")) for value in table[name]] for name in table})


def _verdict(question: TableQuestion, final: Final, grids: Mapping[str, Grid], tolerance: float) -> tuple[str, str]:
    if question.level == "hard":
        return "", "no rule scores an analysis"
    if final.missing:
        return "incorrect", final.missing
    outcome = assess(question, final.text, grids, tolerance)
    return "correct" if outcome.is_correct else "incorrect", outcome.reason
