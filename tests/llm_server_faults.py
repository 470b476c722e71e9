"""The faults of tests/llm_server.py by name: each makes of a request what is sent."""

import asyncio
import email.utils
import gzip
import json
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Asked:
    """One request for a chat completion; `key` and `host` are from its headers."""

    body: dict
    key: str = ""
    host: str = ""

    @property
    def prompt(self) -> str:
        """The last message."""
        content = self.body["messages"][-1]["content"]
        return content if isinstance(content, str) else json.dumps(content)


# Writes head and body in an odd way; returns whether all of it was sent.
Send = Callable[[asyncio.StreamWriter, bytes, bytes], Awaitable[bool]]


@dataclass
class Answer:
    """One HTTP reply. `send` replaces the ordinary way to write it."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    send: Send | None = None

    def head(self) -> bytes:
        """Return status line and headers with the empty line."""
        more = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        if "transfer-encoding" not in self.headers:
            more += f"content-length: {len(self.body)}\r\n"
        return (
            f"HTTP/1.1 {self.status} .\r\ncontent-type: {self.content_type}\r\n{more}\r\n"
        ).encode()


Make = Callable[[Asked, dict], Answer]  # from what was asked and the completion that would be sent


def error(
    status: int,
    message: str,
    code: str | None = None,
    param: str | None = None,
    kind: str = "invalid_request_error",
    **headers: str,
) -> Answer:
    """An error as OpenAI words it; header names are given with _ for -."""
    fields = {"message": message, "type": kind, "param": param, "code": code}
    return Answer(
        json.dumps({"error": fields}).encode(),
        status,
        {name.replace("_", "-"): value for name, value in headers.items()},
    )


def wrong_key(key: str) -> Answer:
    """OpenAI's 401, which quotes the ends of the key."""
    shown = f"{key[:8]}{'*' * max(0, len(key) - 12)}{key[-4:]}"
    return error(
        401,
        f"Incorrect API key provided: {shown}. You can find your API key at "
        "https://platform.openai.com/account/api-keys.",
        "invalid_api_key",
    )


def no_model(model: object) -> Answer:
    """OpenAI's 404."""
    return error(
        404,
        f"The model `{model}` does not exist or you do not have access to it.",
        "model_not_found",
    )


def _fails(
    status: int,
    message: str,
    *,
    kind: str = "server_error",
    code: str | None = None,
    **headers: str,
) -> Make:
    return lambda asked, completion: error(status, message, code, kind=kind, **headers)


def _refuses(parameter: str) -> Make:
    def make(asked: Asked, completion: dict) -> Answer:
        if parameter not in asked.body:
            return whole(completion)
        return error(
            400,
            f"Unsupported parameter: '{parameter}' is not supported with this model.",
            "unsupported_parameter",
            parameter,
        )

    return make


def _echoes(status: int, content_type: str = "application/json") -> Make:
    def make(asked: Asked, completion: dict) -> Answer:
        message = (
            f"upstream http://{asked.host}/v1/chat/completions refused Authorization: "
            f"Bearer {asked.key}"
        )
        if content_type != "application/json":
            return Answer(
                f"<html><body>{message}</body></html>".encode(), status, content_type=content_type
            )
        return error(status, message, kind="server_error")

    return make


def _date(asked: Asked, completion: dict) -> Answer:
    return error(
        429,
        "Rate limit reached",
        "rate_limit_exceeded",
        kind="requests",
        retry_after=email.utils.formatdate(time.time() + 1, usegmt=True),
    )


def whole(completion: dict, **more: object) -> Answer:
    """The completion, status 200; `more` goes to Answer."""
    return Answer(json.dumps(completion).encode(), **more)


def _says(content_type: str, body: bytes) -> Make:
    return lambda asked, completion: Answer(body, content_type=content_type)


def _with(**changes: object) -> Make:
    return lambda asked, completion: whole(
        {name: value for name, value in (completion | changes).items() if value is not ...}
    )


def _choice(finish: object = "stop", **message: object) -> Make:
    def make(asked: Asked, completion: dict) -> Answer:
        choice = completion["choices"][0]
        return whole(
            completion
            | {
                "choices": [
                    choice | {"finish_reason": finish, "message": choice["message"] | message}
                ]
            }
        )

    return make


def _half(asked: Asked, completion: dict) -> Answer:
    text = completion["choices"][0]["message"]["content"]
    return _choice(content=f"{text}\ud83d")(asked, completion)  # json.dumps writes an escape


def _parts(asked: Asked, completion: dict) -> Answer:
    text = completion["choices"][0]["message"]["content"]
    parts = [{"type": "text", "text": part} for part in (text[:3], text[3:])]
    return _choice(content=parts)(asked, completion)


def _gzip(asked: Asked, completion: dict) -> Answer:
    return Answer(
        gzip.compress(json.dumps(completion).encode()), headers={"content-encoding": "gzip"}
    )


def _wire(send: Send, **headers: str) -> Make:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda asked, completion: whole(completion, headers=dict(named), send=send)


