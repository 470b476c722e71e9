"""Token counts by the model's own tokenizer if it is available, else by a stated estimate."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lib.llm.request import Request

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

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


def tokenizer_of(source: str | Path) -> "PreTrainedTokenizerBase":
    """Return the tokenizer of the model at `source`, a folder or hub id."""
    # AutoTokenizer imports torch; of the laboratory's kind, it only reads tokenizer.json.
    said: dict[str, object] = {}
    for path in (Path(source) / "config.json", Path(source) / "tokenizer_config.json"):
        said |= json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    kind = said.get("model_type"), said.get("tokenizer_class"), "auto_map" in said
    if kind == ("llama", "TokenizersBackend", False):
        from transformers import PreTrainedTokenizerFast as Tokenizer
    else:
        from transformers import AutoTokenizer as Tokenizer
    return Tokenizer.from_pretrained(source)


def upper_bound(text: str) -> int:
    """Return the most tokens that a byte-level tokenizer can make of `text`: its UTF-8 bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def most_tokens(request: Request) -> int:
    """Return the most tokens that an endpoint can count for a prompt and its chat template."""
    return sum(upper_bound(content) + 8 for _, content in request.messages) + 8
