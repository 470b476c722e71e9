"""Precision and recall of list items by hand, and their relation to the rules' verdict."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.analyze.agreement.list_items import formatted, item_table, match_items
from lib.core.records import Answer, Query
from lib.judge.rules import compare

ENTITIES = ["Linux", "QNX", "VxWorks", "AIX", "Zephyr", "RTEMS"]


def query(query_id: str, reference: str, structure: str = "entity-list",
          document_id: str = "d") -> Query:
    n_entities = len(reference.splitlines()) if structure == "entity-list" else None
    return Query(query_id=query_id, document_id=document_id, structure=structure, answer=reference,
                 question="Which platforms does Corvane support?", source_reference="", start=0,
                 end=0, block_type="list", entity_count=n_entities)


def answer(query_id: str, text: str) -> Answer:
    return Answer(query_id=query_id, arm="dapt", answer=text, n_tokens=1, truncated=False)


@pytest.mark.parametrize(("text", "named", "surplus", "recall", "precision"), [
    ("Linux\nQNX\nVxWorks", 3, 0, 1, 1), ("VxWorks, QNX, linux and Linux", 3, 0, 1, 1),
    ("Linux, QNX", 2, 0, 2 / 3, 1), ("Linux, QNX, AIX, Zephyr", 2, 2, 2 / 3, 1 / 2),
    ("AIX", 0, 1, 0, 0), ("", 0, 0, 0, None), ("...", 0, 0, 0, None),
    ("The platforms are Linux and QNX. It also runs on water.", 2, 0, 2 / 3, 1)])
def test_items_are_counted_by_hand(text, named, surplus, recall, precision):
    row = match_items([query("q", "Linux\nQNX\nVxWorks")], [answer("q", text)]).iloc[0]
    assert (row.wanted, row.named, row.surplus, row.recall) == (3, named, surplus, recall)
    assert np.isnan(row.precision) if precision is None else row.precision == precision
    assert row.is_whole == (recall == precision == 1)


def test_lists_in_prose_and_tables_count_but_not_scalars_and_lists_of_one():
    queries = [query("prose", "Linux, QNX and AIX", "natural"),
               query("cell", "Linux; QNX", "tabular"), query("scalar", "8443", "tabular"),
               query("one", "Linux")]
    items = match_items(queries, [answer(one.query_id, "QNX") for one in queries])
    assert list(items.query_id) == ["prose", "cell"] and list(items.recall) == [1 / 3, 1 / 2]
    with pytest.raises(ValueError, match="'zzz' is not in queries.jsonl.*04_infer"):
        match_items(queries, [answer("zzz", "x")])


@given(st.lists(st.sampled_from(ENTITIES), min_size=2, max_size=5, unique=True),
       st.lists(st.sampled_from(ENTITIES), max_size=6), st.sampled_from([", ", "\n", "; ", "\n- "]))
def test_a_list_is_complete_exactly_where_the_rules_call_it_correct(wanted, given_items, between):
    asked, text = query("q", "\n".join(wanted)), between.join(given_items)
    row = match_items([asked], [answer("q", text)]).iloc[0]
    outcome = compare(asked.question, asked.answer, text, asked.entity_count)
    assert row.is_whole == outcome.is_correct
    assert row.named == len(set(wanted) & set(given_items))
    assert row.surplus == sum(one not in wanted for one in given_items)


def test_means_are_over_lists_and_intervals_over_documents():
    queries = [query(f"q{n}", "Linux\nQNX", document_id=f"d{n // 2}") for n in range(8)]
    texts = ["Linux, QNX", "Linux", "Linux", "AIX", "", "QNX, Linux", "QNX, AIX", "Linux"]
    items = match_items(queries, [answer(f"q{n}", text) for n, text in enumerate(texts)])
    table = item_table(items)
    row = table.set_index("structure").loc["all"]
    assert (row.lists, row.documents, row.whole, row.wanted, row.named, row.surplus) == (
        8, 4, 2, 16, 8, 2)
    assert row.recall == pytest.approx((1 + .5 + .5 + 0 + 0 + 1 + .5 + .5) / 8)
    assert row.precision == pytest.approx((1 + 1 + 1 + 0 + 1 + .5 + 1) / 7) and row.with_items == 7
    # means of the documents: .75, .25, .5, .5
    assert 0 < row.recall_low < .25 < row.recall < .75 < row.recall_high < 1
    assert row.strict_low < row.strict == 2 / 8 < row.strict_high
    text = formatted(table).iloc[-1]
    assert text["complete lists"].startswith("2/8 = 25.00% [")
    assert text["mean precision, %"].endswith("n = 7")


def test_one_document_or_no_variation_gives_no_interval():
    queries = [query("q", "Linux\nQNX"), query("r", "Linux\nAIX")]
    table = item_table(match_items(queries, [answer("q", "QNX"), answer("r", "")]))
    assert table.recall.iloc[-1] == .25 and np.isnan(table.recall_low.iloc[-1])
    assert "[–]" in formatted(table).iloc[-1]["mean recall, %"]
    assert item_table(match_items(queries, [])).empty
