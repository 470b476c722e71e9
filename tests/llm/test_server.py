"""tests/llm_server.py speaks the protocol: tested by the real openai client, and by plain HTTP."""

import contextlib
import json
import time
import urllib.error
import urllib.request

import openai
import pytest

from tests.llm_server import Server, at_calls, at_random
from tests.llm_server_batches import BatchRules
from tests.llm_server_faults import FAULTS
from tests.llm_server_limits import go_duration

HANGING = {"never", "trickle"}
BROKEN = {"drop", "drop-inside", "drop-in-chunks", "reset", "garbage"}


def client(server: Server, key: str = "sk-any") -> openai.OpenAI:
    return openai.OpenAI(api_key=key, base_url=server.url, max_retries=0, timeout=10)


def chat(asking: openai.OpenAI, prompt: str, **more: object) -> object:
    messages = [{"role": "user", "content": prompt}]
    return asking.chat.completions.create(model="m", messages=messages, **more)


def test_chat_has_a_text_and_a_usage_and_the_log_has_the_request():
    with Server(reply=lambda body: "to " + body["messages"][-1]["content"]) as server:
        reply = chat(client(server), "hello there")
        choice, usage = reply.choices[0], reply.usage
        assert (choice.message.content, choice.finish_reason) == ("to hello there", "stop")
        assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens > 0
        assert client(server).models.list().data[0].id == "m"
        (call, models) = server.log
        assert (call.path, call.prompt) == ("/v1/chat/completions", "hello there")
        assert (call.model, call.status, models.path) == ("m", 200, "/v1/models")
        assert call.key_hash and "sk-any" not in str(server.log)


def test_default_reply_depends_on_the_prompt_alone():
    with Server() as server:
        texts = [chat(client(server), prompt).choices[0].message.content
                 for prompt in ("a", "b", "a")]
        assert texts[0] == texts[2] != texts[1]


def test_wrong_key_and_model_are_refused_in_openais_words():
    with Server(key="sk-right-key-12345678", models=("m",)) as server:
        with pytest.raises(openai.AuthenticationError, match=r"sk-wrong\*+5678"):
            chat(client(server, "sk-wrong-key-12345678"), "x")
        with pytest.raises(openai.NotFoundError, match="does not exist"):
            client(server, "sk-right-key-12345678").chat.completions.create(
                model="other", messages=[{"role": "user", "content": "x"}])


def test_limit_lets_its_burst_through_and_tells_the_rest_when_to_come():
    with Server(requests_per_minute=120) as server:  # a burst of two
        asking = client(server).chat.completions.with_raw_response
        for left in ("1", "0"):
            reply = asking.create(model="m", messages=[{"role": "user", "content": "x"}])
            assert reply.headers["x-ratelimit-limit-requests"] == "120"
            assert reply.headers["x-ratelimit-remaining-requests"] == left
        with pytest.raises(openai.RateLimitError) as refused:
            chat(client(server), "x")
        headers = refused.value.response.headers
        assert headers["retry-after"] == "1" and 0 < int(headers["retry-after-ms"]) <= 500
        time.sleep(int(headers["retry-after-ms"]) / 1000)
        assert chat(client(server), "x").choices


def test_tokens_a_minute_are_counted_before_the_reply_as_openai_counts_them():
    with Server(tokens_per_minute=6000) as server:  # a burst of 100
        chat(client(server), "x", max_tokens=90)
        with pytest.raises(openai.RateLimitError, match="tokens per min"):
            chat(client(server), "x", max_tokens=90)


@pytest.mark.parametrize(("seconds", "text"), [
    (0.05, "50ms"), (0, "0ms"), (1.5, "1.5s"), (60.5, "1m0.5s"), (7, "7s")])
def test_durations_are_written_as_go_writes_them(seconds, text):
    assert go_duration(seconds) == text


def test_faults_come_by_marker_by_number_and_by_chance():
    with Server(faults=at_calls({2: "503"})) as server:
        with pytest.raises(openai.InternalServerError):
            chat(client(server), "fault:500 once")
        with pytest.raises(openai.InternalServerError):
            chat(client(server), "second")
        for prompt in ("second", "fault:500 once"):
            assert chat(client(server), prompt).choices
        assert [call.status for call in server.log] == [500, 503, 200, 200]
    chosen = [at_random(["500", "502"], 0.05, seed=1)(number, {}) for number in range(1, 2001)]
    assert 60 < sum(map(bool, chosen)) < 140 and {"500", "502"} < {*chosen}


