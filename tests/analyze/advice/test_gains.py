"""Gains on a mix of structures, and what the words and the page may claim."""

import numpy as np
import pandas as pd
import pytest

from lib.analyze.advice import costs, gains, words
from lib.analyze.advice.gains import DERIVED, HERE, LABORATORY, LIKELY, ONCE, OPEN, SURE, UNKNOWN
from lib.analyze.advice.page import Section, write_page
from lib.analyze.figures.advice import draw_advice
from lib.analyze.figures.style import save
from lib.analyze.statistics.seeds import spread
from lib.analyze.tables import joined
from lib.core.arms import ALL
from lib.core.paths import figures_path
from lib.core.records import STRUCTURES, Verdict
from tests.analyze.advice.test_costs import WORDS, document, query


def rows(**right: tuple[int, int, int]) -> pd.DataFrame:
    """Return rows of `joined` for 20 queries per structure on ten documents.

    `right` is the number of correct ones by arm (dapt_n_2: dapt-n@2) and structure.
    """
    queries = [query(number, STRUCTURES[number % 3]) for number in range(60)]
    verdicts = []
    for name, counts in right.items():
        left = dict(zip(STRUCTURES, counts, strict=True))
        for one in queries:
            left[one.structure] -= 1
            verdict = "correct" if left[one.structure] >= 0 else "incorrect"
            verdicts.append(Verdict(query_id=one.query_id, judge="rules", reason="",
                                    arm=name.replace("_n", "-n").replace("_", "@"),
                                    verdict=verdict))
    table = joined(queries, verdicts)
    documents = {one.query_id: one.document_id for one in queries}
    return table.assign(cluster=table.query_id.map(documents))


NAMES = {"natural": "natural", "lists": "entity-list", "tabular": "tabular", "whole": ALL}


def gained(evidence: str, seeds: int = 3, p_holm: float | None = None,
           **cells: tuple[float, float, float]) -> pd.DataFrame:
    p_holm = (0.01 if evidence == LABORATORY else np.nan) if p_holm is None else p_holm
    return pd.DataFrame([("normalized", evidence, NAMES[name], 9, 9, seeds, *points, "", p_holm)
                         for name, points in cells.items()], columns=gains.GAINS)


COSTS = pd.DataFrame([(name, 100, 100 + 10 * place, 10.0 * place, 100, 100 + 10 * place)
                      for place, name in enumerate(gains.WHAT)], columns=costs.TRAINING)
BILL = pd.DataFrame([("every segment", 7, 1, 1, 1, np.nan, np.nan, "my/model", "price unknown",
                      "")], columns=costs.MODEL)
MIX = {"natural": 0.5, "entity-list": 0.2, "tabular": 0.3}
ADDED = pd.DataFrame([(ALL, 60, 30.0, 20.0, 40.0)],
                     columns=["structure", "n", "difference_points", "low_points", "high_points"])
ALL_CELLS = {"natural": (0, -5, 5), "lists": (10, 5, 15), "tabular": (20, 10, 30),
             "whole": (8, 3, 13)}


def ranked(*tables: pd.DataFrame, added: pd.DataFrame = COSTS) -> pd.DataFrame:
    table = pd.concat(tables) if tables else pd.DataFrame(columns=gains.GAINS)
    return gains.ranked(gains.on_my_mix(table, MIX), added)


def text_of(*tables: pd.DataFrame, added: pd.DataFrame = ADDED) -> str:
    return " ".join(words.first(ranked(*tables), added, BILL))


def test_gains_elsewhere_are_weighted_by_my_shares():
    table = ranked(gained(LABORATORY, natural=(-2, -3, -1), lists=(10, 5, 15),
                          tabular=(20, 10, 30), whole=(9, 5, 13)))
    row = table.iloc[0]
    assert (row.gain_points, row.low_points, row.high_points) == pytest.approx((7, 2.5, 11.5))
    assert row.known_share == 1 and row.verdict == SURE and len(table) == 1


def test_a_structure_that_was_not_measured_adds_nothing_and_leaves_the_verdict_open():
    row = ranked(gained(LABORATORY, natural=(-2, -3, -1), tabular=(20, 10, 30))).iloc[0]
    assert row.gain_points == pytest.approx(5) and row.known_share == pytest.approx(0.8)
    assert row.low_points > 0 and row.verdict == OPEN


