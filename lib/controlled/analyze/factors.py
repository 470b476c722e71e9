"""Examine other factors one at a time: list length, kind of value, section, distance, table size.

Within each level of a factor, structures are compared on the same facts. Two more tables give
tokens by structure and acquisition over the epochs.
"""

import re

import numpy as np
import pandas as pd

from lib.controlled.analyze.bases import ESTIMATE, estimated, mean_of, share
from lib.controlled.analyze.rows import MEASURES, Measure, matched, sorted_structures, within_fact
from lib.controlled.design.arms import RAW

FACTORS = ["factor", "level", "structure", "against", "n", "clusters", "bases", "accuracy", "low",
           "high", "interval", "n_difference", "difference", "difference_low", "difference_high",
           "difference_interval"]
ATTRIBUTE, DISTANCE, TABLE = "attribute", "tokens from the title", "table"
FILLERS = "lines below the title"
LENGTH, KIND, SECTION = "items of a list", "kind of value", "section"
PHRASINGS = "phrasings of a fact"
WORDS, AS_ASKED, OTHERWISE = "words of the prose", "the question's words", "other words"


def factors(rows: pd.DataFrame, reference: str = "natural") -> pd.DataFrame:
    """Return accuracy in percent by factor, level and structure, and its difference in points.

    Columns FACTORS. `against` names what is subtracted: within `raw`, the structure `reference` on
    the same facts and bases. Distance has no difference, because a fact's distance depends on the
    structure; a fact's distances are averaged over bases and cut into thirds. Arms far-N and
    table-WxH are levels of a factor; `raw` in the same rotations and bases is its first level and
    is subtracted from them, for a table arm only on facts that are tabular in `raw` too.
    """
    raw = rows[rows.arm == RAW]
    structures = sorted_structures(raw.structure, reference)
    levels = {LENGTH: raw.n_items[raw.n_items > 1].sort_values(),
              KIND: raw.kind[raw.n_items == 1].sort_values(),
              SECTION: raw.section.sort_values() + 1, DISTANCE: _thirds_of_distance(raw),
              ATTRIBUTE: raw.attribute.sort_values()}
    found = [_cell(raw.loc[cell.index], factor, str(level), structure, reference)
             for factor, each in levels.items() for level, cell in each.groupby(each, sort=False)
             for structure in structures]
    found += [*_phrasings(raw), *_words(raw)]
    arms = sorted(rows.arm.unique(), key=lambda arm: [int(n) for n in re.findall(r"\d+", arm)])
    found += [row for arm in arms for row in _arm_levels(rows, arm, reference)]
    table = pd.DataFrame(found, columns=FACTORS)
    return table.drop_duplicates(["factor", "level", "structure"], ignore_index=True)


def _thirds_of_distance(raw: pd.DataFrame) -> pd.Series:
    """Return the range of each row's third, such as "12–57", in ascending order of distance."""
    means = raw.groupby(["fact_id", "structure"]).distance_tokens.transform("mean").sort_values()
    thirds = np.searchsorted(means.quantile([1 / 3, 2 / 3]), means)
    ranges = means.groupby(thirds).agg(lambda each: f"{each.min():.0f}–{each.max():.0f}")
    return pd.Series(ranges.loc[thirds].array, means.index)


def _cell(rows: pd.DataFrame, factor: str, level: str, structure: str, reference: str) -> dict:
    cell = {"factor": factor, "level": level, "structure": structure, "against": "",
            **_accuracy(share(rows[rows.structure == structure]))}
    if structure == reference or factor == DISTANCE:
        return cell
    pairs, _ = within_fact(rows, MEASURES["correct"], structure, reference)
    return cell | {"against": reference} | _difference(estimated(pairs))


def _phrasings(raw: pd.DataFrame) -> list[dict]:
    """Return one level per number of wordings of a fact in prose (natural, prose-2, …), or none."""
    wordings = {name: re.fullmatch(r"prose-(\d+)", name) for name in raw.structure.unique()}
    levels = {int(found[1]): name for name, found in wordings.items() if found}
    if not levels or "natural" not in wordings:
        return []
    return [_cell(raw, PHRASINGS, str(level), name, "natural") | {"structure": "natural"}
            for level, name in sorted({1: "natural", **levels}.items())]


