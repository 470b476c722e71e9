"""The conclusion says what the tables say: effects, nulls with what they still allow, controls, and what is missing."""

import re

import pandas as pd
from test_controlled_contrasts import outcomes_of
from test_controlled_figures import GAINS, LEVELS, RAW, ROWS

from lib.controlled.analysis_controls import planted_control, shuffled_control
from lib.controlled.analysis_factors import factors, tokens_by_structure
from lib.controlled.conclusion import LIMITS, conclusion
from lib.controlled.contrasts import contrasts
from lib.controlled.interventions_table import interventions


def told(rows: pd.DataFrame, gains: pd.DataFrame | None = None, levels: pd.DataFrame = LEVELS) -> str:
    return conclusion(contrasts(rows, draws=199), tokens_by_structure(rows),
                      shuffled_control(rows, shuffles=5, draws=19), planted_control(rows, draws=99),
                      interventions(rows, draws=199) if gains is None else gains, levels)


def test_it_says_effects_nulls_controls_and_limits():
    text = told(ROWS, GAINS)
    found = contrasts(RAW, draws=199).query("measure == 'correct' and structure == 'tabular'").iloc[0]
    assert f"less often right as tabular than as natural: {found.estimate:+.1f} [{found.low:+.1f}, " in text
    assert "of 5 shuffles" in text and "**not found**" in text  # this planted arm has raw's own outcomes
    gain = GAINS[(GAINS.arm == "normalized") & (GAINS.structure == "all")].iloc[0]
    assert f"normalized gains {gain.gain_points:+.1f} [" in text and "with +50.0% tokens" in text
    assert "10.0 as natural" in text and all(limit in text for limit in LIMITS)
    assert "nan" not in re.findall(r"\w+", text)


def test_a_null_is_a_null_with_what_its_interval_allows():
    text = told(outcomes_of(12, effects=(0, 0, 0), noise=5))
    row = contrasts(outcomes_of(12, effects=(0, 0, 0), noise=5), draws=199).iloc[0]
    assert f"entity-list against natural: no difference is shown, {row.estimate:+.1f} [" in text
    assert f"The interval still allows a loss of {-row.low:.1f} and a gain of {row.high:.1f} points." in text
    assert "No structure is shown to be learned better or worse than natural" in text
    assert "no effect was planted, because no arm planted-… was run" in text


def test_an_intervention_that_does_nothing_is_said_to():
    rows = outcomes_of(12)
    same = outcomes_of(12, noise=9, tokens=1100).assign(arm="mixed")
    text = told(pd.concat([rows, same]))
    assert "None of 1 interventions is shown to gain over raw text." in text
    assert re.search(r"- mixed: no gain is shown, .* \+10\.0% tokens\. The interval still allows ", text)


def test_one_run_alone_claims_nothing():
    alone = RAW[(RAW.rotation == 0) & (RAW.seed == 1)]
    text = told(alone, levels=factors(alone))
    assert "tabular against natural: no pair to compare" in text and "the labels could not be shuffled" in text
    assert "nan" not in re.findall(r"\w+", text)


def test_answers_that_are_all_wrong_claim_nothing():
    text = told(outcomes_of(6, 1).assign(correct=False))
    assert "no interval, so nothing is told" in text and "nothing varies: 0 of" in text
    assert "the interval holds none: nothing varies between products" in text


def test_a_p_without_an_interval_that_holds_other_seeds_is_said_to_be_half():
    rows = outcomes_of(20, 2, (0, 0, 0))
    is_luck = (rows.structure == "tabular") & (rows.seed == 1)  # one seed alone learns tables
    text = told(rows.assign(correct=rows.correct | is_luck))
    assert "tabular against natural: no difference is shown that other seeds need repeat" in text
