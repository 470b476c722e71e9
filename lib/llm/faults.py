"""Classify calls without a reply: repeat the call, keep the reason, or stop the run."""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

from lib.llm.endpoint import Endpoint

MOST_TRIES = 8  # per call that fails for reasons other than too many requests
MOST_THROTTLED = 60  # tries per call that is refused because of too many requests
TRIES_TO_REACH = 4  # tries per call if the endpoint has never replied: it may not be running yet
LONGEST_WAIT = 900.0  # seconds; if an endpoint asks for more, the run stops
NO_SERVER = ("there is no connection to the endpoint: start the server, or check OPENAI_BASE_URL, "
             "the network and HTTPS_PROXY")
_NO_MODEL = re.compile(
    r"model_not_found|invalid_model|(?:unknown|invalid|no such) model|"
    r"model\b.{0,80}?\b(?:not found|does not exist|not exist|is not available|unknown)|"
    r"server is pinned to", re.I)  # the last: `transformers serve` with one model
_AGAIN = {408, 409, 425, 429, *range(500, 600)}
_STOP = {
    401: "the endpoint refuses the key: set OPENAI_API_KEY (and OPENAI_BASE_URL, if the key is for "
         "another endpoint)",
    403: "the endpoint forbids this key to use the model {model!r}: choose another model or key",
    404: "the endpoint does not have the model {model!r}: check its name, and OPENAI_BASE_URL "
         "(most end in /v1)",
    **dict.fromkeys(range(300, 400), "the endpoint redirects to another address: set "
                                     "OPENAI_BASE_URL to that address")}
_OPTIONAL = ("max_completion_tokens", "max_tokens", "temperature", "stop")
_COMPLAINT = re.compile(r"unsupported|not support|unknown|unrecogni|extra|not permitted|unexpected|"
                        r"not allowed", re.I)


@dataclass(frozen=True)
class Fault:
    """A call without a reply. `stops` is the reason why every other call would fail as well."""

    reason: str
    is_worth_repeating: bool = False
    stops: str = ""
    wait: float = 0.0  # seconds that the endpoint asks for
    is_maybe_paid: bool = False  # no answer came: perhaps charged
    unsupported: str = ""  # a parameter that the endpoint refuses
    status: int = 0  # 0 if none came

    def pause(self, n_tries: int) -> float:
        """Return the seconds before try `n_tries` + 1: exponential back-off with full jitter."""
        longest = min(30.0, 0.25 * 2 ** min(n_tries, 7))
        return self.wait * random.uniform(1.0, 1.2) + random.uniform(0, longest)


def fault_of(error: Exception, model: str, at: Endpoint, sent: Mapping[str, object]) -> Fault:
    """Return what an error of the client means, without its message, which has the address."""
    import openai
    if isinstance(error, openai.APIStatusError):
        return fault_of_status(error.status_code, error.body, error.response.headers, model, at,
                               sent)
    if isinstance(error, TimeoutError):
        return Fault("no complete reply in time", is_worth_repeating=True, is_maybe_paid=True)
    chain: list[BaseException] = [error]
    while (inner := chain[-1].__cause__ or chain[-1].__context__) and inner not in chain:
        chain.append(inner)
    names = " ".join(type(one).__name__ for one in chain)
    # Not ConnectTimeout: openai's transport raises it for connections dropped while sending.
    is_unreached = bool(re.search("Connector|ConnectionTimeout|gaierror|Proxy", names))
    reason = "no connection to the endpoint or proxy" if is_unreached else "the connection broke"
    return Fault(f"{reason} ({type(chain[-1]).__name__})", is_worth_repeating=True,
                 is_maybe_paid=not is_unreached)


def fault_of_status(status: int, body: object, headers: Mapping[str, str], model: str,
                    at: Endpoint, sent: Mapping[str, object]) -> Fault:
    """Return what an error status means; `sent` are the parameters of the call."""
    error = body.get("error", body) if isinstance(body, dict) else {}
    error = error if isinstance(error, dict) else {"message": str(error)}
    message = str(error.get("message") or error.get("detail") or "")[:300]
    codes = f"{error.get('code')} {error.get('type')}"
    shown = at.scrubbed(message).rstrip(". ")  # `message` is not: a short key may be a word of it
    reason = f"status {status}" + (f": {shown}" if shown and status != 401 else "")
    is_bad_request = status in (400, 422)
    if "insufficient_quota" in codes:
        stops = "the account has no money left (insufficient_quota): add credit"
    else:
        has_no_model = is_bad_request and _NO_MODEL.search(f"{codes} {message}")
        stops = _STOP.get(404 if has_no_model else status, "").format(model=model)
    wait = _seconds(headers.get("retry-after-ms")) / 1000 or _seconds(headers.get("retry-after"))
    if status in _AGAIN and wait > LONGEST_WAIT:
        stops = (f"the endpoint asks for a wait of {wait / 3600:.1f} hours (status {status}): run "
                 "the same command again after that")
    return Fault(reason, status in _AGAIN and not stops, stops, wait, status=status,
                 unsupported=_refused(error, message, sent) if is_bad_request else "")


def _refused(error: Mapping[str, object], message: str, sent: Mapping[str, object]) -> str:
    complained = message if _COMPLAINT.search(message) else ""
    return next((name for name in _OPTIONAL if name in sent
                 and (name == error.get("param") or name in complained)), "")


def _seconds(header: str | None) -> float:
    try:
        return max(0.0, float(header or 0))
    except ValueError:  # a date
        return 0.0
