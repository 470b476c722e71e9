"""Requests to a model, their hash and number of tokens, and replies."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

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
