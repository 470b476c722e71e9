"""Token counts by the model's own tokenizer if it is available, else by a stated estimate."""

from collections.abc import Callable
from pathlib import Path

from lib.llm.request import Request

ESTIMATE = "an estimate: 4 bytes per token"


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
