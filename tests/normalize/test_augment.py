"""Synthetic texts: numbered, apart from the test's questions, dropped if they invent."""

import json

import pytest

from lib.core.records import Augmented, Document
from lib.llm.calls import Calls
from lib.normalize.rewrite import TESTED, augment, llm_augmenter
from lib.normalize.segment import WORDLESS, Draft
from tests.played_model import played
from tests.rows import query, segments_of

PIECES = (
    """# Corvane P-417

The default port of Corvane P-417 is 8443. It hums.

| Part | Weight |
| --- | --- |
| lid | 2 kg |
| hub | 4 kg |

""",
    """## Ports

| Port | Protocol | Required |
| --- | --- | --- |
| 80 | TCP | no |
| 161 | UDP | yes |
""",
)
DOCUMENT = Document(document_id="d", title="Corvane P-417", path="", text="".join(PIECES))


def saying(text: str) -> Augmented:
    """What becomes of a text that is made of the first segment of RECORD."""
    segments, tested = segments_of("d", *PIECES), query(question="How heavy is it?")
    return augment(segments, [DOCUMENT], [tested], lambda *_: [Draft("d/0", text)], 1)[0][0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Corvane P-417 has port 8443.", ""),
        ("Corvane P-417 weighs 2000 g.", ""),
        ("Corvane P-417 has port 8444.", "invents 8444"),
        ("Corvane P-418 hums.", "invents P-418"),
        ("Corvane P-417 weighs 3 kg.", "invents 3 kg"),
        ("See /etc/corvane.conf of 1.2.3.", "invents /etc/corvane.conf, 1.2.3"),
        ("Corvane P-417 never hums.", "invents Corvane P-417 never hums."),
        ("Its protocol is TCP.", ""),
        ("How heavy is it? The hub weighs 4 kg.", TESTED),
    ],
)
def test_a_text_is_dropped_if_it_asks_what_the_test_asks_or_states_what_is_in_no_document(
    text, reason
):
    row = saying(text)
    assert (row.text, row.dropped) == (text, reason), "it is kept with its reason"


PARTS = segments_of("d", "The default port is 8443.\n\n", "- Lid: 2 kg\n- Hub: 4 kg\n\n", "---\n")
PUMP = DOCUMENT.model_copy(update={"text": "".join(one.text for one in PARTS)})
UNREAD = "the reply is not a JSON array of strings"


@pytest.fixture
def calls(tmp_path) -> Calls:
    return Calls(tmp_path / "llm.sqlite")


def made(calls: Calls) -> list[Augmented]:
    vary = llm_augmenter("some-model", "pump manuals", calls)
    return augment(PARTS, [PUMP], [], vary, 2)[0]


def augmenter(prompt: str) -> str:
    if "default port is 8443" in prompt:
        return json.dumps(["Port 8443 is the default.", "By default it is 8443.", "A third one."])
    return "I would rather not."


def test_each_segment_is_sent_once_and_a_failure_keeps_its_reason(monkeypatch, calls):
    again = Calls(calls.cache)
    with played(augmenter, monkeypatch) as prompts:
        rows, repeated = made(calls), made(again)
    assert rows == repeated and (again.tally.cached, again.tally.new) == (2, 0)
    assert [(row.segment_id, row.number, row.text, row.dropped) for row in rows] == [
        ("d/0", 1, "Port 8443 is the default.", ""),
        ("d/0", 2, "By default it is 8443.", ""),
        ("d/1", 1, "", UNREAD),
        ("d/2", 1, "", WORDLESS),
    ]
    assert len(prompts) == 2
    assert all("pump manuals" in prompt and "Corvane P-417" in prompt for prompt in prompts)
