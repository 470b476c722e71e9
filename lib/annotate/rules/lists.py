"""Questions on lists: key-value bullets one by one, enumerations by their lead-in or heading (paper, 3.1)."""

import re
from collections.abc import Iterator

from lib.annotate.constraints import Candidate
from lib.annotate.rules.lead_ins import asked_by_heading, asked_by_lead_in
from lib.annotate.rules.sentences import ask_sentence
from lib.annotate.rules.tables import is_noun
from lib.annotate.rules.verbs import BASE
from lib.core.text import is_plural
from lib.documents.blocks import Block, Item, sentences
from lib.documents.subject import Scope

MAX_ITEMS = 12
MAX_ITEM_WORDS = 24
MAX_SHORT_ITEMS = 33  # of at most four words each; the longest list of the paper

_KEY_VALUE = re.compile(r"(?P<key>[A-Z0-9`\"][^:;.?!]{1,58}?)(?::\s+|\s+[–—]\s+)(?P<value>\S.*?)\.?")
_DEFAULT = re.compile(r"^[\W_]*default(?: value)?:\s*(?P<value>[^\n]+?)[\s_*\\]*$", re.I | re.M)
_BUMP = re.compile(r"(?:(?P<bump>bump)|(?P<update>update|upgrade|downgrade))(?:s|d|ped|"
                   r"ed)?\s+(?P<name>[\w./@-]+)(?:\s+from\s+\S+)?"
                   r"\s+to\s+(?:version\s+)?(?P<value>v?\d[\w.-]*+)(?:\.?$|[ ,;].*)", re.I)
_SEE = re.compile(r"(?:[.,;]\s+|\s+\()(?:please )?(?:see|refer to|for more)\b.*", re.I)
_TAIL = re.compile(r"\s*(?:\((?:#?\d+|\[?#\d+\]?|https?://\S+)\)|[.;,:])$")


def ask_list(blocks: list[Block], index: int, scope: Scope, text: str) -> Iterator[Candidate]:
    """Questions on the list blocks[index]: its enumeration, those nested in it, and the facts of single items."""
    block = blocks[index]
    top = [position for position, item in enumerate(block.items) if item.depth == 0]
    if _is_record([block.items[position] for position in top]):
        yield from _of_record([block.items[position] for position in top], scope)
    else:
        entities = [block.items[position] for position in top]
        lead = _lead_in(blocks, index, text)
        asked = asked_by_lead_in(lead, scope) if lead else asked_by_heading(_heading_above(blocks, index), scope)
        yield from _enumeration(asked, entities, block.start, block.end)
    for position, item in enumerate(block.items):
        children = _children(block.items, position)
        if children and item.text.endswith(":"):
            yield from _enumeration(asked_by_lead_in(item.text, scope), children, item.start, children[-1].end)
        elif not children:
            yield from _of_item(item, scope, text)


def _enumeration(asked: tuple[str, str] | None, items: list[Item], start: int, end: int) -> Iterator[Candidate]:
    entities = [_entity(item) for item in items]
    if not asked or not entities or any(item.text.endswith(":") for item in items):
        return
    if any(re.search(r"[.!?]\s+[A-Z]", entity) for entity in entities):
        return  # an item of several sentences is a paragraph, not an entity
    longest = max(len(entity.split()) for entity in entities)
    if longest > MAX_ITEM_WORDS or len(entities) > (MAX_ITEMS if longest > 4 else MAX_SHORT_ITEMS):
        return
    rank = 0 if 2 <= len(entities) <= 10 and longest <= 8 else 1
    yield Candidate(asked[0], "\n".join(entities), "entity-list", start, end, asked[1], rank)


def _entity(item: Item) -> str:
    entity, before = _SEE.sub("", item.text), ""
    while entity != before:
        entity, before = _TAIL.sub("", entity.strip()), entity
    return entity


def _is_record(items: list[Item]) -> bool:
    """Whether a list is a record of key-value bullets: most of its items are, each with a key of its own."""
    keys = [match["key"] for item in items if (match := _KEY_VALUE.fullmatch(item.text))]
    keys = [key for key in keys if len(key.split()) <= 6]
    return len(keys) == len(set(keys)) and 2 * len(keys) > len(items)


