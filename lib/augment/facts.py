"""Find facts that rules can state anew: a name, a label and a value, from rows, lists, sentences.

They are read from the parts that the normalizer's rules write, under the same conditions: a label
that is an attribute, a short value, and a thing that has it. Anything else is passed over.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from lib.core.records import Document
from lib.core.text import as_label, is_plural
from lib.documents.blocks import parse
from lib.documents.language import ENGLISH
from lib.normalize.rules.facts import (
    about_row,
    is_attribute,
    is_fact,
    is_name_like,
    values_of,
)
from lib.normalize.rules.parts import Part, parts_of
from lib.normalize.rules.prose import is_property, pair_of

_OF_OWNER = r"The (?P<label>[\w -]{2,60}?) of (?:the )?%s (?:is|are) (?P<value>[^,;:]{1,90}?)\.?"
_LEAST_ITEMS = 2  # of an enumeration


@dataclass(frozen=True)
class Stated:
    """A fact that document.text[start:end] states: "the <label> of <name> is <value>"."""

    start: int
    end: int
    name: str
    label: str
    value: tuple[str, ...]  # several for an enumeration


def facts_of(document: Document) -> list[Stated]:
    """Return the facts of a document in order; [] if it is not in English.

    If the same label of the same name has two values, neither is returned, since the name does not
    say which thing is meant; nor are values without a letter or digit (`""`), nor tables if the
    document's structure is in doubt.
    """
    if document.language not in ENGLISH:
        return []
    references: dict = {}
    parts = parts_of(document, parse(document.text, references), references)
    found = [fact for _, group in groupby(parts, key=lambda part: (part.group, part.kind))
             for fact in _of_group(list(group), document)]
    values = defaultdict(set)
    for fact in found:
        values[_key(fact)].add(fact.value)
    return [fact for fact in found if len(values[_key(fact)]) == 1
            and all(re.search(r"\w", one) for one in fact.value)]


def _key(fact: Stated) -> tuple[str, str]:
    return fact.name.casefold(), fact.label.casefold()


def _of_group(parts: list[Part], document: Document) -> Iterator[Stated]:
    match parts[0].kind:
        case "row" if not document.doubt:
            for part in parts:
                yield from _of_row(part, document.title)
        case "item":
            pairs = [(part, pair_of(part, part.lead)) for part in parts]
            yield from (_stated(part, part.owner, *pair) for part, pair in pairs if pair)
            if not any(pair for _, pair in pairs):
                yield from _of_list(parts)
        case "sentence":
            for part in parts:
                said = part.owner and re.fullmatch(_OF_OWNER % re.escape(part.owner), part.text)
                if said and is_fact(said["label"], said["value"]):
                    yield _stated(part, part.owner, said["label"], said["value"])


def _of_row(part: Part, title: str) -> Iterator[Stated]:
    """Yield the cells of a row: of its owner, or of the thing that its first cell names."""
    if is_property(part):
        if all(part.cells) and part.owner and is_fact(*part.cells):
            yield _stated(part, part.owner, *part.cells)
        return
    if len(part.cells) < len(part.header) or not part.header[0]:
        return
    about, place = about_row(part.header[0], part.cells[0]), part.owner or title
    if not about or not place:
        return
    name = about if place in about else f"{about} in {place}"
    for label, value in zip(part.header[1:], part.cells[1:], strict=False):
        if value and is_fact(label, value):
            yield _stated(part, name, label, value)


def _of_list(parts: Sequence[Part]) -> Iterator[Stated]:
    """Yield a list of names under an attribute: "Supported platforms:"."""
    first, last = parts[0], parts[-1]
    names = [part.text.rstrip(" ,;.") for part in parts]
    is_whole = first.is_first and last.is_last and not any(part.depth for part in parts)
    if (is_whole and first.owner and first.lead and is_attribute(first.lead)
            and len(names) >= _LEAST_ITEMS and all(map(is_name_like, names))):
        yield Stated(first.start, last.end, first.owner, _label(first.lead), tuple(names))


def _stated(part: Part, name: str, label: str, value: str) -> Stated:
    values = values_of(value) if is_plural(label) else [value]
    return Stated(part.start, part.end, name, _label(label),
                  tuple(one.rstrip(".") for one in values))


def _label(label: str) -> str:
    return re.sub(r"^the\s+", "", as_label(label), flags=re.I)
