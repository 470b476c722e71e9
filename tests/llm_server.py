"""A model behind the OpenAI protocol over HTTP on loopback: latency, faults, batches.

`with Server(latency=0.1) as server:`. A prompt can request a fault itself: "fault:html" every time,
"fault:html once" only the first time.
"""

import asyncio
import hashlib
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import yaml

_MARKER = re.compile(r"fault:([\w-]+)( once)?")
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
    temperature: float = 0.0
    response_format: dict | None = None
    fault: str = ""
    status: int = 0


# Writes head and body in an odd way, and not all of them.
Send = Callable[[asyncio.StreamWriter, bytes, bytes], Awaitable[None]]


@dataclass
class Answer:
    """One HTTP reply. `send` replaces the ordinary way to write it."""

    body: bytes | str | dict
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    send: Send | None = None

    def __post_init__(self) -> None:
        if isinstance(self.body, dict):
            self.body = json.dumps(self.body)
        if isinstance(self.body, str):
            self.body = self.body.encode()

    def head(self) -> bytes:
        """Return status line and headers with the empty line."""
        more = {"content-type": "application/json", "content-length": len(self.body)}
        lines = "".join(f"{name}: {value}\r\n" for name, value in (more | self.headers).items())
        return f"HTTP/1.1 {self.status} .\r\n{lines}\r\n".encode()


def error(status: int, message: str, code: str = "server_error", **headers: str) -> Answer:
    """An error as OpenAI words it."""
    return Answer({"error": {"message": message, "type": code, "code": code}}, status, headers)