def _of_record(items: list[Item], scope: Scope) -> Iterator[Candidate]:
    for item in items:
        match = _KEY_VALUE.fullmatch(item.text)
        if not match or len(match["value"].split()) > MAX_ITEM_WORDS or re.match(r"https?:", match["value"]):
            continue
        value = re.split(r"(?<=\w)\.\s", match["value"].strip(), maxsplit=1)[0]
        label, does = scope.label(match["key"]), value.split(" ")[0].lower()
        if does in BASE and BASE[does] != does:
            yield _single(scope.within(f"what does {match['key']} do?"), value, item)
            continue
        if not is_noun(label):
            continue
        entities = _split(value) if is_plural(label) else [value]
        asked = asked_by_lead_in(match["key"] + ":", scope) if len(entities) > 1 else None
        short, longer = asked or scope.attribute(label, "are" if is_plural(label) else "is")
        yield Candidate(short, "\n".join(entities), "entity-list", item.start, item.end, longer)


def _split(value: str) -> list[str]:
    """The entities of "a, b and c"; the whole where a part is more than a few words."""
    parts = [part for part in re.split(r"\s*[,;]\s*(?:and\s+|or\s+)?|\s+and\s+", value) if part]
    return parts if all(len(part.split()) <= 4 for part in parts) and not re.search(r"\(", value) else [value]


def _of_item(item: Item, scope: Scope, text: str) -> Iterator[Candidate]:
    """Facts that one item states: a default, a dependency's new version, an enumeration after a colon, a sentence."""
    raw = text[item.start:item.end]
    option, default = re.match(r"`(?P<name>[\w.-]+)(?=[`:=\s])", raw), _DEFAULT.search(raw)
    if option and default:
        asked = scope.within(f"what is the default value of {option['name']}?")
        yield _single(asked, default["value"].strip("`_* "), item)
    bump = _BUMP.fullmatch(item.text)
    if bump and scope.is_version:
        done = "bumped" if bump["bump"] else re.sub(r"e?$", "ed", bump["update"].lower(), count=1)
        asked = scope.within(f"to which version was {bump['name']} {done} in {scope.subject}?")
        yield _single(asked, bump["value"].strip("."), item)
    head, _, rest = item.text.partition(": ")
    entities = _split(rest.strip().rstrip("."))
    asked = asked_by_lead_in(head + ":", scope) if len(entities) > 1 else None
    if asked:
        yield Candidate(asked[0], "\n".join(entities), "entity-list", item.start, item.end, asked[1], 0)
    elif not _KEY_VALUE.fullmatch(item.text):
        yield from _of_sentences(item, scope, text)


def _of_sentences(item: Item, scope: Scope, text: str) -> Iterator[Candidate]:
    """A plain sentence in a list is asked as in prose; it stands in a list, so its answer is one entity."""
    for sentence in sentences(text, item.start, item.end):
        found = ask_sentence(sentence.text, scope)
        if found:
            short, longer = scope.within(found.core)
            yield Candidate(short, found.answer, "entity-list", sentence.start, sentence.end, longer, 2)


def _single(asked: tuple[str, str], value: str, item: Item) -> Candidate:
    return Candidate(asked[0], value, "entity-list", item.start, item.end, asked[1])


def _children(items: tuple[Item, ...], position: int) -> list[Item]:
    """The items one level below items[position]."""
    depth, below = items[position].depth, []
    for item in items[position + 1:]:
        if item.depth <= depth:
            break
        if item.depth == depth + 1:
            below.append(item)
    return below


def _lead_in(blocks: list[Block], index: int, text: str) -> str:
    """The sentence with a colon that stands right before the list; "" where there is none."""
    before = blocks[index - 1] if index else None
    if before is None or before.kind != "prose":
        return ""
    last = sentences(text, before.start, before.end)[-1].text
    return last if last.endswith(":") else ""


def _heading_above(blocks: list[Block], index: int) -> str:
    before = blocks[index - 1] if index else None
    return before.text if before is not None and before.kind == "heading" else ""
