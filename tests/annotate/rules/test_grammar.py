"""lib.annotate.rules.grammar, labels and codes: what is a noun phrase, an attribute, a value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.annotate.rules.codes import ask_code
from lib.annotate.rules.grammar import is_complement, is_noun_phrase, is_series, is_specific
from lib.annotate.rules.labels import is_attribute, value_of

NOUNS = st.sampled_from(["pump", "control unit", "TLS port", "valve_2", "lids", "Orsa R-9"])
LINKS = st.sampled_from(["of", "for", "in", "and", "with", "on"])
ARTICLES = st.sampled_from(["", "the ", "a ", "each "])


@given(st.lists(st.tuples(ARTICLES, NOUNS), min_size=1, max_size=4), st.lists(LINKS, min_size=3))
def test_nouns_joined_by_prepositions_are_a_noun_phrase_and_a_verb_makes_them_none(nouns, links):
    phrase = nouns[0][0] + nouns[0][1]
    for link, (article, noun) in zip(links, nouns[1:], strict=False):
        phrase += f" {link} {article}{noun}"
    assert is_noun_phrase(phrase) and is_complement(phrase)
    for clause in (f"{phrase} is new", f"{phrase} provides the lid", f"if {phrase}",
                   f"{phrase} that it has", f"{phrase} of", f"{phrase}, but not here"):
        assert not is_noun_phrase(clause), clause


@pytest.mark.parametrize("phrase", [
    "A Span's start time SHOULD", "Setting mode, which enables TLS", "the option sets a limit",
    "advantage of labels by computing them once", "", "the", "it", "the pump - the lid",
    "3 lids (see the list of all lids)", "valve of"])
def test_what_is_not_one_noun_phrase(phrase):
    assert not is_noun_phrase(phrase)


@pytest.mark.parametrize(("phrase", "is_one"), [
    ("gears, belts and a lid", True), ("gears, belts", False), ("gears, is bad and lid", False)])
def test_a_series_ends_in_and(phrase, is_one):
    assert is_series(phrase) == is_one


@pytest.mark.parametrize(("phrase", "is_one"), [
    ("a valve that closes under load", True), ("a valve which it closes", False),
    ("a valve that closes and is sold", False), ("a valve that closes, then opens", False)])
def test_a_relative_clause_may_end_an_answer(phrase, is_one):
    assert is_complement(phrase) == is_one


@pytest.mark.parametrize(("phrase", "is_one"), [
    ("The sensor cable", True), ("The value", False), ("The specified key", False), ("Orsa", True),
    ("Set the port", False), ("Mounting brackets", False), ("`x` flag", False), ("No lid", False),
    ('"all" part', False), ("The limit for queues", True), ("Values", False)])
def test_a_subject_says_which_thing_it_is(phrase, is_one):
    assert is_specific(phrase.replace("`", ""), frozenset({"Values", "Set"})) == is_one


@pytest.mark.parametrize(("label", "is_one"), [
    ("Default port", True), ("Weight (kg)", True), ("Release date", True), ("Policies", True),
    ("Required", False), ("Maps to Unified Field", False), ("Supported", False), ("Zap", False),
    ("java.util.logging", False), ("Result", False), ("Execute", False), ("Debugging", False),
    ("What is it", False), ("", False), ("Consumer's version", False), ("YAML - input", False)])
def test_an_attribute_is_a_noun_phrase_with_a_known_head(label, is_one):
    assert is_attribute(label) == is_one


@pytest.mark.parametrize(("cell", "value"), [
    ("5 V*", "5 V"), ("8443 [^2]", "8443"), ("red.", "red"), ("n/a", ""), ("-", ""),
    ("pod_a., pod_b.", "pod_a., pod_b."), ('""', ""),
    ("see page 3", ""), ("open (unless", ""), ("One. Two.", ""), ("(semicolon)", ""),
    ("w " * 11, ""), ("key: [a", ""), ("...", "")])
def test_a_value_has_no_stray_mark_and_is_not_cut(cell, value):
    assert value_of(cell) == value


def test_a_second_predicate_and_a_gerund_with_an_object():
    assert not is_noun_phrase("new lids and map to zero")
    assert not is_noun_phrase("a key and stored in a file")
    assert not is_noun_phrase("new lids and sends a note")
    assert not is_noun_phrase("old lids and grunts brackets")  # a verb that nobody knows
    assert is_noun_phrase("logs and metrics records") and is_noun_phrase("lids and valves of R-9")
    assert is_noun_phrase("a tool for opening a valve") and not is_noun_phrase("opening a valve")


@pytest.mark.parametrize(("sentence", "core", "answer"), [
    ("The `depth` option sets how many proxies are trusted by the gate.",
     "which option sets how many proxies are trusted by the gate?", "depth"),
    ("Use the `--dry-run` flag to print the plan of a job.",
     "which flag is used to print the plan of a job?", "--dry-run"),
    ("To read logs from a pipe, set `source` to `stdin`.",
     "to what must source be set to read logs from a pipe?", "stdin"),
])
def test_a_name_in_code_type_is_asked_by_all_that_is_said_of_it(sentence, core, answer):
    found = ask_code(sentence)
    assert (found.core, found.answer) == (core, answer)


@pytest.mark.parametrize("sentence", [
    "The `port` option sets the port of the gate server.",  # guessed
    "The `x` option is new.", "The `a` and `b` options set the size of all queues.",
    "The purge note means that the `x` tool drops every queue at night.",  # of another thing
    "The lid added to the `x` tool is the third of the new kind.",
    "The actual `x` option sets the size of all queues.",
    "Use the `x` flag; then read on about the plan of a job.", "`x` sets the size of a queue."])
def test_a_name_that_is_guessed_or_not_alone_is_not_asked(sentence):
    assert ask_code(sentence) is None
