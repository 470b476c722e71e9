"""Log-likelihoods by structure: gains, registered contrasts, documents that the base knew."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.linear_model import OLS

from lib.analyze import logliks
from lib.core.records import Loss
from lib.core.structures import STRUCTURES

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
    assert table.question_gain["dapt", "natural"] == pytest.approx(2, abs=0.1)
    assert table.question_gain_low["dapt", "entity-list"] < 0.1 and table.n["dapt", "all"] == 60
    assert np.isnan([table.question_gain["base", "all"], table.cloze["dapt", "all"]]).all()


def test_contrasts_find_known_effects_as_a_regression_with_clusters_does():
    table = logliks.contrasts(
        ROWS,
        [
            "dapt - base: tabular - natural",
            "dapt-n - dapt: tabular+entity-list",
            "dapt-n - base: tabular",
        ],
    )
    assert list(table.estimate) == pytest.approx([-1.0, -0.55, 0], abs=0.1)
    assert list(table.n) == [40, 40, 20] and (table.clusters == 10).all()
    assert list(table.p_holm < 0.01) == [True, True, False]
    wide = ROWS.assign(arm=ROWS.arm.str.removesuffix("@2")).pivot_table(
        index=["structure", "cluster", "query_id"], columns="arm", values="question"
    )
    used = wide.drop("entity-list").reset_index()
    fit = OLS(
        used["dapt"] - used["base"], np.column_stack([np.ones(40), used.structure == "tabular"])
    ).fit(cov_type="cluster", cov_kwds={"groups": used.cluster}, use_t=True)
    assert table.estimate[0] == pytest.approx(fit.params.iloc[1])
    assert table.high[0] - table.low[0] == pytest.approx(
        np.diff(fit.conf_int().iloc[1])[0], rel=0.15
    )


def test_a_document_is_known_by_its_text_or_by_its_answers():
    verdicts = pd.DataFrame(
        {
            "arm": "base",
            "cluster": [*"aaaabbbb"],
            "verdict": ["correct"] * 2 + ["incorrect"] * 5 + ["unscored"],
        }
    )
    losses = [
        Loss(document_id=name, arm="base", loglik=loglik, n_tokens=100)
        for name, loglik in (("a", -300), ("b", -310), ("c", -50))
    ]
    table = logliks.known_table(verdicts, losses, -1.0, 0.25).set_index("document")
    assert table.known.to_dict() == {"a": True, "b": False, "c": True}
    assert table.loc["a", ["n", "answered", "loglik"]].tolist() == [4, 2, -3.0]
