"""The conclusion states what the tables contain: effects, nulls, controls and what is missing."""

import re

import pandas as pd

from lib.controlled.analyze.conclusion import LIMITS, conclusion
from lib.controlled.analyze.contrasts import contrasts
from lib.controlled.analyze.controls import known_effect, planted_control, shuffled_control
from lib.controlled.analyze.factors import factors, tokens_by_structure
from lib.controlled.analyze.interventions import arm_pairs, interventions
from tests.controlled.analyze.made_up import PROSE, RAW, ROWS, cell, diagonal, outcomes_of
from tests.controlled.analyze.test_factors import GAINS, LEVELS

KNOWN = known_effect(RAW, draws=99)


def concluded(rows: pd.DataFrame, gains: pd.DataFrame | None = None,
              levels: pd.DataFrame = LEVELS) -> str:
    if gains is None:
        gains = interventions(rows, draws=199)
    text = conclusion(contrasts(rows, draws=199), tokens_by_structure(rows),
                      shuffled_control(rows, shuffles=5, draws=19), KNOWN,
                      planted_control(rows, draws=99), gains, arm_pairs(rows, draws=199), levels)
    assert "nan" not in re.findall(r"\w+", text)
    return text


def test_it_states_effects_controls_and_limits():
    text = concluded(ROWS, GAINS)
    row = cell(contrasts(RAW, draws=199), measure="correct", structure="tabular")
    assert f"as tabular than as natural: {row.estimate:+.1f} [{row.low:+.1f}, " in text
    assert "Of 5 shuffles" in text and "may miss" not in text
    assert re.search(r"- Planted, tabular .*\*\*not found\*\*", text)  # its outcomes are raw
    known = KNOWN.iloc[1]
    assert f"Known effect, {known.planted_points:+.1f} points of tabular" in text
    assert f"{known.estimate:+.1f} [{known.low:+.1f}, {known.high:+.1f}] (Holm p" in text
    gain = cell(GAINS, arm="normalized", structure="all").gain_points
    assert f"normalized gains {gain:+.1f} [" in text and "with +50.0% tokens" in text
    assert "10.0 as natural" in text and all(limit in text for limit in LIMITS)


def test_a_null_states_what_its_interval_allows():
    rows = outcomes_of(12, effects=(0, 0, 0), noise=5)
    text = concluded(rows)
    row = contrasts(rows, draws=199).iloc[0]
    assert f"entity-list against natural: no difference is shown, {row.estimate:+.1f} [" in text
    assert f"still allows a loss of {-row.low:.1f} and a gain of {row.high:.1f} points." in text
    assert "No structure is shown to be learned better or worse than natural" in text
    assert "no effect was planted, because no arm planted-… was run" in text


def test_an_intervention_without_effect_is_a_null():
    text = concluded(pd.concat([RAW, outcomes_of(12, noise=9, tokens=1100).assign(arm="mixed")]))
    assert "None of 1 interventions is shown to gain over raw text." in text
    assert re.search(r"- mixed: no gain is shown, .* \+10\.0% tokens\. The interval still allows ",
                     text)


def test_a_single_run_claims_nothing():
    alone = RAW[(RAW.rotation == 0) & (RAW.seed == 1)]
    text = concluded(alone, levels=factors(alone))
    assert "tabular against natural: no pair" in text and "labels could not be shuffled" in text
    better = outcomes_of(30, 1, (0, 0, -0.4), base=0.6).query("rotation < 2")  # two of three: no p
    assert "because there is no p, although the interval excludes 0" in concluded(better, GAINS)


def test_answers_that_are_all_wrong_claim_nothing():
    text = concluded(outcomes_of(6, 1).assign(correct=False))
    assert "no interval, so nothing is concluded" in text and "nothing varies: 0 of" in text
    assert "interval covers none: nothing varies between products" in text


def test_a_p_without_an_interval_over_seeds_is_not_enough():
    rows = outcomes_of(20, 2, (0, 0, 0))
    is_luck = (rows.structure == "tabular") & (rows.seed == 1)  # one seed alone learns tables
    text = concluded(rows.assign(correct=rows.correct | is_luck))
    assert "tabular against natural: no difference is shown that other seeds would repeat" in text
    one_seed = outcomes_of(30, 1, effects=(0, 0, -0.4), base=0.6)
    text = concluded(pd.concat([one_seed, one_seed.assign(arm="mixed", correct=True)]))
    assert "less often" not in text and "mixed gains" not in text
    assert "that other seeds would repeat, although p distinguishes these trainings" in text


def test_arms_are_compared_with_more_training_and_with_prose():
    right = diagonal(RAW, "mixed", run_tokens=2200, correct=True, as_asked=True)
    text = concluded(pd.concat([RAW, right, right.assign(arm="normalized"),
                                diagonal(RAW, "raw-2x"), PROSE]))
    assert "Control: raw-2x (the raw text in more epochs, +100.0% tokens read in all)" in text
    assert "in the text of 100% of these facts, in raw text of 0%." in text
    gain = 100 * (1 - diagonal(RAW, "").correct.mean())
    assert f"mixed minus raw-2x, on the same facts and seeds: {gain:+.1f} [" in text
    assert "with +10.0% tokens: found" in text
    gain = 100 * (1 - PROSE.correct.mean())
    assert f"normalized minus prose, on the same facts and seeds: {gain:+.1f} [" in text
    assert "Every section as prose, in the wordings of raw prose: +0.0 [–] points over raw" in text
    assert "largest estimate of 2" in text and "repeat-header" not in text


def test_repeated_headers_of_two_columns_are_qualified():
    text = concluded(pd.concat([RAW, diagonal(RAW, "repeat-header", run_tokens=1005)]))
    assert "wide-table-repeated" in text and "1% more tokens" not in text


def test_secondary_measures_have_their_own_numbers():
    lost = RAW.drop(RAW.index[(RAW.structure == "tabular") & (RAW.n_items > 1)][:2])
    text = concluded(lost)
    line = next(line for line in text.split("\n") if line.startswith("- Items named"))
    assert line.count("n = 36 facts") == 2 and line.count("2 of 108 pairs left out") == 1
    assert "These measures are secondary" in text
