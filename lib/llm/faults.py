"""Classify calls without a reply: repeat the call, keep the reason, or stop the run."""

import email.utils
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

from lib.llm.endpoint import Endpoint
from lib.llm.pace import seconds_of

MOST_TRIES = 8  # tries per call that fails for reasons other than too many requests
MOST_UNREADABLE = 2  # replies with status 200 per call that cannot be read: each may be paid
MOST_THROTTLED = 60  # tries per call that is refused because of too many requests
TRIES_TO_REACH = 4  # tries per call if the endpoint has never replied: it may not be running yet
LONGEST_WAIT = 900.0  # seconds; if an endpoint asks for more, the run stops
NO_SERVER = ("there is no connection to the endpoint: start the server, or check OPENAI_BASE_URL, "
             "the network and HTTPS_PROXY")
_NO_MODEL = re.compile(
    r"model_not_found|invalid_model|(?:unknown|invalid|no such) model|"
    r"model\b.{0,80}?\b(?:not found|does not exist|not exist|is not available|unknown)|"
    r"server is pinned to", re.I)  # the last: `transformers serve` with one model
_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|too many tokens|prompt is too long", re.I)
_AGAIN = {408, 409, 425, 429, *range(500, 600)}
_STOP = {
    401: "the endpoint refuses the key: set OPENAI_API_KEY (and OPENAI_BASE_URL, if the key is for "
         "another endpoint)",
    403: "the endpoint forbids this key to use the model {model!r}: choose another model or key",
    404: "the endpoint does not have the model {model!r}: check its name, and OPENAI_BASE_URL "
         "(most end in /v1)"}


@dataclass(eq=False)
class Fault(Exception):
    """A call without a reply. `stops` is the reason why every other call would fail as well."""

    reason: str
    is_worth_repeating: bool = False
    is_throttled: bool = False
    stops: str = ""
    wait: float = 0.0  # seconds that the endpoint asks for
    is_unreached: bool = False  # no connection was made
    is_maybe_paid: bool = False  # no answer came, or none that can be read: perhaps charged
    unreadable: str = ""  # the body, if the status is 200 but it is no chat completion
    is_too_long: bool = False  # the model's window cannot hold the prompt
    unsupported: str = ""  # a parameter that the endpoint refuses
    status: int = 0  # 0 if none came


def fault_of(error: Exception, model: str, endpoint: Endpoint, sent: Mapping[str, object],
             timeout_seconds: float) -> Fault:
    """Return what an error of the client means, without its message, which has the address."""
    import openai
    if isinstance(error, openai.APIStatusError):
        fault = fault_of_status(error.status_code, error.body, error.response.headers, model,
                                endpoint, sent)
        fault.status = error.status_code
        return fault
    if isinstance(error, TimeoutError):
        return Fault(f"no complete reply within {timeout_seconds:g} s", is_worth_repeating=True,
                     is_maybe_paid=True)
    chain: list[BaseException] = [error]
    while (inner := chain[-1].__cause__ or chain[-1].__context__) and inner not in chain:
        chain.append(inner)
    names = [type(one).__name__ for one in chain]
    # Not ConnectTimeout: openai's transport raises it for connections dropped while sending.
    is_unreached = any(word in name for name in names
                       for word in ("Connector", "ConnectionTimeout", "gaierror", "Proxy"))
    by = "through the proxy" if any("Proxy" in name for name in names) else "to the endpoint"
    reason = f"no connection {by}" if is_unreached else "the connection broke"
    return Fault(f"{reason} ({names[-1]})", is_worth_repeating=True,
                 is_maybe_paid=not is_unreached, is_unreached=is_unreached)


def fault_of_status(status: int, body: object, headers: Mapping[str, str], model: str,
                    endpoint: Endpoint, sent: Mapping[str, object]) -> Fault:
    """Return what an error status means; `sent` are the parameters of the call."""
    error = body.get("error", body) if isinstance(body, dict) else {}
    error = error if isinstance(error, dict) else {"message": str(error)}
    message = str(error.get("message") or error.get("detail") or "")
    code = str(error.get("code") or error.get("type") or "")
    shown = endpoint.scrubbed(message)[:300].rstrip(". ")
    message = message[:300]  # not scrubbed: a short key may be one of its words
    reason = f"status {status}" + (f": {shown}" if shown and status != 401 else "")
    if status == 429 and "insufficient_quota" in (code, error.get("type")):
        return Fault(reason, stops="the account has no money left (insufficient_quota): add credit")
    if 300 <= status < 400:
        return Fault(reason, stops=f"the endpoint redirects to another address (status {status}): "
                                   "set OPENAI_BASE_URL to that address")
    if status in _STOP:
        return Fault(reason, stops=_STOP[status].format(model=model))
    if status in (400, 422) and _NO_MODEL.search(f"{code} {message}"):
        return Fault(reason, stops=_STOP[404].format(model=model))
    if status in (400, 413, 422) and _TOO_LONG.search(f"{code} {message}"):
        return Fault(reason, is_too_long=True)
    if status in (400, 422):
        return Fault(reason, unsupported=_refused_parameter(error, message, sent))
    if status not in _AGAIN:
        return Fault(reason)
    wait = _retry_after(headers)
    if wait > LONGEST_WAIT:
        return Fault(reason, stops=f"the endpoint asks for a wait of {wait / 3600:.1f} hours "
                                   f"(status {status}): run the same command again after that")
    return Fault(reason, is_worth_repeating=True, wait=wait, is_throttled=status == 429)


def pause(n_tries: int, fault: Fault) -> float:
    """Return the seconds before try `n_tries` + 1: exponential back-off with full jitter.

    It is never less than the endpoint asks for.
    """
    # Pace delays throttled calls too; the jitter spreads out calls that waited together.
    longest = min(30.0, 0.25 * 2 ** min(n_tries, 7))
    return fault.wait * random.uniform(1.0, 1.2) + random.uniform(0, longest)


def _refused_parameter(error: dict, message: str, sent: Mapping[str, object]) -> str:
    """Return the optional parameter that a 400 names, "" if it names none."""
    optional = [name for name in ("max_completion_tokens", "max_tokens", "temperature", "stop")
                if name in sent]
    if error.get("param") in optional:
        return str(error["param"])
    is_complaint = any(word in message.lower() for word in (
        "unsupported", "not support", "unknown", "unrecogni", "extra", "not permitted",
        "unexpected", "not allowed"))
    return next((name for name in optional if is_complaint and name in message), "")


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds of retry-after-ms or retry-after (number or HTTP date); 0 if neither."""
    if headers.get("retry-after-ms"):
        return seconds_of(headers["retry-after-ms"]) / 1000
    after = headers.get("retry-after", "")
    try:
        return max(0.0, email.utils.parsedate_to_datetime(after).timestamp() - time.time())
    except (ValueError, TypeError):
        return seconds_of(after)
