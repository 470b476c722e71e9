"""One reader of what comes over the wire: completions, lines of batches, lists, errors."""

import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from lib.core.store import printable
from lib.llm.request import TABLE, Reply, Request, least_tokens

_MOST_TOKENS = 10**7  # no model reads or writes so many in a call


class Fault(NamedTuple):
    """A call without a reply. `stops` is the reason why every other call would fail as well."""

    reason: str
    status: int  # what the error means, as a status; below 300: perhaps charged
    stops: str = ""
    refuses: str = ""  # the parameter that the endpoint does not take


def read_wire(status: int, text: str, max_tokens: int = 0) -> Reply | Fault:
    """Return what a response says. Its strings can be stored and printed; nothing raises.

    With status 200, an error counts as the status that it names. A reply of `max_tokens` is cut.
    """
    try:
        found = json.loads(text)
        if isinstance(found, str):  # JSON in JSON
            found = json.loads(found)
        objects = (dig(found, *place) for place in TABLE["places"])
        reply = next((one for one in objects if dig(one, "choices")), None)
        is_error = dig(found, "error") or not reply and any(told(found, TABLE["tells"]))
    except (ValueError, RecursionError):
        found = reply = is_error = None
    if status < 206 and not is_error:  # 206: a part
        return _reply(reply, text, max_tokens)
    return _fault(status, found or {"error": text[:200]})


def is_shortened(reply: Reply, request: Request) -> bool:
    """True if the endpoint has counted far fewer tokens than the words of the prompt."""
    return 0 < reply.n_in < 0.9 * sum(least_tokens(text) for _, text in request.messages) - 100


def fault_of(error: Exception) -> Fault:
    """Return what an error of the client means, without its message, which has the address."""
    name = type(error.__cause__ or error).__name__
    if re.search("Connector|ConnectionTimeout|Proxy", name):
        return _fault(503, {"error": f"no connection to the endpoint or proxy ({name})"})
    return Fault(f"no complete reply in time, or no text in it ({name})", 200)


def dig(value: Any, *path: object) -> Any:
    """Return what is at `path` in nested lists and dictionaries, else None."""
    with suppress(LookupError, TypeError):
        for step in path:
            value = value[step]
        return value
    return None


def told(value: object, names: Collection[str], name: str = "") -> Iterator[str]:
    """Yield all texts and numbers in a JSON value under one of `names`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from told(inner, names, name)
    elif isinstance(value, list):
        for inner in value:
            yield from told(inner, names, name)
    elif name in names and value and value is not True:
        yield _text(str(value))


def _text(value: object) -> str:
    # SQLite rejects lone surrogates
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _fault(status: int, error: object) -> Fault:
    message = printable(" ".join(told(error, TABLE["tells"])))[:300].rstrip(". ")
    codes = " ".join(told(error, TABLE["codes"]))
    words, meant = f"{codes} {message}", status
    if status < 206:
        meant = int((re.findall(r"\b[45]\d\d\b", codes) or [200])[0])
    for means, statuses, pattern in TABLE["means"]:
        if meant in statuses and re.search(pattern, words):
            meant = means
            break
    reason = f"status {meant}: {message}" if message and meant != 401 else f"status {meant}"
    return Fault(
        reason,
        meant,
        TABLE["stops"].get(meant, ""),
        # the shape of a reply may be refused without its name
        *re.findall(TABLE["complains"], f"{words} {meant} response_format"),
    )


def _reply(found: Any, text: str, max_tokens: int) -> Reply | Fault:
    choice = dig(found, "choices", 0)
    message = dig(choice, "message")
    parts = dig(message, "content") or dig(choice, "text")
    texts = parts if isinstance(parts, list) else [parts]
    content = "".join(_text(dig(one, "text") or one) for one in texts)
    finish = _text(dig(choice, "finish_reason")).lower() or "none"
    kind, reason = TABLE["ends"].get(
        finish, ("other", f"ended otherwise: {printable(finish[:40])}")
    )
    if not content and not message:
        kind, reason = "unreadable", text[:200]
    if kind == "unreadable":
        return Fault(f"an unreadable reply with status 200: {printable(reason)}", 200)
    answer = re.sub(TABLE["thoughts"], "", content)
    n_in, n_out, n_all = (  # 0: not told
        n if isinstance(n := dig(found, "usage", name), int) and 0 < n <= _MOST_TOKENS else 0
        for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    )
    if n_out := max(n_out, n_all - n_in):  # the most of three figures
        n_out = max(n_out, least_tokens(content))
    if refusal := " ".join(told(message, ("refusal",))):
        kind, reason = TABLE["ends"]["refusal"]
    elif not kind:
        if not answer.strip():
            kind, reason = "empty", "an empty reply, or one of thoughts alone"
        elif 0 < max_tokens == n_out:
            kind, reason = "cut", "cut at the length limit, which it does not say"
    name = printable(_text(dig(found, "model")))[:300] or "a model without a name"
    return Reply(answer or refusal, reason, kind, name, n_in, n_out, text)
