"""Whatever the tables, the advice says what is true of their numbers."""

import re

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.analyze.advice import gains, words
from lib.analyze.advice.gains import DERIVED, HERE, LABORATORY, LIKELY, ONCE, SURE
from lib.core.arms import ALL
from lib.core.records import STRUCTURES
from tests.analyze.advice.test_gains import BILL, COSTS, MIX

NOT_A_NUMBER = re.compile(r"\b(nan|inf)|--")
NUMBERS = r"([+-][\d.]+) \[([+-][\d.]+), ([+-][\d.]+)\]"
# tenths, so that what is printed is what is meant
POINTS = st.tuples(st.integers(-400, 400), st.integers(0, 300), st.integers(0, 300)).map(
    lambda values: tuple(round(value / 10, 1) for value in (
        values[0], values[0] - values[1], values[0] + values[2])))
NO_INTERVAL = POINTS.map(lambda values: (values[0], np.nan, np.nan))
NOTHING = st.just((np.nan, np.nan, np.nan))


@st.composite
def cells(draw, evidence: str, intervention: str) -> pd.DataFrame:
    """Return one change's gains, with numbers that may be missing."""
    p = draw(st.sampled_from([0.01, 0.05, 0.051, np.nan])) if evidence == LABORATORY else np.nan
    seeds, clusters = draw(st.sampled_from([1, 3])), draw(st.sampled_from([1, 2, 3, 20]))
    points = POINTS if clusters > 2 else NO_INTERVAL
    return pd.DataFrame([
        (intervention, evidence, structure, 0 if np.isnan(values[0]) else 9, clusters, seeds,
         *values, "", p) for structure in (*STRUCTURES, ALL)
        for values in [draw(points | NO_INTERVAL | NOTHING)]], columns=gains.GAINS)


@st.composite
def rankings(draw) -> pd.DataFrame:
    names = {HERE: ["normalized", "dapt-a"], LABORATORY: ["mixed", "verbalize", "repeat-header"]}
    tables = [draw(cells(evidence, name)) for evidence, given_ in names.items()
              for name in given_ if draw(st.booleans())]
    table = pd.concat(tables) if tables else pd.DataFrame(columns=gains.GAINS)
    if draw(st.booleans()):
        table = table.assign(p_holm=np.nan)
    costs_of = COSTS[COSTS.intervention.map(lambda _: draw(st.booleans()))]
    return gains.ranked(gains.on_my_mix(table, MIX), costs_of)


DIFFERENCES = st.tuples(POINTS | NO_INTERVAL | NOTHING, st.booleans()).map(
    lambda given_: pd.DataFrame([(ALL, 60, *given_[0])] * given_[1], columns=[
        "structure", "n", "difference_points", "low_points", "high_points"]))


@settings(max_examples=15)
@given(rankings(), DIFFERENCES, st.sampled_from(["rules", "gpt"]))
def test_what_to_do_first_is_true_of_its_numbers(ranked, added, normalizer):
    paragraphs = words.first(ranked, added, BILL, normalizer)
    text = " ".join(paragraphs)
    assert not NOT_A_NUMBER.search(text + words.cannot_tell(ranked, normalizer)), text
    for _, low, _ in re.findall(rf"gains {NUMBERS}", text):
        assert float(low) > 0, text
    for low, high in re.findall(r"\[(\S+), (\S+)\] points on all your queries; the interval incl",
                                text):
        assert float(low) <= 0 <= float(high), text
    by_start = {paragraph.split("**")[1]: paragraph for paragraph in paragraphs
                if paragraph.startswith("**")}
    here = ranked[ranked.evidence == HERE]
    helps = here[here.verdict.isin([SURE, ONCE])]
    firsts = [name for name in by_start if name.startswith("First: ")]
    assert firsts == [f"First: {words.what(name)}." for name in helps.intervention[:1]]
    assert ("Leave the documents as they are." in by_start) == (
        here.gain_points.notna().any() and not (here.high_points.isna() | here.high_points.ge(0))[
            here.gain_points.notna()].any())
    for _, low, high in re.findall(NUMBERS, by_start.get("Not this:", "")):
        assert float(low) <= float(high) <= 0
    for _, low, _ in re.findall(NUMBERS, by_start.get("A smaller step, not trained:", "")):
        assert float(low) >= 0 and ranked.verdict[ranked.evidence == DERIVED].eq(LIKELY).any()
    assert ("No query was scored" in text) == (len(here) > 0 and here.n.eq(0).all())
    assert ("one document or product" in text) <= here.clusters.eq(1).any()


