"""Interventions and factors: rows are matched as designed and cells are the means by hand."""

import numpy as np
import pandas as pd
import pytest

from lib.controlled.analyze import formatted
from lib.controlled.analyze.factors import (
    DISTANCE,
    FILLERS,
    KIND,
    LENGTH,
    PHRASINGS,
    SECTION,
    TABLE,
    WORDS,
    factors,
    tokens_by_structure,
)
from lib.controlled.analyze.interventions import arm_pairs, interventions, role
from lib.controlled.analyze.rows import matched
from tests.controlled.analyze.made_up import (
    NORMALIZED,
    PROSE,
    RAW,
    ROWS,
    cell,
    diagonal,
    outcomes_of,
)

GAINS, LEVELS = interventions(ROWS), factors(ROWS)


def test_gains_are_matched_in_the_same_rotation_and_seed():
    row = cell(GAINS, arm="normalized", structure="tabular")
    right = NORMALIZED[NORMALIZED.structure == "tabular"]
    before = RAW.merge(right[["fact_id", "rotation", "seed"]])
    assert row.gain_points == pytest.approx(100 * (1 - before.correct.mean()))
    assert (row.pairs, row.left_out, row.accuracy_arm) == (len(right), 0, 100)
    assert row.seeds == row.bases == 3
    assert row.tokens_added_percent == pytest.approx(50)
    assert row.points_per_percent == pytest.approx(row.gain_points / 50)
    assert cell(GAINS, arm="normalized", structure="natural").gain_points == 0
    assert np.isnan(cell(GAINS, arm="far-5", structure="all").points_per_percent)  # no token added
    assert cell(GAINS, arm="normalized", structure="all").hypotheses == GAINS.arm.nunique()
    assert "+50.0%" in formatted.interventions(GAINS).to_string()


def test_an_outcome_without_its_raw_run_is_counted():
    alone = pd.concat([RAW[RAW.seed == 1], NORMALIZED])
    pairs, left_out = matched(alone, "normalized")
    assert (len(pairs), left_out) == (108, 216)
    table = interventions(alone)
    assert "216 without raw" in formatted.interventions(table).to_string()


def test_epochs_count_as_tokens_and_few_tokens_have_no_ratio():
    better = diagonal(RAW, "prefix-name", trained_tokens=1009, correct=True)
    table = interventions(pd.concat([RAW, diagonal(RAW, "raw-2x", trained_tokens=2000), better]))
    twice, few = (cell(table, arm=arm, structure="all") for arm in ("raw-2x", "prefix-name"))
    assert twice.tokens_added_percent == pytest.approx(100) and twice.points_per_percent == 0
    assert few.tokens_added_percent == pytest.approx(0.9) and np.isnan(few.points_per_percent)


def test_the_share_in_the_questions_words_is_that_of_the_matched_facts():
    raw = RAW.assign(as_asked=RAW.structure == "natural")
    table = interventions(pd.concat([raw, diagonal(raw, "mixed", as_asked=True)]))
    row, tabular = (cell(table, arm="mixed", structure=name) for name in ("all", "tabular"))
    assert row.as_asked_raw_percent == pytest.approx(100 / 3) and row.as_asked_arm_percent == 100
    assert tabular.as_asked_raw_percent == 0
    assert "33% → 100%" in formatted.interventions(table).to_string()


def test_prose_is_matched_in_any_rotation_and_other_arms_in_their_own():
    twice = diagonal(RAW, "raw-2x", trained_tokens=2000)
    rows = pd.concat([RAW, NORMALIZED, PROSE, twice, NORMALIZED.assign(arm="mixed")])
    pairs, left_out = matched(rows, "normalized", "prose")
    assert len(pairs) == len(NORMALIZED) and left_out == 0 and "rotation" not in pairs
    table = arm_pairs(rows)
    assert list(table.second) == ["mixed", "normalized"]
    assert list(table.tokens_added_percent) == pytest.approx([-25, 50])
    mean = NORMALIZED.correct.mean()
    assert list(table.estimate) == pytest.approx(
        [100 * (mean - twice.correct.mean()), 100 * (mean - PROSE.correct.mean())])
    assert "prose → normalized" in formatted.arm_pairs(table).to_string()
    assert arm_pairs(RAW).empty and formatted.arm_pairs(arm_pairs(RAW)).empty


def test_roles():
    arms = ("mixed", "raw-2x", "planted-json", "far-20", "table-3x5", "low-context", "prose",
            "prefix-name")
    assert [role(arm)[0] for arm in arms] == ["i", "c", "c", "f", "f", "f", "f", "i"]


def test_levels_by_hand():
    lists = RAW[(RAW.n_items == 3) & (RAW.structure == "tabular")]
    row = cell(LEVELS, factor=LENGTH, level="3", structure="tabular")
    assert row.accuracy == pytest.approx(100 * lists.correct.mean())
    assert (row.n, row.against) == (lists.fact_id.nunique(), "natural")
    prose = RAW[(RAW.n_items == 3) & (RAW.structure == "natural")]
    assert row.difference == pytest.approx(row.accuracy - 100 * prose.correct.mean())
    names = {factor: list(LEVELS.level[LEVELS.factor == factor].unique())
             for factor in (LENGTH, SECTION, FILLERS)}
    assert names == {LENGTH: ["2", "3", "4"], SECTION: ["1", "2", "3"], FILLERS: ["0", "5", "20"]}
    assert LEVELS.difference[LEVELS.factor == DISTANCE].isna().all()
    assert set(LEVELS.n[LEVELS.factor == KIND]) == {36}  # lists do not have a kind of their own
    far = cell(LEVELS, factor=FILLERS, level="20", structure="natural")
    assert (far.against, far.difference) == ("raw", 0)
    table = cell(LEVELS, factor=TABLE, level="3x20", structure="tabular")
    assert (table.n, table.n_difference) == (108, 36)
    assert "raw (n = 36)" in formatted.factors(LEVELS).to_string()


def test_wordings_of_prose_are_levels_of_one_line():
    rows = outcomes_of(6, 1, (0, 0, 0.3), structures=("natural", "tabular", "prose-4"))
    several = factors(rows).query("factor == @PHRASINGS")
    assert list(several.level) == ["1", "4"] and set(several.structure) == {"natural"}
    means = 100 * rows.groupby("structure").correct.mean()
    assert several.difference.iloc[1] == pytest.approx(means["prose-4"] - means["natural"])
    assert not (LEVELS.factor == PHRASINGS).any()


def test_prose_in_the_questions_words_is_compared_with_other_prose():
    as_asked = RAW.structure.eq("natural") & RAW.fact_id.str.endswith("1")
    table = factors(RAW.assign(as_asked=as_asked, correct=RAW.correct & ~as_asked))
    first, second = table[table.factor == WORDS].itertuples()
    assert (first.level, first.accuracy) == ("the question's words", 0.0)
    assert first.n == as_asked.sum() / RAW.seed.nunique()
    others = RAW[RAW.structure.eq("natural") & ~as_asked]
    assert second.accuracy == pytest.approx(100 * others.correct.mean())
    assert not (LEVELS.factor == WORDS).any()


def test_tokens_are_compared_within_fact_and_averaged_over_the_seeds_tokenizers():
    table = tokens_by_structure(RAW.assign(span_tokens=RAW.span_tokens + (RAW.seed - 2)))
    assert list(table.tokens) == [10, 11, 12] and list(table.difference) == [0, 1, 2]
    assert list(table.ratio) == [1, 1.1, 1.2]
