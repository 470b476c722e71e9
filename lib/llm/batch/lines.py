"""Write and read the lines of batch files: requests within the provider's limits, and replies."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from operator import add, gt

from lib.llm.response import Answer

MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000  # OpenAI's limits per file


@dataclass
class Size:
    """The size of a line, or the room in one more batch."""

    requests: float = MOST_REQUESTS
    bytes: float = MOST_BYTES
    tokens: float = float("inf")  # of prompts
    usd: float = float("inf")  # in the worst case


@dataclass(frozen=True)
class Line:
    """A request ready to be sent: `key` is its custom_id."""

    key: str
    text: bytes
    size: Size


def request_line(key: str, body: Mapping[str, object]) -> bytes:
    """Return a line of an input file, with the body of a direct call."""
    row = {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(row).encode() + b"\n"


def that_fit(lines: Iterator[Line], room: Size) -> list[Line]:
    """Return as many of the first `lines` as fit into `room`."""
    fitting: list[Line] = []
    total, most = (0.0,) * 4, astuple(room)
    for line in lines:
        total = tuple(map(add, total, astuple(line.size)))
        if any(map(gt, total, most)):
            break
        fitting.append(line)
    return fitting


def answers(file: bytes, asked_at: float = 0.0, seconds: float = 0.0) -> Iterator[Answer]:
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
                         str(response.get("request_id") or ""), asked_at, seconds)
