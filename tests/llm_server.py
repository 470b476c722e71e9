"""A model behind the OpenAI protocol over HTTP on loopback: latency, limits, faults, batches.

In a test: `with Server(latency=0.1) as server:`. For a measurement, in a separate process:
`Server.process(...)`, or `python -m tests.llm_server --port 0`, which prints its base URL. A prompt
can request a fault itself: "fault:html" every time, "fault:html once" only the first time.
"""

import argparse
import asyncio
import hashlib
import json
import random
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.llm_server_batches import Batches, BatchRules
from tests.llm_server_faults import FAULTS, Answer, Asked, error, no_model, whole, wrong_key
from tests.llm_server_limits import SAYS, Limit

_MARKER = re.compile(r"fault:([\w-]+)( once)?")
_ROOT = Path(__file__).resolve().parents[1]
Faults = Callable[[int, dict], str | None]  # number of a call (from 1), body -> name in FAULTS


@dataclass
class Call:
    """A line of the log: one request. A reply that is not sent completely leaves `status` 0."""

    time: float  # seconds since 1970
    method: str
    path: str  # "batch" for a line of one
    prompt: str = ""
    model: str = ""
    stop: list[str] | None = None
    key_hash: str = ""  # of the header Authorization
    fault: str = ""
    status: int = 0


def at_random(names: Sequence[str], share: float, seed: int = 1) -> Faults:
    """A share of calls fails, each with one of `names`; the same calls for the same seed."""

    def choose(number: int, body: dict) -> str | None:
        chance = random.Random(f"{seed} {number}")
        return chance.choice(list(names)) if chance.random() < share else None

    return choose


def completion(body: dict, text: str) -> dict:
    """A complete chat completion; four bytes make a token."""
    tokens_in, tokens_out = (
        len(part.encode()) // 4 + 1 for part in (json.dumps(body["messages"]), text)
    )
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body.get("model"),
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        },
    }


def digest_of(body: dict) -> str:
    """The reply where no other is given: it depends on the last message alone."""
    prompt = Asked(body).prompt.encode("utf-8", "surrogatepass")
    return "reply " + hashlib.sha256(prompt).hexdigest()[:16]


