"""Log-likelihoods by structure: gains, registered contrasts, documents that the base knew."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.linear_model import OLS

from lib.analyze import logliks
from lib.core.records import STRUCTURES

RNG = np.random.default_rng(3)
GAINS = {"base": (0, 0, 0), "dapt": (2, 0, 1), "dapt@2": (2.2, 0, 1.2), "dapt-n": (2.1, 0, 0)}
ROWS = pd.DataFrame(
    [
        (arm, f"q{n}", [*STRUCTURES][n % 3], n // 6, -4 + gains[n % 3] + RNG.normal(0, 0.1), np.nan)
        for arm, gains in GAINS.items()
        for n in range(60)
    ],
    columns=["arm", "query_id", "structure", "cluster", *logliks.WAYS],
)


def test_a_gain_is_over_the_base_on_the_same_answers():
    table = logliks.logliks_table(ROWS).set_index(["arm", "structure"])
    assert table.question["base", "natural"] == pytest.approx(-4, abs=0.1)
    row = table.loc["dapt", "natural"]
    assert row.question_gain == pytest.approx(2, abs=0.1) and row.question_gain_low > 1.8
    assert table.n["dapt", "all"] == 60
    assert np.isnan([table.question_gain["base", "all"], table.cloze["dapt", "all"]]).all()


def test_contrasts_find_known_effects_as_a_regression_with_clusters_does():
    registered = "dapt - base: tabular - natural", "dapt-n - dapt: tabular+entity-list"
    table = logliks.contrasts(ROWS, [*registered, "dapt-n - base: tabular"])
    assert list(table.estimate) == pytest.approx([-1.0, -0.55, 0], abs=0.1)
    assert list(table.n) == [40, 40, 20] and (table.clusters == 10).all()
    assert list(table.p_holm < 0.01) == [True, True, False]
    wide = ROWS.assign(arm=ROWS.arm.str.removesuffix("@2")).pivot_table(
        index=["structure", "cluster", "query_id"], columns="arm", values="question"
    )
    used = wide.drop("entity-list").reset_index()
    fit = OLS(
        used["dapt"] - used["base"],
        np.column_stack([np.ones(40), used.structure == "tabular"]),
    ).fit(cov_type="cluster", cov_kwds={"groups": used.cluster}, use_t=True)
    assert table.estimate[0] == pytest.approx(fit.params.iloc[1])
    width = table.high[0] - table.low[0]
    assert width == pytest.approx(np.diff(fit.conf_int().iloc[1])[0], rel=0.15)


def test_an_interval_counts_the_seeds_or_says_that_there_is_one():
    registered = ["dapt - base: natural", "dapt-n - dapt: natural"]
    both, lone = logliks.contrasts(ROWS, registered).itertuples()
    assert both.covers == "documents and seeds" and both.by_seed == pytest.approx([2, 2.2], abs=0.1)
    parts = np.array([both.by_seed]).std(ddof=1) ** 2 / 2
    assert (both.high - both.low) / 2 > 4 * parts**0.5  # t of about one degree of freedom
    assert lone.covers == logliks.ONE_SEED
    [alone] = logliks.contrasts(ROWS, ["dapt-x - base: natural", registered[1]]).itertuples()
    assert alone.p_holm == pytest.approx(min(1, 2 * alone.p)), "of a family of two"
    with pytest.raises(ValueError, match="'tables' is unknown; choose among natural"):
        logliks.contrasts(ROWS, ["dapt - base: tables"])
    seeds = [
        ROWS[ROWS.arm == "dapt"].assign(arm=f"{arm}@{n}", question=ROWS.question + n)
        for arm in ("dapt", "dapt-x")
        for n in (3, 4, 5)
    ]
    alike = pd.concat([ROWS, *seeds])
    [paired] = logliks.contrasts(alike, ["dapt-x - dapt: natural"]).itertuples()
    assert paired.by_seed == pytest.approx([0, 0, 0]), "the seeds that both have"
