"""Effects over bases, on rows whose effects are known."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from lib.core.records import STRUCTURES
from lib.exposures import analysis

EXPOSURES = (1, 2, 4, 8, 16, 32, 64)
PRIMARY = ("question", "answered")


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Six bases: lists delay learning by 0.5 doublings and cost 0.05 nats, tables twice that."""
    rng, levels = np.random.default_rng(1), [range(6), range(60), STRUCTURES, (0, *EXPOSURES)]
    names = ["base", "fact", "structure", "exposures"]
    rows = pd.MultiIndex.from_product(levels, names=names).to_frame(index=False)
    rotation = rows.structure.map([*STRUCTURES].index)
    own, delay = rng.normal(0, 0.05, 6)[rows.base], rotation / 2
    chance = expit(np.log2(rows.exposures.clip(0.5)) - delay * (1 + own) - 2)
    return rows.assign(
        arm="raw",
        rotation=rotation,
        product=rows.fact // 9,
        attribute=rows.fact % 9,
        is_named=rows.fact % 2,
        question=-2 - delay * (0.1 + own / 10),
        record=-1.0,
        answered=(rng.random(len(rows)) < chance).astype(int),
        stored=(rng.random(len(rows)) < chance).astype(int),
        learning_rate=1e-3,
        replay_share=0.25,
    )


@pytest.fixture(scope="module")
def table(rows):
    return analysis.effects(rows, 0.15, PRIMARY)


@pytest.mark.parametrize(
    ("contrast", "nats", "doublings"),
    [("tabular - natural", -0.1, 1.0), ("entity-list - natural", -0.05, 0.5)],
)
def test_what_a_structure_costs_is_recovered_from_the_same_facts(table, contrast, nats, doublings):
    own = table[(table.contrast == contrast) & (table.facts == "all")]
    means = own.groupby(["measure", "unit"])["mean"].mean()
    assert means["question", analysis.NATS] == pytest.approx(nats, abs=0.01)
    assert means["stored", analysis.DOUBLINGS] == pytest.approx(doublings, abs=0.2)


def test_effects_have_two_primary_rows_holm_and_equivalence(rows, table):
    first, second = table[table.is_primary].sort_values("unit", ascending=False).itertuples()
    assert (first.measure, second.unit) == ("question", analysis.DOUBLINGS)
    assert first.p_flips == pytest.approx(2 / 2**6) and first.p_holm >= first.p_flips
    assert first.p_equivalent < 0.01  # -0.1 is within 0.15
    text = analysis.answer(table)
    assert text.startswith("Over 6 bases") and "-0.1" in text and "nan" not in text
    few = analysis.effects(rows[rows.base < 5], 0.05, PRIMARY)
    assert few[few.is_primary].p_equivalent.max() > 0.5
    assert analysis.answer(few).count("difference of so few bases cannot be shown") == 2
    one = analysis.effects(rows[rows.base == 0], 0.07, PRIMARY)
    assert analysis.answer(one).startswith("One base, which shows")


def test_a_ceiling_and_the_exposures_to_half_of_it_are_recovered():
    """Tables are answered half as often as prose in the end, and as fast; lists twice as slowly."""
    tops, halves, number = [0.4, 0.4, 0.2], [8, 16, 8], np.arange(10_000)
    cells = [
        pd.DataFrame({"answered": number < 10_000 * top / (1 + (half / n) ** 2)}).assign(
            structure=name, exposures=n, base=1, arm="raw", is_named=1
        )
        for name, top, half in zip(STRUCTURES, tops, halves, strict=True)
        for n in EXPOSURES
    ]
    found = analysis.ceilings(pd.concat(cells))
    assert list(found.ceiling) == pytest.approx(tops, abs=0.01)
    assert list(found.half) == pytest.approx(halves, rel=0.02)
    early = analysis.ceilings(pd.concat(cells).query("exposures < 8"))
    assert early.half.isna().any(), "what lies beyond the last exposure is not determined"


def test_gains_of_arms_are_on_the_same_facts_in_the_same_rotation(rows):
    own = rows[rows.rotation == 1]
    other = own.assign(arm="normalized", question=own.question + 0.3, answered=1)
    gains = analysis.arm_effects(pd.concat([rows, other]))
    assert gains[gains.measure == "question"].value.round(6).eq(0.3).all()
    assert set(gains.contrast) == {"normalized - raw"} and analysis.arm_effects(rows).empty


def test_the_figure_has_every_structure_by_form_of_value_and_what_wordings_gain(rows):
    labels = np.array(["default port", "supplier", "spare parts"])
    rows = rows.assign(attribute=labels[rows.fact % 3])
    assert {*analysis.by_value(rows)["list-valued"].attribute} == {labels[2]}
    drawn, plotted = analysis.draw_answers(rows)
    assert set(plotted.structure) == set(STRUCTURES) and set(plotted.measure) == {
        "answered",
        "stored",
    }
    legend = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert legend[:3] == ["prose", "list", "table"]
    more = pd.concat([rows, rows.assign(arm=analysis.WORDED, answered=1)])
    drawn, plotted = analysis.draw_answers(more)
    assert len(drawn.axes) == 3 and plotted.contrast.dropna().eq("paraphrase-8 - raw").all()