@settings(max_examples=15)
@given(rankings())
def test_nothing_of_the_laboratory_helps_without_holms_p(ranked):
    rows = ranked[ranked.evidence == LABORATORY]
    helps = rows.verdict.isin([SURE, ONCE])
    sure = rows[helps]
    assert (sure.p_holm.le(0.05) & sure.low_points.gt(0) & sure.known_share.gt(0.999)).all()
    assert rows.p_holm.le(0.05)[rows.verdict == gains.HARMFUL].all()
    text = " ".join(words.first(ranked, pd.DataFrame(columns=["structure"]), BILL))
    said = re.search(r"(\d+) of (\d+) changes help: (.*)", text)
    assert bool(said) == helps.any()
    if said:
        assert (int(said[1]), int(said[2])) == (helps.sum(), len(rows))
    assert not NOT_A_NUMBER.search(words.formatted_ranked(ranked).to_string())


LEARNED = st.lists(POINTS | NO_INTERVAL | NOTHING, min_size=4, max_size=4)


@given(LEARNED, st.lists(POINTS | NO_INTERVAL | NOTHING, min_size=2, max_size=2),
       st.sampled_from([1, 3]))
def test_what_is_learned_is_true_of_its_numbers(levels, differences, seeds):
    spread = pd.DataFrame([(arm, structure, 20, seeds, *(abs(np.array(values)) / 100))
                           for arm in ("base", "dapt")
                           for structure, values in zip((*STRUCTURES, ALL), levels, strict=True)],
                          columns=["arm", "structure", "n", "seeds", "mean", "low", "high"])
    pairs = pd.DataFrame([(f"{name} – natural", 20, *values) for name, values in zip(
        STRUCTURES[1:], differences, strict=True)], columns=[
            "structure", "n", "difference_points", "low_points", "high_points"])
    text = words.learned(spread, pairs)
    assert not NOT_A_NUMBER.search(text), text
    assert text.count("so no difference is shown") == sum(
        low <= 0 <= high for _, low, high in differences)
    assert text.count("without an interval") == sum(
        np.isnan(low) and not np.isnan(value) for value, low, _ in differences)
    for structure, (mean, *_) in zip(STRUCTURES, levels, strict=False):
        assert (f"{structure} {abs(mean):.1f} [" in text) != np.isnan(mean)


@settings(max_examples=15)
@given(st.lists(st.integers(0, 5000), min_size=18, max_size=18))
def test_what_documents_are_made_of_adds_up(counts):
    tokens, statements, queries = np.array(counts).reshape(3, 6)
    kinds = ["prose", "list", "table", "code", "heading", "other"]
    table = pd.DataFrame({
        "kind": kinds, "structure": [*STRUCTURES, "", "", ""], "blocks": 1, "tokens": tokens,
        "text_share": tokens / max(1, tokens.sum()), "statements": statements,
        "statement_share": statements / max(1, statements.sum()), "queries": queries,
        "query_share": queries / max(1, queries.sum())})
    text = words.made_of(table)
    assert not NOT_A_NUMBER.search(text)
    assert text.startswith(f"The documents have {tokens.sum():,} tokens") and (
        f"{statements.sum():,} sentences" in text)
    assert all(f"{share:.1%} {kind}" in text for kind, share, count in zip(
        kinds, table.text_share, tokens, strict=True) if count)
