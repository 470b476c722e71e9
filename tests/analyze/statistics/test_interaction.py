"""The interaction: equal to differences of differences by hand, honest about clusters, and about empty cells."""

import numpy as np
import pandas as pd
import pytest

from lib.analyze.statistics.interaction import JOINT, ODDS, POINTS, interaction, interaction_for_reading, told
from tests.analyze.statistics.test_paired import rows_of


def study(natural: tuple[str, str], lists: tuple[str, str], per_cluster: int = 1) -> pd.DataFrame:
    return pd.concat([rows_of("natural", per_cluster, dapt=natural[0], dapt_n=natural[1]),
                      rows_of("entity-list", per_cluster, dapt=lists[0], dapt_n=lists[1])])


# prose 5 -> 6 of 20, lists 4 -> 12 of 20
MADE = (("1" * 5 + "0" * 15, "0" * 4 + "1" * 6 + "0" * 10), ("1" * 4 + "0" * 16, "1" * 12 + "0" * 8))


def test_estimates_are_the_differences_of_the_cells():
    table = interaction(study(*MADE)).set_index("scale")
    assert table.contrast[POINTS] == "entity-list – natural" and (table.n[POINTS], table.clusters[POINTS]) == (40, 40)
    assert table.estimate[POINTS] == pytest.approx(100 * ((12 - 4) - (6 - 5)) / 20)
    assert table.estimate[ODDS] == pytest.approx((12 / 8) / (4 / 16) / ((6 / 14) / (5 / 15)), rel=1e-6)
    assert table.low[POINTS] < 35 < table.high[POINTS] and table.low[ODDS] < table.estimate[ODDS] < table.high[ODDS]


def test_the_standard_error_is_that_of_the_changes_of_queries_with_the_mancl_derouen_correction():
    rows = study(*MADE)
    changes = [np.array([int(b) - int(a) for a, b in zip(*pair, strict=True)]) for pair in MADE]
    # each query is a cluster: a residual is divided by 1 - 1/20, its leverage
    variance = sum((((change - change.mean()) / (1 - 1 / 20)) ** 2).sum() / 20**2 for change in changes)
    table = interaction(rows).set_index("scale")
    half = (table.high[POINTS] - table.low[POINTS]) / 2
    assert half == pytest.approx(100 * 2.0226909 * variance**0.5, rel=1e-5)  # t quantile, 39 degrees of freedom


def test_clusters_that_change_together_widen_the_interval():
    alone, together = interaction(study(*MADE)), interaction(study(*MADE, per_cluster=4))
    widths = [table.high[0] - table.low[0] for table in (alone, together)]
    assert widths[1] > 1.3 * widths[0] and together.clusters[0] == 10 and together.p[0] > alone.p[0]
    assert alone.estimate[0] == pytest.approx(together.estimate[0])


def test_no_interaction_is_rarely_found_where_there_is_none():
    rng, found = np.random.default_rng(3), 0
    for _ in range(60):
        draw = ["".join(map(str, rng.integers(0, 2, 30))) for _ in range(4)]
        found += interaction(study(tuple(draw[:2]), tuple(draw[2:]))).p[0] <= 0.05
    assert found <= 9


def test_an_empty_cell_has_no_odds_and_is_named():
    table = interaction(study(("0" * 20, "1" * 5 + "0" * 15), MADE[1])).set_index("scale")
    assert np.isnan(table.estimate[ODDS]) and "natural: 0 of 20 correct in dapt" in table.note[ODDS]
    assert not np.isnan(table.estimate[POINTS]) and table.note[POINTS] == ""
    assert "–" in interaction_for_reading(table.reset_index())["estimate [95%]"][1]


def test_one_cluster_or_no_change_is_no_estimate():
    table = interaction(study(*MADE, per_cluster=20))
    assert table.estimate.isna().all() and "natural: all 20 queries are one cluster" in table.note[0]
    assert "cannot be estimated" in told(table)
    same = interaction(study(("01" * 10, "01" * 10), ("01" * 10, "01" * 10)))
    assert np.isnan(same.estimate[0]) and "no answer changed" in same.note[0]


def test_three_structures_have_a_joint_test_and_words():
    rows = pd.concat([study(*MADE), rows_of("tabular", dapt="10" * 10, dapt_n="01" * 10)])
    table = interaction(rows)
    assert list(table.contrast) == ["entity-list – natural", "tabular – natural", JOINT] * 2
    assert table.p.between(0, 1).all()
    assert "The gain from dapt to dapt-n differs for entity-list – natural by +35.0 [" in told(table)
    assert "n = 40 queries in 40 clusters" in told(table) and "Both at once" in told(table)


def test_one_structure_alone_has_nothing_to_compare():
    table = interaction(rows_of(dapt="0101", dapt_n="1101"))
    assert table.empty and told(table).startswith("There are no two structures")


def test_an_arm_without_verdicts_is_named():
    table = interaction(rows_of(base="01", dapt="11"))
    assert list(table.note) == ["no verdicts of dapt-n"] and "(no verdicts of dapt-n)" in told(table)
    assert len(interaction_for_reading(table)) == 1


def test_clusters_that_all_say_the_same_give_no_certainty():
    rows = study(("1000", "1100"), ("1100", "1100"))
    rows = rows.assign(cluster=["one", "one", "two", "two"] * 4)
    rows.loc[rows.structure == "natural", "verdict"] = ["incorrect"] * 4 + ["correct", "incorrect"] * 2
    table = interaction(rows)
    assert table.p.isna().all() and table.low.isna().all()
    assert "nothing varies between the clusters" in table.note[0] and "cannot be estimated" in told(table)
