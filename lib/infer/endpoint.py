"""Get answers from an OpenAI-compatible endpoint, such as vLLM with a large or trained model."""

from lib.core.records import Answer, Query, Rejected
from lib.infer.prompts import (
    GenerationConfig,
    before_stop,
    chat_prompt_for,
    ends_of,
    prompt_for,
    prompt_of,
)
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request, counter

_NEXT_TURN = ("\nQuestion:",)  # an answer to a chat prompt may have blank lines


def answer_over_endpoint(
    model: str, queries: list[Query], arm: str, config: GenerationConfig, calls: Calls
) -> tuple[list[Answer], list[Rejected]]:
    """Return answers at temperature 0, in order, and the queries whose calls failed for good.

    An incomplete reply has its kind as `incomplete_reason`. Raises as lib.llm.complete does.
    """
    # "plain" is for a server whose chat template only passes a base model's text on
    is_plain = config.prompt_style == "plain"
    write = prompt_for if is_plain else chat_prompt_for
    ends = [
        ends_of(query) if is_plain else (() if query.context else _NEXT_TURN, ())
        for query in queries
    ]
    requests = [
        Request.ask(prompt_of(query, write), max_tokens=config.budget(query), stop=sum(own, ()))
        for query, own in zip(queries, ends, strict=True)
    ]
    replies, count = complete(requests, model, calls), counter(model)[0]
    answers, failed = [], []
    for query, reply, own in zip(queries, replies, ends, strict=True):
        if not reply.text and reply.reason and reply.kind not in ("cut", "empty"):
            failed.append(
                Rejected(
                    document_id=query.document_id, rejected_text=query.query_id, reason=reply.reason
                )
            )
            continue
        text, is_ended = _ended(reply.text, *own)
        incomplete_reason = "" if reply.kind == "cut" and is_ended else reply.kind
        if own[1] and not is_ended and incomplete_reason != "cut":  # the server stopped at the tag
            text += own[1][0]
        answers.append(
            Answer(
                query_id=query.query_id,
                arm=arm,
                answer=text,
                n_tokens=min(count(reply.text), config.budget(query)),
                truncated=incomplete_reason == "cut",
                incomplete_reason=incomplete_reason or ("" if text else "empty"),
            )
        )
    return answers, failed


def _ended(text: str, stops: tuple[str, ...], ends: tuple[str, ...]) -> tuple[str, bool]:
    # A server leaves out the string that it stopped at; one that does not know `stop` has sent
    # more, which is cut off.
    before = before_stop(text, stops)
    for end in ends:
        if end in before:
            return before[: before.index(end) + len(end)], True
    return before, len(before) < len(text.strip())
