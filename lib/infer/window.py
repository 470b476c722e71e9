"""A model's tokenizer and context window, and the length of prompts in tokens."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from lib.infer.prompts import beginning, is_chat

# transformers', which is slow to import and has a `decode`, or lib.llm.request.counter's count
Tokenizer = Callable
MARGIN = 16  # tokens that an endpoint's chat template may add to such a counter's result
_BATCH = 64  # texts encoded at once, so a study's tokens are never all in memory


def window_of(source: str) -> int:
    """Return the context window, in tokens of prompt and reply, of the model at `source`.

    `source` is a folder or hub id; its configuration is read.
    """
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(source).get_text_config().max_position_embeddings


def tokenizer_of(source: str | Path) -> Tokenizer:
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


def lengths_of(prompts: Sequence[str], tokenizer: Tokenizer, style: str = "auto") -> list[int]:
    """Return the number of tokens of each prompt as `lib.infer.prompts` encodes it.

    A length includes the BOS token and the chat template in this `style`, or MARGIN if `tokenizer`
    is a counter. Raises ValueError as `lib.infer.prompts.is_chat` does.
    """
    if not hasattr(tokenizer, "decode"):
        return [length + MARGIN for length in token_counts(prompts, tokenizer)]
    begin = beginning(tokenizer)
    if not is_chat(tokenizer, style):
        return [len(begin) + length for length in token_counts(prompts, tokenizer)]
    lengths = []
    for prompt in prompts:  # one at a time, because a template copies each
        ids = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}],
            add_generation_prompt=True,
            sanitize_control_tokens=True,
            return_dict=False,
        )
        lengths.append(len(ids) + (0 if ids[:1] == begin else len(begin)))
    return lengths


def token_counts(texts: Sequence[str], tokenizer: Tokenizer) -> list[int]:
    """Return the number of tokens of each text, without special tokens around it."""
    if not hasattr(tokenizer, "decode"):
        return [tokenizer(text) for text in texts]
    return [
        len(ids)
        for start in range(0, len(texts), _BATCH)
        for ids in tokenizer(
            list(texts[start : start + _BATCH]),
            add_special_tokens=False,
            split_special_tokens=True,
            verbose=False,
        )["input_ids"]
    ]
