"""Vary segments with a model: its requests, and how its replies are read."""

import json
import re
from collections.abc import Callable
from functools import lru_cache, partial

from lib.annotate.constraints import violation
from lib.annotate.model.pairs import read_reply
from lib.augment.drafts import Draft, Strategy, pair_text
from lib.core.prompts import prompt_template
from lib.core.records import Document, Segment
from lib.core.untrusted import SPLIT, defused
from lib.documents.blocks import parse
from lib.documents.language import UNKNOWN
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.normalize.segments import WORDLESS

NOTHING = "the model found nothing of this kind in the segment"
_TAGS = "document_title|part"
_TEMPLATES = {"paraphrase": lambda: prompt_template("augment_paraphrase"),
              "pairs": lambda: prompt_template("augment_pairs"),
              "summary": lambda: prompt_template("augment_summary"),
              "comparison": lambda: prompt_template("augment_comparison"),
              "timeline": lambda: prompt_template("augment_timeline")}
_blocks = lru_cache(1)(parse)  # the segments of a document follow each other
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.S)
_FENCE = re.compile(r"\A```\w*\s*\n(.*)\n\s*```\Z", re.S)
_LEAST_TOKENS = 4096  # limit of a reply
_ROOM = 2  # tokens of a variant for each token of its segment: JSON, and another tokenizer


def by_model(model: str, document_kind: str, calls: Calls) -> dict[str, Strategy]:
    """Return the strategies that `model` is asked for; each segment with a word is one call.

    A failed call or an unreadable reply leaves a draft with its reason. A strategy raises
    CallsStopped as `lib.llm.complete` does.
    """
    def vary(strategy: str, segments: list[Segment], documents: dict[str, Document],
             k: int) -> list[Draft]:
        requests = requests_of(strategy, segments, documents, k, document_kind)
        replies = dict(zip(requests, complete(list(requests.values()), model, calls), strict=True))
        wordless = Reply("", WORDLESS)
        read: Callable[[Segment, Document, Reply], list[Draft]] = (
            _pairs if strategy == "pairs" else partial(_texts, most=k))
        return [draft for segment in segments for draft in read(
            segment, documents[segment.document_id], replies.get(segment.segment_id, wordless))]

    return {strategy: partial(vary, strategy) for strategy in _TEMPLATES}


def requests_of(strategy: str, segments: list[Segment], documents: dict[str, Document], k: int,
                document_kind: str = "technical records") -> dict[str, Request]:
    """Return the request of each segment with a word, by segment_id, without sending any."""
    template = _TEMPLATES[strategy]()
    requests = {}
    for segment in segments:
        if not re.search(r"\w", segment.text):
            continue
        document = documents[segment.document_id]
        prompt = template.render(
            document_kind=document_kind, count=k, language=document.language or UNKNOWN,
            title=defused(document.title, _TAGS),
            part=defused(segment.repeated + segment.text, _TAGS))
        requests[segment.segment_id] = Request.ask(
            prompt, max_tokens=max(_LEAST_TOKENS, _ROOM * k * segment.n_tokens))
    return requests


def _texts(segment: Segment, document: Document, reply: Reply, most: int) -> list[Draft]:
    """Return the strings of a reply that is an array of them, or why there are none."""
    texts, reason = [], reply.reason
    if not reason:
        try:
            texts, reason = read_texts(reply.text)[:most], NOTHING
        except ValueError as error:
            reason = str(error)
    if SPLIT not in segment.text:
        texts = [text.replace(SPLIT, "") for text in texts]
    return [Draft(segment.segment_id, text) for text in texts] or [
        Draft(segment.segment_id, "", reason)]


def read_texts(reply: str) -> list[str]:
    """Return the strings of a JSON array, perhaps in a code fence; empty ones are left out.

    Raises ValueError for anything else, which may be a remark, a refusal or half of a reply.
    """
    bare = _THOUGHT.sub("", reply).strip()
    fenced = _FENCE.match(bare)
    try:
        values = json.loads(fenced[1] if fenced else bare, strict=False)
        is_array = isinstance(values, list) and all(isinstance(one, str) for one in values)
        texts = [one.strip() for one in values] if is_array else []
        "".join(texts).encode()  # half of a surrogate pair cannot be stored
    except (ValueError, RecursionError):
        is_array = False
    if not is_array:
        raise ValueError("the reply is not a JSON array of strings")
    return [text for text in dict.fromkeys(texts) if text]


def _pairs(segment: Segment, document: Document, reply: Reply) -> list[Draft]:
    """Return the pairs whose answer is in the passage that the reply quotes, or why there are none.

    They are read and checked as the annotator's are. Pairs that fail a check are kept as dropped.
    """
    candidates, rejected = read_reply(reply, document, _blocks(document.text), segment.start,
                                      segment.end)
    drafts = [Draft(segment.segment_id, pair_text(one.forms[0], one.answer),
                    violation(one.forms[0], one, document.text), (one.start, one.end))
              for one in candidates]
    return drafts + [Draft(segment.segment_id, "", row.reason) for row in rejected]
