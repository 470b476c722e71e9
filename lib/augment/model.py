"""Vary segments with a model: its requests, and how its replies are read."""

import json
import re
from functools import lru_cache, partial

from lib.annotate.constraints import violation
from lib.annotate.model.pairs import read_reply
from lib.augment.drafts import Draft, Strategy, pair_text
from lib.core.errors import model_named
from lib.core.prompts import SPLIT, defused, prompt_template
from lib.core.records import Document, Segment
from lib.documents.language import UNKNOWN
from lib.documents.markdown import parse
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.normalize.segments import WORDLESS

NOTHING = "the model found nothing of this kind in the segment"
_TEMPLATES = {
    "paraphrase": prompt_template("augment_paraphrase"),
    "pairs": prompt_template("augment_pairs"),
}
_TAGS = "document_title|part"
_FENCE = re.compile(r"\A```\w*\s*\n(.*)\n\s*```\Z", re.S)
_LEAST_TOKENS = 4096  # limit of a reply; above it twice the tokens of all its variants
_blocks = lru_cache(1)(parse)  # the segments of a document follow each other


def by_model(model: str, document_kind: str, calls: Calls) -> dict[str, Strategy]:
    """Return the strategies that `model` is asked for; each segment with a word is one call.

    A failed call or an unreadable reply leaves a draft with its reason. A strategy raises
    Stopped as `lib.llm.complete` does. Raises BadStudy if `model` names none.
    """
    model_named("augmenter", model)

    def vary(
        strategy: str, segments: list[Segment], documents: dict[str, Document], k: int
    ) -> list[Draft]:
        requests = {
            one.segment_id: _request(strategy, one, documents[one.document_id], k, document_kind)
            for one in segments
            if re.search(r"\w", one.text)
        }
        replies = dict(zip(requests, complete(list(requests.values()), model, calls), strict=True))
        read, wordless = _pairs if strategy == "pairs" else _texts, Reply("", WORDLESS)
        return [
            draft
            for one in segments
            for draft in read(
                one, documents[one.document_id], replies.get(one.segment_id, wordless), k
            )
        ]

    return {strategy: partial(vary, strategy) for strategy in _TEMPLATES}


def _request(
    strategy: str, segment: Segment, document: Document, k: int, document_kind: str
) -> Request:
    prompt = _TEMPLATES[strategy].render(
        document_kind=document_kind,
        count=k,
        language=document.language or UNKNOWN,
        title=defused(document.title, _TAGS),
        part=defused(segment.text, _TAGS),
    )
    return Request.ask(prompt, max_tokens=max(_LEAST_TOKENS, 2 * k * segment.n_tokens))


def _texts(segment: Segment, document: Document, reply: Reply, k: int) -> list[Draft]:
    texts, reason = [], reply.reason
    if not reason:
        try:
            texts, reason = read_texts(reply.text)[:k], NOTHING
        except ValueError as error:
            reason = str(error)
    split = SPLIT if SPLIT not in segment.text else ""  # otherwise it may be the document's own
    return [Draft(segment.segment_id, text.replace(split, "")) for text in texts] or [
        Draft(segment.segment_id, "", reason)
    ]


def read_texts(reply: str) -> list[str]:
    """Return the different strings of a JSON array, perhaps in a code fence, without empty ones.

    Raises ValueError for anything else, which may be a remark, a refusal or half of a reply.
    """
    bare = reply.strip()
    fenced = _FENCE.match(bare)
    try:
        found = json.loads(fenced[1] if fenced else bare, strict=False)
        texts = [one.strip() for one in (found if isinstance(found, list) else [None])]
        "".join(texts).encode()  # half of a surrogate pair cannot be stored
    except (ValueError, AttributeError, RecursionError):
        raise ValueError("the reply is not a JSON array of strings") from None
    return [text for text in dict.fromkeys(texts) if text]


def _pairs(segment: Segment, document: Document, reply: Reply, k: int) -> list[Draft]:
    candidates, rejected = read_reply(
        reply, document, _blocks(document.text), segment.start, segment.end
    )
    drafts = [
        Draft(
            segment.segment_id,
            pair_text(one.question, one.answer),
            violation(one, document.text),
            (one.start, one.end),
        )
        for one in candidates
    ]
    return drafts + [Draft(segment.segment_id, "", row.reason) for row in rejected]
