"""Classify calls without a reply: repeat the call, keep the reason, or stop the run."""

import json
import random
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from lib.llm.endpoint import Endpoint

MOST_TRIES = 8  # per call that fails for reasons other than too many requests
MOST_THROTTLED = 60  # tries per call that is refused because of too many requests
TRIES_IF_LASTING = 2  # per call with a fault that is likely to be the same again
LONGEST_WAIT = 900.0  # seconds; if an endpoint asks for more, the run stops
_NO_MODEL = re.compile(
    r"model_not_found|invalid_model|(?:unknown|invalid|no such) model|"
    r"model\b.{0,80}?\b(?:not found|does not exist|not exist|is not available|unknown)|"
    r"server is pinned to",
    re.I,
)  # the last: `transformers serve` with one model
_AGAIN = {206, 408, 409, 425, 429, *range(500, 600)}
_LASTING = re.compile("LineTooLong|BadHttp|BadStatus|InvalidHeader|LengthError|EncodingError|Decod")
_STOP = {
    402: "the account has no money left: add credit",
    401: "the endpoint refuses the key: set OPENAI_API_KEY (and OPENAI_BASE_URL, if the key is for "
    "another endpoint)",
    403: "the endpoint forbids this key to use the model {model!r}: choose another model or key",
    404: "the endpoint does not have the model {model!r}: check its name, and OPENAI_BASE_URL "
    "(most end in /v1)",
    **dict.fromkeys(
        range(300, 400),
        "the endpoint redirects to another address: set OPENAI_BASE_URL to that address",
    ),
}
_OPTIONAL = ("max_completion_tokens", "max_tokens", "temperature", "stop")
_COMPLAINT = re.compile(
    r"unsupported|not support|unknown|unrecogni|extra|not permitted|unexpected|"
    r"not allowed",
    re.I,
)


@dataclass(frozen=True)
class Fault:
    """A call without a reply. `stops` is the reason why every other call would fail as well."""

    reason: str
    tries: int = 1  # per call, at most
    stops: str = ""
    wait: float = 0.0  # seconds that the endpoint asks for
    is_maybe_paid: bool = False  # no answer came: perhaps charged
    unsupported: str = ""  # a parameter that the endpoint refuses
    status: int = 0  # 0 if none came

    def pause(self, n_tries: int) -> float:
        """Return the seconds before try `n_tries` + 1: exponential back-off with full jitter."""
        return self.wait * random.uniform(1.0, 1.2) + random.uniform(
            0, min(30.0, 0.25 * 2**n_tries)
        )


def fault_of(error: BaseException | None) -> Fault:
    """Return what an error of the client means, without its message, which has the address."""
    if type(error) is TimeoutError:  # of the whole call
        return Fault("no complete reply in time", TRIES_IF_LASTING, is_maybe_paid=True)
    chain = [type(error).__name__]
    while error := error and (error.__cause__ or error.__context__):
        chain.append(type(error).__name__)
    names, name = " ".join(chain), f"({chain[-1]})"
    is_unreached = re.search("Connector|ConnectionTimeout|gaierror|Proxy", names)
    reason = (
        f"the connection broke {name}"
        if not is_unreached
        else (
            f"no connection to the endpoint or proxy {name}: start the server, or check "
            "OPENAI_BASE_URL, the network and HTTPS_PROXY"
        )
    )
    return Fault(
        reason,
        TRIES_IF_LASTING if _LASTING.search(names) else MOST_TRIES,
        is_maybe_paid=not is_unreached,
    )


def fault_of_reply(
    status: int,
    raw: str,
    headers: Mapping[str, str],
    model: str,
    at: Endpoint,
    sent: Mapping[str, object],
) -> Fault | None:
    """Return what a body that is no completion means; `sent` are the parameters of the call.

    Routers send errors with status 200: they count as the status that their code stands for.
    None if a reply with such a status has no error.
    """
    error, is_success = None, status < 206  # 206: a part
    with suppress(ValueError, RecursionError, AttributeError):
        body = json.loads(raw)
        error = body.get("error", None if is_success else body)
    if is_success and not error:
        return None
    error = error if isinstance(error, dict) else {"message": str(error or "")}
    message = str(error.get("message") or error.get("detail") or "")[:300]
    codes = f"{error.get('code')} {error.get('type')}"
    if is_success:
        number = re.search(r"\b[45]\d\d\b", codes)
        status = int(number[0]) if number else 400 if "invalid_request" in codes else 500
    shown = at.scrubbed(message).rstrip(". ")  # `message` is not: a short key may be a word of it
    reason = f"status {status}" + (f": {shown}" if shown and status != 401 else "")
    is_bad_request = status in (400, 422)
    has_no_model = is_bad_request and _NO_MODEL.search(f"{codes} {message}")
    cause = 402 if "insufficient_quota" in codes else 404 if has_no_model else status
    stops = _STOP.get(cause, "").format(model=model)
    wait = max(0.0, _wait(headers)) if status in _AGAIN else 0.0
    if wait > LONGEST_WAIT:
        stops = (
            f"the endpoint asks for a wait of {wait / 3600:.3g} hours (status {status}): run "
            "the same command again after that"
        )
    tries = {429: MOST_THROTTLED, 206: TRIES_IF_LASTING}.get(status, MOST_TRIES)
    complaint = message if _COMPLAINT.search(message) else ""
    unsupported = next(
        (
            name
            for name in _OPTIONAL
            if is_bad_request and name in sent and (name == error.get("param") or name in complaint)
        ),
        "",
    )
    return Fault(
        reason,
        tries if status in _AGAIN and not stops else 1,
        stops,
        wait,
        status == 206,
        unsupported,
        status,
    )


def _wait(headers: Mapping[str, str]) -> float:
    ms, after, date = (headers.get(name, "") for name in ("retry-after-ms", "retry-after", "date"))
    with suppress(ValueError):
        return float(ms) / 1000
    with suppress(ValueError):
        return float(after)
    with suppress(ValueError, TypeError):  # a date, by the endpoint's clock
        return (parsedate_to_datetime(after) - parsedate_to_datetime(date)).total_seconds()
    return 0.0
