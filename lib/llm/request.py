"""Requests to a model, its replies, its endpoint and key."""

import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml

from lib.core.store import REPOSITORY, BadStudy, package_file

TABLE: Any = yaml.safe_load(package_file("llm/wire.yaml").read_text("utf-8"))
ESTIMATE = "an estimate: 4 bytes per token"


@dataclass(frozen=True)
class Request:
    """One chat completion. `attempt` is higher for a repair, and for asking the same once more."""

    messages: tuple[tuple[str, str], ...]  # (role, content)
    max_tokens: int = 4096  # limit of the reply
    temperature: float = 0.0
    attempt: int = 0
    stop: tuple[str, ...] = ()  # the reply ends before the first of these; at most 4 (OpenAI)
    shape: str = ""  # of a reply in JSON, by its name in wire.yaml; see Calls.json_schema

    @classmethod
    def ask(cls, prompt: str, **settings: Any) -> "Request":
        """Return a request with one user message."""
        return cls((("user", prompt),), **settings)

    def then(self, reply: str, prompt: str) -> "Request":
        """Continue the conversation once with the model's reply and a further user message."""
        more = ("assistant", reply), ("user", prompt)
        return replace(self, messages=self.messages + more, attempt=self.attempt + 1)

    @cached_property
    def body(self) -> str:
        """What determines the reply, except endpoint and model, as JSON with sorted keys."""
        fields = asdict(self) | {"temperature": float(self.temperature)}
        if not self.stop:
            del fields["stop"]  # so that replies cached by earlier versions are found
        if shape := fields.pop("shape"):
            fields["response_format"] = TABLE["shapes"][shape]
        return json.dumps(dict(sorted(fields.items())))  # a model writes a shape's keys in order


Waiting = dict[str, Request]  # requests by key


def key_of(body: str, model: str, endpoint: str = "") -> str:
    """Return, in hex, the SHA-256 of endpoint, model and a request's body."""
    return hashlib.sha256(f"{endpoint}\0{model}\0{body}".encode()).hexdigest()


# The kinds of reply that are no answer and may be asked for again.
Kind = Literal["empty", "refused", "filtered", "cut", "other"]


@dataclass(frozen=True)
class Reply:
    """A model's text, or the reason why there is none (also for truncated or refused replies)."""

    text: str
    reason: str = ""  # "" if `text` is complete
    kind: str = ""  # of a reply that is no answer: see Kind
    model: str = ""  # that answered, as the endpoint names it
    n_in: int = 0  # tokens of the prompt and of the reply; 0: not told
    n_out: int = 0
    raw: str = ""  # the response


def counter(model: str) -> tuple[Callable[[str], int], str]:
    """Return a function that counts a text's tokens as `model` does, and how it counts."""
    if (path := Path(model) / "tokenizer.json").is_file():
        import tokenizers

        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return (
            lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
            "counted by the model's tokenizer",
        )
    return (lambda text: -(-upper_bound(text) // 4)), ESTIMATE


def upper_bound(text: str) -> int:
    """Return the most tokens that a byte-level tokenizer can make of `text`: its UTF-8 bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def least_tokens(text: str) -> int:
    """Return a lower bound of the tokens of `text`: its words, or 16 bytes a token."""
    words = text.split()
    return max(len(words), sum(map(upper_bound, words)) // 16)


def most_tokens(request: Request) -> int:
    """Return the most tokens that an endpoint can count for a prompt and its chat template."""
    return upper_bound(f"{request.messages}{TABLE['shapes'].get(request.shape, '')}")


@dataclass(frozen=True, repr=False)
class Endpoint:
    """An OpenAI-compatible endpoint. Its repr, and so a traceback, shows neither field."""

    key: str
    url: str

    def without_key(self, body: str, least: int = 16) -> str:
        """Return a text without the key; a short one, such as a local server's, may be a word."""
        return body.replace(self.key, "[key]") if len(self.key) >= least else body

    def scrubbed(self, text: str) -> str:
        """Return a server's error message without key and host."""
        text = re.sub(
            rf"(?i)(?<!\w){re.escape(urlsplit(self.url).hostname or '?')}(:\d+)?(?!\w)",
            "[endpoint]",
            text,
        )
        # OpenAI's message quotes a part of the key
        return re.sub(r"\bsk-[\w*.-]{4,}", "[key]", self.without_key(text, least=8))


def endpoint() -> Endpoint:
    """Return the endpoint of OPENAI_API_KEY and OPENAI_BASE_URL; both are "" without a key.

    The environment takes precedence over .env. Raises BadStudy, without the value in the message.
    """
    from dotenv import dotenv_values

    written = dotenv_values(REPOSITORY / ".env", encoding="latin-1")  # decodes any file
    key, url = (
        (os.environ.get(name) or written.get(name) or "").strip()
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL")
    )
    if not re.fullmatch(r"[\x21-\x7e]*", key):
        raise BadStudy(
            "OPENAI_API_KEY has whitespace or characters that a key cannot have: set it again"
        )
    url = (url or "https://api.openai.com/v1").rstrip("/")
    # A user name or password is sent by no client, and would reach logs.
    if not re.match(r"https?://[^/@]+(/[^@]*)?$", url):
        raise BadStudy(
            "OPENAI_BASE_URL is not an address such as http://localhost:8000/v1, "
            "without user name and password: set it again, or unset it"
        )
    return Endpoint(key, url if key else "")
