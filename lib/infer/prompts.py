"""A query's prompt (paper, 4.3: zero-shot), plain or in the model's chat template."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from lib.core.prompts import prompt_template
from lib.core.records import Query

if TYPE_CHECKING:  # `make study` checks a study file without it, half a second faster
    from transformers import PreTrainedTokenizerBase


def prompt_for(question: str, context: str = "") -> str:
    """Return the text that a base model continues, without trailing whitespace."""
    return prompt_template("answer").render(question=question, context=context).rstrip()


def chat_prompt_for(question: str, context: str = "") -> str:
    """Return the text of an instruct model's user turn."""
    return prompt_template("answer_chat").render(question=question, context=context).rstrip()


def prompt_of(query: Query, write: Callable[[str], str] = prompt_for) -> str:
    """Return a query's context, which is its complete prompt, or the prompt that `write` builds."""
    return query.context or write(query.question)


def is_chat(tokenizer: "PreTrainedTokenizerBase", style: str) -> bool:
    """True if prompts use the chat template: for "chat", or for "auto" if it marks turns.

    Raises ValueError for "chat" without a template.
    """
    # A template that only passes a message on, as the laboratory's, is no instruct model's.
    if style == "chat" and not tokenizer.chat_template:
        raise ValueError(
            f"prompt_style is 'chat', but {tokenizer.name_or_path!r} has no chat "
            "template: choose an instruct model, or 'plain'"
        )
    if style == "auto" and tokenizer.chat_template:
        turn = tokenizer.apply_chat_template(
            [{"role": "user", "content": "?"}], add_generation_prompt=True, tokenize=False
        )
        return turn.removeprefix(tokenizer.bos_token or "") != "?"
    return style == "chat"


def beginning(tokenizer: "PreTrainedTokenizerBase") -> list[int]:
    """Return [BOS] if the tokenizer puts it before a text, else []; training does the same."""
    first = tokenizer("")["input_ids"][:1]
    return first if first == [tokenizer.bos_token_id] else []


def encoded(
    tokenizer: "PreTrainedTokenizerBase", queries: list[Query], style: str = "auto"
) -> list[list[int]]:
    """Return the tokens of each query's prompt: one BOS if the tokenizer adds it, no EOS.

    Raises ValueError as is_chat does, and if a chat template writes BOS twice.
    """
    begin = beginning(tokenizer)
    if is_chat(tokenizer, style):
        turns = [
            [{"role": "user", "content": prompt_of(query, chat_prompt_for)}] for query in queries
        ]
        prompts = tokenizer.apply_chat_template(
            turns, add_generation_prompt=True, sanitize_control_tokens=True, return_dict=False
        )
        prompts = [prompt if prompt[:1] == begin else begin + prompt for prompt in prompts]
    else:
        found = tokenizer(
            [prompt_of(query) for query in queries],
            add_special_tokens=False,
            split_special_tokens=True,
        )
        prompts = [begin + ids for ids in found["input_ids"]]
    if begin and any(prompt.count(begin[0]) != 1 for prompt in prompts):
        raise ValueError(
            "a prompt does not have exactly one BOS: the chat template of "
            f"{tokenizer.name_or_path!r} writes it more than once; correct the "
            "template, or choose prompt_style 'plain'"
        )
    return prompts
