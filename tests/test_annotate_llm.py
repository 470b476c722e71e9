"""lib.annotate_llm against a real HTTP server on loopback that speaks chat completions."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.annotate import annotate
from lib.annotate_llm import cut_at_headings, read_reply
from lib.llm import Reply, rendered
from lib.records import Document

TEXT = """# Orsa R-9

The pump holds 36 litres of *clear* oil. It
runs for 900 hours.

Supported oils:

- mineral
- synthetic

| Name | Value |
|---|---|
| Weight | 12 kg |
"""
DOCUMENT = Document(document_id="orsa", title="Orsa R-9", path="", text=TEXT)
NATURAL = {"question": "How much oil does the Orsa R-9 hold?", "answer": "36 litres",
           "source_reference": "The pump holds 36 litres of *clear* oil.", "source_reference_type": "natural"}
LISTED = {"question": "Which oils does the Orsa R-9 support?", "answer": "mineral\nsynthetic",
          "source_reference": "- mineral\n- synthetic", "source_reference_type": "entity-list", "entity_list_length": 2}
CELL = {"question": "What is the weight of the Orsa R-9?", "answer": "12 kg", "source_reference": "| Weight | 12 kg |",
        "source_reference_type": "tabular"}


@pytest.fixture
def serve(monkeypatch) -> Iterator[Callable[[str], list[dict]]]:
    """serve(content) starts a server that answers every call with `content`; the bodies it was sent come back."""
    servers = []

    def start(content: str) -> list[dict]:
        bodies: list[dict] = []

        class Chat(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                message = {"role": "assistant", "content": content}
                reply = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
                    {"index": 0, "finish_reason": "stop", "message": message}]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        return bodies

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_model_is_asked_once_a_document_and_its_pairs_become_queries(serve):
    bodies = serve(json.dumps([NATURAL, LISTED, CELL]))
    queries, rejected = annotate([DOCUMENT], "some-model", max_queries=10)
    assert [(query.structure, query.answer, query.entity_count) for query in queries] == [
        ("natural", "36 litres", None), ("entity-list", "mineral\nsynthetic", 2), ("tabular", "12 kg", None)]
    assert all(query.source_reference == TEXT[query.start:query.end] for query in queries) and rejected == []
    assert len(bodies) == 1 and bodies[0]["model"] == "some-model" and bodies[0]["temperature"] == 0
    assert TEXT.strip() in bodies[0]["messages"][0]["content"]


def test_a_long_document_is_asked_in_parts(serve):
    bodies = serve("[]")
    text = "".join(f"# Part {number}\n\n{'word ' * 2000}\n\n" for number in range(6))
    assert annotate([DOCUMENT.model_copy(update={"text": text})], "some-model", max_queries=10)[0] == []
    assert len(bodies) == 3 and all("exactly 4 pairs" in body["messages"][0]["content"] for body in bodies)


@pytest.mark.parametrize(("reply", "reason"), [
    ("```json\n[]\n```", "not a bare JSON array"),
    ("Here you are: []", "not a bare JSON array"),
    ('{"pairs": []}', "not a bare JSON array but dict"),
    ("", "not a bare JSON array"),
])
def test_a_reply_that_cannot_be_read_is_kept_with_its_reason(serve, reply, reason):
    found = read_reply(Reply(reply), DOCUMENT, 0, len(TEXT))
    assert found[0] == [] and found[1][0].item == reply and reason in found[1][0].reason


def test_a_cut_reply_is_kept_with_its_reason():
    found = read_reply(Reply('[{"question"', "finish_reason length"), DOCUMENT, 0, len(TEXT))
    assert found[1][0].item == '[{"question"' and "finish_reason length" in found[1][0].reason


@pytest.mark.parametrize(("pair", "reason"), [
    ("text", "an object"),
    ({"question": "Q?"}, "answer: Field required"),
    ({**NATURAL, "note": "x"}, "note: Extra inputs"),
    ({**NATURAL, "answer": 36}, "answer: Input should be a valid string"),
    ({**NATURAL, "source_reference_type": "prose"}, "source_reference_type"),
    ({**NATURAL, "source_reference": "The pump holds 40 litres."}, "does not stand in the document"),
    ({**NATURAL, "source_reference": " "}, "does not stand in the document"),
    ({**NATURAL, "source_reference_type": "tabular"}, "the parser sees natural"),
    ({**NATURAL, "entity_list_length": 1}, "entity_list_length is 1"),
    ({**LISTED, "entity_list_length": 3}, "the answer has 2 entities"),
    ({**NATURAL, "source_reference": "# Orsa R-9"}, "the parser sees none"),
])
def test_a_pair_that_cannot_be_grounded_is_left_out_and_the_others_kept(pair, reason):
    candidates, rejected = read_reply(Reply(json.dumps([pair, CELL])), DOCUMENT, 0, len(TEXT))
    assert [candidate.answer for candidate in candidates] == ["12 kg"]
    assert reason in rejected[0].reason and json.loads(rejected[0].item) == pair


def test_blanks_and_line_breaks_are_folded_to_ground_a_reference():
    pair = {**NATURAL, "answer": "900 hours", "question": "How long does the Orsa R-9 run?",
            "source_reference": "It runs  for 900 hours."}
    candidates, _ = read_reply(Reply(json.dumps([pair])), DOCUMENT, 0, len(TEXT))
    assert TEXT[candidates[0].start:candidates[0].end] == "It\nruns for 900 hours."


def test_a_models_pairs_keep_the_same_constraints_as_the_rules(serve):
    serve(json.dumps([{**NATURAL, "question": "How much oil does it hold?"}, {**CELL, "answer": "13 kg"}]))
    queries, rejected = annotate([DOCUMENT], "some-model")
    assert queries == []
    assert [row.reason.split(":")[0] for row in rejected] == [
        "the question does not stand alone", "the answer does not stand word for word in the source reference"]


def test_the_prompt_shows_three_examples_that_would_pass_its_own_parser():
    prompt = rendered("annotate", title="t", text="x", count=1)
    examples = [line for line in prompt.split("\n") if line.startswith("[{")]
    kinds = [json.loads(line)[0]["source_reference_type"] for line in examples]
    assert kinds == ["natural", "entity-list", "tabular"]
    for line in examples:
        reference = json.loads(line)[0]["source_reference"]
        table = "| Model | A | B |\n|---|---|---|\n" if reference.startswith("|") else ""
        document = Document(document_id="e", title="e", path="", text=table + reference)
        candidates, rejected = read_reply(Reply(line), document, 0, len(document.text))
        assert len(candidates) == 1 and rejected == []


@given(st.lists(st.sampled_from(["# A\n\n", "word " * 9 + "\n\n", "- item\n", "x" * 70 + "\n\n"]),
                max_size=30).map("".join))
def test_parts_cover_the_document_and_fit(text):
    parts = list(cut_at_headings(text, 100))
    assert all(0 < end - start <= 100 for start, end in parts)
    assert "".join(text[start:end] for start, end in parts).strip() == text.strip()
