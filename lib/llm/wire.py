"""One reader of what comes over the wire: completions, lines of batches, lists, errors."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any

import yaml

from lib.core.store import package_file, printable
from lib.llm.request import Reply, Request, least_tokens

LONGEST_WAIT = 900.0  # seconds; if an endpoint asks for more, the run stops
FILTERED = 451  # the status of a refused prompt, which says nothing about other prompts
_MOST_TOKENS = 10**7  # no model reads or writes so many in a call
LIMITS = {"max_completion_tokens", "max_tokens"}
_TABLE: Any = yaml.safe_load(package_file("llm/wire.yaml").read_text(encoding="utf-8"))
_KINDS: Any = {
    word: (kind, reason) for kind, reason, words in _TABLE["ends"] for word in words.split()
}

MOST_TRIES = max(_TABLE["tries"].values())


@dataclass(frozen=True)
class Fault:
    """A call without a reply. `stops` is the reason why every other call would fail as well."""

    reason: str
    status: int  # what the error means, as a status; below 300: perhaps charged
    stops: str = ""  # names the model as {model!r}
    wait: float = 0.0  # seconds that the endpoint asks for
    told: str = ""  # codes and message

    @property
    def tries(self) -> int:
        """Return how often a call is sent, at most."""
        return 1 if self.stops else _TABLE["tries"].get(min(self.status, 500), 1)

    def unsupported(self, sent: Collection[str]) -> str:
        """Return the parameter among `sent` that the endpoint does not take, else ""."""
        found = self.status in (400, 422) and re.match(_TABLE["complains"], self.told, re.S | re.I)
        return found[1] if found and found[1] in sent else ""


def read_wire(status: int, headers: Mapping[str, str], text: str) -> Reply | Fault:
    """Return what a response says. Its strings can be stored and printed; nothing raises.

    With status 200, an error counts as the status that it names.
    """
    try:
        # an integer may have too many digits
        found = json.loads(text.removeprefix("\ufeff"), parse_int=float)
        found = dig(found, 0) or found
        is_reply = dig(found, "choices") or dig(found, "data")
        is_error = not is_reply and any(told(found, _TABLE["tells"]))
        error = dig(found, "error") or (is_error and found)
    except (ValueError, RecursionError):
        found = error = None
    if status < 206 and not error:  # 206: a part
        return _reply(found, text)
    return _fault(status, headers, {"error": error or found or _looks(text)})


def read_stored(raw: str, request: Request) -> Reply | None:
    """Return what a stored response to `request` says, None if it is no reply."""
    read = read_wire(200, {}, raw)
    if not isinstance(read, Reply) or read.reason or read.usage[1] != request.max_tokens:
        return read if isinstance(read, Reply) else None
    return replace(read, kind="cut", reason="cut at the length limit, which it does not say")


def is_shortened(reply: Reply, request: Request) -> bool:
    """True if the endpoint has counted far fewer tokens than the words of the prompt."""
    least = sum(least_tokens(content) for _, content in request.messages)
    return 0 < reply.usage[0] < 0.9 * least - 100


def fault_of(error: Exception) -> Fault:
    """Return what an error of the client means, without its message, which has the address."""
    name = type(error.__cause__).__name__
    if re.search("Connector|ConnectionTimeout|Proxy", name):
        reason = f"no connection to the endpoint or proxy ({name}): start the server, or check "
        return Fault(f"{reason}OPENAI_BASE_URL, the network and HTTPS_PROXY", 503)
    reason = f"no complete reply in time, or a broken connection ({type(error).__name__})"
    return Fault(reason, 200)


def dig(value: Any, *path: object) -> Any:
    """Return what is at `path` in nested lists and dictionaries, else None."""
    with suppress(LookupError, TypeError):
        for step in path:
            value = value[step]
        return value
    return None


def told(value: object, names: Collection[str], is_named: bool = False) -> Iterator[str]:
    """Yield all texts and numbers under one of `names`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from told(inner, names, name in names)
    elif isinstance(value, list):
        for inner in value:
            yield from told(inner, names, is_named)
    elif is_named and value and value is not True:
        yield f"{value:g}" if isinstance(value, float) else _text(value)


