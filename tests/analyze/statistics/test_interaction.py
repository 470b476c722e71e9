"""The interaction: equal to differences of differences by hand; clusters, and empty cells."""

import numpy as np
import pandas as pd
import pytest

from lib.analyze.statistics.interaction import (
    JOINT,
    ODDS,
    POINTS,
    formatted_interaction,
    interaction,
    summary,
)
from tests.analyze.statistics.test_paired import rows_of

# prose 5 -> 6 of 20, lists 4 -> 12 of 20
MADE = (("1" * 5 + "0" * 15, "0" * 4 + "1" * 6 + "0" * 10),
        ("1" * 4 + "0" * 16, "1" * 12 + "0" * 8))


def study(natural: tuple[str, str], lists: tuple[str, str], per_cluster: int = 1) -> pd.DataFrame:
    return pd.concat([rows_of(structure, per_cluster, dapt=first, dapt_n=second)
                      for structure, (first, second) in (("natural", natural),
                                                         ("entity-list", lists))])


def test_estimates_are_the_differences_of_the_cells():
    table = interaction(study(*MADE)).set_index("scale")
    assert table.contrast[POINTS] == "entity-list – natural"
    assert (table.n[POINTS], table.clusters[POINTS]) == (40, 40)
    assert table.estimate[POINTS] == pytest.approx(100 * ((12 - 4) - (6 - 5)) / 20)
    odds = (12 / 8) / (4 / 16) / ((6 / 14) / (5 / 15))
    assert table.estimate[ODDS] == pytest.approx(odds, rel=1e-6)
    assert (table.low < table.estimate).all() and (table.estimate < table.high).all()


def test_the_standard_error_is_that_of_two_samples_of_changes():
    changes = [np.array([int(b) - int(a) for a, b in zip(*pair, strict=True)]) for pair in MADE]
    variance = sum(change.var(ddof=1) / 20 for change in changes)  # each query is a cluster
    table = interaction(study(*MADE)).set_index("scale")
    half = (table.high[POINTS] - table.low[POINTS]) / 2
    assert half == pytest.approx(100 * 2.0243942 * variance**0.5, rel=1e-5)  # t, 38 degrees


def test_clusters_that_change_together_widen_the_interval():
    alone, together = interaction(study(*MADE)), interaction(study(*MADE, per_cluster=4))
    widths = [table.high[0] - table.low[0] for table in (alone, together)]
    assert widths[1] > 1.3 * widths[0] and together.p[0] > alone.p[0]
    assert together.clusters[0] == 10 and alone.estimate[0] == pytest.approx(together.estimate[0])


def test_no_interaction_is_rarely_found_where_there_is_none():
    rng, found = np.random.default_rng(3), 0
    for _ in range(60):
        draw = ["".join(map(str, rng.integers(0, 2, 30))) for _ in range(4)]
        found += interaction(study(tuple(draw[:2]), tuple(draw[2:]))).p[0] <= 0.05
    assert found <= 9


def test_an_empty_cell_has_no_odds_and_is_named():
    table = interaction(study(("0" * 20, "1" * 5 + "0" * 15), MADE[1])).set_index("scale")
    assert np.isnan(table.estimate[ODDS])
    assert "natural: 0 of 20 correct in dapt" in table.note[ODDS]
    assert not np.isnan(table.estimate[POINTS]) and table.note[POINTS] == ""
    texts = formatted_interaction(table.reset_index())["estimate [95%]"]
    assert texts[0].startswith("+") and texts[1] == "–"


@pytest.mark.parametrize(("rows", "note", "points"), [
    (study(*MADE, per_cluster=20), "natural: all 20 queries are one cluster", 35.0),
    (study(("01" * 10, "01" * 10), ("01" * 10, "01" * 10)), "no answer changed", 0.0),
    (rows_of(base="01", dapt="11"), "no verdicts of dapt-n", np.nan)])
def test_what_has_no_interval_says_why(rows, note, points):
    table = interaction(rows)
    assert table.estimate[0] == pytest.approx(points, nan_ok=True) and note in table.note[0]
    assert table[["low", "high", "p"]].isna().all(axis=None) and "nan" not in summary(table)
    assert ("cannot be estimated" in summary(table)) == np.isnan(points) and note in summary(table)
    assert len(formatted_interaction(table)) == len(table)


def test_clusters_that_all_answer_alike_give_no_certainty():
    rows = study(("1000", "1100"), ("1100", "1100"))
    rows = rows.assign(cluster=["one", "one", "two", "two"] * 4)
    is_natural = rows.structure == "natural"
    rows.loc[is_natural, "verdict"] = ["incorrect"] * 4 + ["correct", "incorrect"] * 2
    table = interaction(rows)
    assert table[["p", "low"]].isna().all(axis=None) and table.estimate[0] == pytest.approx(-50)
    assert "nothing varies between the clusters" in table.note[0]


def test_three_structures_have_a_joint_test():
    rows = pd.concat([study(*MADE), rows_of("tabular", dapt="10" * 10, dapt_n="01" * 10)])
    table = interaction(rows)
    assert list(table.contrast) == ["entity-list – natural", "tabular – natural", JOINT] * 2
    assert table.p.between(0, 1).all()
    text = summary(table)
    assert "differ, in points, by entity-list – natural +35.0 [" in text
    assert "n = 40 queries in 40 clusters" in text and "jointly: p = " in text


def test_one_structure_alone_has_nothing_to_compare():
    table = interaction(rows_of(dapt="0101", dapt_n="1101"))
    assert table.empty and summary(table).startswith("There are no two structures")
