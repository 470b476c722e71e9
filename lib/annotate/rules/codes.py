"""Ask for a name in code type by what its sentence says of it (paper, 3.1).

The whole sentence is in the question, so no condition is lost.
"""

import re

from lib.annotate.rules.grammar import DEICTIC, is_noun_phrase
from lib.annotate.rules.labels import is_guessed
from lib.annotate.rules.patterns import Asked
from lib.annotate.rules.verbs import BASE, FORMS
from lib.core.text import is_plural
from lib.documents.blocks import plain

MAX_WORDS = 24  # of what is said
MIN_WORDS = 4  # less is true of many names

_CODE = r"[*_]*`(?P<code>[^`\n]+)`[*_]*"
_KIND = r"(?P<kind>[a-z][a-z-]*(?: [a-z][a-z-]*)?)"
_VERBS = "|".join(sorted({*FORMS, "is", "has", "can", "must", "MUST", "may", "MAY", "will",
                          "should", "SHOULD"}))
_SAID = re.compile(  # "The `x` option sets the size of Y."
    rf"(?:The|An?) (?P<pre>(?:[\w-]+ )*?){_CODE} {_KIND}?? (?P<said>(?:{_VERBS})\b .+)", re.S)
_USE = re.compile(  # "Use the `x` option to set the size of Y."
    rf"(?:You can use|Use) the (?P<pre>(?:[\w-]+ )*?){_CODE} {_KIND}?? to (?P<said>.+)", re.S)
_TO = re.compile(  # "To set the size of Y, use the `x` option."
    rf"To (?P<said>[^,`]+), (?:you can )?(?:use|set|enable|specify|call|run|add) the "
    rf"(?P<pre>(?:[\w-]+ )*?){_CODE} {_KIND}", re.S)
_SET = re.compile(  # "To enable Y, set `x` to `y`."
    rf"To (?P<said>[^,`]+), set (?:the )?{_CODE}(?: {_KIND}??)? to [*_]*`(?P<value>[^`\n]+)`[*_]*",
    re.S)
_NOT_KINDS = frozenset(
    "value section is are was has will can must may to of in on at by for from with into and or "
    "which that a an the each all".split())


def ask_code(raw: str) -> Asked | None:
    """Return the question about one sentence, given as Markdown, or None."""
    raw = re.sub(r"[.\s]+$", "", raw)
    if found := _SET.fullmatch(raw):
        said = plain(found["said"])
        core = f"to what must {found['code']} be set to {said}?"
        return Asked(core, found["value"]) if _is_base(said) else None
    for pattern, verb in ((_SAID, ""), (_USE, "is used to "), (_TO, "is used to ")):
        found = pattern.fullmatch(raw)
        if not found:
            continue
        said, kind = plain(found["said"]), found["kind"]
        pre = plain(found["pre"]).strip()
        # "added to the", "means that the": the code is not what the sentence is about
        is_kind = not is_plural(kind) and not _NOT_KINDS.intersection(f"{pre} {kind}".split()) and (
            is_noun_phrase(f"the {pre} {kind}") and not DEICTIC.search(pre))
        is_whole = MIN_WORDS <= len(said.split()) <= MAX_WORDS and not re.search(
            r"[;:?!]|\b(?:also|now|too)\b", said)
        if is_kind and is_whole and not is_guessed(found["code"], said) and (
                not verb or _is_base(said)):
            return Asked(f"which {pre} {kind} {verb}{said}?".replace("  ", " "), found["code"])
    return None


def _is_base(said: str) -> bool:
    first = said.split(" ", 1)[0]
    return BASE.get(first) == first
