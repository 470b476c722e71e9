"""Requests to a model, its endpoint and key, and what a reply says."""

import hashlib
import json
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from lib.core.store import REPOSITORY, BadReply, BadStudy

if TYPE_CHECKING:
    import aiohttp
    import openai

ESTIMATE = "an estimate: 4 bytes per token"


@dataclass(frozen=True)
class Request:
    """One chat completion. `attempt` is higher for a repair, and for asking the same once more."""

    messages: tuple[tuple[str, str], ...]  # (role, content)
    max_tokens: int = 4096  # limit of the reply
    temperature: float = 0.0
    attempt: int = 0
    stop: tuple[str, ...] = ()  # the reply ends before the first of these; at most 4 (OpenAI)

    @classmethod
    def ask(cls, prompt: str, **settings: Any) -> "Request":
        """Return a request with one user message."""
        return cls((("user", prompt),), **settings)

    def then(self, reply: str, prompt: str) -> "Request":
        """Continue the conversation once with the model's reply and a further user message."""
        messages = (*self.messages, ("assistant", reply), ("user", prompt))
        return replace(self, messages=messages, attempt=self.attempt + 1)

    @cached_property
    def body(self) -> str:
        """What determines the reply, except endpoint and model, as JSON with sorted keys."""
        fields = {
            "messages": self.messages,
            "max_tokens": self.max_tokens,
            "attempt": self.attempt,
            "temperature": float(self.temperature),
        }
        if self.stop:
            fields["stop"] = self.stop  # without it, replies cached by earlier versions are found
        return json.dumps(fields, sort_keys=True)

    def key(self, model: str, endpoint: str = "") -> str:
        """Return `key_of` of this request."""
        return key_of(self.body, model, endpoint)


Waiting = dict[str, Request]  # requests by key


def key_of(body: str, model: str, endpoint: str = "") -> str:
    """Return, in hex, the SHA-256 of endpoint, model and a request's body."""
    return hashlib.sha256("\0".join((endpoint, model, body)).encode()).hexdigest()


@dataclass(frozen=True)
class Reply:
    """A model's text, or the reason why there is none (also for truncated or refused replies)."""

    text: str
    reason: str = ""  # "" if `text` is complete
    kind: str = field(default="", compare=False)  # of a reply that is no answer: see Kind
    model: str = field(default="", compare=False)  # that answered, as the endpoint names it
    finish_reason: str = field(default="", compare=False)
    usage: tuple = field(default=(None, None), compare=False)  # tokens in and out; absurd: None


