"""Measure the prompts against each model's context window: lengths and truncation."""

import json
from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from lib.analyze.format import DASH, fraction
from lib.core.arms import is_trained
from lib.core.files import artifact_path
from lib.core.paths import data_path, model_source
from lib.core.records import RECALL, Query
from lib.infer.window import window_of
from lib.tasks.tablequest.ask.prompts import form_of, question_id_of
from lib.tasks.tablequest.records import TableQuestion


def prompt_lengths(queries: Sequence[Query], questions: Sequence[TableQuestion],
                   tokens_of: Callable[[list[str]], list[int]] | None = None) -> pd.DataFrame:
    """Return one row per prompt with a passage: level, form, and its length in each unit.

    The units are characters, words (separated by whitespace, which is rare in HTML) and, with
    `tokens_of`, tokens.
    """
    levels = {question.question_id: question.level for question in questions}
    read = [query for query in queries if query.context]
    rows = pd.DataFrame([(levels[question_id_of(query.query_id)], form_of(query.query_id),
                          len(query.context), len(query.context.split())) for query in read],
                        columns=["level", "form", "characters", "words"])
    return rows.assign(tokens=tokens_of([query.context for query in read])) if tokens_of else rows


def length_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `prompt_lengths` by level and form: n, then median, mean and longest in each unit."""
    measures = {f"{name}_{unit}": (unit, how) for unit in rows.columns[2:]
                for name, how in (("median", "median"), ("mean", "mean"), ("longest", "max"))}
    return rows.groupby(["level", "form"], sort=False, as_index=False).agg(
        n=("words", "size"), **measures)


def cut_table(rows: pd.DataFrame, models: Mapping[str, Mapping] | None = None) -> pd.DataFrame:
    """Return each arm with its model, its window and what that did to its prompts.

    Columns arm, model, window, reply (both in tokens), prompts (those with a passage, of all
    levels), cut, unanswered. `models` is what `models_as_run` returned.
    """
    read = rows[rows.form != RECALL].assign(unanswered=rows["mode"] == "")
    table = read.groupby("arm", sort=False, as_index=False).agg(
        prompts=("cut", "size"), cut=("cut", "sum"), unanswered=("unanswered", "sum"))
    for place, name in enumerate(("model", "window", "reply"), 1):
        table.insert(place, name, [(models or {}).get(arm, {}).get(name) for arm in table.arm])
    return table


def models_as_run(study: str) -> dict[str, dict[str, object]]:
    """Return arm -> its model, window and reply's budget, from the records of notebook 04_infer.

    A value is None if it is unknown or does not apply: an endpoint has no window unless one was
    named, and the rules have none. An arm whose notebook was run by hand has no record.
    """
    found = {}
    for path in sorted(data_path(study, "stages", "*").parent.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if not record["notebook"].endswith("04_infer.ipynb"):
            continue
        used = {**record["defaulted"], **record["given"]}
        found |= {arm: _as_run(study, arm, used) for arm in used["arms"]}
    return found


def _as_run(study: str, arm: str, used: dict) -> dict[str, object]:
    if used["reader"] != "model":
        return {"model": "none: rules match words", "window": used["window"] or None, "reply": None}
    name, source = used["base_model"], model_source(used["base_model"])
    if is_trained(arm):
        name, source = f"{name}, trained", str(artifact_path(study, "model", arm=arm))
    window = used["window"] or (None if used["endpoint_model"] else _window(source))
    return {"model": used["endpoint_model"] or name, "window": window,
            "reply": used["max_read_tokens"]}


def _window(source: str) -> int | None:
    try:
        return window_of(source)
    except (OSError, ValueError):  # the model was moved, or its hub cannot be reached
        return None


def cut_formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format the table of `cut_table`; truncated prompts have their share."""
    def shown(value: object) -> str:
        return DASH if pd.isna(value) else f"{value:,.0f}"

    return pd.DataFrame([{
        "arm": row.arm, "model": row.model or DASH, "window (tokens)": shown(row.window),
        "for the reply": shown(row.reply), "truncated": fraction(row.cut, row.prompts, digits=1),
        "unanswered": f"{row.unanswered}/{row.prompts}"} for row in table.itertuples()])
