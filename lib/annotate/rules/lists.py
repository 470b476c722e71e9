"""Ask about lists: key-value bullets one by one, enumerations by their lead-in (paper, 3.1)."""

import re
from collections.abc import Iterator, Sequence

from lib.annotate.constraints import Candidate
from lib.annotate.rules.lead_ins import asked_by_heading, asked_by_lead_in
from lib.annotate.rules.sentences import ask_sentence
from lib.annotate.rules.tables import is_noun
from lib.annotate.rules.verbs import BASE
from lib.core.text import is_plural
from lib.documents.blocks import Block, Item, sentences
from lib.documents.subject import Subject

MAX_ITEMS = 12
MAX_ITEM_WORDS = 24
MAX_SHORT_ITEMS = 33  # of at most four words each; the longest list of the paper

_KEY_VALUE = re.compile(
    r"(?P<key>[A-Z0-9`\"][^:;.?!]{1,58}?)(?::\s+|\s+[–—]\s+)(?P<value>\S.*?)\.?")
_OPTION = re.compile(r"`(?P<name>[\w.-]+)(?=[`:=\s])")
_DEFAULT = re.compile(
    r"^[\W_]*default(?: value)?:\s*(?P<value>[^\n]+?)[\s_*\\]*$", re.I | re.M)
_BUMP = re.compile(
    r"(?:(?P<bump>bump)|(?P<update>update|upgrade|downgrade))(?:s|d|ped|ed)?\s+(?P<name>[\w./@-]+)"
    r"(?:\s+from\s+\S+)?\s+to\s+(?:version\s+)?(?P<value>v?\d[\w.-]*+)(?:\.?$|[ ,;].*)", re.I)
_SEE = re.compile(r"(?:[.,;]\s+|\s+\()(?:please )?(?:see|refer to|for more)\b.*", re.I)
_TAIL = re.compile(r"\s*(?:\((?:#?\d+|\[?#\d+\]?|https?://\S+)\)|[.;,:])$")


def ask_list(blocks: Sequence[Block], index: int, about: Subject,
             text: str) -> Iterator[Candidate]:
    """Yield questions about the list blocks[index], its nested lists and its single items."""
    block = blocks[index]
    top = [item for item in block.items if item.depth == 0]
    if _is_record(top):
        yield from _of_record(top, about)
    else:
        above = blocks[index - 1] if index else Block("", 0, 0, "")
        lead = sentences(text, above.start, above.end)[-1].text if above.kind == "prose" else ""
        if lead.endswith(":"):
            asked = asked_by_lead_in(lead, about)
        else:
            asked = asked_by_heading(above.text if above.kind == "heading" else "", about)
        yield from _enumeration(asked, top, block.start, block.end)
    for position, item in enumerate(block.items):
        children = _children(block.items, position)
        if children and item.text.endswith(":"):
            asked = asked_by_lead_in(item.text, about)
            yield from _enumeration(asked, children, item.start, children[-1].end)
        elif not children:
            yield from _of_item(item, about, text)


def _enumeration(asked: tuple[str, str] | None, items: list[Item], start: int,
                 end: int) -> Iterator[Candidate]:
    entities = [_entity(item) for item in items]
    if not asked or not entities or any(item.text.endswith(":") for item in items):
        return
    if any(re.search(r"[.!?]\s+[A-Z]", entity) for entity in entities):
        return  # an item of several sentences is a paragraph, not an entity
    longest = max(len(entity.split()) for entity in entities)
    most_items = MAX_ITEMS if longest > 4 else MAX_SHORT_ITEMS
    if longest <= MAX_ITEM_WORDS and len(entities) <= most_items:
        rank = 0 if 2 <= len(entities) <= 10 and longest <= 8 else 1
        yield _candidate(asked, entities, start, end, rank)


def _entity(item: Item) -> str:
    entity, before = _SEE.sub("", item.text), ""
    while entity != before:
        entity, before = _TAIL.sub("", entity.strip()), entity
    return entity


def _is_record(items: list[Item]) -> bool:
    """Return whether most items are key-value bullets with distinct keys."""
    keys = [match["key"] for item in items if (match := _KEY_VALUE.fullmatch(item.text))]
    keys = [key for key in keys if len(key.split()) <= 6]
    return len(keys) == len(set(keys)) and 2 * len(keys) > len(items)


def _of_record(items: list[Item], about: Subject) -> Iterator[Candidate]:
    for item in items:
        match = _KEY_VALUE.fullmatch(item.text)
        if (not match or len(match["value"].split()) > MAX_ITEM_WORDS
                or re.match(r"https?:", match["value"])):
            continue
        value = re.split(r"(?<=\w)\.\s", match["value"].strip(), maxsplit=1)[0]
        label, does = about.label(match["key"]), value.split(" ")[0].lower()
        if does in BASE and BASE[does] != does:
            asked = about.within(f"what does {match['key']} do?")
            yield _candidate(asked, [value], item.start, item.end)
        elif is_noun(label):
            entities = _split(value) if is_plural(label) else [value]
            asked = asked_by_lead_in(match["key"] + ":", about) if len(entities) > 1 else None
            asked = asked or about.attribute(label, "are" if is_plural(label) else "is")
            yield _candidate(asked, entities, item.start, item.end)


def _split(value: str) -> list[str]:
    """Split "a, b and c" into its entities, unless one is longer than a few words."""
    parts = re.split(r"\s*[,;]\s*(?:and\s+|or\s+)?|\s+and\s+", value)
    is_short = all(len(part.split()) <= 4 for part in parts)
    return [part for part in parts if part] if is_short and "(" not in value else [value]


def _of_item(item: Item, about: Subject, text: str) -> Iterator[Candidate]:
    """Yield questions about one item: a default, a new version, an enumeration, a sentence."""
    raw = text[item.start:item.end]
    option, default = _OPTION.match(raw), _DEFAULT.search(raw)
    if option and default:
        asked = about.within(f"what is the default value of {option['name']}?")
        yield _candidate(asked, [default["value"].strip("`_* ")], item.start, item.end)
    bump = _BUMP.fullmatch(item.text)
    if bump and about.is_version:
        done = "bumped"
        if bump["update"]:
            done = re.sub(r"e?$", "ed", bump["update"].lower(), count=1)
        asked = about.within(f"to which version was {bump['name']} {done} in {about.name}?")
        yield _candidate(asked, [bump["value"].strip(".")], item.start, item.end)
    head, _, rest = item.text.partition(": ")
    entities = _split(rest.strip().rstrip("."))
    asked = asked_by_lead_in(head + ":", about) if len(entities) > 1 else None
    if asked:
        yield _candidate(asked, entities, item.start, item.end, 0)
    elif not _KEY_VALUE.fullmatch(item.text):
        for sentence in sentences(text, item.start, item.end):
            if found := ask_sentence(sentence.text, about):
                yield _candidate(about.within(found.core), [found.answer], sentence.start,
                                 sentence.end, 2)


def _candidate(asked: tuple[str, str], entities: list[str], start: int, end: int,
               rank: int = 1) -> Candidate:
    return Candidate(asked[0], "\n".join(entities), "entity-list", start, end, asked[1], rank)


def _children(items: tuple[Item, ...], position: int) -> list[Item]:
    """Return the items one level below items[position]."""
    depth, below = items[position].depth, []
    for item in items[position + 1:]:
        if item.depth <= depth:
            break
        if item.depth == depth + 1:
            below.append(item)
    return below