def counter(model: str) -> tuple[Callable[[str], int], str]:
    """Return a function that counts a text's tokens as `model` does, and how it counts."""
    if (path := Path(model) / "tokenizer.json").is_file():
        import tokenizers

        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        tokenizer.no_truncation()
        tokenizer.no_padding()

        def count(text: str) -> int:
            storable = text.encode("utf-8", "replace").decode()  # lone surrogates are refused
            return len(tokenizer.encode(storable, add_special_tokens=False))

        return count, "counted by the model's tokenizer"
    return (lambda text: -(-upper_bound(text) // 4)), ESTIMATE


def upper_bound(text: str) -> int:
    """Return the most tokens that a byte-level tokenizer can make of `text`: its UTF-8 bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def most_tokens(request: Request) -> int:
    """Return the most tokens that an endpoint can count for a prompt and its chat template."""
    return sum(upper_bound(content) + 8 for _, content in request.messages) + 8


_COMPLETE = ("stop", "eos", "eos_token", "end_turn", "stop_sequence")
_EMPTY, _UNREADABLE, _BROKEN = (
    "an empty reply",
    "an unreadable reply with status 200",
    "ended by an error of the endpoint",
)
WORTH_ASKING_AGAIN = (_EMPTY, _UNREADABLE, _BROKEN)
# The kinds of reply that are no answer and may be asked for again.
Kind = Literal["empty", "refused", "filtered", "cut", "unreadable"]
_INCOMPLETE: dict[str, tuple[Kind, str]] = {  # kind and reason
    "length": ("cut", "cut at the length limit"),
    "": ("cut", "no finish reason: it may be cut"),
    "content_filter": ("filtered", "stopped by the endpoint's content filter"),
    "error": ("unreadable", _BROKEN),
}
_MOST_TOKENS = 10**7  # more than any model reads or writes in one call
_NO_NAME = re.compile(r"[^\w./:@+ -]")  # a name is printed
# A reasoning model's thoughts; some templates write the opening tag into the prompt.
_THOUGHTS = re.compile(
    r"\A\s*<(think(?:ing)?)>.*?(?:</\1>\s*|\Z)|\A(?:(?!<think).)*</think(?:ing)?>\s*|"
    r"\A\s*(?:<\|start\|>assistant)?<\|channel\|>.*?(?:(?<=final)<\|message\|>|\Z)|"
    r"<\|(?:return|end)\|>\s*\Z",
    re.S | re.I,
)


UNREADABLE = Reply("", _UNREADABLE, "unreadable", finish_reason="unreadable")


def read_response(raw: str) -> Reply:
    """Parse the body of a chat completion, without thoughts; raise BadReply if it is none."""
    try:
        body = json.loads(raw, parse_int=float)  # an integer may have too many digits
        choices = body["choices"]
        choice = next((one for one in choices if one.get("index") == 0), choices[0])
        message, finish = choice["message"], _text(choice.get("finish_reason")).lower()
        finish = finish.replace("max_tokens", "length")  # as other providers say
        content, refusal = _text(message.get("content")), _text(message.get("refusal"))
        usage = _fields(body, "usage")
        more = message | _fields(usage, "completion_tokens_details")
        thoughts = content.strip() or any(
            "reasoning" in name and value for name, value in more.items()
        )
        counts = tuple(
            int(n) if isinstance(n, float) and 0 <= n <= _MOST_TOKENS else None
            for n in map(usage.get, ("prompt_tokens", "completion_tokens"))
        )
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise BadReply(_UNREADABLE) from None
    text = _THOUGHTS.sub("", content)
    if refusal:
        kind, reason = "refused", "refused by the model"
    elif finish not in _COMPLETE:
        kind, reason = _INCOMPLETE.get(finish, ("", f"ended for another reason: {finish[:40]}"))
    elif text.strip():
        kind = reason = ""
    else:
        kind, reason = "empty", f"{_EMPTY} after the model's thoughts" if thoughts else _EMPTY
    name = _NO_NAME.sub("", _text(body.get("model")))[:300]
    return Reply(text or refusal, reason, kind, name or "a model without a name", finish, counts)


def _fields(body: dict, name: str) -> dict:
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def _text(content: object) -> str:
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(text for text in texts if isinstance(text, str))
    # SQLite rejects lone surrogates
    return content.encode("utf-8", "replace").decode() if isinstance(content, str) else ""


OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible endpoint. Its repr, and so a traceback, shows neither field."""

    key: str = field(repr=False)
    url: str = field(repr=False)

    @property
    def is_openai(self) -> bool:
        """True for OpenAI or Azure, which reject two names for the token limit."""
        return (urlsplit(self.url).hostname or "").endswith(("openai.com", "azure.com"))

    def without_key(self, body: str) -> str:
        """Return a reply as it is stored; a short key, such as a local server's, may be a word."""
        return body.replace(self.key, "[key]") if len(self.key) >= 16 else body

    def scrubbed(self, text: str) -> str:
        """Return a server's error message without key, base URL and host."""
        parts = urlsplit(self.url)
        for secret in (self.url, parts.netloc, parts.hostname or parts.netloc):
            text = text.replace(secret, "[endpoint]")
        text = text.replace(self.key, "[key]")
        return re.sub(r"\bsk-[\w*.-]{4,}", "[key]", text)  # OpenAI's message quotes part of the key

    def client(self) -> "openai.AsyncOpenAI":
        """Return a client without retries: each of ours is counted, as it may be charged."""
        import openai  # takes half a second, so only if it is needed

        for name in ("openai", "httpx2", "httpcore2", "aiohttp"):
            logging.getLogger(name).setLevel(logging.WARNING)  # their debug lines show the address
        # Certificates (40 ms to load) are needed only for https; no redirect to https is followed.
        return openai.AsyncOpenAI(
            api_key=self.key,
            base_url=self.url,
            max_retries=0,
            http_client=openai.DefaultAioHttpClient(
                timeout=openai.Timeout(None, connect=30.0),
                follow_redirects=False,
                verify=self.url.startswith("https"),
            ),
        )

    def session(self, client: "openai.AsyncOpenAI") -> "aiohttp.ClientSession":
        """Return a session with the headers of `client`, whose layers double a call's CPU time."""
        import aiohttp

        parts, headers = urlsplit(self.url), client.default_headers | client.auth_headers
        proxies = {} if proxy_bypass(parts.netloc) else getproxies()
        return aiohttp.ClientSession(
            headers={name: value for name, value in headers.items() if isinstance(value, str)},
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=5.0),
            timeout=aiohttp.ClientTimeout(sock_connect=30.0),
            proxy=proxies.get(parts.scheme) or proxies.get("all"),
        )


def endpoint() -> Endpoint | None:
    """Return the endpoint of OPENAI_API_KEY and OPENAI_BASE_URL; None without a key.

    The environment takes precedence over .env. Raises BadStudy, without the value in the message.
    """
    from dotenv import dotenv_values

    try:
        written = dotenv_values(REPOSITORY / ".env")
    except UnicodeDecodeError:
        raise BadStudy(f"{REPOSITORY / '.env'} is not UTF-8: save it as UTF-8") from None
    key, url = (
        (os.environ.get(name) or written.get(name) or "").strip()
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL")
    )
    if not key:
        return None
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise BadStudy(
            "OPENAI_API_KEY has whitespace or characters that a key cannot have: set it again"
        )
    url = (url or OPENAI).rstrip("/")
    # A user name or password is sent by no client, and would reach logs.
    if not re.match(r"https?://[^/@]+(/[^@]*)?$", url):
        raise BadStudy(
            "OPENAI_BASE_URL is not an address such as http://localhost:8000/v1, "
            "without user name and password: set it again, or unset it"
        )
    return Endpoint(key, url)