def test_this_studys_own_gain_is_taken_as_it_is_and_its_parts_are_called_derived():
    table = ranked(gained(HERE, **ALL_CELLS))
    assert list(zip(table.intervention, table.evidence, table.verdict, strict=True)) == [
        ("normalized", HERE, SURE), ("verbalize", DERIVED, LIKELY),
        ("targeted-tabular", DERIVED, LIKELY), ("targeted-entity-list", DERIVED, LIKELY)]
    assert list(table.gain_points) == pytest.approx([8, 8, 6, 2])
    assert list(table.low_points) == pytest.approx([3, 4, 3, 1])
    assert table.known_share.eq(1).all()


@pytest.mark.parametrize(("cell", "seeds", "verdict"), [
    ((8, 3, 13), 3, SURE), ((8, 3, 13), 1, ONCE), ((8, -1, 17), 3, OPEN),
    ((-8, -13, -3), 3, gains.HARMFUL), ((0, np.nan, np.nan), 3, UNKNOWN), ((8, 0, 16), 3, OPEN)])
def test_only_an_interval_without_zero_decides(cell, seeds, verdict):
    assert ranked(gained(HERE, seeds, whole=cell)).verdict[0] == verdict


@pytest.mark.parametrize(("p_holm", "verdict", "words_of_it"), [
    (0.04, SURE, "Those that help passed Holm's correction there"),
    (0.06, OPEN, "Holm's p at most 5%"), (np.nan, OPEN, "none of 1 changes")])
def test_the_laboratory_helps_where_its_own_rule_says_so(p_holm, verdict, words_of_it):
    table = gained(LABORATORY, 3, p_holm, natural=(4, 3, 5), lists=(2, 1, 3), tabular=(9, 8, 10),
                   whole=(5, 4, 6))
    other = gained(LABORATORY, 3, 1.0, natural=(0, -1, 1)).assign(intervention="verbalize")
    assert ranked(table).verdict[0] == verdict
    assert words_of_it in text_of(table, *([other] if p_holm == 0.04 else []))


def test_a_ratio_to_almost_no_tokens_is_unknown():
    costs_of = COSTS.assign(tokens_added_percent=[0.9, *COSTS.tokens_added_percent[1:]])
    table = ranked(gained(HERE, whole=(8, 3, 13)), added=costs_of)
    assert np.isnan(table.points_per_percent[0])


def test_gains_here_are_those_of_the_verdicts_and_need_both_arms():
    table = gains.gains_here(rows(dapt=(10, 4, 2), dapt_2=(10, 6, 2), dapt_n=(10, 8, 9),
                                  dapt_n_2=(10, 8, 11)))
    assert list(table.gain_points) == pytest.approx([0, 15, 40, 100 * (3 + 8) / 60])
    assert list(table.structure) == [*STRUCTURES, ALL]
    assert set(table.seeds) == {2} and set(table.n) == {20, 60}
    alone = rows(base=(0, 0, 0), dapt=(5, 5, 5))
    assert gains.gains_here(alone).empty and len(gains.added_here(alone)) == 6
    assert gains.added_here(rows(dapt=(5, 5, 5))).empty


@pytest.mark.parametrize(("documents", "why"), [
    (1, "the queries are about one document or product, which allows no interval"),
    (2, "two documents or products allow no interval")])
def test_one_or_two_documents_give_an_estimate_and_no_interval(documents, why):
    """dapt-n answers 31 of 60 instead of 16; over two documents a t interval is +25 ± 150."""
    table = rows(base=(0, 0, 0), dapt=(10, 4, 2), dapt_n=(10, 8, 13))
    table["cluster"] = [f"d{name in ('q59', 'q57')}" if documents == 2 else "d"
                        for name in table.query_id]
    gained_here = gains.gains_here(table)
    text = text_of(gained_here, added=gains.added_here(table))
    assert gained_here[["low_points", "high_points"]].isna().all(axis=None)
    assert f"Everything rewritten as prose: +25.0 [–] points on all your queries; {why}" in text
    assert "No query" not in text and "nothing varies" not in text and "**First:" not in text
    assert "nan" not in words.learned(spread(table), gains.added_here(table))


