"""Log-likelihoods by structure: gains, registered contrasts, documents that the base knew."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.linear_model import OLS

from lib.analyze import logliks
from lib.core.records import Loss, Query, Score
from lib.tasks.spark import structures  # noqa: F401 (registers them)

RNG = np.random.default_rng(3)
QUERIES = [Query(query_id=f"q{n}", document_id=f"d{n // 6}", question="?", answer="1",
                 structure=("natural", "entity-list", "tabular")[n % 3], source_reference="",
                 start=0, end=0, entity_count=None, block_type="") for n in range(60)]
CLUSTERS = {query.query_id: query.document_id for query in QUERIES}


def scores(arm: str, gain: dict[str, float]) -> list[Score]:
    """Return scores that are known but for noise: -4 nats a token, and a gain by structure."""
    return [Score(query_id=one.query_id, arm=arm, question_tokens=2, question_argmax=False,
                  question_loglik=2 * (-4 + gain.get(one.structure, 0) + RNG.normal(0, 0.1)),
                  cloze_loglik=None, cloze_tokens=None, cloze_argmax=None, cloze_missing="x")
            for one in QUERIES]


ROWS = logliks.scored(QUERIES, [
    *scores("base", {}), *scores("dapt", {"natural": 2.0, "tabular": 1.0}),
    *scores("dapt@2", {"natural": 2.2, "tabular": 1.2}), *scores("dapt-n", {"natural": 2.1})],
    CLUSTERS)


def test_a_gain_is_over_the_base_on_the_same_answers():
    table = logliks.logliks_table(ROWS).set_index(["arm", "structure"])
    assert table.question["base", "natural"] == pytest.approx(-4, abs=0.1)
    assert table.question_gain["dapt", "natural"] == pytest.approx(2, abs=0.1)
    assert table.question_gain_low["dapt", "entity-list"] < 0.1 and table.n["dapt", "all"] == 60
    assert np.isnan([table.question_gain["base", "all"], table.cloze["dapt", "all"]]).all()


def test_contrasts_find_known_effects_as_a_regression_with_clusters_does():
    table = logliks.contrasts(ROWS, [
        "dapt - base: tabular - natural", "dapt-n - dapt: tabular+entity-list",
        "dapt-n - base: tabular"]).set_index("contrast")
    assert list(table.estimate) == pytest.approx([-1.0, -0.55, 0], abs=0.1)
    assert list(table.n) == [40, 40, 20] and (table.clusters == 10).all()
    assert list(table.p_holm < 0.01) == [True, True, False]
    wide = ROWS.assign(arm=ROWS.arm.str[:5].str.rstrip("@")).pivot_table(
        index=["query_id", "structure", "cluster"], columns="arm", values="question").reset_index()
    used = wide[wide.structure != "entity-list"]
    fit = OLS(used["dapt"] - used["base"], np.column_stack(
        [np.ones(40), used.structure == "tabular"])).fit(
        cov_type="cluster", cov_kwds={"groups": used.cluster.factorize()[0]}, use_t=True)
    first = table.iloc[0]
    assert first.estimate == pytest.approx(fit.params.iloc[1])
    assert first.high - first.low == pytest.approx(np.diff(fit.conf_int().iloc[1])[0], rel=0.15)


def test_a_document_is_known_by_its_text_or_by_its_answers():
    verdicts = pd.DataFrame({"arm": "base", "cluster": ["a"] * 4 + ["b"] * 4,
                             "verdict": ["correct"] * 2 + ["incorrect"] * 5 + ["unscored"]})
    losses = [Loss(document_id=name, arm="base", loglik=loglik, n_tokens=100)
              for name, loglik in (("a", -300.0), ("b", -310.0), ("c", -50.0))]
    table = logliks.known_table(verdicts, losses, -1.0, 0.25).set_index("document")
    assert table.known.to_dict() == {"a": True, "b": False, "c": True}
    assert table.loc["a", ["n", "answered", "loglik"]].tolist() == [4, 2, -3.0]
