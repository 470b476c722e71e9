"""Ask about lists: enumerations by their lead-in, key-value bullets one by one (paper, 3.1)."""

import re
from collections.abc import Iterator

from lib.annotate.constraints import Candidate
from lib.annotate.rules.grammar import VAGUE, has_clause, is_imperative
from lib.annotate.rules.labels import ROLE, is_attribute, value_of
from lib.annotate.rules.lead_ins import asked_by_heading, asked_by_lead_in
from lib.annotate.rules.places import Place, Site
from lib.annotate.rules.verbs import FORMS
from lib.core.text import is_plural
from lib.documents.blocks import sentences
from lib.documents.reader import Block, Item

MAX_ITEMS = 33  # the longest list of the paper
MAX_ITEM_WORDS = 14
MIN_SAID = 4  # words on average that describe a listed name

NO_CLASS = "neither lead-in nor heading says what the items of the list are"
MIXED = "the list mixes an enumeration with sentences"
NESTED = "the list has lists in its items"
DIALECT = "the items have markup that only the site's builder reads"
CONTENTS = "the list is a table of contents"

_KEY_VALUE = re.compile(r"(?P<key>[A-Z][^:;.?!]{1,58}?)(?::\s+|\s+[–—]\s+)(?P<value>\S.*?)\.?")
# a term in bold, in code or linked at the beginning, and what is said about it
_TERM = re.compile(
    r"(?:\*\*(?P<bold>[^*\n]+?):?\*\*|__(?P<under>[^_\n]+?):?__|`(?P<code>[^`\n]+)`|"
    r"\[`?(?P<link>[^\]\n`]+)`?\]\([^)\n]*\))(?:\s*\([^()\n]*\))?"
    r"(?:\s*:\s+|\s+[-–—]+\s+|:\s*$)(?=\S|$)", re.M)
# in code, with or without what is said about it
_CODE = re.compile(r"`(?P<code>[^`\n]+)`(?:\s*\([^()\n]*\))?"
                   r"(?:\s*[:.]\s+|\s+[-–—]+\s+|[.:;,]?$)", re.M)
_NAMED = re.compile(r"(?P<name>[A-Z][\w./()-]*(?: [\w./()-]+){0,3})(?::| [-–—]) \S")
_SEE = re.compile(r"(?:[.,;]\s+|\s+\()(?:please )?(?:see|refer to|for more)\b.*", re.I)
_POINTING = re.compile(r"https?://|\b(?:above|below|see|described|following)\b")
_TAIL = re.compile(r"\s*(?:\((?:#?\d+|\[?#\d+\]?|https?://\S+)\)|[.;,:]|,? (?:and|or))$")
_LINK = re.compile(r"\[[^\]]*\]\([^)]*\)\W*")
_ANCHOR_LINK = re.compile(r"\[[^\]]*\]\(#[^)]*\)\W*")


def ask_list(site: Site) -> Iterator[Candidate | str]:
    """Yield questions about a list and its single items, or why there is none."""
    block, above, place, text = site.block, site.above, site.place, site.text
    top = [item for item in block.items if item.depth == 0]
    lead = sentences(text, above.start, above.end)[-1].text if above.kind == "prose" else ""
    found = [*_of_record(top, place)]
    if found:
        yield from found
        return
    found = [*_of_items(top, place)]
    yield from found
    reason = _unfit(block, top, text)
    if not reason:
        is_led = lead.endswith(":")
        forms = asked_by_lead_in(lead, place) if is_led else ()
        if not is_led and above.kind == "heading" and not _is_navigation(top, place, text):
            forms = asked_by_heading(above.text, place)
        entities = _entities(top, text)
        is_record = any(entity.lower().rstrip("s:") in VAGUE for entity in entities)  # "Default"
        if forms and len(entities) > 1 and len(set(entities)) == len(entities) and not is_record:
            yield Candidate(forms, "\n".join(entities), "list", block.start, block.end, 0)
            return
        reason = MIXED if forms else NO_CLASS
    if not found:
        yield reason


