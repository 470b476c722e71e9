"""The laboratory's records: spans, balance, and that nothing private is public."""

import random
import re
from collections import Counter, defaultdict

import pytest

from lib.annotate.questions import annotate
from lib.core.records import STRUCTURES, structure_of
from lib.documents.markdown import block_at, parse
from lib.lab.bases import train_tokenizer
from lib.lab.facts import ask_facts, rewrite_facts
from lib.lab.records import (
    ATTRIBUTES,
    WORDINGS,
    make_products,
    make_records,
    paraphrases,
    public_records,
)
from lib.normalize.segment import segment

PRODUCTS = make_products(30, seed=3)
DOCUMENTS, FACTS = make_records(PRODUCTS, 3)


def test_a_fact_is_at_its_span_in_its_structure_and_nowhere_else():
    for document in DOCUMENTS:
        text, blocks = document.text, parse(document.text)
        for fact in (one for one in FACTS if one.document_id == document.document_id):
            assert all(item in text[fact.start : fact.end] for item in fact.value), fact
            inside = fact.end - 1  # a lead-in with bullets is two blocks and ends in the list
            found = block_at(blocks, inside, fact.end).kind
            assert structure_of(found).name == fact.structure, fact
            elsewhere = (text[: fact.start] + text[fact.end :]).lower()
            assert fact.attribute not in elsewhere, fact


def test_over_the_rotations_each_fact_has_each_structure_in_the_same_words_and_place():
    found = defaultdict(list)
    for rotation in range(len(STRUCTURES)):
        documents, facts = make_records(PRODUCTS, 3, rotation)
        texts = {document.title: document.text for document in documents}
        assert Counter(fact.structure for fact in facts) == dict.fromkeys(STRUCTURES, 90)
        for fact in facts:
            said = texts[fact.entity][fact.start : fact.end].lower().rstrip(".")
            words = re.findall(r"[\w/.-]+", said)
            words = [word for word in words if word not in ("the", "is", "are", "and", "-", "---")]
            headings = re.findall(r"(?m)^## .*", texts[fact.entity][: fact.start])
            found[fact.fact_id].append((words, headings, fact.structure))
    for three in found.values():
        assert len({str(one[:2]) for one in three}) == 1
        assert sorted(one[2] for one in three) == sorted(STRUCTURES)


@pytest.mark.parametrize("share", [1 / 3, 0.1])
def test_a_base_reads_the_wanted_share_of_words_in_tables(share):
    words = Counter()
    for document in public_records(make_products(40, seed=1), 1, 4, share)[0]:
        for section in document.text.split("\n## ")[1:]:
            kind = "table" if "|" in section else "list" if "\n- " in section else "prose"
            words[kind] += len(re.findall(r"\d|[^\W\d]+|[^\w\s]", section))
    assert words["table"] / words.total() == pytest.approx(share, abs=0.02)
    assert words["prose"] == pytest.approx(words["list"], rel=0.03)


def test_products_share_no_name_and_too_many_are_an_error():
    private = {product.name for product in make_products(50, seed=1)}
    public = {product.name for product in make_products(500, seed=2, taken=frozenset(private))}
    assert not private & public and len(public) == 500
    with pytest.raises(ValueError, match="lower n_public"):
        make_products(10**6, seed=1)


def test_the_annotator_asks_the_same_question_about_a_fact_whatever_its_structure():
    queries, _ = annotate(DOCUMENTS, ask_facts(FACTS), len(ATTRIBUTES))
    asked = {query.question: query for query in queries}
    assert len(queries) == len(FACTS)
    for fact in FACTS:
        verb = "are" if len(fact.value) > 1 else "is"
        query = asked[f"What {verb} the {fact.attribute} of {fact.entity}?"]
        assert query.structure == fact.structure, fact
        assert query.start < fact.end and fact.start < query.end, fact
        assert all(item in query.answer for item in fact.value), fact


@pytest.mark.parametrize("limit", [20, 60, 700])
def test_each_fact_is_stated_once_wherever_its_record_is_cut(limit):
    tokenizer = train_tokenizer([document.text for document in DOCUMENTS], 400)
    joined = defaultdict(str)
    for row in rewrite_facts(segment(DOCUMENTS, tokenizer, limit), DOCUMENTS, FACTS):
        joined[row.document_id] += f" {row.text}"
    for fact in FACTS:
        text = joined[fact.document_id]
        assert all(item in text for item in fact.value) and "|" not in text, fact
        if limit == 700:
            assert text.count(f" {fact.attribute} ") == 1 and fact.entity in text, fact


@pytest.mark.parametrize("value", [["412 volts"], ["foam", "cork", "felt"]])
def test_every_wording_states_the_fact_without_the_words_of_its_question(value):
    found = paraphrases("Ardwin Iris", "spare parts", value, len(WORDINGS), random.Random(1))
    assert len(set(found)) == len(WORDINGS)
    for sentence in found:
        assert all(item in sentence for item in value) and not sentence[0].islower()
        assert "spare parts of Ardwin Iris" not in sentence
        assert "{" not in sentence
        before = sentence[: sentence.index(value[0])]  # as a question and a record have them
        assert "Ardwin Iris" in before and "spare parts" in before.lower()