async def _drop(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> bool:
    return False


async def _drop_inside(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> bool:
    writer.write(head + body[: len(body) // 2])
    await writer.drain()
    return False


async def _drop_in_chunks(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> bool:
    writer.write(head + b"%x\r\n" % len(body) + body + b"\r\n")  # all but the final chunk
    await writer.drain()
    return False


async def _reset(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> bool:
    writer.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
    )
    writer.transport.abort()  # RST instead of FIN
    return False


async def _double(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> bool:
    other = body.replace(b'"content": "', b'"content": "a reply to nobody ')
    length = b"content-length: %d"
    writer.write(head + body + head.replace(length % len(body), length % len(other)) + other)
    return True


async def _short_length(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> bool:
    n = len(body)
    writer.write(head.replace(b"content-length: %d" % n, b"content-length: %d" % (n // 2)) + body)
    return True


async def _until_close(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> bool:
    writer.write(head.replace(b"content-length: %d\r\n" % len(body), b"") + body)
    await writer.drain()
    return False


async def _trickle(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> bool:
    writer.write(head.replace(b"content-length: %d" % len(body), b"content-length: 1000000"))
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def _never(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> bool:
    await asyncio.sleep(86_400)
    return False


async def _chunked(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> bool:
    writer.write(head)
    for start in range(0, len(body), 50):
        part = body[start : start + 50]
        writer.write(b"%x\r\n" % len(part) + part + b"\r\n")
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    return True


async def _slow_header(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> bool:
    for start in range(0, len(head), 10):
        writer.write(head[start : start + 10])
        await asyncio.sleep(0.01)
    writer.write(body)
    return True


async def _garbage(writer: asyncio.StreamWriter, head: bytes, body: bytes) -> bool:
    writer.write(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
    await writer.drain()
    return False


_PAGE = b"<!DOCTYPE html><html><body><h1>Sign in to the network</h1></body></html>"
_THROTTLED = {"kind": "requests", "code": "rate_limit_exceeded"}
FAULTS: dict[str, Make] = {
    "400": _fails(400, "the prompt cannot be used", kind="invalid_request_error"),
    "400-filter": _fails(400, "The prompt was filtered", code="content_filter"),
    "400-window": _fails(
        400,
        "This model's maximum context length is 256 tokens",
        code=("context_length_exceeded"),
        kind="invalid_request_error",
    ),
    "400-max_completion_tokens": _refuses("max_completion_tokens"),
    "400-max_tokens": _refuses("max_tokens"),
    "400-temperature": _refuses("temperature"),
    "400-echo": _echoes(400),
    "401": lambda asked, completion: wrong_key(asked.key),
    "403": _fails(403, "Country, region, or territory not supported", kind="request_forbidden"),
    "404": lambda asked, completion: no_model(asked.body.get("model")),
    "408": _fails(408, "Request timeout"),
    "409": _fails(409, "Conflict"),
    "425": _fails(425, "Too early"),
    "429": _fails(429, "Rate limit reached", retry_after="1", **_THROTTLED),
    "429-ms": _fails(429, "Rate limit reached", retry_after_ms="150", **_THROTTLED),
    "429-date": _date,
    "429-bare": _fails(429, "Rate limit reached", **_THROTTLED),
    "429-quota": _fails(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        kind="insufficient_quota",
        code="insufficient_quota",
        retry_after="1",
    ),
    "500": _fails(500, "The server had an error while processing your request"),
    "502": lambda asked, completion: Answer(
        b"<html><h1>502 Bad Gateway</h1></html>", 502, content_type="text/html"
    ),
    "503": _fails(503, "The engine is currently overloaded"),
    "504": lambda asked, completion: Answer(
        b"upstream request timeout", 504, content_type="text/plain"
    ),
    "500-echo": _echoes(500),
    "html": _says("text/html", _PAGE),
    "html-as-json": _says("application/json", _PAGE),
    "html-echo": _echoes(200, "text/html"),
    "broken": lambda asked, completion: Answer(json.dumps(completion).encode()[:-7]),
    "empty": _says("application/json", b""),
    "error-200": lambda asked, completion: Answer(
        error(500, "overloaded", "overloaded", kind="server_error").body
    ),
    "no-choices": _with(choices=[]),
    "null-choices": _with(choices=None),
    "no-message": _with(choices=[{"index": 0, "finish_reason": "stop"}]),
    "null-content": _choice(content=None),
    "length": _choice("length"),
    "content-filter": _choice("content_filter"),
    "refusal": _choice(content=None, refusal="I cannot help with that."),
    "tool-calls": _choice("tool_calls", content=None, tool_calls=[]),
    "no-finish": _choice(None),
    "no-usage": _with(usage=...),
    "null-usage": _with(usage=None),
    "half-character": _half,
    "parts": _parts,
    "gzip": _gzip,
    "drop": _wire(_drop),
    "drop-inside": _wire(_drop_inside),
    "drop-in-chunks": _wire(_drop_in_chunks, transfer_encoding="chunked"),
    "reset": _wire(_reset),
    "garbage": _wire(_garbage),
    "double": _wire(_double),
    "short-length": _wire(_short_length),
    "until-close": _wire(_until_close),
    "trickle": _wire(_trickle),
    "never": _wire(_never),
    "chunked": _wire(_chunked, transfer_encoding="chunked"),
    "slow-header": _wire(_slow_header),
}

# What a client can make of them.
HARMLESS = (
    "chunked",
    "slow-header",
    "gzip",
    "until-close",
    "double",
    "parts",
    "no-usage",
    "null-usage",
)
PASSING = (
    "408",
    "409",
    "425",
    "429",
    "429-ms",
    "429-date",
    "429-bare",
    "500",
    "502",
    "503",
    "504",
    "500-echo",
    "html",
    "html-as-json",
    "html-echo",
    "broken",
    "empty",
    "error-200",
    "no-choices",
    "null-choices",
    "no-message",
    "drop",
    "drop-inside",
    "drop-in-chunks",
    "reset",
    "garbage",
    "short-length",
    "trickle",
    "never",
)
NO_ANSWER = ("length", "content-filter", "refusal", "null-content", "tool-calls", "no-finish")
FINAL = ("400", "400-echo", "400-filter")  # for one prompt
WINDOW = ("400-window",)  # for one prompt and all that are as long
STOPPING = ("401", "403", "404", "429-quota")  # for all
PARAMETERS = ("400-max_completion_tokens", "400-max_tokens", "400-temperature")