class Server:
    """The server, in a thread with its own loop while the context is open.

    A reply comes after `latency` seconds. `reply` gives a text, an Answer, or fields of the
    completion that replace the ordinary ones. `key` and `models` are the only ones accepted; ""
    and (): any. The limit's bucket has `burst_seconds` worth of its rate.
    """

    def __init__(
        self,
        *,
        latency: float = 0.0,
        requests_per_minute: float | None = None,
        burst_seconds: float = 1.0,
        says: Sequence[str] = SAYS,
        reply: Callable[[dict], object] = digest_of,
        faults: Faults | None = None,
        key: str = "",
        models: Sequence[str] = (),
        batch: BatchRules | None = None,
    ) -> None:
        self.latency = latency
        self.reply, self.faults = reply, faults
        self.key, self.models = key, models
        self.limit = Limit(requests_per_minute, burst_seconds, says)
        self.batches = Batches(batch or BatchRules(), self._batch_line)
        self.log: list[Call] = []
        self.url = ""
        self._n_calls, self._seen = 0, Counter()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self.serve(0, self._up.set)), daemon=True
        )
        self._up = threading.Event()

    def __enter__(self) -> "Server":
        self._thread.start()
        if not self._up.wait(10):
            raise RuntimeError("the server does not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    async def serve(self, port: int, up: Callable[[], None]) -> None:
        """Serve until the context ends; call `up` when `url` is set."""
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        listening = await asyncio.start_server(self._connection, "127.0.0.1", port, backlog=4096)
        self.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        up()
        await self._ended.wait()
        listening.close()

    @staticmethod
    @contextmanager
    def process(*arguments: str) -> Iterator["RemoteServer"]:
        """Start the server in a separate process; `arguments` as on the command line."""
        command = [sys.executable, "-m", "tests.llm_server", *arguments]
        running = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True)
        try:
            yield RemoteServer(running.stdout.readline().strip())
        finally:
            running.kill()
            running.wait()
            running.stdout.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the server ends
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        line, *rest = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = line.split(" ")
        headers = {
            name.lower(): value.strip() for name, _, value in (one.partition(":") for one in rest)
        }
        body = await _body(reader, headers)
        call = Call(
            time.time(),
            method,
            urlsplit(target).path,
            key_hash=_hash(headers.get("authorization", "")),
        )
        if not call.path.startswith("/_"):
            self.log.append(call)
        answer = await self._answer(call, urlsplit(target).query, headers, body)
        if answer.send and not await answer.send(writer, answer.head(), answer.body):
            return False
        call.status = answer.status  # before the last byte: a client that has it finds it here
        if not answer.send:
            writer.write(answer.head() + answer.body)
        return headers.get("connection", "").lower() != "close"

    async def _answer(
        self, call: Call, query: str, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        key = headers.get("authorization", "").removeprefix("Bearer ")
        if call.path == "/_log":
            return Answer(json.dumps([asdict(one) for one in self.log]).encode())
        if self.key and key != self.key:
            return wrong_key(key)
        if (call.method, call.path) == ("POST", "/v1/chat/completions"):
            return await self._chat(call, Asked(json.loads(body), key, headers.get("host", "")))
        if (call.method, call.path) == ("GET", "/v1/models"):
            rows = [
                {"id": name, "object": "model", "created": 1, "owned_by": "tests"}
                for name in self.models or "m"
            ]
            return Answer(json.dumps({"object": "list", "data": rows}).encode())
        kind = headers.get("content-type", "")
        return self.batches.route(call.method, call.path, query, kind, body) or error(
            404, f"Unknown request URL: {call.method} {call.path}", kind="invalid_request_error"
        )

    async def _chat(self, call: Call, asked: Asked) -> Answer:
        call.prompt, call.model = asked.prompt, asked.body.get("model", "")
        call.stop = asked.body.get("stop")
        if refusal := self.limit.refusal():
            refusal.headers |= self.limit.headers()
            return refusal
        if self.latency:
            await asyncio.sleep(self.latency)
        answer = self._reply(call, asked)
        answer.headers |= self.limit.headers()
        return answer

    def _reply(self, call: Call, asked: Asked) -> Answer:
        self._n_calls += 1
        self._seen[call.prompt] += 1
        if self.models and asked.body.get("model") not in self.models:
            return no_model(asked.body.get("model"))
        marker = _MARKER.search(call.prompt)
        if marker and (not marker[2] or self._seen[call.prompt] == 1):
            call.fault = marker[1]
        elif self.faults:
            call.fault = self.faults(self._n_calls, asked.body) or ""
        own = self.reply(asked.body)
        if isinstance(own, Answer):
            return own
        reply = (
            completion(asked.body, own)
            if isinstance(own, str)
            else completion(asked.body, "") | own
        )
        return FAULTS[call.fault](asked, reply) if call.fault else whole(reply)

    def _batch_line(self, asked: Asked) -> Answer:
        model = asked.body.get("model", "")
        self.log.append(call := Call(time.time(), "POST", "batch", asked.prompt, model))
        answer = self._reply(call, asked)
        call.status = answer.status
        return answer


@dataclass(frozen=True)
class RemoteServer:
    """A server in a separate process."""

    url: str

    @property
    def log(self) -> list[Call]:
        """Its log so far."""
        with urllib.request.urlopen(f"{self.url.removesuffix('/v1')}/_log") as reply:
            return [Call(**one) for one in json.loads(reply.read())]


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length") or 0))
    parts = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return b"".join(parts)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.llm_server",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    parser.add_argument("--requests-per-minute", type=float)
    parser.add_argument("--burst-seconds", type=float, default=1.0)
    parser.add_argument(
        "--says", nargs="*", default=SAYS, choices=SAYS, help="headers that state the limits"
    )
    parser.add_argument(
        "--faults", nargs="*", default=[], choices=FAULTS, help="with --fault-share"
    )
    parser.add_argument("--fault-share", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    options = vars(parser.parse_args())
    port = options.pop("port")
    faults = at_random(options.pop("faults"), options.pop("fault_share"), options.pop("seed"))
    server = Server(faults=faults, **options)
    asyncio.run(server.serve(port, lambda: print(server.url, flush=True)))


if __name__ == "__main__":
    main()