def test_any_further_arm_is_ranked_by_its_name():
    table = rows(base=(0, 0, 0), dapt=(2, 2, 2), dapt_2=(2, 2, 2), dapt_n=(3, 2, 2),
                 dapt_n_2=(3, 2, 2)).query("arm != 'dapt-a'")
    more = table[table.arm.str.startswith("dapt-n")]
    correct = more.verdict.where(more.structure != "tabular", "correct")
    table = pd.concat([table, more.assign(arm=more.arm.str.replace("-n", "-a"), verdict=correct)])
    found = ranked(gains.gains_here(table))
    here = found[found.evidence == HERE]
    assert list(here.intervention) == ["dapt-a", "normalized"] and list(here.seeds) == [2, 2]
    assert not found[found.evidence == DERIVED].intervention.isin(["dapt-a"]).any()
    text = " ".join(words.first(found, ADDED, BILL))
    assert "**First: raw text together with synthetic texts" in text
    assert "It was written by" not in text and "number of changes (2)" in text
    assert "**Also measured here:** everything rewritten as prose +1.7 [" in text


def test_the_laboratorys_controls_and_further_structures_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    for study in ("controlled", ""):
        assert gains.gains_of_laboratory(study).empty
    assert not (tmp_path / "figures").exists()
    table = pd.DataFrame(
        [(arm, role, structure, 9, 3.0, 1.0, 5.0, 3) for structure in ("tabular", "csv", ALL)
         for arm, role in (("verbalize", "intervention"), ("planted-tabular", "control"),
                           ("far-20", "factor"))],
        columns=["arm", "role", "structure", "n", "gain_points", "low_points", "high_points",
                 "seeds"])
    path = figures_path("controlled", "interventions.csv")
    for written in (table, table.drop(columns="role")):
        written.to_csv(path, index=False)
        found = gains.gains_of_laboratory("controlled")
        assert list(found.intervention) == ["verbalize"] * 2
        assert list(found.structure) == ["tabular", ALL]
    table.drop(columns="low_points").to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"interventions\.csv has no column low_points"):
        gains.gains_of_laboratory("controlled")


def test_the_first_thing_is_what_helps():
    text = text_of(gained(HERE, **ALL_CELLS))
    assert "**First: everything rewritten as prose.** It gains +8.0 [+3.0, +13.0] points" in text
    assert "only tables rewritten in place +6.0 [+3.0, +9.0] points for +50.0% tokens" in text
    assert "my/model would take 7 calls at an unknown price" in text
    assert "not trained" in text and "has not been run here" in text and "one seed" not in text


@pytest.mark.parametrize("cell", [(8, 3, 13), (-8, -13, -3)])
def test_one_seed_is_never_certain(cell):
    assert "With one seed" in text_of(gained(HERE, 1, whole=cell))


def test_nothing_is_certain_to_help_where_every_interval_includes_zero():
    text = text_of(gained(HERE, natural=(1, -5, 6), tabular=(3, -1, 7), whole=(2, -3, 7)),
                   gained(LABORATORY, natural=(1, -5, 6), tabular=(3, -1, 7)))
    assert "**Nothing measured here" in text and "includes 0" in text
    assert "none of 1 changes" in text and "**First:" not in text and "smaller step" not in text


def test_evidence_from_the_laboratory_alone_is_called_so():
    text = text_of(gained(HERE, whole=(2, -3, 7)),
                   gained(LABORATORY, natural=(4, 3, 5), lists=(0, 0, 0), tabular=(9, 8, 10),
                          whole=(5, 4, 6)))
    assert "1 of 1 changes help: everything rewritten as prose +4.7 [+3.9, +5.5] points" in text
    assert "the laboratory's evidence alone" in text


def test_harmful_changes_are_named():
    assert "**Leave the documents as they are.**" in text_of(gained(HERE, whole=(-8, -13, -3)))
    harm = gained(LABORATORY, natural=(-4, -6, -2), lists=(0, 0, 0), tabular=(0, 0, 0),
                  whole=(-1, -2, 0))
    assert "everything rewritten as prose -2.0 [-3.0, -1.0] (the laboratory)" in text_of(harm)


def test_what_was_not_measured_of_my_mix_is_named_and_does_not_help():
    text = text_of(gained(LABORATORY, natural=(4, 3, 5), tabular=(9, 8, 10)))
    assert "everything rewritten as prose (the laboratory: 20% of your queries)" in text
    assert "changes help:" not in text


def test_tokens_that_no_one_counted_are_not_a_number():
    table = gained(LABORATORY, natural=(4, 3, 5), lists=(1, 1, 1), tabular=(9, 8, 10),
                   whole=(5, 4, 6))
    without = gains.ranked(gains.on_my_mix(table, MIX), COSTS.iloc[1:])
    text = " ".join(words.first(without, ADDED, BILL))
    assert "points for tokens that were not counted" in text and "nan" not in text


