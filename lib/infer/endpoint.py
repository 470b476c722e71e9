"""Get answers from an OpenAI-compatible endpoint, such as vLLM with a large or trained model."""

from lib.core.records import Answer, Query, Rejected
from lib.infer.answers import Decoding, before_stop, ends_of
from lib.infer.prompts import chat_prompt_for, prompt_for, prompt_of
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Request
from lib.llm.tokens import counter

_TRUNCATED, _EMPTY = "cut at the length limit", "an empty reply"  # these replies count as answers


def answer_over_endpoint(model: str, queries: list[Query], arm: str, how: Decoding,
                         calls: Calls) -> tuple[list[Answer], list[Rejected]]:
    """Return answers at temperature 0, in order, and the queries whose calls failed for good.

    "plain" sends the text that a base model continues, for a server whose chat template only passes
    it on, with the strings that end an answer as `stop`; "auto" and "chat" send the user turn for
    an instruct model. A ready-made prompt is sent unchanged, and its complete reply is kept. Raises
    CallsStopped as lib.llm.complete does.
    """
    is_plain = how.prompt_style == "plain"
    write = prompt_for if is_plain else chat_prompt_for
    ends = [ends_of(query, how.is_ready) if is_plain else ((), ()) for query in queries]
    requests = [Request.ask(prompt_of(query, how.is_ready, write), max_tokens=how.budget(query),
                            stop=sum(own, ())) for query, own in zip(queries, ends, strict=True)]
    replies, count = complete(requests, model, calls), counter(model)[0]
    answers, failed = [], []
    for query, reply, own in zip(queries, replies, ends, strict=True):
        if reply.text or reply.reason in ("", _TRUNCATED, _EMPTY):
            is_cut = reply.reason == _TRUNCATED
            answers.append(Answer(
                query_id=query.query_id, arm=arm, answer=_ended(reply.text, *own, is_cut),
                n_tokens=count(reply.text), truncated=is_cut))
        else:
            failed.append(Rejected(document_id=query.document_id, item=query.query_id,
                                   reason=reply.reason))
    return answers, failed


def _ended(text: str, stops: tuple[str, ...], ends: tuple[str, ...], is_cut: bool) -> str:
    """Return `text` as `lib.infer.answers.generate` would: before a stop, with its closing tag.

    A server leaves out the string that it stopped at, so the tag is written again; one that does
    not know `stop` has sent more, which is cut off.
    """
    text = before_stop(text, stops)
    for end in ends:
        if end in text:
            return text[:text.index(end) + len(end)]
    return text if is_cut or not ends else text + ends[0]
