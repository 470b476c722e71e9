"""Power: against a textbook case, simulation and counting by hand; the paper's 41 queries."""

from math import comb

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from lib.analyze.paper.published import QUERIES
from lib.analyze.statistics.power import (
    ARMS_COMPARED,
    independent_needed,
    independent_power,
    main,
    mcnemar_power,
    needed_table,
    power_for_reading,
    power_table,
    queries_needed,
    sizes_of,
    smallest_difference,
    smallest_independent_difference,
    told,
)
from tests.analyze.statistics.test_paired import query


def test_power_is_the_sum_over_every_outcome():
    n, p10, p01 = 12, 0.5, 0.1
    power = sum(comb(n, a) * comb(n - a, b) * p10**a * p01**b * (1 - p10 - p01) ** (n - a - b)
                for a in range(n + 1) for b in range(n + 1 - a)
                if a + b and binomtest(a, a + b, 0.5).pvalue <= 0.05 + 1e-12)
    assert mcnemar_power(n, p10 + p01, p10 - p01) == pytest.approx(power, abs=1e-12)


def test_power_agrees_with_simulation():
    rng = np.random.default_rng(2)
    first, second, _ = rng.multinomial(85, [0.05, 0.2, 0.75], size=20_000).T
    rejects = 2 * binom.cdf(np.minimum(first, second), first + second, 0.5) <= 0.05
    assert mcnemar_power(85, 0.25, 0.15) == pytest.approx(rejects.mean(), abs=0.012)


@pytest.mark.parametrize("discordant", [0.1, 0.4, 1.0])
def test_without_a_difference_the_exact_test_keeps_its_level(discordant):
    assert mcnemar_power(60, discordant, 0) <= 0.05


def test_five_queries_show_nothing_and_six_show_only_what_is_nearly_certain():
    assert np.isnan(smallest_difference(5, None))  # 2 / 2^5 > 5%
    assert smallest_difference(6, None) ** 6 == pytest.approx(0.8, abs=1e-3)  # all six must change one way
    assert np.isnan(smallest_difference(0, None))


def test_the_smallest_difference_has_the_power_asked_for():
    for n, share in ((41, 0.3), (85, 0.1), (540, 0.5)):
        assert mcnemar_power(n, share, smallest_difference(n, share)) == pytest.approx(0.8, abs=1e-3)


def test_41_queries_with_a_tenth_discordant_show_nothing_at_all():
    assert binom.sf(5, 41, 0.1) < 0.8  # six discordant pairs are too rare
    assert np.isnan(smallest_difference(41, 0.1))


@pytest.mark.parametrize(("difference", "discordant"), [(0.1, 0.2), (0.15, None), (0.3, 0.3)])
def test_the_queries_needed_are_just_enough(difference, discordant):
    n = queries_needed(difference, discordant)
    share = difference if discordant is None else discordant
    assert mcnemar_power(n, share, difference) >= 0.8 > mcnemar_power(n - 1, share, difference)


def test_impossible_questions_have_no_number():
    assert queries_needed(0.2, 0.1) is None and queries_needed(0.0005, 0.5) is None
    assert independent_needed(0.5, 0.6) is None
    assert np.isnan(smallest_independent_difference(3, 3, 0.4))
    with pytest.raises(ValueError, match="a difference is at most"):
        mcnemar_power(10, 0.1, 0.2)


def test_two_structures_need_what_a_textbook_says():
    # Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions: z sqrt(2pq) + z sqrt(p1q1 + p2q2), squared
    p, diff = (0.25 + 0.4) / 2, 0.15
    n = (1.959964 * (2 * p * (1 - p)) ** 0.5 + 0.841621 * (0.25 * 0.75 + 0.4 * 0.6) ** 0.5) ** 2 / diff**2
    assert abs(independent_needed(diff, 0.25) - n) <= 1
    smallest = smallest_independent_difference(41, 65, 0.25)
    assert independent_power(smallest, 0.25, 41, 65) == pytest.approx(0.8, abs=1e-3)
    assert smallest > smallest_independent_difference(65, 65, 0.25)


def test_tables_need_only_queries():
    sizes = sizes_of([query(str(number), "d") for number in range(7)])
    assert sizes == {"natural": 7, "all": 7}
    table = power_table({"paper": QUERIES, "mine": sizes})
    arms = table[table.compares == ARMS_COMPARED].set_index(["study", "structure"])
    best = arms.smallest_points["paper", "tabular"][arms.assumed["paper", "tabular"].isna()]
    assert best.iloc[0] == pytest.approx(18.6, abs=0.05)
    reading = power_for_reading(table)
    assert reading["10% discordant"][reading.structure == "tabular"].iloc[0] == "impossible"
    assert list(reading.study.unique()) == ["paper", "mine"]
    assert "88.0 or none on natural and all (n = 7 each)" in told(table, "mine")
    assert power_for_reading(needed_table())["10 points"][0] == "78"


def test_the_command_tells_which_notebook_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    assert main(["mine"]) == 2 and "run 01_annotate" in capsys.readouterr().err
    assert main([]) == 2 and "usage" in capsys.readouterr().err
    (tmp_path / "data/mine/queries.jsonl").write_text(query("a", "d").model_dump_json() + "\n")
    assert main(["mine"]) == 0 and "two arms, same queries" in capsys.readouterr().out
