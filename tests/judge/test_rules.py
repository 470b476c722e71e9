"""The judge by rules, on hand-worked cases and properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.annotate.queries import annotate
from lib.annotate.rules.engine import by_rules as annotate_by_rules
from lib.core.records import Document, Query
from lib.documents.folder import read_folder
from lib.judge.rules import by_rules, compare
from lib.lab.documents import make_records
from lib.lab.products import make_products

PORT = "What is the default port of Corvane P-417?"
PLATFORMS = "Which platforms does Corvane P-417 support?"
ENTITIES = ["Linux", "QNX", "VxWorks", "Research and Development", "Sorrel Tools", "AIX 7.2",
            "Unit (rev B)"]


def is_correct(reference: str, text: str, question: str = PORT) -> bool:
    return compare(question, reference, text).is_correct


def is_list(reference: str, text: str, question: str = PLATFORMS) -> bool:
    return compare(question, reference, text, len(reference.splitlines())).is_correct


@pytest.mark.parametrize("text", [
    "8443", "8443.", "8,443", "`8443`", "**8443**", "Port 8443", "It's 8443",
    "The default port of Corvane P-417 is 8443.", "Corvane P-417 has a default port of 8443.",
    "On Corvane P-417, the default port is 8443.", "Default port: 8443",
    "Corvane P-417 uses 8443 as its default port.",
    # surplus after the reference
    "8443 (TCP)", "8443, the default", "8443 for TLS", "8443, not 9000",
    "8443 is the default port of Corvane P-417.", "8443 and it can be changed",
    "8443. The memory is 9000 MB.", "8443. No other port is open.",
    "Answer: 8443\nQuestion: and the memory?"])
def test_a_correct_scalar_in_any_wording_is_correct(text):
    assert is_correct("8443", text)


@pytest.mark.parametrize(("reason", "texts"), [
    ("does not give the reference", [
        "84430", "844", "8443.5", "-8443", "8443a", "8443 MB", "8443/9000", "8443 - 9000",
        "8443 to 9000", "Corvane P-417", "417", "", "The default port of Corvane P-417 is 9000."]),
    ("denies or excludes it", ["no, not 8443", "not 8443", "9000, not 8443", "It is not 8443."]),
    ("hedges", ["Either 8443 or 9000", "9000 or 8443", "Maybe 8443"]),
    ("about something else", ["The memory of Sorrel is 8443"]),
    ("not about what is asked", ["The memory is 8443"]),
    ("takes it back", ["8443. No, 9000.", "8443. Wait, 9000.", "8443. Sorry, it is 9000."]),
    ("offers another value", ["8443 or 9000", "8443, or 9000", "8443, 9000", "8443 and 9000",
                              "8443; 9000", "8443 (or 9000)", "8443\n9000", "8443. 9000.",
                              "8443. The default port is 9000."]),
    ("denies it", ["8443 is wrong", "8443 is not the default port"]),
    ("continues with something else", ["8443 9000"])])
def test_a_wrong_hedged_or_retracted_scalar_is_incorrect(reason, texts):
    for text in texts:
        outcome = compare(PORT, "8443", text)
        assert not outcome.is_correct and outcome.reason.startswith(reason), text


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


def test_a_unit_that_the_question_asks_for_may_be_left_out():
    assert is_correct("30 s", "30", "What is the timeout in seconds?")
    assert is_correct("1024", "1 GB", "What is the memory (MB)?")
    assert not is_correct("30", "30 min", "What is the timeout in seconds?")


@pytest.mark.parametrize("text", [
    "Linux, QNX and VxWorks.", "- VxWorks\n- QNX\n- Linux", "1. Linux\n2. QNX\n3. VxWorks",
    "Supported platforms:\n\n- Linux\n- QNX\n- VxWorks\n\nAsk the vendor for more.",
    "The supported platforms of Corvane P-417 are Linux, QNX and VxWorks.",
    "On Corvane P-417, the supported platforms are Linux, QNX and VxWorks.",
    "Linux, QNX and VxWorks are the supported platforms of Corvane P-417.",
    "Corvane P-417 supports Linux, QNX, and VxWorks. It also has a pump.",
    "Linux (kernel 6), QNX, VxWorks", "Linux, linux, QNX, VxWorks",
    "Linux\nQNX\nVxWorks\nQuestion: Which tools?\nA, B"])
def test_a_complete_list_in_any_layout_is_correct(text):
    assert is_list("Linux\nQNX\nVxWorks", text)


@pytest.mark.parametrize("text", [
    "Linux, QNX", "Linux, QNX, VxWorks, AIX", "Linux\nQNX\nVxWorks\nAIX",
    "Linux, QNX\nVxWorks, AIX", "Linux or QNX or VxWorks", "Linux QNX VxWorks",
    "Linux, QNX and not VxWorks", "Linux, QNX, VxWorks 7", "..."])
def test_a_list_with_a_gap_or_surplus_is_incorrect(text):
    assert not is_list("Linux\nQNX\nVxWorks", text)


def test_a_list_of_one_entity_refuses_a_second_and_a_name_may_contain_and_or_a_comma():
    for name in ("Linux", "Research and Development", "Halvorsen, Brandt", "Brandt & Co"):
        assert is_list(name, f"The vendor is {name}.", "Who is the vendor?")
        for text in (f"{name}, Sorrel", f"{name}\nSorrel", "Sorrel"):
            assert not is_list(name, text, "Who is the vendor?")


@given(st.permutations(ENTITIES), st.integers(1, len(ENTITIES) - 1), st.data())
def test_any_order_and_layout_is_correct_and_any_gap_or_surplus_is_not(entities, size, data):
    wanted, others = entities[:size], entities[size:]
    reference, shown = "\n".join(wanted), data.draw(st.permutations(wanted))
    layout = data.draw(st.sampled_from(["\n", ", ", "; ", "\n- ", ",\n"]))
    lead = "\n- " if layout == "\n- " else data.draw(
        st.sampled_from(["", "Platforms of Corvane P-417:\n", "Answer: "]))
    tail = data.draw(st.sampled_from(["", ".", "\n\nAsk the vendor.", "\n\n- other"]))
    assert is_list(reference, lead + layout.join(shown) + tail)
    assert not is_list(reference, lead + layout.join([*shown, others[0]]) + tail)
    if size > 1:
        assert not is_list(reference, lead + layout.join(shown[1:]) + tail)


@given(st.integers(0, 10**7), st.sampled_from(["", " MB", " s", " bar", " rpm", "%"]),
       st.integers(0, 10**7))
def test_a_number_equals_its_spellings_and_no_other_number(number, unit, other):
    reference = f"{number}{unit}"
    assert is_correct(reference, f"{number:,}{unit}")
    assert is_correct(reference, f"The default port of Corvane P-417 is {number}{unit}.")
    assert not is_correct(reference, f"{number}1{unit}")
    if number != other:
        assert not is_correct(reference, f"{other}{unit}")
        assert not is_correct(reference, f"{number}{unit} or {other}{unit}")


@given(st.text(min_size=1).filter(str.strip), st.text(), st.sampled_from([None, 1, 3]))
def test_any_text_is_judged_and_the_reference_itself_is_correct(reference, text, entity_count):
    assert compare(PORT, reference, reference, entity_count).is_correct
    assert compare(text, reference, text, entity_count).reason


def test_an_answer_of_endless_digits_is_incorrect_and_raises_nothing():
    """Python reads no integer of more than 4,300 digits, and a model that repeats itself does."""
    assert not is_correct("12 l/min", "9" * 5000, "What is the flow?")
    assert is_correct("9" * 40, "9" * 40, "What is the serial number?")


def wrong(queries: list[Query], text_of) -> list[tuple[str, str]]:
    """Return question and reason of every query whose answer text_of(query) is not correct."""
    decisions = by_rules(queries, [text_of(query) for query in queries])
    return [(query.question, reason) for query, (verdict, reason)
            in zip(queries, decisions, strict=True) if verdict != "correct"]


def assert_references_are_distinguished(documents: list[Document], n_least: int) -> list[Query]:
    """Assert that each reference is correct in any layout, and the next of its kind is not."""
    queries = annotate(documents, annotate_by_rules)[0]
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
    documents, _ = make_records(make_products(24, seed=3), seed=3, public=False)
    queries = assert_references_are_distinguished(documents, 200)
    assert wrong(queries, lambda query: query.source_reference) == []  # sentence, bullets or row


def test_references_of_real_documents_are_distinguished(documents_folder):
    assert_references_are_distinguished(read_folder(documents_folder).documents, 20)
