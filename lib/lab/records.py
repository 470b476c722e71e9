"""The laboratory's records: products with known facts, stated as prose, lists and tables.

Public products are for pretraining the base, private ones for DAPT. They share no name.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from lib.core.records import STRUCTURES, Document, Fact, listed, structure_of


def _pool(items: str) -> tuple[str, ...]:
    return tuple(items.split(", "))


# A name is a maker and a model. There are many makers, so that few products share a word.
_MAKERS = tuple(
    first + last
    for first in _pool("Ard, Bri, Cor, Dra, Eld, Fal, Gan, Hal, Ist, Jor, Kes, Lum")
    for last in _pool("win, mor, vane, vik, mark, cor, try, den, rel, quin")
)
_MODELS = _pool(
    "Anchor, Beacon, Cobalt, Dagger, Eagle, Flint, Glacier, Harbor, Iris, Jaguar, Keystone, "
    "Lantern, Magnet, Nimbus, Orbit, Pilot, Quiver, Raptor, Summit, Tempest, Umbra, Vector, "
    "Willow, Xenon, Yonder, Zenith, Atlas, Boulder, Comet, Drift, Ember, Falcon, Granite, Hazel, "
    "Ingot, Juniper, Kraken, Lotus, Meteor, Nettle"
)
_LAST_NAMES = _pool(
    "Adler, Bauer, Costa, Duran, Ekman, Fiore, Gruber, Holm, Ivers, Jansen, Keller, Lind, Moreau, "
    "Novak, Olsen, Petrov, Quist, Rossi, Silva, Toth"
)
_FIRMS = _pool(
    "Hydraulics, Controls, Castings, Sensors, Drives, Polymers, Optics, Bearings, Metals, Systems"
)
_FOLDERS = _pool("opt, etc, srv, var, usr, data, home, mnt")
_FILES = _pool(
    "harbor, valve, anchor, bridge, copper, delta, ember, falcon, garnet, hazel, "
    "indigo, jasper, karma, lagoon, maple, nickel, onyx, pepper, quartz, raven, "
    "saffron, timber, umber, walnut"
)
_PLATFORMS = _pool(
    "Linux, QNX, VxWorks, Solaris, Windows, FreeBSD, Zephyr, Android, AIX, Integrity, NuttX, RTEMS"
)
_TOOLS = _pool(
    "wrench, hex key, crimper, caliper, bench vise, pipe cutter, heat gun, mallet, "
    "stripper, puller, pliers, drill"
)
_PARTS = _pool(
    "gasket, impeller, rotor, bushing, relay, filter, coupling, diaphragm, fuse, "
    "sensor, spindle, washer"
)


class Attribute(NamedTuple):
    """A property that every product's record states: its label, and how a value is drawn."""

    label: str
    draw: Callable[[random.Random], list[str]]  # one string, or the items of a list
    is_list: bool = False  # list-valued; the label is then plural


def _some(pool: tuple[str, ...]) -> Callable[[random.Random], list[str]]:
    return lambda rng: rng.sample(pool, rng.randint(2, 3))


ATTRIBUTES = (
    Attribute("default port", lambda rng: [str(rng.randint(1024, 9999))]),
    Attribute("memory size", lambda rng: [f"{rng.randint(10, 999)} MB"]),
    Attribute("service interval", lambda rng: [f"{rng.randint(10, 999)} hours"]),
    Attribute(
        "release date",
        lambda rng: [f"{rng.randint(2005, 2024)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"],
    ),
    Attribute("supplier", lambda rng: [f"{rng.choice(_LAST_NAMES)} {rng.choice(_FIRMS)}"]),
    Attribute(
        "configuration path", lambda rng: [f"/{rng.choice(_FOLDERS)}/{rng.choice(_FILES)}.conf"]
    ),
    Attribute("supported platforms", _some(_PLATFORMS), is_list=True),
    Attribute("required tools", _some(_TOOLS), is_list=True),
    Attribute("spare parts", _some(_PARTS), is_list=True),
)


class Product(NamedTuple):
    """A product's name and its value for each of ATTRIBUTES, in that order."""

    name: str
    values: tuple[list[str], ...]


