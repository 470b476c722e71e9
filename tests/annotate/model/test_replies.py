"""lib.annotate.model.replies: pairs found in replies of every shape, and slips in their JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.annotate.model.replies import read_pairs


def fields(reply: str, source: str = "") -> list[dict]:
    """Return the fields of every pair that is read in `reply` about `source`."""
    return [pair for _, pair in read_pairs(reply, source).pairs]


@pytest.mark.parametrize(
    "text",
    [
        '{"question": "' + " " * 50_000,
        '{"question": "' + '"' * 50_000,
        "[" * 50_000,
        '{"question": "' + "\\" * 50_000,
        '{"question": "a" ' * 4_000,
        "\n[" * 20_000,
    ],
)
def test_a_hostile_reply_is_read_without_an_error(text):
    assert not read_pairs(text, "x").is_readable


TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
PAIRS = st.lists(
    st.fixed_dictionaries(
        {"question": TEXT, "answer": TEXT},
        optional={"source_reference": TEXT, "source_reference_type": TEXT, "note": TEXT},
    ),
    min_size=1,
    max_size=4,
)


@given(
    PAIRS,
    st.sampled_from(["{}", "```json\n{}\n```", "So [2]:\n{}\nEnd {{}}.", '{{"pairs": {}}}']),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_every_proper_array_is_read_as_json_reads_it(pairs, around, indent, ascii_only):
    reply = json.dumps(pairs, indent=indent, ensure_ascii=ascii_only)
    assert fields(around.format(reply)) == pairs


@given(PAIRS, st.data())
def test_a_reply_truncated_anywhere_gives_its_first_pairs_only(pairs, data):
    reply = json.dumps(pairs)
    reading = read_pairs(reply[: data.draw(st.integers(0, len(reply)))], "")
    assert [pair for _, pair in reading.pairs] == pairs[: len(reading.pairs)]
    assert len(reading.broken) <= 1


@given(st.lists(st.from_regex(r"[A-Za-z0-9]{1,9}", fullmatch=True), min_size=1, max_size=6))
def test_any_windows_path_of_the_source_is_read_verbatim(folders):
    path = "C:\\" + "\\".join(folders)
    reply = f'[{{"question": "Q?", "answer": "{path}", "source_reference": "in {path} it is"}}]'
    assert fields(reply, f"It is in {path} it is.") == [
        {"question": "Q?", "answer": path, "source_reference": f"in {path} it is"}
    ]


@given(st.text(st.sampled_from("{}[]\",:\\ \n“”'aqn"), max_size=80), st.text(max_size=20))
def test_any_text_is_read(text, source):
    reading = read_pairs('[{"question": ' + text, source)
    assert len(reading.pairs) + len(reading.broken) >= 1
