"""What else may decide: list length, kind of value, section, distance, attribute, size of a table; tokens; acquisition.

One factor at a time, within each of its levels structure against structure on the same facts.
"""

import re

import numpy as np
import pandas as pd

from lib.analyze.format import in_points
from lib.controlled.analyze.interventions import matched
from lib.controlled.analyze.rows import (
    ESTIMATE,
    MEASURES,
    RAW,
    Measure,
    estimated,
    in_order_of_structure,
    share,
    within_fact,
)

FACTORS = ["factor", "level", "structure", "against", "n", "clusters", "seeds", "accuracy", "low", "high", "interval",
           "n_difference", "difference", "difference_low", "difference_high", "difference_interval"]
ATTRIBUTE, DISTANCE, FILLERS, TABLE = "attribute", "tokens from the title", "lines below the title", "table"
LENGTH, KIND, SECTION, PHRASINGS = "items of a list", "kind of value", "section", "phrasings of a fact"
WORDS, AS_ASKED, OTHERWISE = "words of the prose", "the question's words", "other words"
_CUT = (1 / 3, 2 / 3)  # the distance is cut into thirds


def factors(rows: pd.DataFrame, reference: str = "natural") -> pd.DataFrame:
    """Accuracy in percent by factor, level and structure, and its difference to what it is `against`, in points.

    Within `raw` the difference is to `reference` on the same facts and seeds. The distance has none: a fact is not
    equally far in all structures; its tokens are averaged over the seeds, whose tokenizers differ. Prose in several
    wordings (prose-2, …) has levels too, and prose by its words. Arms far-N and table-WxH are levels of a factor each,
    beside `raw` in the same rotations and seeds as level 0 (`raw`); their difference is to `raw`, a table's on the
    facts that are tabular there too. Columns FACTORS; see analysis_rows.share and estimated for the intervals.
    """
    raw = rows[rows.arm == RAW]
    by_distance = raw.groupby(["fact_id", "structure"]).distance_tokens.transform("mean").sort_values()
    thirds = np.searchsorted(by_distance.quantile(list(_CUT)), by_distance)
    ranges = by_distance.groupby(thirds).agg(lambda each: f"{each.min():.0f}–{each.max():.0f}")
    levels = {LENGTH: raw.n_items[raw.n_items > 1].sort_values(), KIND: raw.kind[raw.n_items == 1].sort_values(),
              SECTION: raw.section.sort_values() + 1, DISTANCE: pd.Series(ranges.loc[thirds].array, by_distance.index),
              ATTRIBUTE: raw.attribute.sort_values()}
    found = [_cell(raw.loc[cell.index], factor, str(level), structure, reference)
             for factor, of_it in levels.items() for level, cell in of_it.groupby(of_it, sort=False)
             for structure in in_order_of_structure(raw.structure, reference)]
    found += [*_phrasings(raw), *_words(raw)]
    arms = sorted(rows.arm.unique(), key=lambda arm: [int(number) for number in re.findall(r"\d+", arm)])
    found += [row for arm in arms for row in _arm_levels(rows, arm, reference)]
    table = pd.DataFrame(found, columns=FACTORS)
    return table.drop_duplicates(["factor", "level", "structure"], ignore_index=True)


def _cell(rows: pd.DataFrame, factor: str, level: str, structure: str, reference: str) -> dict:
    cell = {"factor": factor, "level": level, "structure": structure, "against": ""} | _accuracy(
        share(rows[rows.structure == structure]))
    if structure == reference or factor == DISTANCE:
        return cell
    pairs, _ = within_fact(rows, MEASURES["correct"], structure, reference)
    return cell | {"against": reference} | _difference(estimated(pairs, 100.0))


def _phrasings(raw: pd.DataFrame) -> list[dict]:
    """Prose that says each fact in 1, 2, … wordings (natural, prose-2, …), as levels of one line; none without both."""
    wordings = {name: re.fullmatch(r"prose-(\d+)", name) for name in raw.structure.unique()}
    levels = {int(found[1]): name for name, found in wordings.items() if found}
    if not levels or "natural" not in wordings:
        return []
    return [_cell(raw, PHRASINGS, str(level), name, "natural") | {"structure": "natural"}
            for level, name in sorted({1: "natural", **levels}.items())]


def _words(raw: pd.DataFrame) -> list[dict]:
    """Prose that has the question's own words beside other prose; none without both. Which fact has them was drawn.

    These are other facts, so that there is no difference within fact.
    """
    prose = raw[raw.structure == "natural"]
    if prose.as_asked.nunique() < 2:
        return []
    return [{"factor": WORDS, "level": level, "structure": "natural", "against": ""}
            | _accuracy(share(prose[prose.as_asked == is_so]))
            for level, is_so in ((AS_ASKED, True), (OTHERWISE, False))]


