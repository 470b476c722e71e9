"""The conclusion says what the tables say: effects, nulls with what they still allow, controls, and what is missing."""

import re

import pandas as pd

from lib.controlled.analyze.conclusion import LIMITS, conclusion
from lib.controlled.analyze.contrasts import contrasts
from lib.controlled.analyze.controls import known_effect, planted_control, shuffled_control
from lib.controlled.analyze.factors import factors, tokens_by_structure
from lib.controlled.analyze.interventions import beside, interventions
from tests.controlled.analyze.test_contrasts import outcomes_of
from tests.controlled.analyze.test_figures import GAINS, LEVELS, RAW, ROWS, diagonal

KNOWN = known_effect(RAW, draws=99)


def told(rows: pd.DataFrame, gains: pd.DataFrame | None = None, levels: pd.DataFrame = LEVELS) -> str:
    return conclusion(contrasts(rows, draws=199), tokens_by_structure(rows),
                      shuffled_control(rows, shuffles=5, draws=19), KNOWN,
                      planted_control(rows, draws=99), interventions(rows, draws=199) if gains is None else gains,
                      beside(rows, draws=199), levels)


def test_it_says_effects_nulls_controls_and_limits():
    text = told(ROWS, GAINS)
    found = contrasts(RAW, draws=199).query("measure == 'correct' and structure == 'tabular'").iloc[0]
    assert f"less often right as tabular than as natural: {found.estimate:+.1f} [{found.low:+.1f}, " in text
    assert "Of 5 shuffles" in text and "a 95% interval may miss" not in text
    assert re.search(r"- Planted, tabular .*\*\*not found\*\*", text)  # this planted arm has raw's own outcomes
    row = KNOWN.iloc[1]
    assert f"Known effect, {row.planted_points:+.1f} points of tabular answers made right among shuffled labels" in text
    assert f"{row.estimate:+.1f} [{row.low:+.1f}, {row.high:+.1f}] (Holm p" in text
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
    better = outcomes_of(30, 1, (0, 0, -0.4), base=0.6).query("rotation < 2")  # two of three: no p
    assert "is shown for want of a p, although the interval leaves out 0" in told(better, GAINS)
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


def test_arms_stand_beside_more_training_and_beside_prose():
    right = diagonal(RAW, "mixed", run_tokens=2200).assign(correct=True, as_asked=True)
    prose = RAW[RAW.rotation == 0].assign(arm="prose", structure="natural")
    rows = pd.concat([RAW, right, right.assign(arm="normalized"), diagonal(RAW, "raw-2x"), prose])
    text = told(rows)
    assert "Control: raw-2x (the raw text in more epochs, +100.0% tokens read in all)" in text
    assert "The question's own words stand in the text of 100% of these facts, in raw text of 0%." in text
    gain = 100 * (1 - diagonal(RAW, "").correct.mean())
    assert f"mixed less raw-2x, on the same facts and seeds: {gain:+.1f} [" in text
    assert "with +10.0% tokens: found" in text
    gain = 100 * (1 - prose.correct.mean())
    assert f"normalized less prose, on the same facts and seeds: {gain:+.1f} [" in text
    assert "Every section as prose, in the wordings of raw prose: +0.0 [–] points over raw" in text
    assert "largest estimate of 2" in text and "repeat-header" not in text


def test_repeated_headers_of_two_columns_are_called_so():
    text = told(pd.concat([RAW, diagonal(RAW, "repeat-header", run_tokens=1005)]))
    assert "no attribute's name" in text and "wide-table-repeated" in text and "for 1% more tokens" not in text


def test_one_seed_finds_nothing():
    rows = outcomes_of(30, 1, effects=(0, 0, -0.4), base=0.6)
    text = told(pd.concat([rows, rows.assign(arm="mixed", correct=True)]))
    assert "less often right" not in text and "mixed gains" not in text
    assert "no difference is shown that other seeds need repeat, although these trainings differ by p" in text


def test_secondary_measures_have_their_own_numbers():
    lost = RAW.drop(RAW.index[(RAW.structure == "tabular") & (RAW.n_items > 1)][:2])
    text = told(lost)
    line = next(line for line in text.split("\n") if line.startswith("- Items named"))
    assert line.count("n = 36 facts") == 2 and line.count("2 of 108 pairs left out") == 1
    assert "These measures are secondary" in text
