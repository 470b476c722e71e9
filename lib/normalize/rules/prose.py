"""Write English prose from the parts of a document, in place of lists and tables (paper, 3.2)."""

import re
import textwrap
from itertools import groupby

from lib.core.text import as_label, is_plural, listed
from lib.documents.inline import ended
from lib.normalize.rules.facts import (
    fact_sentence,
    is_label,
    is_name_like,
    list_sentence,
    row_sentence,
)
from lib.normalize.rules.parts import Part

_PAIR = re.compile(r"(?P<label>[^\s:][^:.;!?]{0,58}[^\s:.;!?]):\s+(?P<value>\S.{0,90})")
# headers that mean only "property" and "value": the rows below are facts about the product
_PROPERTIES = {"", "aspect", "attribute", "characteristic", "field", "item", "key", "parameter",
               "property", "setting"}
_VALUES = {"", "data", "description", "details", "entry", "setting", "specification", "value"}
# headings that only announce facts about the product, which name the product themselves
_ANNOUNCEMENTS = {"at a glance", "data", "data sheet", "description", "details", "general",
                  "information", "introduction", "key points", "overview", "reference data",
                  "settings", "specification", "specifications", "summary"}


def write(parts: list[Part], title: str, *, is_headed: bool = False) -> str:
    """Return the prose of a segment, one paragraph per block, with headings if they change.

    `parts` are those that start in the segment, in order. With `is_headed`, the segment begins
    with the document's title and keeps it as its heading; the following text is then understood to
    be about it, as in any text that a base model knows. The rest of a list or table that was cut
    is marked as a continuation and repeats its lead-in or header.
    """
    paragraphs: list[str] = []
    opened: tuple[str, ...] | None = None
    for _, members in groupby(parts, key=lambda part: (part.group, part.kind == "code")):
        group = list(members)
        is_after_colon = bool(paragraphs) and paragraphs[-1].endswith(":")
        text = _paragraph(group, is_after_colon)
        path = _path(title, group[0].headings)
        unnamed = path[1:] if is_headed and opened is None else path
        paragraphs.append((_opening(unnamed, text) if path != opened else "") + text)
        opened = path
    prose = "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
    return f"# {title}\n\n{prose}" if is_headed and prose else prose


def _path(title: str, headings: tuple[str, ...]) -> tuple[str, ...]:
    """Return the document and its sections, outermost first, without those that add nothing."""
    path: list[str] = []
    for name in (title, *headings):
        is_known = any(_names(above.casefold(), name.casefold()) for above in path)
        if name and name.casefold() not in _ANNOUNCEMENTS and not is_known:
            path.append(name)
    return tuple(path)


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _opening(path: tuple[str, ...], text: str) -> str:
    """Return "In Corvane P-417, Network: " without names that the first sentence contains."""
    first = re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]
    missing = [name.rstrip(" :") for name in path
               if not _names(first, name) and not first.startswith(f"The {as_label(name)} ")]
    return f"In {', '.join(missing)}: " if missing else ""


def _paragraph(group: list[Part], is_after_colon: bool) -> str:
    """Return the prose of one block's parts."""
    if group[0].kind == "code":
        return _code(group, is_after_colon)
    if group[0].kind == "heading":
        return f'The section "{group[0].text}" has no text.'
    if group[0].kind == "row":
        return " ".join(filter(None, map(_row, group)))
    items = [part for part in group if part.kind == "item"]
    return " ".join(_list(items) if items else map(_sentence, group))


def _sentence(part: Part) -> str:
    """Return a sentence unchanged; a lead-in announces a list that starts in the next segment."""
    if part.kind != "lead-in" or not is_label(part.text):
        return ended(part.text)
    label = as_label(part.text)
    of = f" of {part.subject.name}" if part.subject.is_entity else ""
    return f"The {label}{of} {'are' if is_plural(label) else 'is'} given next."


def _code(group: list[Part], is_after_colon: bool) -> str:
    """Return code verbatim, without fence and common indent, after an introduction."""
    code = "\n".join(part.text.rstrip(" \t") for part in group)
    if all(line.lstrip().startswith(">") for line in code.splitlines()):
        code = re.sub(r"^[ \t]*> ?", "", code, flags=re.M)
    code = textwrap.dedent(code).strip("\n")
    if is_after_colon:
        return code
    return ("The lines given here read:\n" if group[0].is_first else "The lines go on:\n") + code


def _row(part: Part) -> str:
    header = [name.casefold().strip(" :") for name in part.header]
    is_fact = len(part.cells) == 2 and header[0] in _PROPERTIES and header[1] in _VALUES
    if is_fact and all(part.cells):
        return fact_sentence(*part.cells, part.subject)
    return row_sentence(("", *part.header[1:]) if is_fact else part.header, part.cells,
                        part.subject)


def _list(items: list[Part]) -> list[str]:
    """Return sentences for a list and its nested lists, all items, in order.

    After a cut, the first items can be deeper than later ones; each such run names its parent.
    """
    runs: list[list[Part]] = []
    for item in items:
        if runs and item.depth >= runs[-1][0].depth:
            runs[-1].append(item)
        else:
            runs.append([item])
    return [sentence for run in runs for sentence in _level(
        run, run[0].parents[-1] if run[0].parents else run[0].lead, not run[0].is_first)]


def _level(items: list[Part], lead: str, is_continued: bool) -> list[str]:
    """Return sentences for items of one depth; deeper ones belong to the item before them."""
    nodes: list[tuple[Part, list[Part]]] = []
    for item in items:
        if item.depth <= items[0].depth:
            nodes.append((item, []))
        else:
            nodes[-1][1].append(item)
    facts = [_fact(item) for item, _ in nodes]
    if sum(map(bool, facts)) * 2 <= len(nodes):
        facts = [""] * len(nodes)
        is_nested = any(children for _, children in nodes)
        if not is_nested and all(is_name_like(item.text) for item in items):
            return [_enumeration(items, lead, is_continued)]
    sentences = [_introduction(lead, is_continued)] if lead else []
    for (item, children), fact in zip(nodes, facts, strict=True):
        if children:
            sentences += _level(children, item.text, is_continued=False)
        else:
            sentences.append(fact or ended(item.text))
    return sentences


def _enumeration(items: list[Part], lead: str, is_continued: bool) -> str:
    """Return one sentence for names: "The supported platforms of X are A, B and C."."""
    first, texts = items[0], [item.text for item in items]
    label = lead if is_label(lead) else ""
    if not lead and not first.depth and first.headings and len(texts) > 1:
        heading = first.headings[-1]
        label = heading if is_label(heading) and is_plural(as_label(heading)) else ""
    if label:
        is_partial = is_continued or (not first.depth and not items[-1].is_last)
        return list_sentence(label, texts, first.subject, is_partial=is_partial,
                             is_continued=is_continued)
    introduction = f"{_introduction(lead, is_continued)} " if lead else ""
    return introduction + ended(listed(texts))


def _introduction(lead: str, is_continued: bool) -> str:
    return lead.rstrip(" :.") + (" (continued):" if is_continued else ":")


def _fact(item: Part) -> str:
    """Return "Default port: 8443" as a sentence, "" if the item is not such a pair."""
    pair = _PAIR.fullmatch(item.text)
    is_fact = pair and is_label(pair["label"])
    return fact_sentence(pair["label"], pair["value"], item.subject) if is_fact else ""
