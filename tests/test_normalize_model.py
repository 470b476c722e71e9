"""The model path against a real server on loopback: what is asked, what is read, and what is dropped and why."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lib.llm import Reply, rendered
from lib.normalize import normalize
from lib.normalize_model import read_reply
from lib.records import Document, Segment

DOCUMENT = Document(document_id="d", title="Corvane P-417", path="",
                    text="- Default port: 8443\n- Mass: 2 kg\n\n---\n\n{{ not a slot }}\n")
GOOD = ("Rating: 7\nRemark: A terse list.\n"
        "Conversion to High-Quality Data:<<<<{{ The default port of Corvane P-417\nis 8443. }}>>>>")


def segments(*cuts: int) -> list[Segment]:
    bounds = [0, *cuts, len(DOCUMENT.text)]
    return [Segment(segment_id=f"s{number}", document_id="d", start=start, end=end, text=DOCUMENT.text[start:end],
                    n_tokens=9) for number, (start, end) in enumerate(zip(bounds, bounds[1:], strict=False))]


@pytest.fixture
def server(monkeypatch):
    """Answers by what the prompt holds, and keeps the requests."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append(asked)
            content = GOOD if "Default port: 8443" in asked["messages"][0]["content"] else "I would rather not."
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
            body = json.dumps({"id": "1", "object": "chat.completion", "created": 0, "model": asked["model"],
                               "choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{running.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield requests
        running.shutdown()
        thread.join()


def test_each_segment_is_asked_once_and_an_unreadable_reply_keeps_its_row(server):
    mass, rule, last = (DOCUMENT.text.index(text) for text in ("- Mass", "---", "{{"))
    rows = normalize(segments(mass, rule, last), [DOCUMENT], "some-model", "pump manuals")
    assert [row.segment_id for row in rows] == ["s0", "s1", "s2", "s3"]
    assert rows[0].text == "The default port of Corvane P-417\nis 8443."
    assert (rows[0].rating, rows[0].remark, rows[0].dropped) == (7, "A terse list.", "")
    assert [row.dropped for row in rows[1:]] == ["0 rewrites between <<<<{{ and }}>>>> in the reply, not one",
                                                 "nothing but blanks, rules and markup",
                                                 "0 rewrites between <<<<{{ and }}>>>> in the reply, not one"]
    assert len(server) == 3 and {asked["model"] for asked in server} == {"some-model"}
    prompts = [asked["messages"][0]["content"] for asked in server]
    assert all("pump manuals" in prompt and "Corvane P-417" in prompt for prompt in prompts)
    assert sum("{{ not a slot }}" in prompt for prompt in prompts) == 1


def test_without_a_key_the_message_says_what_to_set(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(RuntimeError, match="OPENAI_API_KEY"):
        normalize(segments(), [DOCUMENT], "some-model")


@pytest.mark.parametrize(("reply", "reason"), [
    (GOOD.replace("Rating: 7", "Rating: 11"), "no rating"),
    (GOOD.replace("Rating: 7", "Rating: good"), "no rating"),
    (GOOD.replace("Remark: A terse list.", "Remark:"), "no remark"),
    (GOOD.replace("The default port of Corvane P-417\nis 8443.", ""), "the rewrite is empty"),
    (GOOD.replace("}}>>>>", "}}"), "0 rewrites"),
    (GOOD + GOOD, "2 rewrites"),
])
def test_a_reply_that_breaks_the_form_is_dropped_with_its_reason(reply, reason):
    row = read_reply(segments()[0], Reply(reply))
    assert row.dropped.startswith(reason) and row.text == ""


def test_a_reply_that_was_cut_off_is_dropped_even_where_it_reads_well():
    assert read_reply(segments()[0], Reply(GOOD, "finish_reason length")).dropped == "finish_reason length"


def test_the_prompt_shows_the_marker_that_the_reader_looks_for():
    prompt = rendered("normalize", document_kind="release notes", title="T", segment="the part")
    assert "Conversion to High-Quality Data:<<<<{{ <the rewritten text> }}>>>>" in prompt
    assert prompt.startswith("You prepare release notes for") and prompt.endswith("the part")