def test_the_laboratorys_two_columns_are_mentioned_where_headers_are_repeated():
    table = gained(LABORATORY, natural=(4, 3, 5))
    assert "two columns" not in words.cannot_tell(ranked(table), "rules")
    repeated = ranked(table.assign(intervention="repeat-header"))
    assert "wide-table-repeated" in words.cannot_tell(repeated, "rules")


@pytest.mark.parametrize(("cell", "start"), [
    ((30.0, 20.0, 40.0), "**Nothing measured"),
    ((0.8, -0.9, 2.5), "**First of all, make training work.**"),
    ((0.0, np.nan, np.nan), "**First of all, see whether training works.**"),
    ((np.nan, np.nan, np.nan), "**Nothing measured")])
def test_a_model_that_learns_nothing_comes_before_any_rewriting(cell, start):
    added = pd.DataFrame([(ALL, 60, *cell)], columns=ADDED.columns)
    text = text_of(gained(HERE, whole=(0, np.nan, np.nan)), added=added)
    assert text.startswith(start) and "nothing varies" in text


def test_where_rewriting_helps_training_works():
    added = pd.DataFrame([(ALL, 60, 0.8, -0.9, 2.5)], columns=ADDED.columns)
    text = text_of(gained(HERE, whole=(8, 3, 13)), added=added)
    assert text.startswith("Training on the raw text is not shown to add anything: +0.8 [")
    assert "First of all" not in text and "**First: " in text


def test_without_both_arms_or_answers_the_page_still_says_so():
    assert "has not trained both ways" in text_of()
    nothing = gained(HERE, whole=(np.nan, np.nan, np.nan)).assign(n=0)
    assert "No query was scored in both" in text_of(nothing)
    assert words.formatted_ranked(ranked()).empty and words.formatted_gains(ranked()).empty


def test_what_is_learned_has_its_denominators():
    table = rows(base=(0, 0, 0), dapt=(10, 4, 2))
    text = words.learned(spread(table), gains.added_here(table))
    for part in ("answers 0.0 [0.0, ", "(dapt, 1 seed): natural 50.0 [",
                 " of 20; entity-list 20.0 [", " of 20; and tabular 10.0 [",
                 "less what it adds on natural ones, is -40.0 ["):
        assert part in text
    nothing = words.learned(spread(table[table.arm == "none"]), table.head(0).assign(structure=""))
    assert "nothing is known" in nothing


def test_the_page_escapes_every_text_and_contains_its_picture(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    shares = costs.shares([document()], [query(1, "tabular")], WORDS)
    picture = save("lab", "advice", *draw_advice(shares, ranked(gained(HERE, whole=(8, 3, 13)))))
    table = pd.DataFrame({"a|b": ["<script>alert(1)</script>"]})
    section = Section("First", ["**bold** `code` <img src=x>"], [table], picture, '">')
    markdown, page = write_page("lab", "<b>lab", [section])
    html = page.read_text()
    assert "<script" not in html and "<img src=x" not in html and "<b>lab" not in html
    assert 'alt="&#34;&gt;"' in html and "<strong>bold</strong> <code>code</code>" in html
    assert 'src="data:image/png;base64,iVBOR' in html and "http" not in html
    assert "| a\\|b |\n| --- |\n| &lt;script>alert(1)&lt;/script> |" in markdown.read_text()


def test_the_figure_marks_each_known_gain_once_and_can_be_drawn_without_any():
    shares = costs.shares([document()], [query(1, "tabular")], WORDS)
    table = ranked(gained(HERE, **ALL_CELLS | {"tabular": (20, np.nan, np.nan)}))
    figure, plotted = draw_advice(shares, table)
    bars, forest = figure.axes
    assert len(forest.get_yticks()) == table.gain_points.notna().sum() == 4
    assert len(bars.patches) == 18 and len(plotted) == len(shares) + len(table)
    filled = {y: line.get_markerfacecolor() != "white" for line in forest.lines
              if line.get_marker() in ("o", "s") for y in line.get_ydata()}
    is_known = ~table.verdict.isin([OPEN, UNKNOWN])
    assert filled == dict(enumerate(is_known)) and set(is_known) == {True, False}
    assert len(draw_advice(shares, ranked())[0].axes) == 1