# What a value belongs to, in the same words in every structure; a question has the first one's.
PHRASES = ("{label} of {name}", "{label} for {name}", "{label} on {name}", "{name} {label}")
PARAPHRASED = 1 / 3  # of the sentences that a base reads: no wording is new to it later
# Knowledge can be retrieved only if training shows it in varied forms (Allen-Zhu and Li 2023,
# arXiv:2309.14316). A question asks for "the <label> of <name>", so no wording contains that.
# {are} is "is" for a single value and "are" for a list, whose label is plural. The value is last:
# one that comes first would test reverse recall, which a model does not have in any structure.
WORDINGS = (
    "The {label} given for {name} {are} {value}.",
    "The {label} recorded for {name} {are} {value}.",
    "As its {label}, {name} has {value}.",
    "Where {name} is concerned, the {label} {are} {value}.",
    "For {name}, the {label} {are} {value}.",
    "{name}, whose {label} {are} {value}, is described here.",
    "{name} has the following as its {label}: {value}.",
    "In the case of {name}, the {label} {are} {value}.",
    "With regard to its {label}, {name} has {value}.",
    "What {name} has as its {label} {are} {value}.",
    "According to the record on {name}, its {label} {are} {value}.",
    "Listed for {name} as {label}: {value}.",
)
_TABLE_HEADERS = (("Property", "Value"), ("Item", "Entry"), ("Parameter", "Setting"))
_HEADINGS = _pool("Details, Particulars, Notes, Record, Information, Entries, Remarks, File")
_NOTICES = (
    "> NOTICE: Keep this record with the unit.",
    "> CAUTION: Printed copies are not controlled.",
    "> NOTICE: For authorised staff only.",
)

Section = tuple[list[int], str]  # indices of ATTRIBUTES, and their structure
Body = tuple[str, list[tuple[int, int]]]  # a section's text, and the span of each of its facts


class Statement(NamedTuple):
    """A fact that a section is to state, in bullets and rows by `subject`, in prose as `sentence`.

    `subject` has the product's name only if the record repeats it.
    """

    subject: str
    value: list[str]  # one string, or the items of a list
    sentence: str


def make_records(
    products: list[Product], seed: int, rotation: int = 0
) -> tuple[list[Document], list[Fact]]:
    """One private document per product, and its facts with their character spans.

    Over the rotations, each fact has each structure once, with the same words, neighbours, heading
    and position. The facts of every second product repeat its name, others have it in the title.
    """
    layouts = latin_square(len(products), seed * 1000, rotation)
    named = _named(len(products), random.Random(f"named {seed} 0"))
    made = [_record(*one, seed) for one in zip(products, layouts, named, strict=True)]
    return [document for document, _ in made], [fact for _, facts in made for fact in facts]


def public_records(
    products: list[Product], seed: int, renderings: int, table_share: float
) -> tuple[list[Document], list[Fact]]:
    """The records that a base reads: `renderings` of each product, in other structures and words.

    Tables have `table_share` of the words in sections, the other structures equal shares of the
    rest.
    """
    others = (1 - table_share) / (len(STRUCTURES) - 1)
    shares = dict.fromkeys(STRUCTURES, others) | {structure_of("table").name: table_share}
    read = Counter()
    documents, facts = [], []
    for rendering in range(renderings):
        rng = random.Random(f"public {seed} {rendering}")
        layouts = latin_square(len(products), seed * 1000 + rendering)
        named = _named(len(products), rng)
        for product, layout, is_named in zip(products, layouts, named, strict=True):
            expected, wanted = read.copy(), []
            for _ in layout:
                wanted.append(min(shares, key=lambda one: expected[one] / max(shares[one], 1e-9)))
                expected[wanted[-1]] += 30  # words of a section, about
            rng.shuffle(wanted)
            chosen = [(members, name) for (members, _), name in zip(layout, wanted, strict=True)]
            document, own = _record(product, chosen, is_named, seed, rendering)
            documents.append(document)
            facts += own
            for body, name in zip(document.text.split("\n## ")[1:], wanted, strict=True):
                read[name] += len(re.findall(r"\d|[^\W\d]+|[^\w\s]", body))
    return documents, facts


def _named(n: int, rng: random.Random) -> list[bool]:
    return rng.sample([place % 2 == 0 for place in range(n)], n)


# `rendering` is None for a private record, whose wording is not varied.
def _record(
    product: Product, layout: list[Section], is_named: bool, seed: int, rendering: int | None = None
) -> tuple[Document, list[Fact]]:
    document_id = product.name.lower().replace(" ", "-") + (f".{rendering}" if rendering else "")
    rng, public = random.Random(f"text {seed} {document_id}"), rendering is not None
    said = [_statement(product, index, rng, is_named, public) for index in range(len(ATTRIBUTES))]
    clutter = (rng.choice(_NOTICES), f"Revision {rng.randint(1, 9)}.{rng.randint(0, 9)}")
    text = f"# {product.name}\n\n{rng.choice(clutter)}\n"
    header, facts = rng.choice(_TABLE_HEADERS), {}
    headings = rng.sample(_HEADINGS, len(layout))
    for heading, (members, structure) in zip(headings, layout, strict=True):
        text += f"\n## {heading}\n\n"
        write = WRITERS[STRUCTURES[structure].kind]
        body, placed = write([said[index] for index in members], header)
        for index, (start, end) in zip(members, placed, strict=True):
            label = ATTRIBUTES[index].label
            facts[index] = Fact(
                fact_id=f"{document_id}/{label.replace(' ', '-')}",
                entity=product.name,
                attribute=label,
                value=product.values[index],
                structure=structure,
                document_id=document_id,
                start=len(text) + start,
                end=len(text) + end,
                in_pretraining=public,
            )
        text += body + "\n"
    document = Document(document_id=document_id, title=product.name, path="", text=text)
    return document, [facts[index] for index in sorted(facts)]


