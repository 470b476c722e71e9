"""Prompts (paper, 4.3: zero-shot), plain or in a chat template, their ends, budgets and lengths."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt
from pydantic.dataclasses import dataclass

from lib.core.prompts import prompt_template
from lib.core.records import Query

if TYPE_CHECKING:  # `make study` checks a study file without it, half a second faster
    from transformers import PreTrainedTokenizerBase

# transformers', which is slow to import and has a `decode`, or lib.llm.request.counter's count
Tokenizer = Callable
MARGIN = 16  # tokens that an endpoint's chat template may add to such a counter's result
STOPS = ("\n\n", "\nQuestion:")  # an answer ends at these, although a base model would continue
_OPEN_TAG = re.compile(r"<(\w+)>\s*\Z")  # the end of a ready-made prompt that opens a tag
_BATCH = 64  # texts encoded at once, so a study's tokens are never all in memory
PLAIN = {"add_special_tokens": False, "split_special_tokens": True}  # a spelled-out <s> is text


@dataclass(frozen=True)
class GenerationConfig:
    """Settings for decoding answers apart from model and queries; greedy by default."""

    max_new_tokens: PositiveInt = 64  # budget of an answer
    max_new_tokens_list: PositiveInt = 192  # budget of an entity list
    batch_size: PositiveInt = 64  # prompts per forward pass
    max_new_tokens_in_context: PositiveInt = 512  # budget of an answer to a ready-made prompt
    temperature: NonNegativeFloat = 0.0  # above 0, a local model draws tokens with `seed`
    top_p: PositiveFloat = 1.0
    top_k: NonNegativeInt = 0  # 0: all tokens
    num_beams: PositiveInt = 1
    seed: int = 42

    def budget(self, query: Query) -> int:
        """The most tokens that an answer to `query` may have."""
        if query.context:
            return self.max_new_tokens_in_context
        is_list = query.entity_count is not None
        return self.max_new_tokens_list if is_list else self.max_new_tokens


def prompt_for(question: str, context: str = "") -> str:
    """The text that a base model continues, without trailing whitespace."""
    return prompt_template("answer").render(question=question, context=context).rstrip()


def chat_prompt_for(question: str) -> str:
    """The text of an instruct model's user turn."""
    return prompt_template("answer_chat").render(question=question, context="").rstrip()


def prompt_of(query: Query, write: Callable[[str], str] = prompt_for) -> str:
    """A query's context, which is its complete prompt, or the prompt that `write` builds."""
    return query.context or write(query.question)


def is_chat(tokenizer: "PreTrainedTokenizerBase") -> bool:
    """True if prompts use the chat template, because it marks turns."""
    # A template that only passes a message on, as the laboratory's, is no instruct model's.
    if not tokenizer.chat_template:
        return False
    asked = [{"role": "user", "content": "?"}]
    turn = tokenizer.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)
    return turn.removeprefix(tokenizer.bos_token or "") != "?"


def beginning(tokenizer: "PreTrainedTokenizerBase") -> list[int]:
    """[BOS] if the tokenizer puts it before a text, else []; training does the same."""
    first = tokenizer("")["input_ids"][:1]
    return first if first == [tokenizer.bos_token_id] else []


def end_token(tokenizer: "PreTrainedTokenizerBase") -> int:
    """EOS, which ends an answer and a training text. Raises ValueError without one."""
    if tokenizer.eos_token_id is None:
        raise ValueError(
            f"the tokenizer of {tokenizer.name_or_path!r} has no EOS token, so nothing shows where "
            "a text or an answer ends: choose another base_model or set its eos_token"
        )
    return tokenizer.eos_token_id


def encode(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]) -> list:
    """The tokens of each text, without special tokens; a spelled-out `<s>` is ordinary text."""
    return tokenizer(list(texts), **PLAIN, verbose=False)["input_ids"] if texts else []


def encoded(tokenizer: "PreTrainedTokenizerBase", queries: list[Query]) -> list[list[int]]:
    """The tokens of each query's prompt: one BOS if the tokenizer adds it, no EOS.

    Raises ValueError if a chat template writes BOS twice.
    """
    begin = beginning(tokenizer)
    if is_chat(tokenizer):
        texts = [prompt_of(query, chat_prompt_for) for query in queries]
        prompts = [_chat_tokens(tokenizer, text, begin) for text in texts]
    else:
        prompts = [begin + ids for ids in encode(tokenizer, list(map(prompt_of, queries)))]
    if begin and any(prompt.count(begin[0]) != 1 for prompt in prompts):
        raise ValueError(
            "a prompt does not have exactly one BOS: the chat template of "
            f"{tokenizer.name_or_path!r} writes it more than once; correct the template"
        )
    return prompts


def _chat_tokens(tokenizer: "PreTrainedTokenizerBase", text: str, begin: list[int]) -> list[int]:
    ids = tokenizer.apply_chat_template(
        [{"role": "user", "content": text}],
        add_generation_prompt=True,
        sanitize_control_tokens=True,
        return_dict=False,
    )
    return ids if ids[:1] == begin else begin + ids


def ends_of(query: Query) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The strings that end an answer: stops, which are cut off, and ends, which are kept.

    A ready-made prompt that opens a tag for the answer ends with the closing tag, which is kept.
    """
    if not query.context:
        return STOPS, ()
    # No stop if the reply reasons first: it may name the tag before filling it.
    opened = _OPEN_TAG.search(query.context)
    return (), (f"</{opened[1]}>",) if opened else ()


def before_stop(text: str, stops: tuple[str, ...]) -> str:
    """`text` up to the first of `stops` after its first word."""
    text = text.lstrip()
    found = [end for end in map(text.find, stops) if end >= 0]
    return text[: min(found, default=len(text))].strip()


def tokenizer_of(source: str | Path) -> Tokenizer:
    """The tokenizer of the model at `source`, a folder or hub id."""
    from transformers import AutoTokenizer  # slow to import

    return AutoTokenizer.from_pretrained(source)


def lengths_of(prompts: Sequence[str], tokenizer: Tokenizer) -> list[int]:
    """The number of tokens of each prompt as `encoded`; a counter's result gets MARGIN."""
    more = MARGIN
    if hasattr(tokenizer, "decode"):
        begin = beginning(tokenizer)
        if is_chat(tokenizer):  # one at a time, because a template copies each
            return [len(_chat_tokens(tokenizer, prompt, begin)) for prompt in prompts]
        more = len(begin)
    return [more + length for length in token_counts(prompts, tokenizer)]


def token_counts(texts: Sequence[str], tokenizer: Tokenizer) -> list[int]:
    """The number of tokens of each text, without special tokens around it."""
    if not hasattr(tokenizer, "decode"):
        return [tokenizer(text) for text in texts]
    return [
        len(ids)
        for start in range(0, len(texts), _BATCH)
        for ids in encode(tokenizer, texts[start : start + _BATCH])
    ]
