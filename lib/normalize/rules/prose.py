"""English prose from the parts of a document: what the rules write instead of lists and tables (paper, 3.2)."""

import re
import textwrap
from itertools import groupby

from lib.core.text import as_label, is_plural, listed
from lib.documents.inline import ended
from lib.normalize.rules.facts import fact_sentence, is_label, is_name_like, list_sentence, row_sentence
from lib.normalize.rules.parts import Part

_PAIR = re.compile(r"(?P<label>[^\s:][^:.;!?]{0,58}[^\s:.;!?]):\s+(?P<value>\S.{0,90})")
# Headers that only say "property" and "value": the rows below them are facts on the product.
_PROPERTIES = {"", "aspect", "attribute", "characteristic", "field", "item", "key", "parameter", "property", "setting"}
_VALUES = {"", "data", "description", "details", "entry", "setting", "specification", "value"}
# Headings that only announce that facts on the product follow: the facts name the product themselves.
_ANNOUNCEMENTS = {"at a glance", "data", "data sheet", "description", "details", "general", "information",
                  "introduction", "key points", "overview", "reference data", "settings", "specification",
                  "specifications", "summary"}


def write(parts: list[Part], title: str, *, is_headed: bool = False) -> str:
    """The prose of a segment's parts: a paragraph for each block, the document and section named where they change.

    `parts` are those that start in the segment, in order. A segment that begins with the document's title keeps it as
    its heading: what follows is read as being on it, as in any text that a base model knows. Whatever the cut left of
    a list or table is marked as a continuation, with its lead-in or header named again.
    """
    paragraphs: list[str] = []
    opened: tuple[str, ...] | None = None
    for _, members in groupby(parts, key=lambda part: (part.group, part.kind == "code")):
        group = list(members)
        text = _paragraph(group, after_colon=bool(paragraphs) and paragraphs[-1].endswith(":"))
        path = _path(title, group[0].headings)
        unsaid = path[1:] if is_headed and opened is None else path
        paragraphs.append((_opening(unsaid, text) if path != opened else "") + text)
        opened = path
    prose = "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
    return f"# {title}\n\n{prose}" if is_headed and prose else prose


def _path(title: str, headings: tuple[str, ...]) -> tuple[str, ...]:
    """Document and sections, outermost first, less those that say nothing or that an outer one says already."""
    path: list[str] = []
    for name in (title, *headings):
        if name.casefold() in _ANNOUNCEMENTS:
            continue
        if name and not any(_says(above.casefold(), name.casefold()) for above in path):
            path.append(name)
    return tuple(path)


def _says(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _opening(path: tuple[str, ...], text: str) -> str:
    """"In Corvane P-417, Network: " with the names that the first sentence of `text` does not say itself."""
    first = re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]
    missing = [name.rstrip(" :") for name in path
               if not _says(first, name) and not first.startswith(f"The {as_label(name)} ")]
    return f"In {', '.join(missing)}: " if missing else ""


def _paragraph(group: list[Part], after_colon: bool) -> str:
    """The prose of one block's parts."""
    if group[0].kind == "code":
        return _code(group, after_colon)
    if group[0].kind == "heading":
        return f'The section "{group[0].text}" has no text.'
    if group[0].kind == "row":
        return " ".join(filter(None, map(_row, group)))
    items = [part for part in group if part.kind == "item"]
    return " ".join(_list(items)) if items else " ".join(map(_sentence, group))


def _sentence(part: Part) -> str:
    """A sentence as it is; a lead-in whose list starts in the next segment says so."""
    if part.kind == "lead-in" and is_label(part.text):
        of = f" of {part.scope.subject}" if part.scope.is_entity else ""
        label = as_label(part.text)
        return f"The {label}{of} {'are' if is_plural(label) else 'is'} given next."
    return ended(part.text)


def _code(group: list[Part], after_colon: bool) -> str:
    """Code verbatim, without its fence and common indent, after a sentence that introduces it."""
    code = "\n".join(part.text.rstrip(" \t") for part in group)
    if all(line.lstrip().startswith(">") for line in code.splitlines()):
        code = re.sub(r"^[ \t]*> ?", "", code, flags=re.M)
    code = textwrap.dedent(code).strip("\n")
    intro = "" if after_colon else "The lines given here read:\n" if group[0].is_first else "The lines go on:\n"
    return intro + code


def _row(part: Part) -> str:
    """A table row as a sentence: a fact on the product, or each column's value for the row's label."""
    header = [name.casefold().strip(" :") for name in part.header]
    is_fact = len(part.cells) == 2 and header[0] in _PROPERTIES and header[1] in _VALUES
    if not is_fact or not all(part.cells):
        return row_sentence(("", *part.header[1:]) if is_fact else part.header, part.cells, part.scope)
    return fact_sentence(*part.cells, part.scope)


def _list(items: list[Part]) -> list[str]:
    """Sentences for the items of one list and of the lists inside it; order is kept, no item is shortened.

    After a cut the first items can be deeper than later ones: each such run names the item that it belongs to.
    """
    runs: list[list[Part]] = []
    for item in items:
        if runs and item.depth >= runs[-1][0].depth:
            runs[-1].append(item)
        else:
            runs.append([item])
    sentences = []
    for run in runs:
        lead = run[0].parents[-1] if run[0].parents else run[0].lead
        sentences += _level(run, lead, is_continued=not run[0].is_first)
    return sentences


def _level(items: list[Part], lead: str, *, is_continued: bool) -> list[str]:
    """Sentences for items of which the first is at the top; deeper ones belong to the item before them."""
    nodes: list[tuple[Part, list[Part]]] = []
    for item in items:
        if item.depth <= items[0].depth:
            nodes.append((item, []))
        else:
            nodes[-1][1].append(item)
    facts = [_fact(item) for item, _ in nodes]
    if sum(map(bool, facts)) * 2 <= len(nodes):
        facts = [""] * len(nodes)
        if not any(children for _, children in nodes) and all(is_name_like(item.text) for item in items):
            return [_enumeration(items, lead, is_continued=is_continued)]
    sentences = [_introduction(lead, is_continued)] if lead else []
    for (item, children), fact in zip(nodes, facts, strict=True):
        sentences += _level(children, item.text, is_continued=False) if children else [fact or ended(item.text)]
    return sentences


def _enumeration(items: list[Part], lead: str, *, is_continued: bool) -> str:
    """One sentence for names: "The supported platforms of X are A, B and C.", or the lead-in and the names."""
    first, texts = items[0], [item.text for item in items]
    label = lead if is_label(lead) else ""
    if not lead and not first.depth and first.headings and len(texts) > 1:
        heading = first.headings[-1]
        label = heading if is_label(heading) and is_plural(as_label(heading)) else ""
    if label:
        is_partial = is_continued or (not first.depth and not items[-1].is_last)
        return list_sentence(label, texts, first.scope, is_partial=is_partial, is_continued=is_continued)
    introduction = f"{_introduction(lead, is_continued)} " if lead else ""
    return introduction + ended(listed(texts))


def _introduction(lead: str, is_continued: bool) -> str:
    """A lead-in before its items, with a colon; marked where the list began in an earlier segment."""
    return lead.rstrip(" :.") + (" (continued):" if is_continued else ":")


def _fact(item: Part) -> str:
    """"Default port: 8443" as a sentence; "" where the item is no such pair."""
    pair = _PAIR.fullmatch(item.text)
    return fact_sentence(pair["label"], pair["value"], item.scope) if pair and is_label(pair["label"]) else ""