@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - HANGING))
def test_every_fault_is_sent_and_the_server_lives_on(fault):
    with Server(latency=0.0) as server:
        body = {"model": "m", "messages": [{"role": "user", "content": f"fault:{fault}"}],
                "max_tokens": 5, "max_completion_tokens": 5, "temperature": 0.0}
        request = urllib.request.Request(f"{server.url}/chat/completions",
                                         json.dumps(body).encode(),
                                         {"Authorization": "Bearer sk-x"})
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                outcome = (reply.status, reply.read())
        except urllib.error.HTTPError as error:
            outcome = (error.code, error.read())
        except Exception as error:  # also http.client's own: a truncated or garbled reply
            outcome = (0, type(error).__name__)
        intact = chat(client(server), "whole").choices[0]
        assert intact.message.content.startswith("reply ")
        if fault[:3].isdigit():
            assert outcome[0] == int(fault[:3])
        else:
            assert outcome[0] == (0 if fault in BROKEN else 200)
            assert server.log[0].status == (0 if fault in {*BROKEN, "until-close"} else 200)
        assert server.log[0].fault == fault


@pytest.mark.parametrize("fault", sorted(HANGING))
def test_a_reply_that_never_ends_blocks_neither_others_nor_the_servers_end(fault):
    with Server() as server:
        body = json.dumps({"messages": [{"role": "user", "content": f"fault:{fault}"}]}).encode()
        with (contextlib.suppress(TimeoutError),  # "never"; of a trickle each byte comes in time
              urllib.request.urlopen(f"{server.url}/chat/completions", body, timeout=0.3) as got):
            assert got.read(5) == b" " * 5 and fault == "trickle"
        assert chat(client(server), "whole").choices
        assert server.log[0].status == 0


def batch_of(asking: openai.OpenAI, prompts: list[str]) -> str:
    url = "/v1/chat/completions"
    bodies = [{"model": "m", "messages": [{"role": "user", "content": text}]} for text in prompts]
    lines = [json.dumps({"custom_id": str(number), "method": "POST", "url": url, "body": body})
             for number, body in enumerate(bodies)]
    file = asking.files.create(file=("requests.jsonl", "\n".join(lines).encode()),
                               purpose="batch")
    return asking.batches.create(input_file_id=file.id, endpoint=url, completion_window="24h",
                                 metadata={"digest": "d"}).id


def lines_of(asking: openai.OpenAI, file_id: str) -> list[dict]:
    return [json.loads(line) for line in asking.files.content(file_id).text.splitlines()]


def test_batch_ends_after_its_polls_with_an_output_and_an_error_file():
    with Server(batch=BatchRules(polls=2)) as server:
        asking = client(server)
        batch_id = batch_of(asking, ["a", "fault:400", "b"])
        states = [asking.batches.retrieve(batch_id).status for _ in range(3)]
        assert states == ["in_progress", "completed", "completed"]
        batch = asking.batches.retrieve(batch_id)
        good = lines_of(asking, batch.output_file_id)
        (bad,) = lines_of(asking, batch.error_file_id)
        assert [line["custom_id"] for line in good] == ["0", "2"] and bad["custom_id"] == "1"
        message = good[0]["response"]["body"]["choices"][0]["message"]
        assert message["content"].startswith("reply ")
        assert bad["response"]["status_code"] == 400 and batch.request_counts.failed == 1
        assert [one.metadata["digest"] for one in asking.batches.list()] == ["d"]
        assert [call.status for call in server.log if call.path == "batch"] == [200, 400, 200]
        with pytest.raises(openai.NotFoundError):
            asking.batches.retrieve("batch_none")


def test_list_of_batches_has_pages_newest_first():
    with Server() as server:
        made = [batch_of(client(server), ["a"]) for _ in range(5)]
        assert [one.id for one in client(server).batches.list(limit=2)] == made[::-1]


@pytest.mark.parametrize("ends", ["failed", "expired"])
def test_batch_may_end_without_all_its_replies(ends):
    with Server(batch=BatchRules(polls=1, ends=ends)) as server:
        asking = client(server)
        batch = asking.batches.retrieve(batch_of(asking, ["a", "b", "c", "d"]))
        assert batch.status == ends
        if ends == "failed":
            assert batch.errors.data and batch.output_file_id is None
        else:
            assert len(lines_of(asking, batch.output_file_id)) == 2
            errors = lines_of(asking, batch.error_file_id)
            assert {line["error"]["code"] for line in errors} == {"batch_expired"}


def test_full_queue_fails_a_batch():
    with Server(batch=BatchRules(queue_tokens=1)) as server:
        batch = client(server).batches.retrieve(batch_of(client(server), ["word " * 100]))
        assert (batch.status, batch.errors.data[0].code) == ("failed", "token_limit_exceeded")


def test_llama_stacks_batches_hold_strings_and_error_lines_without_a_response():
    with Server(batch=BatchRules(polls=1, is_llama_stack=True)) as server:
        asking = client(server)
        batch = asking.batches.retrieve(batch_of(asking, ["a", "fault:400"]))
        (good,) = lines_of(asking, batch.output_file_id)
        (bad,) = lines_of(asking, batch.error_file_id)
        assert json.loads(good["response"]["body"])["choices"]
        assert "response" not in bad and bad["error"]["code"]


def test_server_in_a_process_of_its_own_speaks_alike_and_shows_its_log():
    with Server.process("--requests-per-minute", "120", "--says", "x-ratelimit") as server:
        assert chat(client(server), "a").choices
        assert [(call.prompt, call.status) for call in server.log] == [("a", 200)]