def _accuracy(found: dict) -> dict:
    return {key: found[key] for key in ("n", "clusters", "seeds", "low", "high", "interval")} | {
        "accuracy": found["estimate"]}


def _difference(found: dict) -> dict:
    return {"n_difference": found["n"], "difference": found["estimate"], "difference_low": found["low"],
            "difference_high": found["high"], "difference_interval": found["interval"]}


def _arm_levels(rows: pd.DataFrame, arm: str, reference: str) -> list[dict]:
    """Rows of an arm that is a level of a factor, and of `raw` in the same runs; none for other arms."""
    level = re.fullmatch(r"(far|table)-(\d+(?:x\d+)?)", arm)
    pairs, _ = matched(rows, arm) if level else (pd.DataFrame(), 0)
    if pairs.empty:
        return []
    is_table = level[1] == "table"  # then every fact stands in a table, whatever it stands in in `raw`
    factor, zero = (TABLE, RAW) if is_table else (FILLERS, "0")
    found = []
    for structure in ["tabular"] if is_table else in_order_of_structure(pairs.structure, reference):
        same = pairs[pairs.structure == structure]
        keys = {"factor": factor, "structure": structure}
        found += [keys | {"level": zero, "against": ""} | _accuracy(share(same, "first")),
                  keys | {"level": level[2], "against": RAW} | _difference(estimated(same, 100.0))
                  | _accuracy(share(pairs if is_table else same, "second"))]
    return found


def tokens_by_structure(rows: pd.DataFrame, reference: str = "natural", arm: str = RAW) -> pd.DataFrame:
    """Tokens that a fact takes in its structure: structure, n, tokens, then ratio and difference to `reference`.

    A fact's text is the same for every seed, but each seed has a tokenizer of its own: its tokens are averaged over the
    seeds. The difference is within fact, with its interval over products.
    """
    rows = rows[rows.arm == arm].groupby(["fact_id", "product", "structure"], as_index=False).span_tokens.mean()
    rows = rows.assign(seed=0)
    spans = Measure("tokens of a fact", "tokens", lambda each: each.span_tokens.astype(float), 1.0)
    found = []
    for structure in in_order_of_structure(rows.structure, reference):
        pairs, _ = within_fact(rows, spans, structure, reference)
        one = estimated(pairs, 1.0)
        own = rows[rows.structure == structure]
        found.append({"structure": structure, "n": len(own), "tokens": own.span_tokens.mean(), "ratio":
                      pairs.second.mean() / pairs["first"].mean(), "difference": one["estimate"], "low": one["low"],
                      "high": one["high"]})
    return pd.DataFrame(found)


def acquisition(rows: pd.DataFrame) -> pd.DataFrame:
    """What is learned after each epoch: arm, structure, epoch, measure (likeliest: percent; loglik: nats), ESTIMATE.

    `rows` is of analysis_rows.read_acquired: a reference answer counts as likeliest where each of its tokens is the
    likeliest after the question and the tokens before it; answers are generated at the end alone.
    """
    rows = rows.assign(loglik=rows.question_loglik / rows.question_tokens)
    found = []
    for (arm, structure, epoch), cell in rows.groupby(["arm", "structure", "epoch"]):
        keys = {"arm": arm, "structure": structure, "epoch": epoch}
        found += [keys | {"measure": "likeliest"} | share(cell, "question_argmax"),
                  keys | {"measure": "loglik"} | estimated(cell, 1.0, "loglik")]
    return pd.DataFrame(found, columns=["arm", "structure", "epoch", "measure", *ESTIMATE])


def factors_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`factors` as text, a row a factor, level and structure."""
    return pd.DataFrame([{
        "factor": row.factor, "level": row.level, "structure": row.structure,
        "facts (products), seeds": f"{row.n} ({row.clusters}), {row.seeds}",
        "accuracy, % [95%]": percent_text(row.accuracy, row.low, row.high),
        "against": f"{row.against} (n = {row.n_difference:.0f})" if row.against else "–",
        "difference, points [95%]": in_points(row.difference, row.difference_low, row.difference_high)}
        for row in table.itertuples()])


def tokens_for_reading(table: pd.DataFrame) -> pd.DataFrame:
    """`tokens_by_structure` as text."""
    return pd.DataFrame([{
        "structure": row.structure, "facts": f"{row.n}", "tokens a fact": f"{row.tokens:.1f}",
        "of the reference's": "–" if np.isnan(row.ratio) else f"{row.ratio:.0%}",
        "difference, tokens [95%]": in_points(row.difference, row.low, row.high)}
        for row in table.itertuples()])


def percent_text(value: float, low: float, high: float) -> str:
    """"31.5 [26.0, 37.0]", and what is not known as a dash."""
    if np.isnan(value):
        return "–"
    return f"{value:.1f} " + ("[–]" if np.isnan(low) else f"[{low:.1f}, {high:.1f}]")
