"""Read the body of a chat completion: a complete text, a text that is not an answer, or neither."""

import json
import re
from dataclasses import dataclass
from typing import Literal

_COMPLETE = ("stop", "eos", "eos_token", "end_turn", "stop_sequence")
_INCOMPLETE = {"length": "cut at the length limit",
               "content_filter": "stopped by the endpoint's content filter"}
_EMPTY, _REFUSED, _UNKNOWN, _UNREADABLE = (
    "an empty reply", "refused by the model", "no finish reason: it may be cut",
    "an unreadable reply with status 200")
# The kinds of reply that are no answer and may be asked for again, by reason.
Kind = Literal["empty", "refused", "filtered", "cut", "unreadable"]
KINDS: dict[str, Kind] = {
    _EMPTY: "empty", _REFUSED: "refused", _INCOMPLETE["content_filter"]: "filtered",
    _INCOMPLETE["length"]: "cut", _UNKNOWN: "cut", _UNREADABLE: "unreadable"}
# A reasoning model's thoughts; some templates write the opening tag into the prompt.
_THOUGHTS = re.compile(r"\A\s*<think>.*?(?:</think>\s*|\Z)|\A(?:(?!<think>).)*</think>\s*", re.S)


class Unreadable(ValueError):
    """A body that is not a chat completion: the request is worth repeating."""


@dataclass(frozen=True)
class Response:
    """A chat completion. `reason` is "" if `text` is complete; tokens are None if not reported.

    `text` is without a model's <think> part; its own length in tokens is then not known.
    """

    text: str
    reason: str
    finish_reason: str
    prompt_tokens: int | None
    completion_tokens: int | None
    text_tokens: int | None = None  # of `text` alone


UNREADABLE = Response("", _UNREADABLE, "unreadable", None, None)


@dataclass(frozen=True)
class Answer:
    """A reply as it came. `raw` is the body of a completion or an error, "" if there is none."""

    key: str  # of the request
    raw: str
    request_id: str = ""
    asked_at: float = 0.0  # seconds since 1970
    seconds: float = 0.0  # from sending to the complete reply


def read_response(raw: str) -> Response:
    """Read the body of a reply with status 200.

    Raises Unreadable for a web page, broken JSON, an error object, or a completion without choices.
    """
    body = _parsed(raw)
    if not isinstance(body, dict):
        raise Unreadable("the reply is JSON, but not a chat completion")
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        has_error = body.get("error")
        raise Unreadable("the reply is an error" if has_error else "the reply has no choices")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise Unreadable("the reply has no message")
    finish = str(choices[0].get("finish_reason") or "")
    content, refusal = _text(message.get("content")), _text(message.get("refusal"))
    text = _THOUGHTS.sub("", content, count=1)
    usage = body.get("usage") if isinstance(body.get("usage"), dict) else {}
    n_out = _count(usage.get("completion_tokens"))
    return Response(text or refusal, _reason(text, refusal, finish), finish,
                    _count(usage.get("prompt_tokens")), n_out, n_out if text == content else None)


def _parsed(raw: str) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        is_page = raw.lstrip()[:1] == "<"
        kind = "a web page" if is_page else "broken JSON" if raw.strip() else "empty"
        raise Unreadable(f"the reply is {kind}") from None


def _text(content: object) -> str:
    """Return a string, or a list's text parts, with ? for lone surrogates, which SQLite rejects."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(text for text in texts if isinstance(text, str))
    return content.encode("utf-8", "replace").decode() if isinstance(content, str) else ""


def _reason(text: str, refusal: str, finish: str) -> str:
    """Return why the text is not a complete answer; "" if it is."""
    if refusal:
        return _REFUSED
    if finish in _INCOMPLETE:
        return _INCOMPLETE[finish]
    if finish not in _COMPLETE:
        return f"ended for another reason: {finish[:40]}" if finish else _UNKNOWN
    return "" if text.strip() else _EMPTY


def _count(tokens: object) -> int | None:
    is_count = isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0
    return tokens if is_count else None
