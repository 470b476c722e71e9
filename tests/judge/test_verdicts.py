"""The judge by rules, on hand-worked cases and properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.annotate.queries import annotate
from lib.core.paths import REPOSITORY
from lib.core.records import Answer, Document, Query
from lib.documents.folder import read_folder
from lib.judge.rules import compare
from lib.judge.verdicts import judge
from lib.lab.documents import make_records
from lib.lab.products import make_products

PORT = "What is the default port of Corvane P-417?"
PLATFORMS = "Which platforms does Corvane P-417 support?"
ENTITIES = ["Linux", "QNX", "VxWorks", "Research and Development", "Sorrel Tools", "AIX 7.2", "Unit (rev B)"]


def query(reference: str, question: str = PORT, structure: str = "natural", query_id: str = "q1") -> Query:
    return Query(query_id=query_id, document_id="d", question=question, answer=reference, structure=structure,
                 source_reference="", start=0, end=0, block_type="prose",
                 entity_count=len(reference.splitlines()) if structure == "entity-list" else None)


def answer(text: str, query_id: str = "q1", arm: str = "dapt") -> Answer:
    return Answer(query_id=query_id, arm=arm, answer=text, n_tokens=1, truncated=False)


def verdict(reference: str, text: str, question: str = PORT, structure: str = "natural") -> str:
    return judge([query(reference, question, structure)], [answer(text)])[0].verdict


@pytest.mark.parametrize("text", [
    "8443", "8443.", "8,443", "`8443`", "**8443**", "Port 8443", "8443 (TCP)", "8443, the default", "8443 for TLS",
    "The default port of Corvane P-417 is 8443.", "Corvane P-417 has a default port of 8443.", "It's 8443",
    "On Corvane P-417, the default port is 8443.", "Corvane P-417 uses 8443 as its default port.",
    "8443 is the default port of Corvane P-417.", "Default port: 8443", "Answer: 8443\nQuestion: and the memory?",
    "8443. The memory is 9000 MB.", "8443, not 9000", "8443 and it can be changed"])
def test_right_scalar_in_the_words_of_the_laboratory_is_correct(text):
    assert verdict("8443", text) == "correct"


@pytest.mark.parametrize("text", [
    "84430", "844", "8443.5", "-8443", "8443a", "8443 MB", "no, not 8443", "not 8443", "8443 or 9000", "8443, or 9000",
    "8443, 9000", "8443 and 9000", "8443/9000", "8443 - 9000", "8443 to 9000", "8443 (or 9000)", "Either 8443 or 9000",
    "8443 is wrong", "8443 is not the default port", "8443. No, 9000.", "8443 9000", "9000, not 8443",
    "The default port of Corvane P-417 is 9000.", "The memory of Sorrel is 8443", "Corvane P-417", "417", ""])
def test_wrong_or_hedging_scalar_is_incorrect(text):
    assert verdict("8443", text) == "incorrect"


@pytest.mark.parametrize(("reference", "text", "expected"), [
    ("1,024 MB", "1024 MB", "correct"), ("1 GB", "1024 MB", "correct"), ("1 GB", "1000 MB", "incorrect"),
    ("30 s", "30 seconds", "correct"), ("30 s", "0.5 min", "correct"), ("30 s", "30 min", "incorrect"),
    ("30 s", "30", "incorrect"), ("5 mW", "5 MW", "incorrect"), ("8 Mb", "8 MB", "incorrect"),
    ("5%", "5 percent", "correct"),
    ("-20 °C", "\u221220 degrees Celsius", "correct"), ("-20 °C", "20 °C", "incorrect"),
    ("2.50 bar", "2.5 bar", "correct"), ("3.10", "3.1", "incorrect"), ("3.10", "v3.10", "correct"),
    ("3.2.1", "3.2", "incorrect"), ("3.2", "3.2.1", "incorrect"), ("007", "7", "incorrect"),
    ("5-10 s", "5 to 10 s", "correct"),
    ("5-10 s", "5 s", "incorrect"), ("$1.2 billion", "$1,200 million", "correct"), ("12", "twelve", "correct"),
    ("2024-05-11", "11 May 2024", "correct"), ("2024-05-11", "May 11th, 2024", "correct"),
    ("2024-05-11", "11.05.2024", "correct"), ("2024-05-11", "2024-11-05", "incorrect"),
    ("May 2024", "2024-05", "correct"),
    ("/etc/corvane/agent.conf", "/etc/corvane/agent.conf.", "correct"), ("/etc/corvane", "/etc/corvane/x", "incorrect"),
    ("Linux", "\u201cLINUX\u201d", "correct"), ("Linux", "Linux Mint", "incorrect"), ("the pump", "a pump", "correct"),
    ("Class A", "Class", "incorrect"), ("Halvorsen Ltd.", "halvorsen ltd", "correct"), ("port 8443", "8443", "correct"),
    ("Linux, QNX and VxWorks", "VxWorks; QNX; Linux", "correct"),
    ("Linux, QNX and VxWorks", "Linux, QNX", "incorrect")])
def test_values_compare_by_worth_and_not_by_spelling(reference, text, expected):
    assert verdict(reference, text) == expected


def test_unit_that_the_question_asks_for_may_be_left_out():
    assert verdict("30 s", "30", "What is the timeout in seconds?") == "correct"
    assert verdict("1024", "1 GB", "What is the memory (MB)?") == "correct"
    assert verdict("30", "30 min", "What is the timeout in seconds?") == "incorrect"


@pytest.mark.parametrize(("text", "expected"), [
    ("Linux, QNX and VxWorks.", "correct"), ("- VxWorks\n- QNX\n- Linux", "correct"),
    ("1. Linux\n2. QNX\n3. VxWorks", "correct"),
    ("Supported platforms:\n\n- Linux\n- QNX\n- VxWorks\n\nAsk the vendor for more.", "correct"),
    ("The supported platforms of Corvane P-417 are Linux, QNX and VxWorks.", "correct"),
    ("On Corvane P-417, the supported platforms are Linux, QNX and VxWorks.", "correct"),
    ("Linux, QNX and VxWorks are the supported platforms of Corvane P-417.", "correct"),
    ("Corvane P-417 supports Linux, QNX, and VxWorks. It also has a pump.", "correct"),
    ("Linux (kernel 6), QNX, VxWorks", "correct"), ("Linux, linux, QNX, VxWorks", "correct"),
    ("Linux\nQNX\nVxWorks\nQuestion: Which tools?\nA, B", "correct"),
    ("Linux, QNX", "incorrect"), ("Linux, QNX, VxWorks, AIX", "incorrect"), ("Linux\nQNX\nVxWorks\nAIX", "incorrect"),
    ("Linux, QNX\nVxWorks, AIX", "incorrect"), ("Linux or QNX or VxWorks", "incorrect"),
    ("Linux QNX VxWorks", "incorrect"),
    ("Linux, QNX and not VxWorks", "incorrect"), ("Linux, QNX, VxWorks 7", "incorrect"), ("...", "incorrect")])
def test_list_is_a_set_all_of_it_and_only_it(text, expected):
    assert verdict("Linux\nQNX\nVxWorks", text, PLATFORMS, "entity-list") == expected


def test_list_of_one_entity_refuses_a_second():
    assert verdict("Linux", "Linux", PLATFORMS, "entity-list") == "correct"
    for text in ("Linux, QNX", "Linux\nQNX", "QNX"):
        assert verdict("Linux", text, PLATFORMS, "entity-list") == "incorrect"


def test_one_name_with_and_or_a_comma_is_one_entity():
    for name in ("Research and Development", "Halvorsen, Brandt", "Brandt & Co"):
        assert verdict(name, f"The vendor is {name}.", "Who is the vendor?", "entity-list") == "correct"
        assert verdict(name, f"{name}, Sorrel", "Who is the vendor?", "entity-list") == "incorrect"
    assert verdict("Brandt & Co", "Brandt & Co, in Oslo", "Who is the vendor?") == "correct"


@given(st.permutations(ENTITIES), st.integers(1, len(ENTITIES) - 1), st.data())
def test_any_order_and_layout_of_a_list_is_correct_and_any_gap_or_surplus_is_not(entities, size, data):
    wanted, others = entities[:size], entities[size:]
    reference = "\n".join(wanted)
    said = data.draw(st.permutations(wanted))
    layout = data.draw(st.sampled_from(["\n", ", ", "; ", "\n- ", ",\n"]))
    lead = data.draw(st.sampled_from(["", "Platforms of Corvane P-417:\n", "Answer: "])) if layout != "\n- " else "\n- "
    surplus = data.draw(st.sampled_from(["", ".", "\n\nAsk the vendor.", "\n\n- other"]))
    assert verdict(reference, lead + layout.join(said) + surplus, PLATFORMS, "entity-list") == "correct"
    assert verdict(reference, lead + layout.join([*said, others[0]]) + surplus, PLATFORMS, "entity-list") == "incorrect"
    if size > 1:
        assert verdict(reference, lead + layout.join(said[1:]) + surplus, PLATFORMS, "entity-list") == "incorrect"


@given(st.integers(0, 10**7), st.sampled_from(["", " MB", " s", " bar", " rpm", "%"]), st.integers(0, 10**7))
def test_a_number_equals_its_spellings_and_no_other_number(number, unit, other):
    reference = f"{number}{unit}"
    assert verdict(reference, f"{number:,}{unit}") == "correct"
    assert verdict(reference, f"The default port of Corvane P-417 is {number}{unit}.") == "correct"
    assert verdict(reference, f"{number}1{unit}") == "incorrect"
    if number != other:
        assert verdict(reference, f"{other}{unit}") == "incorrect"
        assert verdict(reference, f"{number}{unit} or {other}{unit}") == "incorrect"


@given(st.text(min_size=1).filter(str.strip), st.text(), st.sampled_from(["natural", "entity-list", "tabular"]))
def test_any_text_is_judged_and_the_reference_itself_is_correct(reference, text, structure):
    rows = judge([query(reference, PORT, structure)], [answer(reference)])
    assert [row.verdict for row in rows] == ["correct"]
    rows = judge([query(reference, text, structure)], [answer(text)])
    assert rows[0].verdict in ("correct", "incorrect") and rows[0].reason


def test_missing_row_is_unscored_and_empty_answer_is_incorrect_in_the_order_of_the_queries():
    queries = [query("1", query_id="a"), query("2", query_id="b"), query("3", query_id="c")]
    rows = judge(queries, [answer(" \n", "c"), answer("1", "a")])
    assert [(row.query_id, row.verdict) for row in rows] == [("a", "correct"), ("b", "unscored"), ("c", "incorrect")]
    assert "04_infer" in rows[1].reason and rows[2].reason == "empty answer"
    assert {(row.arm, row.judge) for row in rows} == {("dapt", "rules")}


def judged(queries: list[Query], text_of) -> list[tuple[str, str]]:
    """Question and reason of every query whose answer text_of(query) is not correct."""
    rows = judge(queries, [answer(text_of(query), query.query_id) for query in queries])
    return [(query.question, row.reason) for query, row in zip(queries, rows, strict=True) if row.verdict != "correct"]


def assert_references_are_told_apart(documents: list[Document], n_least: int) -> list[Query]:
    """Every reference is correct in several layouts, and the reference of the next query of its kind is not."""
    queries = annotate(documents)[0]
    assert len(queries) >= n_least
    assert judged(queries, lambda query: query.answer) == []
    assert judged(queries, lambda query: query.answer.lower() + ".\n\nQuestion: What else?") == []
    assert judged(queries, lambda query: "\n".join("- " + line for line in query.answer.splitlines()[::-1])) == []
    of_kind = {kind: [query for query in queries if query.structure == kind] for kind in ("natural", "entity-list")}
    for rows in of_kind.values():
        swapped = {one.query_id: other.answer for one, other in zip(rows, rows[1:] + rows[:1], strict=True)}
        different = [query for query in rows if swapped[query.query_id].lower() != query.answer.lower()]
        assert len(judged(different, lambda query, swapped=swapped: swapped[query.query_id])) == len(different) > 0
    return queries


def test_laboratory_facts_are_correct_as_they_stand_and_no_other_fact_is():
    documents, _ = make_records(make_products(24, seed=3), seed=3, public=False)
    queries = assert_references_are_told_apart(documents, 200)
    assert judged(queries, lambda query: query.source_reference) == []  # the sentence, bullets or row itself


def test_real_references_are_told_apart():
    folder = REPOSITORY.parent / "shared" / "documents"
    if not folder.exists():
        pytest.skip("the shared real documents are not beside this repository")
    assert_references_are_told_apart(read_folder(folder).documents, 80)


@pytest.mark.parametrize("answers", [
    [], [answer("1", "a"), answer("1", "a")], [answer("1", "zzz")], [answer("1", "a"), answer("1", "b", arm="base")]])
def test_answers_that_do_not_belong_together_are_refused(answers):
    with pytest.raises(ValueError, match="04_infer"):
        judge([query("1", query_id="a"), query("2", query_id="b")], answers)


def test_an_answer_of_endless_digits_is_incorrect_and_stops_nothing():
    """Python reads no integer of more than 4,300 digits, and a model that repeats itself writes one."""
    assert not compare("What is the flow?", "12 l/min", "9" * 5000).is_correct
    assert compare("What is the serial number?", "9" * 40, "9" * 40).is_correct
