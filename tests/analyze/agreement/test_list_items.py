"""Precision and recall of list items, hand-worked, and beside the strict verdict of the rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.analyze.agreement.list_items import item_table, formatted, match_items
from lib.core.records import Answer, Query
from lib.judge.rules import by_rules
from lib.judge.verdicts import judge

ENTITIES = ["Linux", "QNX", "VxWorks", "AIX", "Zephyr", "RTEMS"]


def query(query_id: str, reference: str, structure: str = "entity-list", document_id: str = "d") -> Query:
    return Query(query_id=query_id, document_id=document_id, question="Which platforms does Corvane support?",
                 answer=reference, structure=structure, source_reference="", start=0, end=0, block_type="list",
                 entity_count=len(reference.splitlines()) if structure == "entity-list" else None)


def answer(query_id: str, text: str, arm: str = "dapt") -> Answer:
    return Answer(query_id=query_id, arm=arm, answer=text, n_tokens=1, truncated=False)


@pytest.mark.parametrize(("text", "named", "surplus", "recall", "precision"), [
    ("Linux\nQNX\nVxWorks", 3, 0, 1, 1), ("VxWorks, QNX, linux and Linux", 3, 0, 1, 1), ("Linux, QNX", 2, 0, 2 / 3, 1),
    ("Linux, QNX, AIX, Zephyr", 2, 2, 2 / 3, 1 / 2), ("AIX", 0, 1, 0, 0), ("", 0, 0, 0, None), ("...", 0, 0, 0, None),
    ("The platforms are Linux and QNX. It also runs on water.", 2, 0, 2 / 3, 1)])
def test_items_are_counted_by_hand(text, named, surplus, recall, precision):
    row = match_items([query("q", "Linux\nQNX\nVxWorks")], [answer("q", text)]).iloc[0]
    assert (row.wanted, row.named, row.surplus, row.recall) == (3, named, surplus, recall)
    assert (row.precision == precision) if precision is not None else np.isnan(row.precision)
    assert row.is_whole == (recall == precision == 1)


def test_lists_in_prose_and_tables_count_and_scalars_and_lists_of_one_do_not():
    queries = [query("prose", "Linux, QNX and AIX", "natural"), query("cell", "Linux; QNX", "tabular"),
               query("scalar", "8443", "tabular"), query("one", "Linux")]
    items = match_items(queries, [answer(name, "QNX") for name in ("prose", "cell", "scalar", "one")])
    assert list(items.query_id) == ["prose", "cell"] and list(items.recall) == [1 / 3, 1 / 2]
    with pytest.raises(ValueError, match="'zzz' is not in queries.jsonl.*04_infer"):
        match_items(queries, [answer("zzz", "x")])


@given(st.lists(st.sampled_from(ENTITIES), min_size=2, max_size=5, unique=True),
       st.lists(st.sampled_from(ENTITIES), max_size=6), st.sampled_from([", ", "\n", "; ", "\n- "]))
def test_a_list_is_whole_exactly_where_the_rules_call_it_correct(wanted, said, between):
    asked, given_answer = query("q", "\n".join(wanted)), answer("q", between.join(said))
    row = match_items([asked], [given_answer]).iloc[0]
    assert row.is_whole == (judge([asked], [given_answer], by_rules)[0].verdict == "correct")
    assert row.named == len(set(wanted) & set(said)) and row.surplus == sum(one not in wanted for one in said)


def test_means_are_over_lists_and_intervals_over_documents():
    queries = [query(f"q{n}", "Linux\nQNX", document_id=f"d{n // 2}") for n in range(8)]
    texts = ["Linux, QNX", "Linux", "Linux", "AIX", "", "QNX, Linux", "QNX, AIX", "Linux"]
    items = match_items(queries, [answer(f"q{n}", text) for n, text in enumerate(texts)])
    row = item_table(items).set_index("structure").loc["all"]
    assert (row.lists, row.documents, row.whole, row.wanted, row.named, row.surplus) == (8, 4, 2, 16, 8, 2)
    assert row.recall == pytest.approx((1 + .5 + .5 + 0 + 0 + 1 + .5 + .5) / 8) and row.strict == 2 / 8
    assert row.precision == pytest.approx((1 + 1 + 1 + 0 + 1 + .5 + 1) / 7) and row.with_items == 7
    # means of the documents: .75, .25, .5, .5; a mean of four draws of them is between the extremes
    assert .25 < row.recall_low < row.recall < row.recall_high < .75
    assert item_table(items).equals(item_table(items)), "the same seed gives the same interval"
    text = formatted(item_table(items)).iloc[-1]
    assert text["complete lists"].startswith("2/8 = 25.00% [") and text["mean precision, %"].endswith("n = 7")


def test_one_document_or_no_spread_gives_no_interval():
    items = match_items([query("q", "Linux\nQNX"), query("r", "Linux\nAIX")], [answer("q", "QNX"), answer("r", "")])
    row = item_table(items).iloc[-1]
    assert row.recall == .25 and np.isnan(row.recall_low)
    assert "[–]" in formatted(item_table(items)).iloc[-1]["mean recall, %"]
    assert item_table(items.iloc[:0]).empty
