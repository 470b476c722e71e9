"""The conclusion states what the tables contain, for the runs here and for any numbers."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.controlled.analyze.bases import EXPLORATORY, decided, over_bases
from lib.controlled.analyze.conclusion import (
    _OWN_FACTS,
    _SAME_FACTS,
    LIMITS,
    _allowed,
    _comparisons,
    _controls,
    _facts,
    _interventions,
    _measures,
    _structures,
    conclusion,
)
from lib.controlled.analyze.contrasts import contrasts
from lib.controlled.analyze.controls import known_effect, planted_control, shuffled_control
from lib.controlled.analyze.factors import factors, tokens_by_structure
from lib.controlled.analyze.interventions import arm_pairs, interventions
from tests.controlled.analyze.made_up import RAW, ROWS, cell, diagonal, outcomes_of
from tests.controlled.analyze.test_factors import LEVELS

MANY = outcomes_of(6, 6, (0, 0, -0.35), base=0.6, own_facts=True)
ARMS = pd.concat([
    MANY, diagonal(MANY, "raw-2x", trained_tokens=2000),
    *(diagonal(MANY, arm, trained_tokens=2200, correct=True, as_asked=True)
      for arm in ("mixed", "normalized")), MANY[MANY.rotation == 0].assign(arm="prose")])


def concluded(rows: pd.DataFrame, levels: pd.DataFrame = LEVELS, primary: tuple = ()) -> str:
    text = conclusion(contrasts(rows, primary=primary), tokens_by_structure(rows),
                      shuffled_control(rows, shuffles=5), known_effect(rows, primary=primary),
                      planted_control(rows, primary=primary), interventions(rows, primary=primary),
                      arm_pairs(rows, primary=primary), levels)
    assert "nan" not in re.findall(r"\w+", text)
    return text


def test_it_states_effects_controls_and_limits():
    text = concluded(pd.concat([ARMS, diagonal(MANY, "planted-tabular")]))
    row = cell(contrasts(MANY), contrast="tabular - natural")
    assert f"as tabular than as natural: {row.estimate:+.1f} [{row.low:+.1f}, " in text
    assert f"6 bases, SD between bases {row.sd_bases:.1f}" in text
    assert "Of 5 shuffles" in text and _OWN_FACTS in text and _SAME_FACTS not in text
    planted = next(line for line in text.split("\n") if line.startswith("- Planted, tabular"))
    assert planted.endswith("**not found** (the bases do not differ).")  # its outcomes are raw
    known = known_effect(MANY).iloc[1]
    assert f"Known effect, {known.planted_points:+.1f} points of tabular" in text
    gain = cell(interventions(ARMS), arm="normalized", structure="all").gain_points
    assert f"normalized gains {gain:+.1f} [" in text and "with +120.0% tokens" in text
    assert "10.0 as natural" in text and all(limit in text for limit in LIMITS)


def test_a_null_states_what_its_interval_allows():
    rows = outcomes_of(12, effects=(0, 0, 0), noise=5)
    text, row = concluded(rows), contrasts(rows).iloc[0]
    assert f"entity-list against natural: {row.estimate:+.1f} [" in text
    assert f"allows a loss of {-row.low:.1f} and a gain of {row.high:.1f} points." in text
    assert "No structure is shown to be learned better or worse than natural" in text
    assert "no effect was planted in training" in text and _SAME_FACTS in text


@pytest.mark.parametrize("rows", [
    RAW[(RAW.rotation == 0) & (RAW.seed == 1)], ARMS[ARMS.seed == 1],
    outcomes_of(6, 1).assign(correct=False)])
def test_with_one_base_nothing_is_found_and_the_reason_is_given(rows):
    text = concluded(rows, factors(rows))
    assert "a test needs pairs in two bases" in text and "often answered" not in text
    assert ": found" not in text and " gains " not in text.split("**What this design")[0]
    if rows.rotation.nunique() > 1:
        assert "there is no interval (one base), so nothing is concluded" in text
    else:
        assert "tabular against natural: no pair to compare" in text


def test_arms_are_compared_with_more_training_and_with_prose():
    text = concluded(ARMS)
    assert "Control: raw-2x (the raw text in more epochs, +100.0% tokens read in all)" in text
    assert "in the text of 100% of these facts, in raw text of 0%." in text
    pairs = arm_pairs(ARMS)
    for row in pairs.itertuples():
        assert f"{row.second} minus {row.first}, on the same facts and bases: " \
               f"{row.estimate:+.1f} [" in text
    assert "with +10.0% tokens: found" in text
    assert "repeat-header" not in text and "wide-table-repeated" in concluded(
        pd.concat([RAW, diagonal(RAW, "repeat-header", trained_tokens=1005)]))


def test_what_is_not_primary_is_exploratory_and_never_found():
    text = concluded(ARMS, primary=("tabular - natural", "mixed"))
    assert "mixed gains " in text and "less often answered correctly as tabular" in text
    assert re.search(r"- normalized: .*exploratory, so nothing is concluded", text)
    assert re.search(r"- entity-list against natural: .* \(uncorrected, exploratory\)", text)
    assert not re.search(r"- normalized minus prose.*: found", text)


def test_secondary_measures_have_their_own_numbers():
    lost = RAW.drop(RAW.index[(RAW.structure == "tabular") & (RAW.n_items > 1)][:2])
    line = next(line for line in concluded(lost).split("\n") if line.startswith("- Items named"))
    assert line.count("n = 36 facts") == 2 and line.count("2 of 108 pairs left out") == 1


# What every generator says is true of any numbers.
VALUES = st.lists(st.floats(-40, 40).map(lambda value: round(value, 2)), min_size=1, max_size=5)
NUMBER = r"([+-]?\d+\.\d)"


@st.composite
def tables(draw, keys: tuple[str, ...]) -> pd.DataFrame:
    """Draw a decided table with a row per key: any values of any bases, with or without primary."""
    rows = [{"contrast": key, **over_bases(pd.Series(draw(VALUES), dtype=float))} for key in keys]
    table = pd.DataFrame(rows).assign(
        n=9, clusters=3, pairs=9, left_out=0, tokens_added_percent=draw(st.floats(-50, 200)),
        as_asked_raw_percent=0.0, as_asked_arm_percent=50.0, as_asked_first_percent=0.0,
        as_asked_second_percent=50.0, mean_reference=40.0, mean_structure=50.0)
    chosen = draw(st.lists(st.sampled_from(keys), unique=True))
    p = dict(zip(table.contrast, table.p, strict=True))
    return decided(table, ["one"] * len(keys), {key: p[key] for key in chosen})


def check(line: str, row) -> None:
    """Fail if a sentence about a row says anything of it that is not so."""
    assert "nan" not in re.findall(r"\w+", line)
    assert row.found or not re.search(r"often answered|: found|; found| gains \+| loses ", line)
    ends = "–" if np.isnan(row.low) else f"{row.low:+.1f}, {row.high:+.1f}"
    lost = f"loses {-row.estimate:.1f} [{-row.high:.1f}, {-row.low:.1f}]"
    assert f"{row.estimate:+.1f} [{ends}]" in line or (row.estimate < 0 and lost in line)
    if allowed := re.search(r"allows (.*) points\.", line):
        assert not row.found and (row.low < 0) == ("a loss of" in allowed[1])
        assert (row.high > 0) == ("a gain of" in allowed[1]) and "of -" not in allowed[1]
    assert ("no interval" in line) == bool(np.isnan(row.low))
    is_apart = row.low > 0 or row.high < 0
    assert is_apart or "excludes 0" not in line
    assert ("exploratory" in line) == (row.family == EXPLORATORY)
    if row.family == EXPLORATORY:
        assert "Holm" not in line and (np.isnan(row.p) or "uncorrected" in line)
    elif not np.isnan(row.p):
        assert f"Holm's over {row.hypotheses}" in line
    assert ("SD between bases" in line) == (row.bases > 1)


@settings(max_examples=15, deadline=None)
@given(tables(("tabular - natural", "entity-list - natural")))
def test_sentences_on_structures_are_true_of_any_numbers(table):
    table = table.assign(measure="correct", unit="points", reference="natural",
                         structure=["tabular", "entity-list"])
    lines = [line for line in _structures(table) if not line.startswith("No structure")]
    for line, row in zip(lines, table.itertuples(), strict=True):
        check(line, row)
        assert ("less often" in line) == (row.found and row.estimate < 0)
        assert ("more often" in line) == (row.found and row.estimate > 0)
    assert any(line.startswith("No structure") for line in _structures(table)) != table.found.any()
    secondary = _measures(table.assign(measure="unreached"))[0]
    for part, row in zip(secondary.split(": ", 1)[1].split(" facts; "), table.itertuples(),
                         strict=False):
        assert f"{row.structure} {row.estimate:+.1f} [" in part
    assert len(re.findall(r"; found\)", secondary)) == table.found.sum()
    same, own = table.assign(pairs=table.n * table.bases), table.assign(pairs=table.n)
    is_several = int((table.bases > 1).any())
    assert _facts(own) == [_OWN_FACTS] * is_several and _facts(same) == [_SAME_FACTS] * is_several


@settings(max_examples=15, deadline=None)
@given(tables(("normalized", "mixed", "verbalize", "raw-2x", "prose")))
def test_sentences_on_arms_are_true_of_any_numbers(table):
    table = table.assign(arm=table.contrast, structure="all", role=[*["intervention"] * 3,
                         "control", "factor"], points_per_percent=0.1)
    treated = table[table.role == "intervention"]
    lines = _interventions(table)
    is_gain = treated.found & (treated.estimate > 0)
    is_tested = (treated.family != EXPLORATORY).any()
    assert (lines[0].startswith("No intervention that") == (is_tested and not is_gain.any()))
    for row in treated.itertuples():
        (line,) = (line for line in lines if re.match(rf"{row.arm}[: ]", line))
        check(line, row)
        assert (" gains " in line) == (row.found and row.estimate > 0)
        assert (" loses " in line) == (row.found and row.estimate < 0)
    largest = [line for line in lines if line.startswith("The largest")]
    assert len(largest) == is_gain.any()
    for line in largest:
        named = re.search(r"that of (\S+);", line)[1]
        assert cell(table, arm=named).estimate == treated.estimate.max()
    control, prose = _comparisons(table, pd.DataFrame())
    check(control, cell(table, arm="raw-2x"))
    check(prose, cell(table, arm="prose"))


def test_what_an_interval_allows_is_said_only_of_what_is_not_found():
    row = SimpleNamespace(found=False, low=-1.0, high=3.0)
    assert "a loss of 1.0 and a gain of 3.0" in _allowed(row)
    assert not _allowed(SimpleNamespace(found=True, low=13.1, high=19.4))


@settings(max_examples=15, deadline=None)
@given(tables(("mixed - raw-2x", "normalized - prose")))
def test_sentences_on_pairs_of_arms_are_true_of_any_numbers(table):
    pairs = table.assign(second=["mixed", "normalized"], first=["raw-2x", "prose"])
    lines = _comparisons(interventions(RAW).rename(columns={"gain_points": "estimate"}), pairs)
    for line, row in zip(lines, pairs.itertuples(), strict=True):
        check(line, row)
        assert (": found" in line) == row.found


@settings(max_examples=15, deadline=None)
@given(tables(("planted", "known")), st.integers(0, 200), st.booleans())
def test_sentences_on_controls_are_true_of_any_numbers(table, below, is_held):
    rows = table.assign(structure="tabular", reference="natural", gain_planted=9.0, gain_others=1.0,
                        planted_points=10.0, is_held=is_held)
    shuffled = rows.iloc[:1].assign(shuffles=200, p_below=below, p_below_low=below / 200 - 0.01,
                                    p_below_high=below / 200 + 0.01)
    lines = _controls(shuffled, rows.iloc[1:], rows.iloc[:1])
    assert f"in {below} ({below / 200:.1%}" in lines[0]
    assert ("**not the 5%" in lines[0]) == (not 8 <= below <= 12)
    known, planted = lines[1], lines[2]
    assert ("**not found**" in planted) == (not rows.found[0])
    assert ("**not found**" in known) == (not rows.found[1])
    assert ("interval includes" in known) == is_held
    nothing = _controls(shuffled[:0], rows[:0], rows[:0])
    assert len(nothing) == 1 and nothing[0].startswith("Not checked: no labels were shuffled")


def test_interventions_of_the_runs_here_are_described():
    text = concluded(ROWS)
    row = cell(interventions(ROWS), arm="normalized", structure="all")
    assert ("normalized gains" in text) == row.found