def _looks(text: str) -> str:
    # What a text is that is not the JSON that was expected, else its beginning.
    names = (name for start, name in _TABLE["looks"].items() if text.lstrip().startswith(start))
    return next(names, text[:200])


def _text(value: object) -> str:
    # SQLite rejects lone surrogates
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _fault(status: int, headers: Mapping[str, str], error: dict) -> Fault:
    message = printable(" ".join(told(error, _TABLE["tells"])))[:300].rstrip(". ")
    codes = " ".join(told(error, _TABLE["codes"]))
    words, said = f"{codes} {message}", status
    if status < 206:
        said = int((re.findall(r"\b[45]\d\d\b", codes) or [200])[0])
    for means, statuses, pattern in _TABLE["means"]:
        if said in statuses and re.search(pattern, words, re.I):
            said = means
            break
    stops = _TABLE["stops"].get(300 if 300 <= said < 400 else said, "")
    reason = _KINDS["safety"][1] if said == FILTERED else f"status {said}"
    reason += f": {message}" * bool(message and said != 401)
    fault = Fault(reason, said, stops, _wait(headers, error), words)
    if fault.wait > LONGEST_WAIT and fault.tries > 1:
        hours = f"{fault.wait / 3600:.3g} hours (status {said})"
        return replace(fault, stops=f"the endpoint asks for a wait of {hours}")
    return fault


def _wait(headers: Mapping[str, str], error: dict) -> float:
    after = headers.get("retry-after") or "".join(told(error, ["retryDelay"]))
    for text, unit in ((headers.get("retry-after-ms", ""), 1000), (after, 1)):
        with suppress(ValueError):
            return max(0.0, float(text.rstrip("s"))) / unit
    with suppress(ValueError, TypeError, LookupError):
        now = parsedate_to_datetime(headers["date"])  # by the endpoint's clock
        return max(0.0, (parsedate_to_datetime(after) - now).total_seconds())
    return 0.0


def _reply(found: Any, text: str) -> Reply | Fault:
    choice = dig(found, "choices", 0)
    message = dig(choice, "message") or {"content": dig(choice, "text")}
    parts = dig(message, "content")
    content = "".join(map(_part, parts if isinstance(parts, list) else [parts]))
    finish = _text(dig(choice, "finish_reason")).lower().replace("-", "_") or "none"
    kind, reason = _KINDS.get(finish, ("other", f"ended otherwise: {printable(finish[:40])}"))
    if not content and not dig(choice, "message"):
        kind, reason = "unreadable", _looks(text)
    if kind == "unreadable":
        return Fault(f"an unreadable reply with status 200: {printable(reason)}", 200)
    answer = re.sub(_TABLE["thoughts"], "", content, flags=re.S | re.I)
    if refusal := " ".join(told(message, ("refusal",))):
        kind, reason = _KINDS["refusal"]
    elif not kind and not answer.strip():
        has_thoughts = content.strip() or re.search(_TABLE["has_thoughts"], text)
        kind = "empty"
        reason = "an empty reply" + " after the model's thoughts" * bool(has_thoughts)
    name = printable(_text(dig(found, "model")))[:300] or "a model without a name"
    return Reply(answer or refusal, reason, kind, name, _counts(found, content))


def _part(part: object) -> str:
    # The text of a part, "" of thoughts, the JSON of an object that is there instead of its JSON.
    if not isinstance(part, dict):
        return _text(part)
    kind, text = _text(part.get("type")), _text(part.get("text"))
    if kind or text:
        return "" if re.search("think|reason", kind) else text
    return json.dumps(part)


def _counts(found: Any, text: str) -> tuple[int, int]:
    # Tokens in and out, 0 if not told. Of several figures for those written, the highest counts.
    def most(*names: str) -> int:
        n_most = 0
        for name in names:
            with suppress(ValueError, TypeError, OverflowError):
                n = int(float(dig(found, "usage", name)))
                n_most = max(n_most, n * (n <= _MOST_TOKENS))
        return n_most

    n_in = most("prompt_tokens", "input_tokens")
    n_out = max(most("completion_tokens", "output_tokens"), most("total_tokens") - n_in)
    return n_in, n_out and max(n_out, least_tokens(text))
