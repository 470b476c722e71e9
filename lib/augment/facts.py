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
from lib.normalize.rules.facts import about_row, is_attribute, is_fact, is_name_like, values_of
from lib.normalize.rules.parts import Part, parts_of
from lib.normalize.rules.prose import is_property, pair_of

_OF_OWNER = r"The ([\w -]{2,60}?) of (?:the )?%s (?:is|are) ([^,;:]{1,90}?)\.?"


@dataclass(frozen=True)
class Stated:
    """A fact: "the <label> of <name> is <value>"."""

    start: int  # document.text[start:end] states it
    end: int
    name: str
    label: str
    value: tuple[str, ...]  # several for an enumeration


def facts_of(document: Document) -> list[Stated]:
    """Return the facts of a document in order; [] if it is not in English.

    Left out are labels that have two values for one name, values without a letter or digit (`""`),
    and tables if the document's structure is in doubt.
    """
    if document.language not in ENGLISH:
        return []
    references: dict = {}
    parts = parts_of(document, parse(document.text, references), references)
    found = [fact for _, group in groupby(parts, key=lambda part: (part.group, part.kind))
             for fact in _of_group(list(group), document)]
    values = defaultdict(set)
    for fact in found:
        values[fact.name.casefold(), fact.label.casefold()].add(fact.value)
    return [fact for fact in found if all(re.search(r"\w", one) for one in fact.value)
            and len(values[fact.name.casefold(), fact.label.casefold()]) == 1]


def _of_group(parts: list[Part], document: Document) -> Iterator[Stated]:
    pairs = []
    for part in parts:
        if part.kind == "row" and not document.doubt:
            yield from _of_row(part, document.title)
        elif part.kind == "item" and (pair := pair_of(part, part.lead)):
            pairs.append(_stated(part, part.owner, *pair))
        elif part.kind == "sentence" and part.owner:
            said = re.fullmatch(_OF_OWNER % re.escape(part.owner), part.text)
            if said and is_fact(*said.groups()):
                yield _stated(part, part.owner, *said.groups())
    yield from pairs
    if parts[0].kind == "item" and not pairs:
        yield from _of_list(parts)


def _of_row(part: Part, title: str) -> Iterator[Stated]:
    if is_property(part):
        if all(part.cells) and part.owner and is_fact(*part.cells):
            yield _stated(part, part.owner, *part.cells)
        return
    is_named = len(part.cells) >= len(part.header) and part.header[0]
    about, place = about_row(part.header[0], part.cells[0]), part.owner or title
    for label, value in zip(part.header[1:], part.cells[1:], strict=False):
        if is_named and about and place and value and is_fact(label, value):
            name = about if place in about else f"{about} in {place}"
            yield _stated(part, name, label, value)


def _of_list(parts: Sequence[Part]) -> Iterator[Stated]:
    first, names = parts[0], [part.text.rstrip(" ,;.") for part in parts]
    is_whole = first.is_first and parts[-1].is_last and not any(part.depth for part in parts)
    is_led = first.owner and first.lead and is_attribute(first.lead)
    if is_whole and is_led and len(names) > 1 and all(map(is_name_like, names)):
        yield Stated(first.start, parts[-1].end, first.owner, as_label(first.lead), tuple(names))


def _stated(part: Part, name: str, label: str, value: str) -> Stated:
    values = values_of(value) if is_plural(label) else [value]
    label = re.sub(r"^the\s+", "", as_label(label), flags=re.I)
    return Stated(part.start, part.end, name, label, tuple(one.rstrip(".") for one in values))