def completion(body: dict, text: str) -> dict:
    """A complete chat completion; four bytes make a token."""
    n_in, n_out = (len(part.encode()) // 4 + 1 for part in (json.dumps(body["messages"]), text))
    message = {"role": "assistant", "content": text}
    return {
        "model": body.get("model"),
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {
            "prompt_tokens": n_in,
            "completion_tokens": n_out,
            "total_tokens": n_in + n_out,
        },
    }


def prompt_of(body: dict) -> str:
    """The last message."""
    return body["messages"][-1]["content"]


def digest_of(body: dict) -> str:
    """The reply where no other is given: it depends on the last message alone."""
    prompt = prompt_of(body).encode("utf-8", "surrogatepass")
    return "reply " + hashlib.sha256(prompt).hexdigest()[:16]


def at_random(names: Sequence[str], share: float) -> Faults:
    """A share of calls fails, each with one of `names`; the same calls each time."""

    def choose(number: int, body: dict) -> str | None:
        chance = random.Random(number)
        return chance.choice(list(names)) if chance.random() < share else None

    return choose


async def _sent(writer: asyncio.StreamWriter, *parts: bytes, wait: float = 0.0) -> None:
    for part in parts:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(wait)


async def _drop(writer, head, body, share=0.0):
    await _sent(writer, (head + body)[: int(share * len(head + body))])


async def _never(writer, head, body):
    await _sent(writer, head[:10], wait=86_400)


async def _trickle(writer, head, body):
    await _sent(writer, Answer(b" " * 10**6).head(), *[b" "] * 10**6, wait=0.05)


SENDS: dict[str, Send] = {
    "drop": _drop,
    "drop-inside": partial(_drop, share=0.7),
    "trickle": _trickle,
    "never": _never,
}
TABLE = yaml.safe_load((Path(__file__).parent / "data/llm_faults.yaml").read_text("utf-8"))
HARMLESS, STOPPING, FINAL = (TABLE[kind] for kind in ("harmless", "stopping", "final"))
PASSING = [
    name
    for name in [*TABLE["errors"], *TABLE["bodies"], *SENDS, "broken"]
    if name not in (*HARMLESS, *STOPPING, *FINAL)
]
PARAMETERS = (
    "400-max_completion_tokens",
    "400-max_tokens",
    "400-temperature",
    "400-response_format",
)


def faulty(name: str, asked: dict, reply: dict, **secrets: str) -> Answer:
    """Return the reply that is spoilt by the fault of this name; "" is none."""
    if name in TABLE["errors"]:
        status, message, *code = TABLE["errors"][name]
        return error(status, message.format(**secrets), *code, **TABLE["headers"].get(name, {}))
    if name in PARAMETERS and name[4:] in asked:
        return error(400, f"Unsupported parameter: '{name[4:]}'", "unsupported_parameter")
    if name in TABLE["bodies"]:
        return Answer(TABLE["bodies"][name].format(**secrets))
    if name in SENDS:
        return Answer(reply, send=SENDS[name])
    choice = reply["choices"][0]
    if name in TABLE["choices"]:
        choice["finish_reason"], more = TABLE["choices"][name]
        choice["message"] |= more
    if name == "parts":
        text = choice["message"]["content"]
        choice["message"]["content"] = [{"type": "text", "text": one} for one in text]
    if name == "no-usage":
        del reply["usage"]
    whole = Answer(reply)
    return Answer(whole.body[:-7]) if name == "broken" else whole


@dataclass
class Batches:
    """Files and batches, in OpenAI's form; `answer` gives the reply to a line."""

    answer: Callable[[dict], Answer]
    polls: int = 2  # done at this look
    ends: str = "completed"  # or failed: no line is answered; expired, cancelled: half are
    queue_tokens: int = 10**9  # a batch with more of them fails at once
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict] = field(default_factory=dict)

    def route(self, call: Call, body: bytes) -> Answer:
        """Return the reply to a request below /v1/files or /v1/batches."""
        match call.method, *call.path.split("/")[2:]:
            case "POST", "files":
                part = next(part for part in body.split(b"\r\n--") if b'name="file"' in part)
                return Answer({"id": self._store(part.partition(b"\r\n\r\n")[2])})
            case "GET", "files", file_id, "content" if file_id in self.files:
                return Answer(self.files[file_id])
            case "POST", "batches":
                asked, number = json.loads(body), len(self.batches) + 1
                self.batches[f"batch_{number}"] = asked | {
                    "id": f"batch_{number}",
                    "status": "in_progress",
                    "looks": 0,
                    "rows": [*map(json.loads, self.files[asked["input_file_id"]].splitlines())],
                }
                return Answer(self.batches[f"batch_{number}"])
            case "GET", "batches":
                return Answer({"data": [*self.batches.values()]})
            case "GET", "batches", batch_id if batch_id in self.batches:
                return Answer(self._look(self.batches[batch_id]))
        return error(404, f"No such object: {call.path}")

    def _store(self, content: bytes) -> str:
        self.files[f"file-{len(self.files) + 1}"] = content
        return f"file-{len(self.files)}"

    def _look(self, batch: dict) -> dict:
        batch["looks"] += 1
        n_tokens = sum(row["body"]["max_completion_tokens"] for row in batch["rows"])
        if batch["status"] != "in_progress" or batch["looks"] < self.polls:
            return batch
        if n_tokens > self.queue_tokens or self.ends == "failed":
            code = "token_limit_exceeded" if n_tokens > self.queue_tokens else "invalid_json_line"
            failed = {"status": "failed", "errors": {"data": [{"code": code}]}}
            return batch | failed | {"request_counts": {"completed": 0}}
        rows = batch["rows"]
        n_done = len(rows) // (1 + (self.ends != "completed"))
        lines: dict[str, list] = {"output": [], "error": []}
        for number, row in enumerate(rows):
            line = {"custom_id": row["custom_id"], "response": None, "error": {"code": "expired"}}
            if number < n_done:
                answer = self.answer(row["body"])
                got = {"status_code": answer.status, "request_id": "req", "body": answer.body}
                got["body"] = _parsed(answer.body.decode())
                line |= {"response": got, "error": None}
            is_error = number >= n_done or answer.status != 200
            lines["error" if is_error else "output"].append(json.dumps(line))
        for kind, some in lines.items():
            if some:
                batch[f"{kind}_file_id"] = self._store("\n".join(some).encode() + b"\n")
        counts = {"completed": len(lines["output"]), "failed": len(lines["error"])}
        batch |= {"status": self.ends, "request_counts": counts}
        return batch


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


