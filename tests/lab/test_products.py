"""The laboratory's records: spans, balance, and that nothing private is public."""

from collections import Counter

import pytest

from lib.annotate.queries import annotate
from lib.core.records import STRUCTURES
from lib.documents.blocks import STRUCTURE_OF, parse, structure_at
from lib.lab.documents import make_records
from lib.lab.products import ATTRIBUTES, assign_structures, make_products


@pytest.fixture(scope="module")
def records():
    return make_records(make_products(30, seed=3), 3, public=False)


def test_the_same_seed_gives_the_same_records_and_another_seed_others(records):
    assert records == make_records(make_products(30, seed=3), 3, public=False)
    assert records != make_records(make_products(30, seed=4), 4, public=False)


def test_a_fact_stands_where_the_ledger_says_in_the_structure_it_says(records):
    documents, facts = records
    texts = {document.document_id: document.text for document in documents}
    blocks = {document_id: parse(text) for document_id, text in texts.items()}
    for fact in facts:
        place = texts[fact.document_id][fact.start:fact.end]
        assert all(item in place for item in fact.value), fact
        inside = fact.end - 1  # a lead-in with bullets is two blocks: its last character stands in the list
        assert STRUCTURE_OF[structure_at(blocks[fact.document_id], inside, fact.end)] == fact.structure, fact


def test_a_fact_stands_nowhere_else_in_its_document(records):
    documents, facts = records
    texts = {document.document_id: document.text for document in documents}
    for fact in facts:
        text = texts[fact.document_id]
        elsewhere = (text[:fact.start] + text[fact.end:]).lower()
        assert fact.attribute not in elsewhere, fact


def test_structure_is_balanced_over_attributes_and_products():
    places = assign_structures(60, seed=1)
    for index in range(len(ATTRIBUTES)):
        assert Counter(row[index] for row in places) == dict.fromkeys(STRUCTURES, 20)
    for row in places:
        counts = Counter(row)
        assert max(counts.values()) - min(counts.values()) <= 1 and len(counts) == 3


def test_a_further_rendering_says_the_same_in_another_way():
    products = make_products(6, seed=3)
    first, second = (make_records(products, 3, public=True, rendering=number) for number in (0, 1))
    assert [fact.value for fact in first[1]] == [fact.value for fact in second[1]]
    assert all(one.text != other.text for one, other in zip(first[0], second[0], strict=True))


def test_private_and_public_products_share_no_name():
    private = make_products(50, seed=1)
    public = make_products(500, seed=2, taken=frozenset(product.name for product in private))
    assert not {product.name for product in private} & {product.name for product in public}
    assert len({product.name for product in public}) == 500


def test_more_products_than_names_is_an_error_that_says_what_to_lower():
    with pytest.raises(ValueError, match="lower n_public"):
        make_products(10**6, seed=1)


def test_the_annotator_asks_of_every_fact_the_same_question_whatever_its_structure(records):
    documents, facts = records
    queries, _ = annotate(documents, max_queries=len(ATTRIBUTES))
    asked = {query.question: query for query in queries}
    for fact in facts:
        is_list = len(fact.value) > 1
        query = asked[f"What {'are' if is_list else 'is'} the {fact.attribute} of {fact.entity}?"]
        assert query.structure == fact.structure, fact
        assert query.start < fact.end and fact.start < query.end, fact
        assert all(item in query.answer for item in fact.value), fact
    assert len(queries) == len(facts)
