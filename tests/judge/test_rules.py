"""The judge by rules, on hand-worked cases and properties."""

import pytest

from lib.annotate.queries import annotate
from lib.annotate.rules.engine import by_rules as annotate_by_rules
from lib.core.records import Document, Query
from lib.documents.folder import read_folder
from lib.judge.rules import by_rules, compare
from lib.lab.documents import make_records
from lib.lab.engines import ask_facts
from lib.lab.products import make_products

PORT = "What is the default port of Corvane P-417?"


def is_correct(reference: str, text: str, question: str = PORT) -> bool:
    return compare(question, reference, text).is_correct


@pytest.mark.parametrize(("reference", "equal", "different"), [
    ("1,024 MB", ["1024 MB"], []), ("1 GB", ["1024 MB", "1000 MB"], ["1100 MB"]),
    ("30 s", ["30 seconds", "0.5 min"], ["30 min", "30"]), ("5 mW", [], ["5 MW"]),
    ("8 Mb", [], ["8 MB"]), ("5%", ["5 percent"], []),
    ("-20 °C", ["\u221220 degrees Celsius"], ["20 °C"]), ("2.50 bar", ["2.5 bar"], []),
    ("3.10", ["v3.10"], ["3.1"]), ("3.2.1", [], ["3.2"]), ("3.2", [], ["3.2.1"]),
    ("007", [], ["7"]), ("5-10 s", ["5 to 10 s"], ["5 s"]), ("12", ["twelve"], []),
    ("5 \u00b5g/L", ["0.005 mg/L"], ["5 mg/L"]), ("48 kt", ["48 knots"], ["48 km/h"]),
    ("36 hours", ["a day and a half"], ["a day"]), ("once a week", ["weekly"], ["monthly"]),
    ("one quarter", ["25 %"], ["four"]), ("low battery", ["the battery is low"], ["high battery"]),
    ("$1.2 billion", ["$1,200 million"], []),
    ("2024-05-11", ["11 May 2024", "May 11th, 2024", "11.05.2024"], ["2024-11-05"]),
    ("May 2024", ["2024-05"], []),
    ("/etc/corvane/agent.conf", ["/etc/corvane/agent.conf."], []),
    ("/etc/corvane", [], ["/etc/corvane/x"]), ("Linux", ["\u201cLINUX\u201d"], ["Linux Mint"]),
    ("the pump", ["a pump"], []), ("Class A", [], ["Class"]),
    ("Halvorsen Ltd.", ["halvorsen ltd"], []), ("port 8443", ["8443"], []),
    ("Brandt & Co", ["Brandt & Co, in Oslo"], []),
    ("Linux, QNX and VxWorks", ["VxWorks; QNX; Linux"], ["Linux, QNX"])])
def test_values_compare_by_worth_and_not_by_spelling(reference, equal, different):
    assert all(is_correct(reference, text) for text in equal)
    assert not any(is_correct(reference, text) for text in different)


def test_an_answer_of_endless_digits_is_incorrect_and_raises_nothing():
    """Python reads no integer of more than 4,300 digits, and a model that repeats itself does."""
    assert not is_correct("12 l/min", "9" * 5000, "What is the flow?")
    assert is_correct("9" * 40, "9" * 40, "What is the serial number?")


def wrong(queries: list[Query], text_of) -> list[tuple[str, str]]:
    """Return question and reason of every query whose answer text_of(query) is not correct."""
    decisions = by_rules(queries, [text_of(query) for query in queries])
    return [(query.question, reason) for query, (verdict, reason)
            in zip(queries, decisions, strict=True) if verdict != "correct"]


def assert_references_are_distinguished(documents: list[Document], n_least: int,
                                        engine=annotate_by_rules) -> list[Query]:
    """Assert that each reference is correct in any layout, and the next of its kind is not."""
    queries = annotate(documents, engine)[0]
    assert len(queries) >= n_least
    assert wrong(queries, lambda query: query.answer) == []
    assert wrong(queries, lambda query: query.answer.lower() + ".\n\nQuestion: What else?") == []
    assert wrong(queries, lambda query: "\n".join(
        "- " + line for line in query.answer.splitlines()[::-1])) == []
    for kind in ("natural", "entity-list"):
        rows = [query for query in queries if query.structure == kind]
        swapped = {one.query_id: other.answer
                   for one, other in zip(rows, rows[1:] + rows[:1], strict=True)}
        different = [query for query in rows
                     if swapped[query.query_id].lower() != query.answer.lower()]
        found = wrong(different, lambda query, swapped=swapped: swapped[query.query_id])
        assert len(found) == len(different) > 0
    return queries


def test_laboratory_facts_are_correct_as_written_and_no_other_fact_is():
    documents, facts = make_records(make_products(24, seed=3), seed=3, public=False)
    queries = assert_references_are_distinguished(documents, 200, ask_facts(facts))
    assert wrong(queries, lambda query: query.source_reference) == []  # sentence, bullets or row


def test_references_of_real_documents_are_distinguished(documents_folder):
    assert_references_are_distinguished(read_folder(documents_folder).documents, 12)
