"""The advice: shares and costs that are counted by hand, gains on a mix, and what the words may claim."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from lib.analyze.advice import costs as advice_costs
from lib.analyze.advice import gains as advice
from lib.analyze.advice import tables as advice_tables
from lib.analyze.advice import words as advice_words
from lib.analyze.advice.page import Section, write_page
from lib.analyze.figures.advice import draw_advice
from lib.analyze.figures.style import save
from lib.analyze.statistics.seeds import spread
from lib.analyze.tables import joined
from lib.core.arms import ALL
from lib.core.paths import figures_path
from lib.core.records import STRUCTURES, Document, Normalized, Query, Segment, Verdict
from lib.documents.blocks import parse
from lib.llm.prices import cost_usd, price_of

WORDS = PreTrainedTokenizerFast(  # a token a word
    tokenizer_object=Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]")), unk_token="[UNK]")
WORDS.backend_tokenizer.pre_tokenizer = WhitespaceSplit()
TEXT = "# Corvane\n\nIt draws little.\n\n- Linux\n- QNX\n\n  | Port | Use |\n  | --- | --- |\n  | 8443 | admin |\n"


def document(text: str = TEXT) -> Document:
    return Document(document_id="corvane", title="Corvane", path="", text=text)


def segments(*texts: str) -> list[Segment]:
    return [Segment(segment_id=f"s{number}", document_id="corvane", start=TEXT.index(text), text=text, n_tokens=0,
                    end=TEXT.index(text) + len(text)) for number, text in enumerate(texts)]


def rewrites(*texts: str) -> list[Normalized]:
    return [Normalized(segment_id=f"s{number}", document_id="corvane", rating=None, remark="", text=text,
                       dropped="" if text else "lost") for number, text in enumerate(texts)]


def query(number: int, structure: str) -> Query:
    return Query(query_id=f"q{number}", document_id=f"d{number % 10}", question="?", answer="8443", structure=structure,
                 source_reference="", start=0, end=0, entity_count=None, block_type="")


def verdicts(arm: str, queries: list[Query], right: dict[str, int]) -> list[Verdict]:
    """The first `right` queries of each structure are correct."""
    left, found = dict(right), []
    for one in queries:
        left[one.structure] -= 1
        found.append(Verdict(query_id=one.query_id, arm=arm, judge="rules", reason="",
                             verdict="correct" if left[one.structure] >= 0 else "incorrect"))
    return found


def rows(**right: tuple[int, int, int]) -> pd.DataFrame:
    """lib.analyze.tables.joined of 20 queries a structure, ten documents; `right` by arm (dapt_n_2: dapt-n@2), structure."""
    queries = [query(number, STRUCTURES[number % 3]) for number in range(60)]
    told = [one for arm, counts in right.items() for one in verdicts(
        arm.replace("_n", "-n").replace("_", "@"), queries, dict(zip(STRUCTURES, counts, strict=True)))]
    table = joined(queries, told)
    return table.assign(cluster=table.query_id.map({one.query_id: one.document_id for one in queries}))


def test_a_token_belongs_to_the_innermost_block_and_all_are_counted():
    table = advice_costs.shares([document()], [query(1, "tabular"), query(2, "tabular"), query(3, "natural")], WORDS)
    tokens = dict(zip(table.kind, table.tokens, strict=True))
    # "# Corvane"; "It draws little."; "- Linux" and "- QNX"; three rows of five signs and words
    assert tokens == {"heading": 2, "prose": 3, "list": 4, "table": 15, "code": 0, "other": 0}
    assert sum(tokens.values()) == len(TEXT.split())
    assert advice_costs.mix_of(table) == {"natural": 1 / 3, "entity-list": 0, "tabular": 2 / 3}
    assert list(table.blocks[:3]) == [1, 1, 1] and list(table.statements) == [1, 2, 1, 0, 0, 0]


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["words here", "- one\n- two", "| a |\n| - |\n| b |", "```\ncode\n```", "<p>", "# T"])))
def test_shares_of_text_add_up_whatever_the_document(pieces):
    table = advice_costs.shares([document("\n\n".join(pieces))], [], WORDS)
    assert table.tokens.sum() == len(" ".join(pieces).split())
    assert table.text_share.sum() == pytest.approx(1 if pieces else 0)
    assert table.blocks.sum() == len(parse("\n\n".join(pieces)))


def test_training_tokens_are_those_of_the_changed_documents_and_scale_to_the_corpus():
    whole = segments(TEXT)
    table = advice_costs.training_costs([document()], whole, rewrites("Corvane draws little power."), WORDS, 2400)
    after = dict(zip(table.intervention, table.tokens_after, strict=True))
    assert set(table.tokens_before) == {24}
    assert after["normalized"] == 4 and after["mixed"] == 28
    assert after["repeat-header"] == 26  # "Port:" and "Use:"
    assert after["prefix-name"] == 24 + 2 + 3 * 2  # "Corvane:" twice; a cell and its pipe in each row
    scaled = table.set_index("intervention")
    assert set(table.corpus_before) == {2400} and scaled.corpus_after["mixed"] == 2800
    assert scaled.tokens_added_percent["mixed"] == pytest.approx(100 * 4 / 24)


def test_a_corpus_cannot_be_negative_or_empty():
    with pytest.raises(ValueError, match="corpus_tokens is -1"):
        advice_costs.training_costs([document()], segments(TEXT), rewrites("x"), WORDS, -1)
    with pytest.raises(ValueError, match="have no token"):
        advice_costs.training_costs([], [], [], WORDS)


@pytest.fixture()
def _counted_in_words(monkeypatch):
    monkeypatch.setattr(advice_costs, "counter", lambda model: (lambda text: len(text.split()), "in words"))


@pytest.mark.usefixtures("_counted_in_words")
def test_a_model_is_paid_for_instructions_with_each_segment_it_gets():
    cuts = segments(TEXT[:TEXT.index("  |")], TEXT[TEXT.index("  |"):])
    table = advice_costs.model_costs([document()], cuts, rewrites("Words.", ""), "gpt-4.1-2025-04-14", WORDS)
    cells = table.set_index("sent")
    assert list(cells.segments) == [2, 2, 2, 1]  # the table stands inside the list
    whole, tables = cells.loc["every segment"], cells.loc["segments with a table"]
    assert whole.tokens_in == 2 * whole.overhead_tokens + 2 + len(TEXT.split())  # twice the title, "Corvane"
    assert tables.tokens_in == tables.overhead_tokens + 1 + 15
    form, price = len(advice_costs.REPLY_FORM.split()), price_of("gpt-4.1-2025-04-14")
    assert whole.tokens_out == 2 * form + 1 + 15  # what was dropped is reckoned as long as it stands
    assert whole.usd == pytest.approx(cost_usd(price, whole.tokens_in, whole.tokens_out))
    assert whole.usd_batch == pytest.approx(whole.usd * float(price.batch_factor))
    scaled = advice_costs.model_costs([document()], cuts, rewrites("Words.", ""), "gpt-4.1-2025-04-14", WORDS, 240)
    assert scaled.tokens_in[0] == pytest.approx(10 * whole.tokens_in, rel=0.01) and scaled.segments[0] == 20


@pytest.mark.usefixtures("_counted_in_words")
def test_an_unknown_price_is_never_nothing():
    table = advice_costs.model_costs([document()], segments(TEXT), rewrites("Words."), "my/model", WORDS)
    assert table.usd.isna().all() and set(table.price) == {"price unknown"}
    assert set(advice_tables.model_for_reading(table).dollars) == {"price unknown"}
    assert [advice_tables.dollars(amount) for amount in (0.0042, 0.2, 1234.5)] == ["$0.0042", "$0.20", "$1,234.50"]


def gains(evidence: str, seeds: int = 3, p_holm: float = np.nan, **cells: tuple[float, float, float]) -> pd.DataFrame:
    names = {"natural": "natural", "lists": "entity-list", "tabular": "tabular", "whole": ALL}
    return pd.DataFrame([{"intervention": "normalized", "evidence": evidence, "structure": names[name], "n": 9,
                          "clusters": 9, "seeds": seeds, "gain_points": gain, "low_points": low, "high_points": high,
                          "interval": "", "p_holm": p_holm} for name, (gain, low, high) in cells.items()],
                        columns=advice.GAINS)


COSTS = pd.DataFrame([(name, 100, 100 + 10 * place, 10.0 * place, 100, 100 + 10 * place) for place, name in enumerate(
    advice.WHAT)], columns=advice_costs.TRAINING)
BILL = pd.DataFrame([("every segment", 7, 1, 1, 1, np.nan, np.nan, "my/model", "price unknown", "")],
                    columns=advice_costs.MODEL)
MIX = {"natural": 0.5, "entity-list": 0.2, "tabular": 0.3}
ADDED = pd.DataFrame([(ALL, 60, 30.0, 20.0, 40.0)], columns=["structure", "n", "difference_points", "low_points",
                                                            "high_points"])


def ranked(*tables: pd.DataFrame) -> pd.DataFrame:
    table = pd.concat([pd.DataFrame(columns=advice.GAINS), *tables]) if len(tables) != 1 else tables[0]
    return advice.ranked(advice.on_my_mix(table, MIX), COSTS)


def test_gains_elsewhere_are_weighted_by_my_shares():
    table = ranked(gains(advice.LABORATORY, natural=(-2, -3, -1), lists=(10, 5, 15), tabular=(20, 10, 30)))
    row = table.iloc[0]
    assert (row.gain_points, row.low_points, row.high_points) == pytest.approx((7, 2.5, 11.5))
    assert row.known_share == 1 and row.verdict == advice.SURE and len(table) == 1


def test_a_structure_that_was_not_measured_adds_nothing_and_is_told():
    row = ranked(gains(advice.LABORATORY, natural=(-2, -3, -1), tabular=(20, 10, 30))).iloc[0]
    assert row.gain_points == pytest.approx(5) and row.known_share == pytest.approx(0.8)
    assert row.low_points > 0 and row.verdict == advice.OPEN  # what lists would do is not known


def test_this_studys_own_gain_is_taken_whole_and_its_parts_are_called_derived():
    table = ranked(gains(advice.HERE, natural=(0, -5, 5), lists=(10, 5, 15), tabular=(20, 10, 30), whole=(8, 3, 13)))
    assert list(zip(table.intervention, table.evidence, table.verdict, strict=True)) == [
        ("normalized", advice.HERE, advice.SURE), ("verbalize", advice.DERIVED, advice.LIKELY),
        ("targeted-tabular", advice.DERIVED, advice.LIKELY), ("targeted-entity-list", advice.DERIVED, advice.LIKELY)]
    assert list(table.gain_points) == pytest.approx([8, 8, 6, 2])
    assert list(table.low_points) == pytest.approx([3, 4, 3, 1])
    assert table.known_share.eq(1).all()


@pytest.mark.parametrize(("cell", "seeds", "verdict"), [
    ((8, 3, 13), 3, advice.SURE), ((8, 3, 13), 1, advice.ONCE), ((8, -1, 17), 3, advice.OPEN),
    ((-8, -13, -3), 3, advice.HARMFUL), ((0, np.nan, np.nan), 3, advice.UNKNOWN), ((8, 0, 16), 3, advice.OPEN)])
def test_only_an_interval_without_zero_decides(cell, seeds, verdict):
    assert ranked(gains(advice.HERE, seeds, whole=cell)).verdict[0] == verdict


@pytest.mark.parametrize(("p_holm", "verdict", "said_so"), [
    (0.04, advice.SURE, "What helps passed Holm's correction there; the first of 2"),
    (0.06, advice.OPEN, "Holm's p at most 5%"),
    (np.nan, advice.SURE, "1 of 1 changes help")])
def test_the_laboratory_helps_where_its_own_rule_says_so(p_holm, verdict, said_so):
    cells = {"natural": (4, 3, 5), "lists": (2, 1, 3), "tabular": (9, 8, 10), "whole": (5, 4, 6)}
    tables = [gains(advice.LABORATORY, 3, p_holm, **cells)]
    assert ranked(*tables).verdict[0] == verdict
    other = gains(advice.LABORATORY, 3, 1.0, natural=(0, -1, 1)).assign(intervention="verbalize")
    assert said_so in said(*tables, *([other] if p_holm == 0.04 else []))


def test_a_ratio_to_hardly_any_tokens_is_none():
    costs = COSTS.assign(tokens_added_percent=[0.9, *COSTS.tokens_added_percent[1:]])
    table = gains(advice.HERE, whole=(8, 3, 13))
    assert np.isnan(advice.ranked(advice.on_my_mix(table, MIX), costs).points_per_percent[0])


def test_gains_here_are_those_of_the_verdicts_and_need_both_arms():
    table = advice.gains_here(rows(dapt=(10, 4, 2), dapt_2=(10, 6, 2), dapt_n=(10, 8, 9), dapt_n_2=(10, 8, 11)))
    by_structure = table.set_index("structure")
    assert list(by_structure.gain_points) == pytest.approx([0, 15, 40, 100 * (3 + 8) / 60])
    assert list(by_structure.index) == [*STRUCTURES, ALL] and set(table.seeds) == {2} and set(table.n) == {20, 60}
    alone = rows(base=(0, 0, 0), dapt=(5, 5, 5))
    assert advice.gains_here(alone).empty and len(advice.added_here(alone)) == 6
    assert advice.added_here(rows(dapt=(5, 5, 5))).empty


def test_the_laboratorys_controls_and_further_structures_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    assert advice.gains_of_laboratory("controlled").empty and advice.gains_of_laboratory("").empty
    assert not (tmp_path / "figures").exists()
    table = pd.DataFrame([(arm, role, structure, 9, 3.0, 1.0, 5.0, 3) for structure in ("tabular", "csv", ALL)
                          for arm, role in (("verbalize", "intervention"), ("planted-tabular", "control"),
                                            ("far-20", "factor"))],
                         columns=["arm", "role", "structure", "n", "gain_points", "low_points", "high_points", "seeds"])
    path = figures_path("controlled", "interventions.csv")
    table.to_csv(path, index=False)
    found = advice.gains_of_laboratory("controlled")
    assert list(zip(found.intervention, found.structure, strict=True)) == [("verbalize", "tabular"), ("verbalize", ALL)]
    table.drop(columns="role").to_csv(path, index=False)
    assert list(advice.gains_of_laboratory("controlled").intervention) == ["verbalize"] * 2
    table.drop(columns="low_points").to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"interventions\.csv has no column low_points"):
        advice.gains_of_laboratory("controlled")


def said(*tables: pd.DataFrame, added: pd.DataFrame = ADDED, normalizer: str = "rules") -> str:
    return " ".join(advice_words.first(ranked(*tables), added, BILL, normalizer))


def test_the_first_thing_is_what_helps_for_sure():
    text = said(gains(advice.HERE, natural=(0, -5, 5), lists=(10, 5, 15), tabular=(20, 10, 30), whole=(8, 3, 13)))
    assert "**First: everything rewritten as prose.** It gains +8.0 [+3.0, +13.0] points" in text
    assert "only tables rewritten in place +6.0 [+3.0, +9.0] points for +50.0% tokens" in text and "not trained" in text
    assert "my/model would take 7 calls at an unknown price" in text and "has not been run here" in text
    assert "one seed" not in text and "for sure" not in text


def test_one_seed_is_never_sure():
    text = said(gains(advice.HERE, 1, whole=(8, 3, 13)))
    assert "With one seed this tells two trainings apart" in text
    assert "With one seed" in said(gains(advice.HERE, 1, whole=(-8, -13, -3)))


def test_nothing_helps_for_sure_where_every_interval_holds_zero():
    text = said(gains(advice.HERE, natural=(1, -5, 6), tabular=(3, -1, 7), whole=(2, -3, 7)),
                gains(advice.LABORATORY, natural=(1, -5, 6), tabular=(3, -1, 7)))
    assert "**Nothing measured here helps for sure.**" in text and "the interval holds 0" in text
    assert "none of 1 changes helps for sure" in text and "**First:" not in text and "smaller step" not in text


def test_evidence_from_the_laboratory_alone_is_called_so():
    text = said(gains(advice.HERE, whole=(2, -3, 7)),
                gains(advice.LABORATORY, natural=(4, 3, 5), lists=(0, 0, 0), tabular=(9, 8, 10)))
    assert "1 of 1 changes help: everything rewritten as prose +4.7 [+3.9, +5.5] points" in text
    assert "This is the laboratory's evidence alone" in text


def test_what_harms_is_named():
    assert "**Leave the documents as they are.**" in said(gains(advice.HERE, whole=(-8, -13, -3)))
    assert "**Not this:** in points, everything rewritten as prose -2.0 [-3.0, -1.0] (the laboratory)" in said(
        gains(advice.LABORATORY, natural=(-4, -6, -2), lists=(0, 0, 0), tabular=(0, 0, 0)))


def test_what_was_not_measured_of_my_mix_is_named_and_does_not_help():
    text = said(gains(advice.LABORATORY, natural=(4, 3, 5), tabular=(9, 8, 10)))
    assert "everything rewritten as prose (the laboratory: 20% of your queries)" in text and "changes help:" not in text


def test_tokens_that_no_one_counted_are_no_number():
    mix = advice.on_my_mix(gains(advice.LABORATORY, natural=(4, 3, 5), lists=(1, 1, 1), tabular=(9, 8, 10)), MIX)
    text = " ".join(advice_words.first(advice.ranked(mix, COSTS.iloc[1:]), ADDED, BILL))
    assert "as prose +4.9 [+4.1, +5.7] points for tokens that were not counted" in text and "nan" not in text


def test_two_columns_of_the_laboratorys_tables_are_said_where_headers_are_repeated():
    table = gains(advice.LABORATORY, natural=(4, 3, 5))
    assert "two columns" not in advice_words.cannot_tell(ranked(table), "rules")
    repeated = ranked(table.assign(intervention="repeat-header"))
    assert "wide-table-repeated" in advice_words.cannot_tell(repeated, "rules")


@pytest.mark.parametrize(("cell", "start"), [
    ((30.0, 20.0, 40.0), "**Nothing measured"), ((0.8, -0.9, 2.5), "**First of all, make training work.** Training on"),
    ((0.0, np.nan, np.nan), "**First of all, see whether training works.** That training on the raw text adds anything "
     "is not known: +0.0 [–]"), ((np.nan, np.nan, np.nan), "**Nothing measured")])
def test_a_model_that_learns_nothing_comes_before_any_rewriting(cell, start):
    added = pd.DataFrame([(ALL, 60, *cell)], columns=ADDED.columns)
    text = said(gains(advice.HERE, whole=(0, np.nan, np.nan)), added=added)
    assert text.startswith(start) and "nothing varies" in text


def test_where_rewriting_helps_training_works():
    added = pd.DataFrame([(ALL, 60, 0.8, -0.9, 2.5)], columns=ADDED.columns)
    text = said(gains(advice.HERE, whole=(8, 3, 13)), added=added)
    assert text.startswith("Training on the raw text is not shown to add anything (+0.8 [")
    assert "First of all" not in text and "**First: " in text


def test_without_both_arms_or_answers_the_page_still_says_so():
    assert "has not trained both ways" in said()
    assert "No query was scored in both" in said(gains(advice.HERE, whole=(np.nan, np.nan, np.nan)))
    assert advice_tables.ranked_for_reading(ranked()).empty and advice_tables.gains_for_reading(ranked()).empty


def test_what_is_learned_is_said_with_its_denominators():
    table = rows(base=(0, 0, 0), dapt=(10, 4, 2))
    text = advice_words.learned(spread(table), advice.added_here(table))
    assert "The base model is right in 0.0% [0.0, 6.0] of 60: whatever an arm has right it has from training." in text
    for words in ("(dapt, 1 seed): natural 50.0% [", " of 20; entity-list 20.0% [", " of 20; and tabular 10.0% ["):
        assert words in text
    assert "less what it adds on natural ones, is -40.0 [" in text
    assert "nothing is known" in advice_words.learned(spread(table[table.arm == "none"]), table.head(0).assign(
        structure=""))


def test_the_page_escapes_every_text_and_holds_its_picture(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    shares = advice_costs.shares([document()], [query(1, "tabular")], WORDS)
    picture = save("lab", "advice", *draw_advice(shares, ranked(gains(advice.HERE, whole=(8, 3, 13)))))
    table = pd.DataFrame({"a|b": ["<script>alert(1)</script>"]})
    section = Section("First", ["**bold** `code` <img src=x>"], [table], picture, '">')
    markdown, page = write_page("lab", "<b>lab", [section])
    html = page.read_text()
    assert "<script" not in html and "<img src=x" not in html and "<b>lab" not in html and 'alt=\'&quot;&gt;\'' in html
    assert "<strong>bold</strong> <code>code</code>" in html and "src='data:image/png;base64,iVBOR" in html
    assert "| a\\|b |\n| --- |\n| &lt;script>alert(1)&lt;/script> |" in markdown.read_text()
    assert "http" not in html.replace("http-equiv", "")


def test_the_figure_marks_each_known_gain_once_and_stands_without_any():
    shares = advice_costs.shares([document()], [query(1, "tabular")], WORDS)
    table = ranked(gains(advice.HERE, natural=(0, -5, 5), lists=(10, 5, 15), tabular=(20, np.nan, np.nan),
                         whole=(8, 3, 13)))
    figure, plotted = draw_advice(shares, table)
    bars, forest = figure.axes
    assert len(forest.get_yticks()) == table.gain_points.notna().sum() == 4 and len(bars.patches) == 18
    marks = [line for line in forest.lines if line.get_marker() in "os" and len(line.get_xdata())]
    filled = [mark.get_markerfacecolor() != "white" for mark in marks]
    assert filled == list(~table.verdict.isin([advice.OPEN, advice.UNKNOWN])) and set(filled) == {True, False}
    assert len(plotted) == len(shares) + len(table)
    assert len(draw_advice(shares, ranked())[0].axes) == 1
