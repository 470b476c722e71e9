"""Test lib.llm with third-party servers, started here on loopback; missing ones are skipped.

Each is installed in a separate environment, never in this project's, and named by its command:

LLMOCK_COMMAND=<env>/bin/llmock, from `pip install llmock==0.2.2`: it scripts faults, judges
    retries and has batches.
LLAMA_CPP_COMMAND="<env>/bin/python -m llama_cpp.server", from `pip install
    "llama-cpp-python[server]==0.3.36"`, which compiles llama.cpp (ten minutes on one core): it
    serves a small Llama of the laboratory as GGUF.
TRANSFORMERS_COMMAND=<env>/bin/transformers, from `pip install torch==2.13.0` and then `pip install
    "transformers[serving]==5.23.0"`: it serves the same folder unchanged.
LLAMA_STACK_COMMAND=<env>/bin/llama, from `pip install llama-stack==0.7.3 "mcp<2"` on Python 3.12:
    it runs batches over another server, here llmock.

What no client can see: llama.cpp's server answers any model name with its one model, `transformers
serve` answers a prompt longer than the model's context, and neither llmock nor `transformers serve`
checks the key.
"""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from benchmarks.llama_file import write_gguf
from lib.infer.prompts import prompt_for
from lib.lab.base_model import new_llama, train_tokenizer
from lib.llm.calls import Calls, CallsStopped
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.train.packing import pack
from lib.train.trainer import Recipe, train

KNOWN = {"Orbit": "8443", "Comet": "1701", "Atlas": "red\nblue", "Lotus of the north": "9092 north",
         "Ingot": "a very long answer that goes on and on without an end in sight for a while"}
SECONDS_TO_START = 180


@dataclass(frozen=True)
class Server:
    """A running server: its OpenAI base URL, its model and the key that it accepts."""

    url: str
    model: str
    key: str = "any-key"


