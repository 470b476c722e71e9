"""Answers from an OpenAI-compatible endpoint, such as vLLM with a large or trained model."""

from lib.core.records import Answer, Query, Rejected
from lib.infer.answers import Decoding, cut, ends_of
from lib.infer.prompts import asked, chat_prompt_for, prompt_for
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.llm.tokens import counter

_CUT, _SILENT = "cut at the length limit", "an empty reply"


def answer_over_endpoint(model: str, queries: list[Query], arm: str, how: Decoding,
                         calls: Calls) -> tuple[list[Answer], list[Rejected]]:
    """An answer a query at temperature 0, in the queries' order, and the queries whose calls failed for good.

    "plain" sends the words that a base model continues, for a server whose chat template passes them on as they are;
    "auto" and "chat" send what an instruct model is told. A ready-made prompt is sent as it stands in each, and the
    reply to it is whole. Log-likelihoods are not to be had this way.
    Raises CallsStopped as lib.llm.complete does.
    """
    is_plain = how.prompt_style == "plain"
    prompt = prompt_for if is_plain else chat_prompt_for
    requests = [Request.ask(asked(query, how.is_ready, prompt), max_tokens=how.budget(query)) for query in queries]
    replies, count = complete(requests, model, calls), counter(model)[0]
    answers, failed = [], []
    for query, reply in zip(queries, replies, strict=True):
        if _is_said(reply):
            stops = ends_of(query, how.is_ready)[0] if is_plain else ()
            answers.append(Answer(query_id=query.query_id, arm=arm, answer=cut(reply.text, stops),
                                  n_tokens=count(reply.text), truncated=reply.reason == _CUT))
        else:
            failed.append(Rejected(document_id=query.document_id, item=query.query_id, reason=reply.reason))
    return answers, failed


def _is_said(reply: Reply) -> bool:
    """Whether the model replied, if only with silence; not so where the call itself failed."""
    return bool(reply.text) or reply.reason in ("", _CUT, _SILENT)
