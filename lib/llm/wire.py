"""One reader of what comes over the wire: completions, lines of batches, lists, errors."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import yaml

from lib.core.store import package_file
from lib.llm.request import Reply, Request, least_tokens

MOST_TRIES = 8  # per call that fails for reasons other than too many requests
MOST_THROTTLED = 60  # tries per call that is refused because of too many requests
TRIES_IF_PAID = 3  # per call whose tries may each be charged
LONGEST_WAIT = 900.0  # seconds; if an endpoint asks for more, the run stops
EMPTY = "an empty reply"
_FILTERED, _MOST_TOKENS = 451, 10**7  # no model reads or writes so many in a call
_LIMITS = {"max_completion_tokens", "max_tokens"}
_TABLE: Any = yaml.safe_load(package_file("llm/wire.yaml").read_text(encoding="utf-8"))
_KINDS: Any = {
    word: (kind, reason) for kind, reason, words in _TABLE["ends"] for word in words.split()
}


@dataclass(frozen=True)
class Fault:
    """A call without a reply. `stops` is the reason why every other call would fail as well."""

    reason: str
    tries: int = 1  # per call, at most
    stops: str = ""  # names the model as {model!r}
    wait: float = 0.0  # seconds that the endpoint asks for
    is_maybe_paid: bool = False  # no answer came: perhaps charged
    status: int = 0  # what the error means, as a status; 0 if none came
    told: str = ""  # codes and message
    kind: str = ""  # "filtered", which says nothing about other prompts, or "unreadable"

    def unsupported(self, sent: Mapping[str, object]) -> str:
        """Return the parameter among `sent` that the endpoint does not take, else "".

        One of the two limits of the reply is always sent.
        """
        may = {"temperature", "stop"} | (_LIMITS if sent.keys() >= _LIMITS else set())
        is_one = self.status in (400, 422) and re.search(_TABLE["complains"], self.told, re.I)
        return next((one for one in sent if is_one and one in may and one in self.told), "")


def read_wire(status: int, headers: Mapping[str, str], text: str) -> Reply | Fault:
    """Return what a response says. Its strings can be stored and printed; nothing raises.

    With status 200, an error counts as the status that it names.
    """
    try:
        found = json.loads(
            text.removeprefix("\ufeff"), parse_int=float
        )  # an integer may have too many digits
        found = dig(found, 0) or found
        is_reply = (
            dig(found, "choices") or dig(found, "data") or not any(told(found, _TABLE["tells"]))
        )
        error = dig(found, "error") or (not is_reply and found)
    except (ValueError, RecursionError):
        found = error = None
    if status < 206 and not error:  # 206: a part
        return _reply(found, text)
    return _fault(status, headers, {"error": error or found or looks(text) or text[:200]})


def read_stored(raw: str, request: Request) -> Reply:
    """Return what a stored response to `request` says."""
    read = read_wire(200, {}, raw)
    return (
        settled(read, request)
        if isinstance(read, Reply)
        else Reply("", read.reason, "unreadable", "none")
    )


def settled(reply: Reply, request: Request) -> Reply:
    """Return `reply`, as cut if it ends exactly at the limit of `request`."""
    if reply.reason or reply.usage[1] != request.max_tokens:
        return reply
    return replace(reply, kind="cut", reason="cut at the length limit, which it does not say")


def is_shortened(reply: Reply, request: Request) -> bool:
    """True if the endpoint has counted far fewer tokens than the words of the prompt."""
    least = sum(least_tokens(content) for _, content in request.messages)
    return reply.usage[0] is not None and reply.usage[0] + 100 < 0.9 * least


def fault_of(error: BaseException | None) -> Fault:
    """Return what an error of the client means, without its message, which has the address."""
    chain = []
    while error:
        chain.append(type(error).__name__)
        error = error.__cause__ or error.__context__
    names, name = " ".join(chain), f"({chain[-1]})"
    if re.search("Connector|ConnectionTimeout|gaierror|Proxy", names):
        reason = f"no connection to the endpoint or proxy {name}: start the server, or check "
        return Fault(f"{reason}OPENAI_BASE_URL, the network and HTTPS_PROXY", MOST_TRIES)
    reason = "no complete reply in time" if chain[0] == "TimeoutError" else "the connection broke"
    return Fault(f"{reason} {name}", TRIES_IF_PAID, is_maybe_paid=True)


def dig(value: Any, *path: object) -> Any:
    """Return what is at `path` in nested lists and dictionaries, else None."""
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


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


def printable(text: object) -> str:
    """Return `text` with control characters escaped, which could steer a terminal."""
    return re.sub(r"\W", lambda it: it[0] if it[0].isprintable() else ascii(it[0]), _text(text))


def looks(text: str) -> str:
    """Return what a text is that is not the JSON that was expected."""
    names = (name for start, name in _TABLE["looks"].items() if text.lstrip().startswith(start))
    return next(names, "")


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
    is_again = said >= 500 or said in _TABLE["again"]
    wait = _wait(headers, error) if is_again else 0.0
    stops = _TABLE["stops"].get(300 if 300 <= said < 400 else said, "")
    if wait > LONGEST_WAIT:
        stops = (
            f"the endpoint asks for a wait of {wait / 3600:.3g} hours (status {said}): run "
            "the same command again after that"
        )
    tries = {429: MOST_THROTTLED, 206: TRIES_IF_PAID}.get(status, MOST_TRIES)
    tries = tries if is_again and not stops else 1
    reason = _KINDS["safety"][1] if said == _FILTERED else f"status {said}"
    if message and said != 401:
        reason += f": {message}"
    kind = "filtered" * (said == _FILTERED)
    return Fault(reason, tries, stops, wait, said == 206, said, words, kind)


def _wait(headers: Mapping[str, str], error: dict) -> float:
    after = headers.get("retry-after") or "".join(told(error, ["retryDelay"]))
    for text, unit in ((headers.get("retry-after-ms", ""), 1000), (after, 1)):
        with suppress(ValueError):
            return max(0.0, float(text.rstrip("s"))) / unit
    with suppress(ValueError, TypeError, OverflowError):
        date = headers.get("date")  # by the endpoint's clock
        now = parsedate_to_datetime(date) if date else datetime.now(UTC)
        return max(0.0, (parsedate_to_datetime(after) - now).total_seconds())
    return 0.0


def _reply(found: Any, text: str) -> Reply | Fault:
    choices = dig(found, "choices")
    some = choices if isinstance(choices, list) else []
    choice = next((one for one in some if dig(one, "index") == 0), dig(some, 0))
    message = dig(choice, "message") or {"content": dig(choice, "text")}
    parts = dig(message, "content")
    content = "".join(map(_part, parts if isinstance(parts, list) else [parts]))
    name = re.sub(r"[^\w./:@+ -]", "", _text(dig(found, "model")))[:300]  # it is printed
    known: Any = {"model": name or "a model without a name", "usage": _counts(found, content)}
    if "message" not in (choice or ()) and not content:
        reason = f"an unreadable reply with status 200: {looks(text) or 'no JSON'}"
        return Fault(reason, TRIES_IF_PAID, is_maybe_paid=True, kind="unreadable")
    finish = _text(dig(choice, "finish_reason")).lower().replace("-", "_")
    kind, reason = _KINDS.get(finish, ("other", f"ended otherwise: {printable(finish[:40])}"))
    if not finish:
        kind, reason = "cut", "no finish reason: it may be cut"
    answer, refusal = (
        re.sub(_TABLE["thoughts"], "", content, flags=re.S | re.I),
        " ".join(told(message, ("refusal",))),
    )
    if refusal:
        kind, reason = _KINDS["refusal"]
    elif not kind and not answer.strip():
        has_thoughts = content.strip() or re.search(_TABLE["has_thoughts"], text)
        kind, reason = "empty", EMPTY + " after the model's thoughts" * bool(has_thoughts)
    return Reply(answer or refusal, reason, kind, finish_reason=finish, **known)


def _part(part: object) -> str:
    # The text of a part, "" of thoughts, the JSON of an object that is there instead of its JSON.
    if not isinstance(part, dict):
        return _text(part)
    kind, text = _text(part.get("type")), _text(part.get("text"))
    if kind or text:
        return "" if re.search("think|reason", kind) else text
    return json.dumps(part)


def _counts(found: Any, text: str) -> tuple[int | None, int | None]:
    # Tokens in and out. Of several figures for those written, the highest counts.
    def count(name: str) -> int | None:
        with suppress(ValueError, TypeError, OverflowError):
            if 0 <= (n := int(float(dig(found, "usage", name)))) <= _MOST_TOKENS:
                return n
        return None

    n_in = count("prompt_tokens") or count("input_tokens")  # 0: not counted
    n_out = [count("completion_tokens"), count("output_tokens")]
    if total := count("total_tokens"):
        n_out.append(total - (n_in or 0))
    most = max((n for n in n_out if n is not None), default=None)
    return n_in, most if most is None else max(most, least_tokens(text))
