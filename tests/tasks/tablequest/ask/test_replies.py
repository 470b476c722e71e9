"""Replies: JSON in every usual disguise, and a reason where there is no answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.core.records import Answer, Query
from lib.tasks.tablequest.ask.replies import (
    IN_THOUGHTS,
    NO_ANSWER,
    NO_JSON,
    NO_REPLY,
    finals,
    read_reply,
)

GOOD = '{"steps": ["Pumps, 2024: $5.", "5 - 3 = 2."], "answer": "$2 million"}'


@pytest.mark.parametrize("reply", [
    GOOD, f"```json\n{GOOD}\n```", f"Sure, here it is:\n{GOOD}\nI hope this helps!",
    GOOD.replace("]", ",]"), GOOD.replace('"}', '",}'), GOOD.replace("steps", "Steps"),
    f"<think>{{\"answer\": \"7\"}}</think>{GOOD}",
    f'{{"answer": "a draft"}} {GOOD}', f'{{"answer": ""}} {GOOD}',
    f"{GOOD}\n\n<passage>\nanother {{\"answer\": \"9\"}}", f"An example: {{x}} {GOOD}", GOOD[:-1],
    "[" * 3000 + GOOD])
def test_the_answer_is_found_whatever_is_around_it(reply):
    found = read_reply(reply)
    assert (found.text, found.missing) == ("$2 million", "")
    assert found.steps == ("Pumps, 2024: $5.", "5 - 3 = 2.")


@pytest.mark.parametrize("reply, text, steps", [
    ("{'steps': ['Alm's sales were 5', 'the firms' sum'], 'answer': '$2 million'}", "$2 million",
     ("Alm's sales were 5", "the firms' sum")),
    ("{'answer': \"the firm's loss\"}", "the firm's loss", ()),
    ('{answer: $2 million}', "$2 million", ()), ("{“answer”: “$2”}", "$2", ()),
    ('{"answer": "the "net" loss, $2"}', 'the "net" loss, $2', ()),
    ('{"steps": ["a", "b"], "answer": "$2 million', "$2 million", ("a", "b")),
    ('```json\n{"steps": ["a"], "answer": "$2 million\n```', "$2 million", ("a",)),
    ('{"steps": ["a", "b"], "answer": "2%"', "2%", ("a", "b")),
    ('{"steps": ["a", "answer": "2%"}', "2%", ("a",)),
    ('{"steps": ["a"], "answer": "2%", "note": ["x', "2%", ("a",)),
    ('{"steps": ["a"], "answer": "$2,3', "", ("a",)), ('{"answer": 23', "", ()),
    ("{'steps': ['a'], 'ans", "", ("a",))])
def test_json_that_is_cut_off_or_in_single_quotes_is_read(reply, text, steps):
    found = read_reply(reply)
    assert (found.text, found.steps) == (text, steps) and bool(found.missing) != bool(text)


@pytest.mark.parametrize("reply, missing", [
    ("", NO_REPLY), (None, NO_REPLY), ("  \n", NO_REPLY), ("<think>so", IN_THOUGHTS),
    ("It is $5.", NO_JSON), ('{"steps": ["a", "b', NO_JSON), ('{"answer": ""}', NO_ANSWER),
    ('{"answer": null}', NO_ANSWER), ('{"result": "5"}', NO_JSON), ("{" * 5000, NO_JSON),
    ('{"a":' * 5000, NO_JSON)])
def test_without_an_answer_there_is_a_reason(reply, missing):
    assert (read_reply(reply).text, read_reply(reply).missing) == ("", missing)


@given(st.text('{}[]",:\\ \nanswer0', max_size=60))
def test_any_reply_has_an_answer_or_a_reason_and_never_both(reply):
    found = read_reply(reply)
    assert bool(found.text) != bool(found.missing)


@given(st.text(st.characters(blacklist_categories=("Cs",)), max_size=30),
       st.lists(st.text("ab\"\\,]}", max_size=5)))
def test_valid_json_is_read_completely(text, steps):
    safe = text.replace("<", "(").strip()
    found = read_reply(json.dumps({"steps": steps, "answer": safe}))
    assert found.text == safe and found.steps == tuple(filter(None, map(str.strip, steps)))


def test_final_answers_are_plain_for_closed_books_and_read_for_the_rest():
    queries = [Query(query_id=query_id, document_id="d", question="?", answer="2",
                     structure="tabular", start=0, end=0, source_reference="", block_type="table",
                     entity_count=None, context=context)
               for query_id, context in (("q:csv", "read"), ("q:recall", ""), ("r:csv", "read"))]
    replies = {"q:csv": GOOD, "q:recall": " $2 ", "r:csv": "$2"}
    given_ = [Answer(query_id=query_id, arm="base", answer=text, n_tokens=1, truncated=False)
              for query_id, text in replies.items()]
    assert [final.text for final in finals(queries, given_).values()] == ["$2 million", "$2", ""]
    with pytest.raises(ValueError, match="not in queries.jsonl"):
        finals(queries[:1], given_)
