"""Write and read the lines of batch files: requests within the provider's limits, and replies."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lib.llm.request import Request

MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000  # OpenAI's limits per file


@dataclass
class Room:
    """The limits of one more batch; `tokens` counts prompts, `usd` the worst-case cost."""

    requests: int = MOST_REQUESTS
    bytes: int = MOST_BYTES
    tokens: float = float("inf")
    usd: float = float("inf")


@dataclass(frozen=True)
class Line:
    """A request ready to be sent, and its size."""

    key: str
    body: bytes
    tokens: int
    usd: float


def request_line(key: str, model: str, request: Request,
                 parameters: Mapping[str, object]) -> bytes:
    """Return a line of an input file: `key` is its custom_id, `parameters` are a direct call's."""
    messages = [{"role": role, "content": content} for role, content in request.messages]
    row = {"custom_id": key, "method": "POST", "url": "/v1/chat/completions",
           "body": {"model": model, "messages": messages, **parameters}}
    return json.dumps(row).encode() + b"\n"


def that_fit(lines: Iterator[Line], room: Room) -> list[Line]:
    """Return as many of the first `lines` as fit into `room`."""
    fitting: list[Line] = []
    n_bytes, tokens, usd = 0, 0, 0.0
    for line in lines:
        n_bytes, tokens = n_bytes + len(line.body), tokens + line.tokens
        usd += line.usd
        if (len(fitting) == room.requests or n_bytes > room.bytes or tokens > room.tokens
                or usd > room.usd):
            break
        fitting.append(line)
    return fitting


@dataclass(frozen=True)
class Answer:
    """A line of an output file. `raw` is the body of the reply or error, "" if there is none."""

    key: str
    raw: str
    request_id: str


def answers(file: bytes) -> Iterator[Answer]:
    """Yield the lines of an output or error file that are JSON and name a request."""
    for line in file.split(b"\n"):  # not splitlines: U+2028 may be in a text
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and isinstance(row.get("custom_id"), str):
            response = row.get("response")
            response = response if isinstance(response, dict) else {}  # an error may have none
            body = response.get("body") or ""
            raw = body if isinstance(body, str) else json.dumps(body)  # llama-stack sends a string
            yield Answer(row["custom_id"], raw.encode("utf-8", "replace").decode(),  # no surrogates
                         str(response.get("request_id") or ""))
