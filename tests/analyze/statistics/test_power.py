"""Power: against a textbook case and counting by hand; the 41 queries of the paper."""

from math import comb

import numpy as np
import pytest
from scipy.stats import binom, binomtest, ttest_1samp

from lib.analyze.paper.published import QUERIES
from lib.analyze.statistics.power import (
    ARMS_COMPARED,
    formatted_needed,
    formatted_power,
    independent_needed,
    independent_power,
    main,
    mcnemar_power,
    needed_table,
    power_table,
    queries_needed,
    replicate_table,
    sizes_of,
    smallest_difference,
    smallest_independent_difference,
    summary,
)
from tests.analyze.statistics.test_paired import query


def test_power_is_the_sum_over_every_outcome():
    n, p10, p01 = 12, 0.5, 0.1
    power = sum(comb(n, a) * comb(n - a, b) * p10**a * p01**b * (1 - p10 - p01) ** (n - a - b)
                for a in range(n + 1) for b in range(n + 1 - a)
                if a + b and binomtest(a, a + b, 0.5).pvalue <= 0.05 + 1e-12)
    assert mcnemar_power(n, p10 + p01, p10 - p01) == pytest.approx(power, abs=1e-12)


@pytest.mark.parametrize("discordant", [0.1, 0.4, 1.0])
def test_without_a_difference_the_exact_test_keeps_its_level(discordant):
    assert mcnemar_power(60, discordant, 0) <= 0.05


def test_too_few_queries_show_nothing():
    assert np.isnan(smallest_difference(0, None))
    assert np.isnan(smallest_difference(5, None))  # 2 / 2^5 > 5%
    assert smallest_difference(6, None) ** 6 == pytest.approx(0.8, abs=1e-3)  # all six change
    assert binom.sf(5, 41, 0.1) < 0.8  # six discordant pairs are too rare
    assert np.isnan(smallest_difference(41, 0.1))


@pytest.mark.parametrize(("n", "share"), [(41, 0.3), (85, 0.1), (540, 0.5)])
def test_the_smallest_difference_has_the_power_asked_for(n, share):
    power = mcnemar_power(n, share, smallest_difference(n, share))
    assert power == pytest.approx(0.8, abs=1e-3)


@pytest.mark.parametrize(("difference", "discordant"), [(0.1, 0.2), (0.15, None), (0.3, 0.3)])
def test_the_queries_needed_are_just_enough(difference, discordant):
    n = queries_needed(difference, discordant)
    share = difference if discordant is None else discordant
    powers = [mcnemar_power(size, share, difference) for size in (n, n - 1)]
    assert powers[0] >= 0.8 > powers[1]


def test_impossible_questions_have_no_number():
    assert queries_needed(0.2, 0.1) is None and queries_needed(0.0005, 0.5) is None
    assert independent_needed(0.5, 0.6) is None
    assert np.isnan(smallest_independent_difference(3, 3, 0.4))
    with pytest.raises(ValueError, match="a difference is at most"):
        mcnemar_power(10, 0.1, 0.2)


def test_two_structures_need_what_a_textbook_says():
    # Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions:
    # n = (z sqrt(2pq) + z sqrt(p1q1 + p2q2))^2 / d^2
    p, difference = (0.25 + 0.4) / 2, 0.15
    root = (1.959964 * (2 * p * (1 - p)) ** 0.5
            + 0.841621 * (0.25 * 0.75 + 0.4 * 0.6) ** 0.5)
    assert abs(independent_needed(difference, 0.25) - (root / difference) ** 2) <= 1
    smallest = smallest_independent_difference(41, 65, 0.25)
    assert independent_power(smallest, 0.25, 41, 65) == pytest.approx(0.8, abs=1e-3)
    assert smallest > smallest_independent_difference(65, 65, 0.25)


def test_tables_need_only_queries():
    sizes = sizes_of([query(str(number), "d") for number in range(7)])
    assert sizes == {"natural": 7, "all": 7}
    table = power_table({"paper": QUERIES, "mine": sizes})
    arms = table[table.compares == ARMS_COMPARED].set_index(["study", "structure"])
    tabular = arms.loc[("paper", "tabular")]
    assert tabular.smallest_points[tabular.assumed.isna()].item() == pytest.approx(18.6, abs=0.05)
    texts = formatted_power(table)
    assert texts["10% discordant"][texts.structure == "tabular"].iloc[0] == "impossible"
    assert list(texts.study.unique()) == ["paper", "mine"]
    assert "88.0 or none on natural and all (n = 7 each)" in summary(table, "mine")
    needed = formatted_needed(needed_table())
    assert list(needed["10 points"])[:2] == ["78", "78"] and needed["30 points"][1] == "–"


def test_a_design_effect_leaves_as_many_queries_as_it_says():
    sizes = {"natural": 120, "tabular": 90}
    halved = power_table({"a": {name: n // 2 for name, n in sizes.items()}}, [0.3], [0.25])
    table = power_table({"a": sizes}, [0.3], [0.25], design_effect=2)
    assert list(table.n) != list(halved.n)
    assert table.smallest_points.tolist() == halved.smallest_points.tolist()
    with pytest.raises(ValueError, match="at least 1"):
        power_table({"a": sizes}, design_effect=0.5)


def test_the_power_of_replicates_is_that_of_drawing_them():
    table = replicate_table(12, 8.0, [0.05, 0.1]).set_index("difference_points").power
    draws = np.random.default_rng(4).normal(5, 8, (4000, 12))
    found = (ttest_1samp(draws, 0, axis=1).pvalue <= 0.05).mean()
    assert table[5] == pytest.approx(found, abs=0.03)
    assert table[10] > table[5] > 0.05
    for replicates, sd in ((1, 8.0), (12, 0.0)):
        with pytest.raises(ValueError, match="--replicates is at least 2"):
            replicate_table(replicates, sd)


def test_without_a_share_of_discordant_pairs_the_summary_has_no_nan():
    text = summary(power_table({"mine": {"natural": 30}}, []), "mine")
    assert "nan" not in text and text.endswith("if all changes go one way.")


def test_the_command_says_which_notebook_to_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    assert main(["mine"]) == 2 and "run 01_annotate" in capsys.readouterr().err
    assert main([]) == 2 and "usage" in capsys.readouterr().err
    (tmp_path / "data/mine/queries.jsonl").write_text(query("a", "d").model_dump_json() + "\n")
    assert main(["mine"]) == 0 and "two arms, same queries" in capsys.readouterr().out
    assert main(["mine", "--replicates", "12", "--sd-between", "8", "--design-effect", "2"]) == 0
    assert "difference_points power" in capsys.readouterr().out
    assert main(["mine", "--replicates", "12"]) == 2
    assert "--sd-between above 0" in capsys.readouterr().err
