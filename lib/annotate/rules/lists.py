"""Ask for all entries of a list by a lead-in that says whose entries they are (paper, 3.1)."""

import re
from collections.abc import Iterator, Sequence

from lib.annotate.constraints import Candidate
from lib.annotate.rules.names import is_named
from lib.documents.markdown import Item
from lib.documents.phrases import CLAUSAL, folded, is_foreign, is_noun_phrase, words
from lib.documents.sites import Site

MAX_ITEMS = 33  # the longest list of the paper
MAX_ITEM_WORDS = 4

# what a thing has, in full; features, benefits and steps are what a writer chose to say
_CLASSES = frozenset(
    """
algorithms arguments attributes backends browsers codecs columns commands databases devices
directives encodings endpoints engines events extensions fields filters flags formats functions
headers hooks keys keywords languages methods metrics modes modules operators options parameters
platforms plugins properties protocols providers scopes settings signals statuses tags types
values variables""".split()
)
_TERM = re.compile(
    r"(?:\*\*(?P<bold>[^*\n]+?):?\*\*|`(?P<code>[^`\n]+)`|"
    r"\[`?(?P<link>[^\]\n`]+)`?\]\([^)\n]*\))(?=\W*\Z|:|[ ]?\(| --? | [–—] |\. )"
)
_COUNT = r"(?:two|three|four|five|six|seven|eight|nine|ten|\d+) "
_COUNTED = rf"(?:the following (?:{_COUNT})?|(?:the )?{_COUNT})"
_HAS = re.compile(
    r"(?P<who>.+?) (?P<modal>can |must )?(?:currently )?(?P<verb>accept|define|emit|expose|"
    r"export|generate|ha(?=s)|have|provide|recognize|report|require|return|support|take|use)"
    rf"(?P<s>s?) {_COUNTED}(?P<what>.+)",
    re.S,
)
_ARE = re.compile(
    rf"{_COUNTED}(?P<what>.+?) (?P<rest>(?:are|can be|must be) (?:accepted|allowed|"
    r"available|defined|exposed|exported|provided|recognized|required|supported|"
    r"valid)(?: (?:by|for|in|on) .+)?)",
    re.S | re.I,
)


def ask_list(site: Site) -> Iterator[Candidate]:
    """Yield the question for all entries of a list, if each is a short name and the lead-in
    says whose entries of what class they are."""
    items, block = site.block.items, site.block
    core = _question(site.lead.rstrip(" :"), site.names) if site.lead_start >= 0 else ""
    answer = _entities(site, items) if core else ""
    if answer:
        yield Candidate(
            site.place() + core, answer, "list", block.start, block.end, rule="list: lead-in"
        )


def _entities(site: Site, items: Sequence[Item]) -> str:
    if not 2 <= len(items) <= MAX_ITEMS or any(item.depth for item in items):
        return ""
    found = [_TERM.match(site.text, item.start, item.end) for item in items]
    names = [
        next(filter(None, match.groups())).strip(" :*`")
        if match
        else item.text.rstrip(".,;").strip()
        for item, match in zip(items, found, strict=True)
    ]
    is_alike = all(found) or not any(found) and not any(map(_is_clause, names))
    is_safe = is_alike and all(
        words(name) and len(name.split()) <= MAX_ITEM_WORDS and not is_foreign(name)
        for name in names
    )
    return "\n".join(names) if is_safe and len(set(map(folded, names))) == len(names) else ""


def _is_clause(text: str) -> bool:
    return (
        bool(CLAUSAL.intersection(text.lower().split()))
        or re.search(r"[:!?]|\.\s|https?://|\[[ xX]\]|\b(?:and|or)$", text) is not None
    )


def _question(lead: str, names: frozenset[str]) -> str:
    if match := _ARE.fullmatch(lead):
        is_open = re.search(r"[,;:\"]|\b(?:below|above|here|this|these|its?|your?|we|our)\b", lead)
        return f"which {match['what']} {match['rest']}?" * (
            _is_class(match["what"]) and not is_open
        )
    match = _HAS.fullmatch(lead)
    who = (
        re.sub(r"\A(?:The|An?|All|Each)(?= )", lambda word: word[0].lower(), match["who"])
        if (match)
        else ""
    )
    if not is_noun_phrase(who) or not (who.startswith("the ") or is_named(who, names)):
        return ""
    what, *rest = re.split(r" (?=(?:to|from|in|on|for|with|as|by) )", match["what"], maxsplit=1)
    does = match["modal"] or ("does " if match["s"] else "do ")
    verb = match["verb"] if match["verb"] != "ha" else "have"
    return f"which {' '.join([what, does + who, verb, *rest])}?" * _is_class(what)


def _is_class(phrase: str) -> bool:
    own = words(phrase)
    return 0 < len(own) <= 4 and own[-1] in _CLASSES and is_noun_phrase(phrase)
