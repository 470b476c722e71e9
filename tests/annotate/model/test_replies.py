"""lib.annotate.model.replies: pairs found in replies of every shape, and slips in their JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.annotate.model.replies import read_pairs

FIRST = {"question": "Q1?", "answer": "A1", "source_reference": "R [1] {x}",
         "source_reference_type": "natural"}
SECOND = {"question": "Q2?", "answer": "b\nc", "source_reference": "- b\n- c",
          "source_reference_type": "entity-list", "entity_list_length": "2"}
ONE, BOTH = json.dumps([FIRST]), json.dumps([FIRST, SECOND])
COMMAS = BOTH.replace('"natural"}', '"natural",}').replace('"2"}]', '"2",},]')
CURLY = BOTH
for straight, curly in ((' "', " “"), ('":', "”:"), ('",', "”,"), ('"}', "”}"), ('{"', "{“")):
    CURLY = CURLY.replace(straight, curly)


def fields(reply: str, source: str = "") -> list[dict]:
    """Return the fields of every pair that is read in `reply` about `source`."""
    return [pair for _, pair in read_pairs(reply, source).pairs]


@pytest.mark.parametrize("reply", [
    BOTH, f"```json\n{BOTH}\n```", f"``` \n{BOTH}", json.dumps(json.loads(BOTH), indent=2),
    f"Here [as asked] are {{two}} pairs [1]:\n\n{BOTH}\n\nI left out [3] and {{more}}.",
    f'{{"pairs": {BOTH}}}', f'{{"n": 2, "result": {{"pairs": {BOTH}}}}}',
    json.dumps(FIRST) + "\n" + json.dumps(SECOND),
    f"1. {json.dumps(FIRST)}\n2. {json.dumps(SECOND)}",
    f"### natural\n{ONE}\n### entity-list\n```json\n{json.dumps([SECOND])}\n```",
    f"<think>A draft: {ONE}</think>\n{BOTH}", f"a draft: {ONE}\n</think>{BOTH}",
    COMMAS, BOTH.replace("\\n", "\n"), CURLY, repr([FIRST, SECOND]),
    BOTH.replace('"A1", ', '"A1"\n'), BOTH.replace('"b\\nc"', '["b", "c"]'),
    BOTH.replace('"2"', "2"),
], ids=str)
def test_the_pairs_are_found_whatever_surrounds_them_and_however_they_are_written(reply):
    reading = read_pairs(reply, "")
    assert [pair for _, pair in reading.pairs] == [FIRST, SECOND]
    assert reading.is_readable and not reading.broken


@pytest.mark.parametrize("reply", ["[]", " [ ]\n", "```json\n[\n]\n```", "```json []```",
                                   '{"pairs": []}', "There is nothing to ask: []."])
def test_an_empty_array_is_read_as_no_pair(reply):
    reading = read_pairs(reply, "")
    assert reading.is_readable and not reading.pairs and not reading.broken


@pytest.mark.parametrize("reply", [
    "", "I cannot help with that.", "See [1] and [2].", '["Q?", "A"]', '{"error": "x"}',
    "Q: Which? A: That.", f"<think>{ONE}", "arr[] = x"])
def test_a_reply_without_pairs_is_not_readable(reply):
    reading = read_pairs(reply, "")
    assert not reading.is_readable and not reading.pairs


@pytest.mark.parametrize("text", [
    '{"question": "' + " " * 50_000, '{"question": "' + '"' * 50_000, "[" * 50_000,
    '{"question": "' + "\\" * 50_000, '{"question": "a" ' * 4_000, "\n[" * 20_000])
def test_a_hostile_reply_is_read_without_an_error(text):
    assert not read_pairs(text, "x").is_readable


TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
PAIRS = st.lists(st.fixed_dictionaries({"question": TEXT, "answer": TEXT}, optional={
    "source_reference": TEXT, "source_reference_type": TEXT, "note": TEXT}), min_size=1, max_size=4)


@given(PAIRS, st.sampled_from(["{}", "```json\n{}\n```", "So [2]:\n{}\nEnd {{}}.",
                               '{{"pairs": {}}}']), st.sampled_from([None, 2]), st.booleans())
def test_every_proper_array_is_read_as_json_reads_it(pairs, around, indent, ascii_only):
    reply = json.dumps(pairs, indent=indent, ensure_ascii=ascii_only)
    assert fields(around.format(reply)) == pairs


@given(PAIRS, st.data())
def test_a_reply_truncated_anywhere_gives_its_first_pairs_only(pairs, data):
    reply = json.dumps(pairs)
    reading = read_pairs(reply[:data.draw(st.integers(0, len(reply)))], "")
    assert [pair for _, pair in reading.pairs] == pairs[:len(reading.pairs)]
    assert len(reading.broken) <= 1


@given(st.lists(st.from_regex(r"[A-Za-z0-9]{1,9}", fullmatch=True), min_size=1, max_size=6))
def test_any_windows_path_of_the_source_is_read_verbatim(folders):
    path = "C:\\" + "\\".join(folders)
    reply = f'[{{"question": "Q?", "answer": "{path}", "source_reference": "in {path} it is"}}]'
    assert fields(reply, f"It is in {path} it is.") == [
        {"question": "Q?", "answer": path, "source_reference": f"in {path} it is"}]


@given(st.text(st.sampled_from('{}[]",:\\ \n“”\'aqn'), max_size=80), st.text(max_size=20))
def test_any_text_is_read(text, source):
    reading = read_pairs('[{"question": ' + text, source)
    assert len(reading.pairs) + len(reading.broken) >= 1
