"""Write English prose from the parts of a document, in place of lists and tables (paper, 3.2)."""

import re
import textwrap
from dataclasses import replace
from itertools import groupby, zip_longest

from lib.core.text import as_label, is_sentence, listed
from lib.documents.inline import ended
from lib.documents.subject import ANNOUNCEMENTS
from lib.normalize.rules.facts import (
    TEXTS,
    fact_sentence,
    is_attribute,
    is_fact,
    is_name_like,
    list_sentence,
    refers,
    row_sentence,
)
from lib.normalize.rules.markup import without_anchor
from lib.normalize.rules.parts import Part

_PAIR = re.compile(r"(?P<label>[^\s:][^:.;!?]{0,58}[^\s:.;!?]):\s+(?P<value>\S.{0,90})")
# headers that mean only "property" and "value": the rows below are facts about the owner
_PROPERTIES = {"", "aspect", "attribute", "characteristic", "field", "item", "key", "parameter",
               "property", "setting"}
_ASPECTS = {"", "aspect", "attribute", "characteristic", "property"}
_VALUES = {"", "data", "entry", "setting", "specification", "value"}
# lead-ins that name all of their items, and words for items among which one is to be chosen
_ALL = re.compile(r"\b(?:following|these|all|both|are|includes?|including|supports?|provides?|"
                  r"contains?|consists? of|comprises?|has|have|requires?|needs?)\b", re.I)
_CHOICE = re.compile(r"\b(?:either|or|one|any|can|could|may|might|must|should|if|when|example|"
                     r"examples|e\.g|such as|like|not|never)\b", re.I)
_CONJUNCTION = re.compile(  # after a comma or three words; "use or" may name an operator
    r"(?:(?<=[\w)\]\"'”’])[,;]\s*(?:and|or)?|(?P<words>(?:\S{1,40}\s){2}\S{1,40})\s(?:and|or))\s*\Z")
_BREAK = "\n\n"  # where a list ends that belongs to an item
_FRAGMENT_WORDS = 25  # of an item that shares its sentence with others, at most


def write(parts: list[Part], title: str, before: Part | None = None, *,
          is_headed: bool = False) -> str:
    """Return the prose of a segment, one paragraph per block, with headings if they change.

    `parts` are those that start in the segment, in order. With `is_headed`, the segment begins
    with the document's title and keeps it as its heading; what follows is understood to be about
    it. The rest of a cut list repeats its lead-in. Only right below their headings are sections
    named before a pronoun, which would refer to them; `before` is the last part above the segment.
    """
    paragraphs: list[str] = []
    opened: tuple[str, ...] | None = None
    seen: set[int] = set()
    parts = [replace(part, text=_announcing(part.text)) if part.kind == "sentence"
             and following and following.kind == "code" else part
             for part, following in zip_longest(parts, parts[1:])]
    for _, members in groupby(parts, key=lambda part: (part.group, part.kind == "code")):
        group = list(members)
        is_within = before and before.headings == group[0].headings and before.kind != "heading"
        is_after_colon = bool(is_within and paragraphs and paragraphs[-1].endswith(":"))
        text = _paragraph(group, is_after_colon, group[0].group in seen)
        seen.add(group[0].group)
        path = _path(title, group[0])
        unnamed = path[1:] if is_headed and opened is None else path
        before = group[-1]
        is_displaced = is_after_colon or (group[0].kind != "row" and refers(text)) or (
            paragraphs and group[0].kind == "lead-in" and group[0].above)
        if path != opened and not (is_within and is_displaced):
            text, opened = _opening(unnamed, text) + text, path
        paragraphs.append(text)
    prose = "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
    return f"# {without_anchor(title)}\n\n{prose}" if is_headed and prose else prose


# If the facts below name their owner themselves, sections that only announce them are left out
def _path(title: str, part: Part) -> tuple[str, ...]:
    path: list[str] = []
    for name in map(without_anchor, (title if part.is_titled else "", *part.headings)):
        is_empty = part.owner and path and name.casefold() in ANNOUNCEMENTS
        if name and not is_empty and name.casefold() not in (above.casefold() for above in path):
            path.append(name)
    return tuple(path)


# "In Corvane P-417, Network: " without a name that the first sentence makes clear
# That is the section if the sentence begins with it, and the document, if no section is left
def _opening(path: tuple[str, ...], text: str) -> str:
    first = re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]
    names = [re.sub(r"(?<!tc)(?<!\.)[ .:]+$", "", name) for name in path]
    if len(names) > 1 and re.match(rf"(?:The |An? )?{re.escape(names[-1])}\b", first, re.I):
        names = names[:-1]
    if len(names) == 1 and re.search(rf"(?<!\w){re.escape(names[0])}(?!\w)", first):
        return ""
    return f"In {', '.join(names)}: " if names else ""


# after code in a list, the rest of it is resumed
def _paragraph(group: list[Part], is_after_colon: bool, is_resumed: bool) -> str:
    if group[0].kind == "code":
        return _code(group, is_after_colon)
    if group[0].kind == "heading":
        return f'The section "{without_anchor(group[0].text)}" has no text.'
    if group[0].kind == "row":
        return " ".join(filter(None, map(_row, group)))
    items = [part for part in group if part.kind == "item"]
    if not items:
        return " ".join(ended(part.text) for part in group)
    is_apart = items[0] is group[0] and not is_resumed and not items[0].depth  # from its lead-in
    sentences = [items[0].above if is_apart else "", *_list(items, is_resumed)]
    return " ".join(filter(None, sentences)).replace(f" {_BREAK} ", _BREAK)