def _statement(
    product: Product, index: int, rng: random.Random, is_named: bool, is_varied: bool
) -> Statement:
    label, value = ATTRIBUTES[index].label, product.values[index]
    phrase, wording = rng.choice(PHRASES), rng.choice(WORDINGS)
    subject = phrase.format(label=label, name=product.name) if is_named else label
    if rng.random() < PARAPHRASED and is_varied:
        return Statement(subject, value, _worded(wording, product.name, label, value))
    are = "are" if value[1:] else "is"
    return Statement(subject, value, f"The {subject} {are} {listed(value)}.")


def laid(
    pieces: Sequence[str], before: str = "", between: str | Sequence[str] = "\n", after: str = ""
) -> Body:
    """Join `pieces` with `between` (a string, or one per gap); return the text and their spans."""
    gaps = [between] * (len(pieces) - 1) if isinstance(between, str) else between
    text, spans = before, []
    for piece, gap in zip(pieces, [*gaps, after], strict=True):
        spans.append((len(text), len(text) + len(piece)))
        text += piece + gap
    return text, spans


def capitalised(words: str) -> str:
    """Capitalize the first letter, as at the start of a sentence, bullet or cell."""
    return words[:1].upper() + words[1:]


def sentences(facts: Sequence[Statement], header: Sequence[str]) -> Body:
    """Write facts as a paragraph."""
    return laid([fact.sentence for fact in facts], between=" ")


def bullets(facts: Sequence[Statement], header: Sequence[str]) -> Body:
    """Write facts as bullets, or as a lead-in with bullets; these come last in a section."""
    pieces = [
        "\n- ".join([f"{capitalised(fact.subject)}:\n", *fact.value])
        if fact.value[1:]
        else f"- {capitalised(fact.subject)}: {fact.value[0]}"
        for fact in facts
    ]
    return laid(pieces, between=["\n\n" if fact.value[1:] else "\n" for fact in facts[1:]])


def table_rows(facts: Sequence[Statement], header: Sequence[str]) -> Body:
    """Write facts as the rows of a table below `header`."""
    rows = [f"| {capitalised(fact.subject)} | {', '.join(fact.value)} |" for fact in facts]
    return laid(rows, before=f"| {' | '.join(header)} |\n| --- | --- |\n")


# How the laboratory states facts, by the kind of block of their structure.
WRITERS = {"prose": sentences, "list": bullets, "table": table_rows}


def _worded(wording: str, name: str, label: str, value: list[str]) -> str:
    are = "are" if value[1:] or label.endswith("s") else "is"
    return capitalised(wording.format(name=name, label=label, value=listed(value), are=are))


def paraphrases(name: str, label: str, value: list[str], k: int, rng: random.Random) -> list[str]:
    """`k` different sentences that state a fact. Raises ValueError if there are fewer WORDINGS."""
    return [_worded(wording, name, label, value) for wording in rng.sample(WORDINGS, k)]


def make_products(n: int, seed: int, taken: frozenset[str] = frozenset()) -> list[Product]:
    """`n` products with distinct names, none in `taken`; equal seeds give equal products.

    Raises ValueError if there are too few names.
    """
    rng = random.Random(f"products {seed}")
    free = sorted({f"{maker} {model}" for maker in _MAKERS for model in _MODELS} - taken)
    if n > len(free):
        raise ValueError(
            f"{n} products were requested, but only {len(free)} names are free: "
            "lower n_public or n_private"
        )
    return [
        Product(name, tuple(attribute.draw(rng) for attribute in ATTRIBUTES))
        for name in rng.sample(free, n)
    ]


def latin_square(n_products: int, seed: int, rotation: int = 0) -> list[list[Section]]:
    """Each product's sections: indices of ATTRIBUTES, lists last, and their structure.

    Over the rotations, each section has each structure once. In every group of as many products as
    there are structures, each attribute has each structure once.
    """
    rng = random.Random(f"structures {seed}")
    names, layouts = list(STRUCTURES), []
    n = len(names)
    for start in range(0, n_products, n):
        drawn = rng.sample(range(len(ATTRIBUTES)), len(ATTRIBUTES))
        members = [
            sorted(drawn[place::n], key=lambda index: ATTRIBUTES[index].is_list)
            for place in range(n)
        ]
        for shift in rng.sample(range(n), min(n, n_products - start)):
            order = rng.sample(range(n), n)
            layouts.append(
                [(members[place], names[(place + shift + rotation) % n]) for place in order]
            )
    return layouts
