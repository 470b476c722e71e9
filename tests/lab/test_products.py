"""The laboratory's records: spans, balance, and that nothing private is public."""

from collections import Counter

import pytest

from lib.annotate.queries import annotate
from lib.core.structures import structure_of
from lib.documents.blocks import block_at, parse
from lib.lab.base_model import train_tokenizer
from lib.lab.documents import make_records
from lib.lab.engines import ask_facts, rewrite_facts
from lib.lab.products import ATTRIBUTES, assign_structures, make_products
from lib.normalize.rewrite import normalize
from lib.normalize.segments import segment
from lib.tasks.spark.structures import STRUCTURES


@pytest.fixture(scope="module")
def records():
    return make_records(make_products(30, seed=3), 3, public=False)


def test_a_fact_is_at_its_span_in_its_structure_and_nowhere_else(records):
    documents, facts = records
    texts = {document.document_id: document.text for document in documents}
    blocks = {document_id: parse(text) for document_id, text in texts.items()}
    for fact in facts:
        text = texts[fact.document_id]
        assert all(item in text[fact.start:fact.end] for item in fact.value), fact
        inside = fact.end - 1  # a lead-in with bullets is two blocks and ends in the list
        found = block_at(blocks[fact.document_id], inside, fact.end).kind
        assert structure_of(found).name == fact.structure, fact
        elsewhere = (text[:fact.start] + text[fact.end:]).lower()
        assert fact.attribute not in elsewhere, fact


def test_structure_is_balanced_over_attributes_and_products():
    places = assign_structures(60, seed=1)
    for index in range(len(ATTRIBUTES)):
        assert Counter(row[index] for row in places) == dict.fromkeys(STRUCTURES, 20)
    for row in places:
        counts = Counter(row)
        assert max(counts.values()) - min(counts.values()) <= 1 and len(counts) == 3


def test_products_share_no_name_and_too_many_are_an_error():
    private = {product.name for product in make_products(50, seed=1)}
    public = {product.name for product in make_products(500, seed=2, taken=frozenset(private))}
    assert not private & public and len(public) == 500
    with pytest.raises(ValueError, match="lower n_public"):
        make_products(10**6, seed=1)


def test_the_annotator_asks_the_same_question_about_a_fact_whatever_its_structure(records):
    documents, facts = records
    queries, _ = annotate(documents, ask_facts(facts), len(ATTRIBUTES))
    asked = {query.question: query for query in queries}
    for fact in facts:
        verb = "are" if len(fact.value) > 1 else "is"
        query = asked[f"What {verb} the {fact.attribute} of {fact.entity}?"]
        assert query.structure == fact.structure, fact
        assert query.start < fact.end and fact.start < query.end, fact
        assert all(item in query.answer for item in fact.value), fact
    assert len(queries) == len(facts)


@pytest.mark.parametrize("limit", [20, 60, 700])
def test_each_fact_is_stated_once_wherever_its_record_is_cut(records, limit):
    documents, facts = records
    tokenizer = train_tokenizer([document.text for document in documents], 400)
    rows = normalize(segment(documents, tokenizer, limit), documents, rewrite_facts(facts))
    joined = {document.document_id: " ".join(
        row.text for row in rows if row.document_id == document.document_id)
        for document in documents}
    for fact in facts:
        text = joined[fact.document_id]
        assert all(text.count(item) >= 1 for item in fact.value) and "|" not in text, fact
        if limit == 700:
            assert text.count(f" {fact.attribute} ") == 1, fact