def _announcing(text: str) -> str:
    bare = text.rstrip(",")
    return bare + ":" if bare != text or ended(text) != text else text


def _code(group: list[Part], is_after_colon: bool) -> str:
    code = "\n".join(part.text.rstrip(" \t") for part in group)
    code = textwrap.dedent(code).strip("\n")
    title = f"{group[0].lead}:\n" if group[0].lead and group[0].is_first else ""
    if is_after_colon:
        return title + code
    return (title or ("The lines given here read:\n" if group[0].is_first
                      else "The lines go on:\n")) + code


def is_property(part: Part) -> bool:
    """Return whether a row has a property of the owner and its value: "| Port | 8443 |"."""
    header = [name.casefold().strip(" :") for name in part.header]
    return len(part.cells) == 2 and header[0] in _PROPERTIES and (
        header[1] in _VALUES or header[0] in _ASPECTS and header[1] in TEXTS)


def _row(part: Part) -> str:
    is_pair = is_property(part)
    if is_pair and all(part.cells):
        return fact_sentence(*part.cells, part.owner)
    return row_sentence(("", *part.header[1:]) if is_pair else part.header, part.cells, part.owner)


# After a cut, the first items can be deeper than later ones; each such run names its parent
def _list(items: list[Part], is_resumed: bool) -> list[str]:
    runs: list[list[Part]] = []
    for item in items:
        if runs and item.depth >= runs[-1][0].depth:
            runs[-1].append(item)
        else:
            runs.append([item])
    sentences = []
    for run in runs:
        is_continued = not run[0].is_first and not is_resumed
        above = run[0].parents[-1] if run[0].parents else run[0].lead
        sentences += _level(run, "" if is_resumed else above, is_continued)
        if run is not runs[-1] and run[0].parents:
            sentences.append(_BREAK)
    return sentences


def _nodes(items: list[Part]) -> list[tuple[Part, list[Part]]]:
    nodes: list[tuple[Part, list[Part]]] = []
    for item in items:
        if item.depth <= items[0].depth:
            nodes.append((replace(item, text=_CONJUNCTION.sub(r"\g<words>", item.text)), []))
        else:
            nodes[-1][1].append(item)
    return nodes


# B (C; D)"
def _outline(nodes: list[tuple[Part, list[Part]]]) -> str:
    return "; ".join(f"{item.text} ({_outline(_nodes(children))})" if children else item.text
                     for item, children in nodes)


# deeper ones belong to the item before them
def _level(items: list[Part], lead: str, is_continued: bool) -> list[str]:
    nodes = _nodes(items)
    if len(items) > len(nodes) and all(is_name_like(item.text) for item in items):
        introduction = [_introduction(lead, is_continued)] if lead else []
        return [" ".join([*introduction, ended(_outline(nodes))])]
    facts = [_fact(item, lead) for item, _ in nodes]
    if sum(map(bool, facts)) * 2 <= len(nodes):
        facts = [""] * len(nodes)
        own = [item for item, _ in nodes]
        if not any(children for _, children in nodes):
            together = _together(own, lead, is_continued)
            if together:
                return [together]
    sentences = [_introduction(lead, is_continued)] if lead else []
    for number, ((item, children), fact) in enumerate(zip(nodes, facts, strict=True)):
        if not children:
            sentences.append(fact or ended(item.text))
            continue
        below = _level(children, item.text, is_continued=False)
        sentences += below
        following = nodes[number + 1][0] if number + 1 < len(nodes) else None
        is_open = len(below) > 1 or len(children) == 1  # else they are one sentence: "A: b; c."
        is_marked = following and following.text[0] == "(" != children[0].text[0]
        if following and is_open and not is_marked:
            sentences += [_BREAK, *([_introduction(lead, True)] if lead and item.depth else [])]
    return sentences


# "The supported platforms of X are A, B and C.", or "The file has: a name; a size."
def _together(items: list[Part], lead: str, is_continued: bool) -> str:
    first, texts = items[0], [item.text for item in items]
    if not any(text.endswith(".") for text in texts[:-1]):
        texts[-1] = texts[-1].removesuffix(".")  # of the list
    are_names = all(map(is_name_like, texts))
    if are_names and lead and first.owner and not first.depth and is_attribute(lead):
        is_partial = is_continued or not items[-1].is_last
        return list_sentence(lead, texts, first.owner, is_partial=is_partial,
                             is_continued=is_continued)
    introduction = f"{_introduction(lead, is_continued)} " if lead else ""
    if are_names:
        is_whole = not lead or is_attribute(lead) or _ALL.search(lead) and not _CHOICE.search(lead)
        return introduction + ended(listed(texts) if is_whole else "; ".join(texts))
    are_fragments = all(len(text.split()) <= _FRAGMENT_WORDS and not is_sentence(text)
                        and not text.endswith((".", "!", "?", ":")) for text in texts)
    return introduction + ended("; ".join(texts)) if are_fragments else ""


def _introduction(lead: str, is_continued: bool) -> str:
    return lead.rstrip(" :.") + (" (continued):" if is_continued else ":")


def pair_of(item: Part, lead: str) -> tuple[str, str] | None:
    """Return the label and value of "Default port: 8443" if its owner has that attribute."""
    pair = _PAIR.fullmatch(item.text)
    is_own = item.owner and not item.depth and (not lead or as_label(lead) in ANNOUNCEMENTS)
    if not pair or not is_own or not is_fact(pair["label"], pair["value"]):
        return None
    return pair["label"], pair["value"]


def _fact(item: Part, lead: str) -> str:
    pair = pair_of(item, lead)
    return fact_sentence(*pair, item.owner) if pair else ""