def _words(raw: pd.DataFrame) -> list[dict]:
    """Return prose with and prose without the question's own words; [] if either is missing.

    Which facts have these words was drawn at random. The two levels are different facts, so no
    difference is given.
    """
    prose = raw[raw.structure == "natural"]
    if prose.as_asked.nunique() < 2:
        return []
    return [{"factor": WORDS, "level": level, "structure": "natural", "against": "",
             **_accuracy(share(prose[prose.as_asked == is_asked]))}
            for level, is_asked in ((AS_ASKED, True), (OTHERWISE, False))]


def _accuracy(found: dict) -> dict:
    kept = ("n", "clusters", "bases", "low", "high", "interval")
    return {"accuracy": found["estimate"], **{key: found[key] for key in kept}}


def _difference(found: dict) -> dict:
    return {"n_difference": found["n"], "difference": found["estimate"],
            **{f"difference_{key}": found[key] for key in ("low", "high", "interval")}}


def _arm_levels(rows: pd.DataFrame, arm: str, reference: str) -> list[dict]:
    """Return rows for an arm that is a level and for `raw` in the same runs; [] for other arms."""
    level = re.fullmatch(r"(far|table)-(\d+(?:x\d+)?)", arm)
    pairs, _ = matched(rows, arm) if level else (pd.DataFrame(), 0)
    if pairs.empty:
        return []
    is_table = level[1] == "table"  # every fact of such an arm is in a table, whatever `raw` has
    factor, zero = (TABLE, RAW) if is_table else (FILLERS, "0")
    found = []
    structures = ["tabular"] if is_table else sorted_structures(pairs.structure, reference)
    for structure in structures:
        same = pairs[pairs.structure == structure]
        keys = {"factor": factor, "structure": structure}
        found += [keys | {"level": zero, "against": ""} | _accuracy(share(same, "first")),
                  keys | {"level": level[2], "against": RAW} | _difference(estimated(same))
                  | _accuracy(share(pairs if is_table else same, "second"))]
    return found


def tokens_by_structure(rows: pd.DataFrame, reference: str = "natural",
                        arm: str = RAW) -> pd.DataFrame:
    """Return tokens per fact: structure, n, tokens, then ratio and difference to `reference`.

    Each base has its own tokenizer. `tokens` and the difference within fact, with its interval, are
    means over bases.
    """
    rows = rows[rows.arm == arm]
    spans = Measure("tokens of a fact", "tokens", lambda each: each.span_tokens.astype(float), 1.0)
    found = []
    for structure in sorted_structures(rows.structure, reference):
        pairs, _ = within_fact(rows, spans, structure, reference)
        one, own = estimated(pairs, 1.0), rows[rows.structure == structure]
        found.append({"structure": structure, "n": own.fact_id.nunique(),
                      "tokens": mean_of(own, "span_tokens", 1.0),
                      "ratio": pairs.second.mean() / pairs["first"].mean(),
                      "difference": one["estimate"], "low": one["low"], "high": one["high"]})
    return pd.DataFrame(found)


def acquisition(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what is stored after each epoch; columns arm, structure, epoch, measure, ESTIMATE.

    `rows` is from rows.read_acquired. Measure "likeliest" is the percentage of reference answers
    whose every token is the argmax after the question and the tokens before it; "loglik" is in nats
    per token. Answers are generated after the last epoch only.
    """
    rows = rows.assign(loglik=rows.question_loglik / rows.question_tokens)
    found = []
    for (arm, structure, epoch), cell in rows.groupby(["arm", "structure", "epoch"]):
        keys = {"arm": arm, "structure": structure, "epoch": epoch}
        found += [keys | {"measure": "likeliest"} | share(cell, "question_argmax"),
                  keys | {"measure": "loglik"} | estimated(cell, 1.0, "loglik")]
    return pd.DataFrame(found, columns=["arm", "structure", "epoch", "measure", *ESTIMATE])
