"""Effects over bases, on rows whose effects are known."""

import numpy as np
import pandas as pd
import pytest

from lib.core.records import STRUCTURES
from lib.exposures import analysis

EXPOSURES = (1, 2, 4, 8, 16, 32, 64)
SHIFT = {"natural": 0.0, "entity-list": 0.5, "tabular": 1.0}  # doublings


def rows_of(bases=6, seed=1, spread=0.05) -> pd.DataFrame:
    """Facts of which a structure delays learning by SHIFT doublings and costs SHIFT/10 nats."""
    rng = np.random.default_rng(seed)
    found = []
    for base in range(bases):
        own = rng.normal(0, spread)
        for fact in range(60):
            for rotation, structure in enumerate(STRUCTURES):
                for exposures in (0, *EXPOSURES):
                    x = np.log2(max(exposures, 0.5)) - SHIFT[structure] * (1 + own)
                    chance = 1 / (1 + np.exp(2 - x))
                    found.append(
                        {
                            "base": base,
                            "arm": "raw",
                            "rotation": rotation,
                            "exposures": exposures,
                            "product": f"p{fact // 9}",
                            "attribute": f"a{fact % 9}",
                            "structure": structure,
                            "is_named": fact % 2,
                            "question": -2 - SHIFT[structure] * (0.1 + own / 10),
                            "record": -1.0,
                            "answered": int(rng.random() < chance),
                            "stored": int(rng.random() < chance),
                            "learning_rate": 1e-3,
                            "replay_share": 0.25,
                        }
                    )
    return pd.DataFrame(found)


@pytest.fixture(scope="module")
def rows():
    return rows_of()


def test_differences_of_structures_are_those_of_the_facts(rows):
    values = analysis.structure_effects(rows)
    means = values[values.measure == "question"].groupby("contrast").value.mean()
    assert means["tabular - natural"] == pytest.approx(-0.1, abs=0.01)
    assert means["entity-list - natural"] == pytest.approx(-0.05, abs=0.01)


def test_the_ratio_of_exposures_is_recovered_from_answers(rows):
    found = analysis.ratios(rows, "stored").groupby("contrast").value.mean()
    assert found["tabular - natural"] == pytest.approx(1.0, abs=0.2)
    assert found["entity-list - natural"] == pytest.approx(0.5, abs=0.2)


def test_effects_have_two_primary_rows_holm_and_equivalence(rows):
    table = analysis.effects(rows, 0.15, ("question", "answered"))
    first, second = table[table.is_primary].sort_values("unit", ascending=False).itertuples()
    assert (first.measure, second.unit) == ("question", analysis.DOUBLINGS)
    assert first.p_flips == pytest.approx(2 / 2**6) and first.p_holm >= first.p_flips
    assert first.p_equivalent < 0.01  # -0.1 is within 0.15
    assert (
        analysis.effects(rows, 0.05, ("question", "answered"))[table.is_primary]
        .p_equivalent.dropna()
        .item()
        > 0.5
    )
    text = analysis.answer(table)
    assert text.startswith("Over 6 bases") and "-0.1" in text and "nan" not in text
    few = analysis.effects(rows[rows.base < 5], 0.07, ("question", "answered"))
    assert analysis.answer(few).count("difference of so few bases cannot be shown") == 2
    one = analysis.effects(rows[rows.base == 0], 0.07, ("question", "answered"))
    assert analysis.answer(one).startswith("One base, which shows")


def test_a_ceiling_and_the_exposures_to_half_of_it_are_recovered():
    """Tables are answered half as often as prose in the end, and as fast; lists twice as slowly."""
    cells = [
        {
            "base": 1,
            "arm": "raw",
            "is_named": 1,
            "structure": structure,
            "exposures": exposures,
            "attribute": "default port",
            "answered": int(number < 10_000 * top / (1 + (half / exposures) ** 2)),
        }
        for structure, top, half in (
            ("natural", 0.4, 8),
            ("entity-list", 0.4, 16),
            ("tabular", 0.2, 8),
        )
        for exposures in EXPOSURES
        for number in range(10_000)
    ]
    found = analysis.ceilings(pd.DataFrame(cells)).set_index("structure")
    assert list(found.ceiling) == pytest.approx([0.4, 0.4, 0.2], abs=0.01)
    assert list(found.half) == pytest.approx([8, 16, 8], rel=0.02)
    early = analysis.ceilings(pd.DataFrame([cell for cell in cells if cell["exposures"] < 8]))
    assert early.half.isna().any(), "what lies beyond the last exposure is not determined"


def test_facts_are_split_by_the_form_of_their_value(rows):
    labels = ["default port", "supplier", "spare parts"]
    parts = analysis.by_value(
        rows.assign(attribute=[labels[int(n[1:]) % 3] for n in rows.attribute])
    )
    assert set(parts["scalar"].attribute) == set(labels[:2])
    assert set(parts["list-valued"].attribute) == {"spare parts"}
    assert len(parts["all"]) == len(rows)


def test_the_mean_over_exposures_stands_beside_the_last_one(rows):
    late = rows.assign(question=rows.question.where(rows.exposures < 64, -2.0))
    table = analysis.effects(late, 0.15, ("question", "answered"))
    row = table[table.is_primary & (table.measure == "question")].iloc[0]
    assert row["mean"] == pytest.approx(-0.1 * 6 / 7, abs=0.01) and row["last"] == 0


def test_gains_of_arms_are_on_the_same_facts_in_the_same_rotation(rows):
    other = rows[rows.rotation == 1].assign(arm="normalized")
    other = other.assign(question=other.question + 0.3)
    gains = analysis.arm_effects(pd.concat([rows, other]))
    own = gains[gains.measure == "question"]
    assert own.value.round(6).eq(0.3).all() and set(own.contrast) == {"normalized - raw"}
    assert analysis.arm_effects(rows).empty
    each = analysis.gains_by_exposures(pd.concat([rows, other.assign(answered=1)]))
    chance = rows[rows.rotation == 1].groupby("exposures").answered.mean()
    assert list(each.exposures) == list(EXPOSURES)
    assert list(each.estimate) == pytest.approx(list(100 * (1 - chance[1:])), abs=1)


def test_what_is_forgotten_is_the_fall_from_exposure_0():
    kept = pd.DataFrame(
        [
            {
                "base": base,
                "arm": "raw",
                "rotation": 0,
                "exposures": exposures,
                "public_answered": 0.9 - 0.04 * exposures - base / 100,
                "learning_rate": 1e-3,
                "replay_share": 0.1,
                "parameters": 10,
            }
            for base in range(3)
            for exposures in (2, 0, 1)
        ]
    )
    found = analysis.retained(kept)
    assert found.estimate.item() == pytest.approx(8.0) and found.n.item() == 3


def test_figures_are_drawn_with_every_structure(rows):
    table = analysis.effects(rows, 0.07, ("question", "answered"))
    ratio = table[table.unit == analysis.DOUBLINGS]
    drawn, plotted = analysis.draw_curve(analysis.curve(rows), ratio)
    assert len(drawn.axes) == 3 and set(plotted.structure) == set(STRUCTURES)
    labels = [text.get_text() for text in drawn.subfigs[0].legends[0].get_texts()]
    assert labels == ["prose", "list", "table"]