def _unfit(block: Block, top: list[Item], text: str) -> str:
    if len(top) < len(block.items):
        return NESTED
    if ROLE.search(text, block.start, block.end):
        return DIALECT
    if all(_ANCHOR_LINK.fullmatch(text, item.start, item.end) for item in top):
        return CONTENTS
    return MIXED if len(top) > MAX_ITEMS else ""


# in a release it is changes
def _is_navigation(items: list[Item], place: Place, text: str) -> bool:
    return not place.subject.is_version and all(
        _LINK.fullmatch(text, item.start, item.end) for item in items)


# [] if an item is a sentence, or too long to be an entity
def _entities(items: list[Item], text: str) -> list[str]:
    codes = [_CODE.match(text, item.start, item.end) for item in items]
    if all(codes):
        names = [code["code"] for code in codes]
        return [] if all(name.isdigit() for name in names) else names
    terms = [_TERM.match(text, item.start, item.end) for item in items]
    named = [_NAMED.match(item.text) for item in items]
    if all(terms) or all(named):
        names = [next(filter(None, term.groups())).strip() for term in (terms if all(terms)
                                                                        else named)]
        # "Oil change: every 500 hours" gives values, not descriptions of what is listed
        said = [len(item.text.split()) - len(name.split())
                for item, name in zip(items, names, strict=True)]
        return names if min(said) == 0 or sum(said) >= MIN_SAID * len(said) else []
    entities = [_entity(item) for item in items]
    is_mixed = any(terms) or any(named) or any(item.is_sentence for item in items)
    is_long = not all(0 < len(entity.split()) <= MAX_ITEM_WORDS for entity in entities)
    is_pointing = any(_POINTING.search(entity) for entity in entities)
    return [] if is_mixed or is_long or is_pointing else entities


def _entity(item: Item) -> str:
    entity, before = _SEE.sub("", item.text), ""
    while entity != before:
        entity, before = _TAIL.sub("", entity.strip()), entity
    return entity


# Ask about key-value bullets ("Parity: even") if all of the list are, with distinct keys
def _of_record(items: list[Item], place: Place) -> Iterator[Candidate]:
    matches = [_KEY_VALUE.fullmatch(item.text) for item in items]
    keys = [match["key"] for match in matches if match]
    if not place.is_entity or place.is_vague or len(set(keys)) < len(items):
        return  # of another section than a thing's, "what is the type?" does not say of what
    values = [value_of(match["value"]) for match in matches]
    if not all(is_attribute(key) and _is_value(value)
               for key, value in zip(keys, values, strict=True)):
        return
    for item, key, value in zip(items, keys, values, strict=True):
        label = place.subject.label(key)
        entities = _split(value) if is_plural(label) else [value]
        verb = "are" if is_plural(label) else "is"
        yield Candidate(place.attribute(label, verb), "\n".join(entities), "list", item.start,
                        item.end, 0 if len(entities) > 1 else 3)


def _is_value(value: str) -> bool:
    is_phrase = " " in value and (
        has_clause(value) or is_imperative(value) or value.split()[0].lower() in FORMS)
    return bool(value) and not is_phrase


# Ask about an enumeration in one item: "Many modules added: a, b, c"
def _of_items(items: list[Item], place: Place) -> Iterator[Candidate]:
    for item in items:
        head, _, rest = item.text.partition(": ")
        entities = _split(rest.strip().rstrip("."))
        forms = asked_by_lead_in(head + ":", place) if len(entities) > 1 else ()
        if forms and len(set(entities)) == len(entities):
            yield Candidate(forms, "\n".join(entities), "list", item.start, item.end, 0)


# Split "a, b and c" into its entities, unless one is longer than a few words
def _split(value: str) -> list[str]:
    parts = re.split(r"\s*[,;]\s+(?:and\s+|or\s+)?|\s+and\s+", value)
    is_short = all(0 < len(part.split()) <= 4 and not has_clause(part) for part in parts if part)
    is_closed = "(" not in value and not re.search(r"\betc\b|\.\.\.|…", value)
    return [part for part in parts if part] if is_short and is_closed else [value]
