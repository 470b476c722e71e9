"""Parse the body of a chat completion: a complete text, a text that is no answer, or neither."""

import json
import re
from typing import Literal

from lib.core.store import BadReply
from lib.llm.request import Reply

_COMPLETE = ("stop", "eos", "eos_token", "end_turn", "stop_sequence")
_EMPTY, _UNREADABLE, _BROKEN = (
    "an empty reply",
    "an unreadable reply with status 200",
    "ended by an error of the endpoint",
)
WORTH_ASKING_AGAIN = (_EMPTY, _UNREADABLE, _BROKEN)
# The kinds of reply that are no answer and may be asked for again.
Kind = Literal["empty", "refused", "filtered", "cut", "unreadable"]
_INCOMPLETE: dict[str, tuple[Kind, str]] = {  # kind and reason
    "length": ("cut", "cut at the length limit"),
    "": ("cut", "no finish reason: it may be cut"),
    "content_filter": ("filtered", "stopped by the endpoint's content filter"),
    "error": ("unreadable", _BROKEN),
}
_MOST_TOKENS = 10**7  # more than any model reads or writes in one call
_NO_NAME = re.compile(r"[^\w./:@+ -]")  # a name is printed
# A reasoning model's thoughts; some templates write the opening tag into the prompt.
_THOUGHTS = re.compile(
    r"\A\s*<(think(?:ing)?)>.*?(?:</\1>\s*|\Z)|\A(?:(?!<think).)*</think(?:ing)?>\s*|"
    r"\A\s*(?:<\|start\|>assistant)?<\|channel\|>.*?(?:(?<=final)<\|message\|>|\Z)|"
    r"<\|(?:return|end)\|>\s*\Z",
    re.S | re.I,
)


UNREADABLE = Reply("", _UNREADABLE, "unreadable", finish_reason="unreadable")


def read_response(raw: str) -> Reply:
    """Parse the body of a chat completion, without thoughts; raise BadReply if it is none."""
    try:
        body = json.loads(raw, parse_int=float)  # an integer may have too many digits
        choices = body["choices"]
        choice = next((one for one in choices if one.get("index") == 0), choices[0])
        message, finish = choice["message"], _text(choice.get("finish_reason")).lower()
        finish = finish.replace("max_tokens", "length")  # as other providers say
        content, refusal = _text(message.get("content")), _text(message.get("refusal"))
        usage = _fields(body, "usage")
        more = message | _fields(usage, "completion_tokens_details")
        thoughts = content.strip() or any(
            "reasoning" in name and value for name, value in more.items()
        )
        counts = tuple(
            int(n) if isinstance(n, float) and 0 <= n <= _MOST_TOKENS else None
            for n in map(usage.get, ("prompt_tokens", "completion_tokens"))
        )
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise BadReply(_UNREADABLE) from None
    text = _THOUGHTS.sub("", content)
    if refusal:
        kind, reason = "refused", "refused by the model"
    elif finish not in _COMPLETE:
        kind, reason = _INCOMPLETE.get(finish, ("", f"ended for another reason: {finish[:40]}"))
    elif text.strip():
        kind = reason = ""
    else:
        kind, reason = "empty", f"{_EMPTY} after the model's thoughts" if thoughts else _EMPTY
    name = _NO_NAME.sub("", _text(body.get("model")))[:300]
    return Reply(text or refusal, reason, kind, name or "a model without a name", finish, counts)


def _fields(body: dict, name: str) -> dict:
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def _text(content: object) -> str:
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(text for text in texts if isinstance(text, str))
    # SQLite rejects lone surrogates
    return content.encode("utf-8", "replace").decode() if isinstance(content, str) else ""
