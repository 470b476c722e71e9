"""What a model is asked (paper, 4.3: zero-shot): prompts/answer.md, or answer_chat.md in a chat template.

A study that asks a model to read makes its prompts whole, as the contexts of its queries: `is_ready` asks these as they
stand.
"""

from collections.abc import Callable

from transformers import PreTrainedTokenizerBase

from lib.core.prompts import prompt_template
from lib.core.records import Query

STYLES = ("auto", "plain", "chat")


def prompt_for(question: str, context: str = "") -> str:
    """What a base model continues: prompts/answer.md with its slots filled, no blank at its end."""
    return prompt_template("answer").render(question=question, context=context).rstrip()


def chat_prompt_for(question: str, context: str = "") -> str:
    """What an instruct model is told as its user: prompts/answer_chat.md with its slots filled."""
    return prompt_template("answer_chat").render(question=question, context=context).rstrip()


def is_read(query: Query, is_ready: bool) -> bool:
    """Whether the query's context is its whole prompt, which is asked as it stands; one without context never is so."""
    return is_ready and bool(query.context)


def asked(query: Query, is_ready: bool = False, prompt: Callable[[str, str], str] = prompt_for) -> str:
    """The text that is asked: the ready-made prompt, else `prompt` with the query's question and context."""
    return query.context if is_read(query, is_ready) else prompt(query.question, query.context)


def is_chat(tokenizer: PreTrainedTokenizerBase, style: str) -> bool:
    """Whether the model is asked through its chat template: "chat", or "auto" where the template marks turns.

    A template that only passes a message on, as the laboratory's does for servers, makes no instruct model.
    Raises ValueError for another style, and for "chat" where the tokenizer has no template.
    """
    if style not in STYLES:
        raise ValueError(f"prompt_style {style!r} is not one of {', '.join(STYLES)}")
    if style == "chat" and not tokenizer.chat_template:
        raise ValueError(f"prompt_style is 'chat', but {tokenizer.name_or_path!r} has no chat template: "
                         "choose an instruct model, or 'plain'")
    if style == "auto" and tokenizer.chat_template:
        probe = tokenizer.apply_chat_template([{"role": "user", "content": "?"}], add_generation_prompt=True,
                                              tokenize=False)
        return probe.removeprefix(tokenizer.bos_token or "") != "?"
    return style == "chat"


def beginning(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """[BOS] where the tokenizer puts one before a text, else []: the same before prompts and training blocks."""
    first = tokenizer("")["input_ids"][:1]
    return first if first == [tokenizer.bos_token_id] else []


def encoded(tokenizer: PreTrainedTokenizerBase, queries: list[Query], style: str = "auto",
            is_ready: bool = False) -> list[list[int]]:
    """The tokens of each query's prompt: exactly one BOS where the tokenizer has one, no EOS.

    Where `is_ready`, a query's context is the text, or the user's turn, as it stands.

    A control token that a question spells out, such as <s>, is read as the letters that it is.
    Raises ValueError as is_chat does, and where a chat template writes BOS twice.
    """
    begin = beginning(tokenizer)
    if is_chat(tokenizer, style):
        turns = [[{"role": "user", "content": asked(query, is_ready, chat_prompt_for)}] for query in queries]
        prompts = tokenizer.apply_chat_template(turns, add_generation_prompt=True, sanitize_control_tokens=True,
                                                return_dict=False)
        prompts = [prompt if prompt[:1] == begin else begin + prompt for prompt in prompts]
    else:
        texts = [asked(query, is_ready) for query in queries]
        prompts = [begin + ids for ids in tokenizer(texts, add_special_tokens=False,
                                                    split_special_tokens=True)["input_ids"]]
    if begin and any(prompt.count(begin[0]) != 1 for prompt in prompts):
        raise ValueError(f"a prompt has not exactly one BOS: the chat template of {tokenizer.name_or_path!r} writes it "
                         "more than once; mend the template, or choose prompt_style 'plain'")
    return prompts
