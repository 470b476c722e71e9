"""tests/llm_server.py speaks the protocol: tested by the real openai client, and by plain HTTP."""

import json
import urllib.error
import urllib.request

import openai
import pytest

from tests.llm_server import Server
from tests.llm_server_batches import BatchRules
from tests.llm_server_faults import FAULTS

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


def test_server_in_a_process_of_its_own_speaks_alike_and_shows_its_log():
    with Server.process("--requests-per-minute", "120", "--says", "x-ratelimit") as server:
        assert chat(client(server), "a").choices
        assert [(call.prompt, call.status) for call in server.log] == [("a", 200)]