class Server:
    """The server, in a thread with its own loop while the context is open.

    A reply comes after `latency` seconds. `reply` gives a text, an Answer, or fields of the
    completion that replace the ordinary ones. `key` is the only one accepted; "": any.

    `odd` requests, (method, path with N for a number), are answered in an odd way: "before" and
    "after" halt for ever. Once: "dropped" does the work and does not reply, an Answer is the reply,
    a function is called before the reply.
    """

    def __init__(
        self,
        *,
        latency: float = 0.0,
        reply: Callable[[dict], object] = digest_of,
        faults: Faults | None = None,
        key: str = "",
        **batch: object,
    ) -> None:
        self.latency, self.reply, self.faults, self.key = latency, reply, faults, key
        self.batches = Batches(self._batch_line, **batch)
        self.odd: dict[tuple[str, str], object] = {}
        self.reached = threading.Event()
        self.log: list[Call] = []
        self.url = ""
        self._n_calls, self._seen, self._up = 0, Counter(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True)

    def __enter__(self) -> "Server":
        self._thread.start()
        assert self._up.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    async def serve(self) -> None:
        """Serve until the context ends."""
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        self._halted = asyncio.Event()  # kept: a connection that is garbage closes others
        listening = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=4096)
        self.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        self._up.set()
        await self._ended.wait()
        listening.close()

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
        named = (one.partition(":") for one in rest)
        headers = {name.lower(): value.strip() for name, _, value in named}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        call = Call(time.time(), method, urlsplit(target).path)
        self.log.append(call)
        answer = await self._oddly(call, headers, body)
        if answer.send:
            await answer.send(writer, answer.head(), answer.body)
            return False
        call.status = answer.status  # before the last byte: a client that has it finds it here
        writer.write(answer.head() + answer.body)
        return True

    async def _oddly(self, call: Call, headers: Mapping[str, str], body: bytes) -> Answer:
        place = call.method, re.sub(r"/(batch_|file-)\d+", "/N", call.path)
        how = self.odd.get(place)
        if how not in ("before", "after"):
            self.odd.pop(place, None)
        if isinstance(how, Answer):
            return how
        if callable(how):
            how()
        if how == "before":
            await self._halt()
        answer = await self._answer(call, headers, body)
        if how == "after":
            await self._halt()
        if how == "dropped":
            raise ConnectionError
        return answer

    async def _halt(self) -> None:
        self.reached.set()
        await self._halted.wait()

    async def _answer(self, call: Call, headers: Mapping[str, str], body: bytes) -> Answer:
        key = headers.get("authorization", "").removeprefix("Bearer ")
        if self.key and key != self.key:
            return faulty("401", {}, {}, key=key)
        if call.path == "/v1/models":
            return Answer({"data": []})
        if call.path != "/v1/chat/completions":
            return self.batches.route(call, body)
        asked = json.loads(body)
        call.prompt, call.model, call.stop = prompt_of(asked), asked["model"], asked.get("stop")
        call.temperature = asked.get("temperature", 0.0)
        call.response_format = asked.get("response_format")
        await asyncio.sleep(self.latency)
        return self._reply(call, asked, key=key, host=headers.get("host", ""))

    def _reply(self, call: Call, asked: dict, **secrets: str) -> Answer:
        self._n_calls += 1
        self._seen[call.prompt] += 1
        marker = _MARKER.search(call.prompt)
        if marker and (not marker[2] or self._seen[call.prompt] == 1):
            call.fault = marker[1]
        elif self.faults:
            call.fault = self.faults(self._n_calls, asked) or ""
        reply = self.reply(asked)
        if isinstance(reply, Answer):
            return reply
        text = reply if isinstance(reply, str) else ""
        whole = completion(asked, text) | ({} if isinstance(reply, str) else reply)
        return faulty(call.fault, asked, whole, **secrets)

    def _batch_line(self, asked: dict) -> Answer:
        self.log.append(call := Call(time.time(), "POST", "batch", prompt_of(asked)))
        answer = self._reply(call, asked, key="", host="")
        call.status = answer.status
        return answer