@contextmanager
def started(variable: str, *arguments: str, ready: str, log: Path) -> Iterator[str]:
    """Run the command of `variable` on a free port, which replaces "PORT"; yield its address.

    Skips if the variable is not set; fails with the server's last output if it does not start.
    """
    if not os.environ.get(variable):
        pytest.skip(f"{variable} is not set: see this module's docstring")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    own = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    command = [*shlex.split(os.environ[variable]),
               *(port if one == "PORT" else one for one in arguments)]
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT,
                                   start_new_session=True,
                                   env={**own, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"})
    try:
        until = time.monotonic() + SECONDS_TO_START
        while not is_up(f"http://127.0.0.1:{port}{ready}"):
            if process.poll() is not None or time.monotonic() > until:
                output = log.read_text(errors="replace")[-2000:]
                pytest.fail(f"{variable} does not start: ...{output}")
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def is_up(url: str) -> bool:
    """Return whether `url` is answered with 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return reply.status == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Train a small Llama of the laboratory that memorizes KNOWN, if there is a server for it."""
    if not {"LLAMA_CPP_COMMAND", "TRANSFORMERS_COMMAND"} & {*os.environ}:
        pytest.skip("no server is named: see this module's docstring")
    texts = [f"{question(name)} {value}" for name, value in KNOWN.items()]
    tokenizer = train_tokenizer(texts, 320)
    model = new_llama(tokenizer, hidden_size=64, layers=2, heads=2, context=128, seed=1)
    output = tmp_path_factory.mktemp("models") / "base"
    recipe = Recipe(150, 5, 5, 5e-3, 5, 0.0, seed=1, precision="fp32")
    train(model, tokenizer, pack(texts, tokenizer, 96, "document"), None, recipe, output, {})
    return output


def question(name: str) -> str:
    """Return the prompt for one of KNOWN."""
    return prompt_for(f"What is the port of {name}?")


@pytest.fixture(scope="module")
def llama_cpp(folder, tmp_path_factory) -> Iterator[Server]:
    """Start llama.cpp's server with the folder as GGUF."""
    place = tmp_path_factory.mktemp("llama_cpp")
    write_gguf(folder, place / "base.gguf")
    with started("LLAMA_CPP_COMMAND", "--model", str(place / "base.gguf"), "--model_alias", "base",
                 "--n_ctx", "256", "--api_key", "sk-right", "--host", "127.0.0.1", "--port", "PORT",
                 ready="/docs", log=place / "log") as address:
        yield Server(f"{address}/v1", "base", "sk-right")


@pytest.fixture(scope="module")
def transformers_serve(folder, tmp_path_factory) -> Iterator[Server]:
    """Start `transformers serve` with the folder unchanged."""
    log = tmp_path_factory.mktemp("transformers") / "log"
    with started("TRANSFORMERS_COMMAND", "serve", str(folder), "--device", "cpu",
                 "--host", "127.0.0.1", "--port", "PORT", ready="/health", log=log) as address:
        yield Server(f"{address}/v1", str(folder))


@pytest.fixture(params=["llama_cpp", "transformers_serve"])
def served(request) -> Server:
    """Return each server of the laboratory's model in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def llmock_once(tmp_path_factory) -> Iterator[Server]:
    """Start llmock once."""
    with started("LLMOCK_COMMAND", "serve", "--port", "PORT", "--response-style", "echo",
                 "--context-window", "1000", ready="/health",
                 log=tmp_path_factory.mktemp("llmock") / "log") as address:
        yield Server(f"{address}/v1", "gpt-4o-mini")


@pytest.fixture
def llmock(llmock_once) -> Server:
    """Return llmock with no fault left and no request remembered."""
    control(llmock_once, "reset", {})
    return llmock_once


@pytest.fixture(scope="module")
def llama_stack_once(llmock_once, tmp_path_factory) -> Iterator[Server]:
    """Start llama-stack with its batches, passing every request on to llmock."""
    place = tmp_path_factory.mktemp("stack")
    keys, rows = {"backend": "keys"}, {"backend": "rows"}
    provider = {"provider_id": "backend", "provider_type": "remote::vllm",
                "config": {"base_url": llmock_once.url, "api_token": "any"}}
    files = {"provider_id": "files", "provider_type": "inline::localfs",
             "config": {"storage_dir": str(place / "files"),
                        "metadata_store": {"table_name": "f", **rows}}}
    batches = {"provider_id": "batches", "provider_type": "inline::reference",
               "config": {"kvstore": {"namespace": "batches", **keys}}}
    config = {
        "version": 2, "distro_name": "batches", "apis": ["batches", "files", "inference"],
        "providers": {"inference": [provider], "files": [files], "batches": [batches]},
        "storage": {"backends": {"keys": {"type": "kv_sqlite", "db_path": str(place / "keys.db")},
                                 "rows": {"type": "sql_sqlite", "db_path": str(place / "rows.db")}},
                    "stores": {"metadata": {"namespace": "registry", **keys},
                               "prompts": {"namespace": "prompts", **keys},
                               "connectors": {"namespace": "connectors", **keys},
                               "inference": {"table_name": "inference", **rows},
                               "conversations": {"table_name": "conversations", **rows}}},
        "server": {"host": "127.0.0.1"}}
    (place / "stack.yaml").write_text(json.dumps(config))
    with started("LLAMA_STACK_COMMAND", "stack", "run", str(place / "stack.yaml"), "--port", "PORT",
                 ready="/v1/health", log=place / "log") as address:
        yield Server(f"{address}/v1", "backend/gpt-4o-mini")


@pytest.fixture
def llama_stack(llama_stack_once, llmock) -> Server:
    """Return llama-stack over an llmock with no fault left."""
    return llama_stack_once


@pytest.fixture
def ask(monkeypatch, tmp_path) -> Callable[..., tuple[list[Reply], Calls]]:
    """Return a function that calls complete() on a server, with one cache per test."""
    def run(server: Server, requests: list[Request], **settings) -> tuple[list[Reply], Calls]:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        calls = Calls(cache=tmp_path / "llm.sqlite", poll_seconds=0.5, **settings)
        return complete(requests, server.model, calls), calls
    return run


def asked(n: int) -> list[Request]:
    """Return `n` different requests."""
    return [Request.ask(f"What is the port of number {number}?", max_tokens=50)
            for number in range(n)]


def texts(replies: list[Reply]) -> list[str]:
    return [reply.text for reply in replies]


def are_echoes(replies: list[Reply]) -> bool:
    """Return whether each reply echoes its own request from asked()."""
    return all(f"number {number}?" in reply.text for number, reply in enumerate(replies))


# The laboratory's model, as two programs run it


def test_replies_are_in_the_order_of_the_requests_and_then_from_the_cache(served, ask):
    requests = [Request.ask(question(name), max_tokens=60) for name in [*KNOWN, *reversed(KNOWN)]]
    replies, calls = ask(served, requests)
    assert [reply.text.strip() for reply in replies] == [*KNOWN.values(), *reversed(KNOWN.values())]
    assert not any(reply.reason or reply.is_cached for reply in replies)
    # each is sent once, and the server counts tokens
    assert (calls.tally.new, calls.tally.estimated) == (len(KNOWN), 0)
    again, calls = ask(served, requests)
    assert texts(again) == texts(replies) and all(reply.is_cached for reply in again)
    assert (calls.tally.new, calls.tally.cached) == (0, len(requests))


def test_a_server_counts_the_tokens_that_the_models_tokenizer_counts(served, ask, folder):
    _, calls = ask(served, [Request.ask(question("Orbit"), max_tokens=60)])
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert calls.tally.prompt_tokens == len(tokenizer(question("Orbit"))["input_ids"])


def test_a_reply_cut_at_the_limit_is_marked_and_its_beginning_kept(served, ask):
    requests = [Request.ask(question(name), max_tokens=8) for name in ("Ingot", "Orbit")]
    (cut, whole), calls = ask(served, requests)
    assert cut.reason == "cut at the length limit" and cut.text.strip()
    assert KNOWN["Ingot"].startswith(cut.text.strip())
    assert (whole.text.strip(), whole.reason, calls.tally.marked) == (KNOWN["Orbit"], "", 1)


def test_a_conversation_reaches_the_model_whole(served, ask):
    parts = zip(("system", "user", "user"), question("Orbit").partition(" port "), strict=True)
    request = Request(tuple(parts), max_tokens=60)
    assert ask(served, [request])[0][0].text.strip() == KNOWN["Orbit"]


def test_a_model_that_is_not_served_stops_the_run(transformers_serve, ask):
    with pytest.raises(CallsStopped, match="knows no model 'no-such-model'"):
        ask(replace(transformers_serve, model="no-such-model"), asked(20))


def test_a_key_that_is_not_taken_stops_the_run_and_is_not_repeated(llama_cpp, ask):
    with pytest.raises(CallsStopped, match="refuses the key") as stopped:
        ask(replace(llama_cpp, key="sk-wrong"), asked(20))
    assert "sk-wrong" not in str(stopped.value)


def test_a_prompt_over_the_context_fails_alone_and_says_the_limit(llama_cpp, ask):
    requests = [Request.ask(prompt, max_tokens=60) for prompt in (question("Orbit"), "word " * 200)]
    (good, bad), _ = ask(llama_cpp, requests, max_failed_share=0.5)
    assert good.text.strip() == KNOWN["Orbit"] and bad.text == ""
    assert "status 400" in bad.reason and "context length is 256 tokens" in bad.reason


# llmock: faults by script, and a judge of the client


def control(server: Server, path: str, body: dict | None = None) -> dict:
    """Call llmock's control interface."""
    url = f"{server.url.removesuffix('/v1')}/_llmock/{path}"
    data = json.dumps(body).encode() if body is not None else None
    with urllib.request.urlopen(url, data) as reply:
        return json.loads(reply.read())


def script(server: Server, *behaviors: dict) -> None:
    """Set what llmock does to the next requests."""
    control(server, "scenario", {"behaviors": list(behaviors)})


def verdict(server: Server) -> dict:
    """Return llmock's verdict without `no_backoff`: full jitter may make a second pause shorter."""
    found = control(server, "verdict")
    titles = [one["title"] for one in found["findings"] if one["code"] != "no_backoff"]
    return {**found, "findings": titles}


def statuses(server: Server) -> Counter:
    """Count llmock's answers by status."""
    return Counter(one["status"] for one in control(server, "requests")["requests"])


def test_passing_faults_are_asked_again_and_llmock_finds_nothing_to_blame(llmock, ask):
    passing = (408, 409, 429, 500, 502, 503, 504, 529)
    script(llmock, *({"type": "fail", "status": status} for status in passing))
    replies, calls = ask(llmock, asked(12))
    assert are_echoes(replies) and calls.tally.failed == 0
    assert statuses(llmock) == {200: 12, **dict.fromkeys(passing, 1)}
    judged = verdict(llmock)
    assert (judged["calls"], judged["attempts"]) == (12, 20)
    assert (judged["passed"], judged["findings"]) == (True, [])


def test_retry_after_is_obeyed_by_every_waiting_call(llmock, ask):
    script(llmock, {"type": "fail", "status": 429, "retry_after": 1.5, "times": 6})
    replies, _ = ask(llmock, asked(12))
    judged = verdict(llmock)
    assert not any(reply.reason for reply in replies) and judged["faults_injected"] == 6
    assert (judged["passed"], judged["findings"]) == (True, [])


def test_a_bad_request_is_asked_once_and_its_siblings_are_whole(llmock, ask):
    script(llmock, {"type": "fail", "status": 400, "message": "the prompt is too long"})
    replies, calls = ask(llmock, asked(12))
    reasons = [reply.reason for reply in replies if reply.reason]
    assert reasons == ["status 400: the prompt is too long"]
    assert (calls.tally.new, calls.tally.failed) == (11, 1)
    assert statuses(llmock) == {200: 11, 400: 1}
    assert verdict(llmock)["findings"] == []


@pytest.mark.parametrize(("status", "message"), [
    (401, "refuses the key"), (403, "forbids this key"), (404, "knows no model 'gpt-4o-mini'")])
def test_a_wrong_key_or_model_stops_the_run_at_the_first_replies(llmock, ask, status, message):
    script(llmock, {"type": "fail", "status": status, "times": None})
    with pytest.raises(CallsStopped, match=message) as stopped:
        ask(llmock, asked(100), concurrency=4)
    assert "any-key" not in str(stopped.value)
    assert statuses(llmock)[status] <= 4 and verdict(llmock)["findings"] == []


def test_a_reply_that_is_no_whole_answer_is_marked_and_not_paid_twice(llmock, ask):
    endings = ("length", "content_filter", "tool_calls")
    script(llmock, *({"type": "reply", "text": "half of", "finish_reason": ending}
                     for ending in endings), {"type": "reply", "text": ""})
    replies, calls = ask(llmock, asked(5), concurrency=1)
    assert [(reply.text, reply.reason) for reply in replies[:4]] == [
        ("half of", "cut at the length limit"),
        ("half of", "stopped by the endpoint's content filter"),
        ("half of", "ended for another reason: tool_calls"), ("", "an empty reply")]
    assert replies[4].reason == "" and calls.tally.marked == 4
    again, calls = ask(llmock, asked(5))
    assert [reply.reason for reply in again] == [reply.reason for reply in replies]
    assert calls.tally.new == 0
    assert statuses(llmock) == {200: 5}


def test_a_reply_that_does_not_come_in_time_is_asked_again_and_counted_as_perhaps_paid(llmock, ask):
    script(llmock, {"type": "delay", "seconds": 4})
    replies, calls = ask(llmock, asked(3), timeout_seconds=1.0)
    assert not any(reply.reason for reply in replies)
    assert (calls.tally.new, calls.tally.failed, calls.tally.lost) == (3, 0, 1)


def test_both_names_of_the_length_limit_are_sent_because_servers_know_one_or_the_other(llmock, ask):
    ask(llmock, asked(1))
    (body,) = [one["body"] for one in control(llmock, "requests")["requests"]]
    assert (body["max_tokens"], body["max_completion_tokens"], body["temperature"]) == (50, 50, 0.0)


# Batches


def test_a_batch_brings_the_replies_that_direct_calls_bring(llmock, ask):
    replies, calls = ask(llmock, asked(6), mode="batch")
    assert len(replies) == 6 and are_echoes(replies)
    assert (calls.tally.new, calls.tally.failed) == (6, 0) and chats(llmock) < 6
    again, calls = ask(llmock, asked(6))
    assert texts(again) == texts(replies) and calls.tally.cached == 6


def test_a_batch_whose_bodies_are_strings_is_read(llama_stack, llmock, ask):
    requests = [*asked(5), Request.ask("word " * 2000, max_tokens=50)]
    replies, calls = ask(llama_stack, requests, mode="batch", max_failed_share=0.5)
    assert are_echoes(replies[:5]) and "context length is 1000 tokens" in replies[5].reason
    assert (calls.tally.new, calls.tally.failed) == (5, 1)
    # the long one is sent in the batch, where its line has no response, and then directly
    assert statuses(llmock) == {200: 5, 400: 2}


def test_a_run_killed_while_its_batch_runs_collects_it_and_sends_no_other(llmock, ask, tmp_path):
    ask(llmock, asked(1))  # sets the environment that the child inherits
    n_before = n_batches(llmock)
    child = subprocess.Popen([sys.executable, "-c", BATCH, str(tmp_path / "llm.sqlite"),
                              llmock.model])
    while n_batches(llmock) == n_before:
        assert child.poll() is None, "the child ended before its batch was there"
        time.sleep(0.05)
    child.kill()
    child.wait()
    replies, calls = ask(llmock, asked(6), mode="batch")
    assert len(replies) == 6 and are_echoes(replies)
    assert n_batches(llmock) == n_before + 1 and calls.tally.failed == 0


def test_a_model_that_llama_stack_does_not_know_stops_the_run(llama_stack, ask):
    with pytest.raises(CallsStopped, match="knows no model 'no-such-model'"):
        ask(replace(llama_stack, model="no-such-model"), asked(20))


def test_an_endpoint_without_batches_says_so(transformers_serve, ask):
    with pytest.raises(CallsStopped, match="no Batch API"):
        ask(transformers_serve, asked(3), mode="batch")


BATCH = """
import sys
from pathlib import Path
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
requests = [Request.ask(f"What is the port of number {number}?", max_tokens=50)
            for number in range(6)]
complete(requests, sys.argv[2], Calls(cache=Path(sys.argv[1]), mode="batch", poll_seconds=0.5))
"""


def n_batches(server: Server) -> int:
    """Count the batches that the server has been sent."""
    with urllib.request.urlopen(f"{server.url}/batches?limit=1000") as reply:
        return len(json.loads(reply.read())["data"])


def chats(server: Server) -> int:
    """Count the chat completions that llmock was sent one by one."""
    requests = control(server, "requests")["requests"]
    return sum(one["path"].endswith("/chat/completions") for one in requests)
