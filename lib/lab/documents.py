"""Write the laboratory's Markdown: facts as sentences, bullets and table rows, amid clutter."""

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lib.core.records import Document, Fact, Query
from lib.core.structures import STRUCTURES, structure_of
from lib.core.text import Body, capitalised, is_plural, laid, listed, pipe_row
from lib.lab.products import ATTRIBUTES, Product, latin_square

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
_HEADINGS = (
    "Details",
    "Particulars",
    "Notes",
    "Record",
    "Information",
    "Entries",
    "Remarks",
    "File",
)
_NOTICES = (
    "> NOTICE: Keep this record with the unit.",
    "> CAUTION: Printed copies are not controlled.",
    "> NOTICE: For authorised staff only.",
)

Section = tuple[list[int], str]  # indices of ATTRIBUTES, and their structure


@dataclass(frozen=True)
class Statement:
    """A fact that a section is to state, in bullets and rows by `subject`, in prose as `sentence`.

    `subject` has the product's name only if the record repeats it.
    """

    subject: str
    value: list[str]  # one string, or the items of a list
    sentence: str


def make_records(
    products: list[Product], seed: int, *, public: bool, rendering: int = 0, rotation: int = 0
) -> tuple[list[Document], list[Fact]]:
    """Return one document per product, and its facts with their character spans.

    Over the rotations, each fact has each structure once, with the same words, neighbours, heading
    and position. The facts of every second product repeat its name; the others have it in the title
    alone. `rendering` numbers further renderings in other structures and words.
    """
    layouts = latin_square(len(products), seed * 1000 + rendering, rotation)
    return _records(products, layouts, seed, public, rendering)


def public_records(
    products: list[Product], seed: int, renderings: int, table_share: float
) -> list[tuple[list[Document], list[Fact]]]:
    """Return `renderings` of the records that a base reads, as make_records does each.

    Tables have `table_share` of the words in sections, the other structures equal shares of the
    rest.
    """
    others = (1 - table_share) / (len(STRUCTURES) - 1)
    shares = dict.fromkeys(STRUCTURES, others) | {structure_of("table").name: table_share}
    read: Counter[str] = Counter(dict.fromkeys(STRUCTURES, 0))
    made = []
    for rendering in range(renderings):
        rng = random.Random(f"public {seed} {rendering}")
        layouts = latin_square(len(products), seed * 1000 + rendering)
        made.append(([], []))
        for product, layout, is_named in zip(
            products, layouts, _named(len(products), rng), strict=True
        ):
            wanted: list[str] = []
            for _ in layout:
                wanted.append(
                    min(
                        shares,
                        key=lambda name: (
                            (read[name] + 30 * wanted.count(name)) / max(shares[name], 1e-9)
                        ),
                    )
                )
            rng.shuffle(wanted)
            chosen = [(members, name) for (members, _), name in zip(layout, wanted, strict=True)]
            document, facts = _record(product, chosen, seed, True, rendering, is_named)
            made[-1][0].append(document)
            made[-1][1].extend(facts)
            for body, (_, name) in zip(document.text.split("\n## ")[1:], chosen, strict=True):
                read[name] += len(re.findall(r"\d|[^\W\d]+|[^\w\s]", body))
    return made


def _named(n: int, rng: random.Random) -> list[bool]:
    return rng.sample([place % 2 == 0 for place in range(n)], n)


def _records(
    products: list[Product], layouts: list[list[Section]], seed: int, public: bool, rendering: int
) -> tuple[list[Document], list[Fact]]:
    named = _named(len(products), random.Random(f"named {seed} {rendering}"))
    made = [
        _record(product, layout, seed, public, rendering, is_named)
        for product, layout, is_named in zip(products, layouts, named, strict=True)
    ]
    return [document for document, _ in made], [fact for _, facts in made for fact in facts]


def _record(
    product: Product, layout: list[Section], seed: int, public: bool, rendering: int, is_named: bool
) -> tuple[Document, list[Fact]]:
    document_id = product.name.lower().replace(" ", "-") + (f".{rendering}" if rendering else "")
    rng = random.Random(f"text {seed} {document_id}")
    said = [_statement(product, index, rng, is_named, public) for index in range(len(ATTRIBUTES))]
    clutter = (rng.choice(_NOTICES), f"Revision {rng.randint(1, 9)}.{rng.randint(0, 9)}")
    text = f"# {product.name}\n\n{rng.choice(clutter)}\n"
    header, spans = rng.choice(_TABLE_HEADERS), {}
    for heading, (members, structure) in zip(
        rng.sample(_HEADINGS, len(layout)), layout, strict=True
    ):
        text += f"\n## {heading}\n\n"
        body, placed = WRITERS[STRUCTURES[structure].kind](
            [said[index] for index in members], header
        )
        spans |= {
            index: (structure, len(text) + start, len(text) + end)
            for index, (start, end) in zip(members, placed, strict=True)
        }
        text += body + "\n"
    facts = [
        Fact(
            fact_id=f"{document_id}/{attribute.label.replace(' ', '-')}",
            entity=product.name,
            attribute=attribute.label,
            value=value,
            structure=spans[index][0],
            document_id=document_id,
            start=spans[index][1],
            end=spans[index][2],
            public=public,
        )
        for index, (attribute, value) in enumerate(zip(ATTRIBUTES, product.values, strict=True))
    ]
    return Document(document_id=document_id, title=product.name, path="", text=text), facts


def _statement(
    product: Product, index: int, rng: random.Random, is_named: bool, is_varied: bool
) -> Statement:
    label, value = ATTRIBUTES[index].label, product.values[index]
    phrase, wording = rng.choice(PHRASES), rng.choice(WORDINGS)
    subject = phrase.format(label=label, name=product.name) if is_named else label
    sentence = stated(subject, value)
    if rng.random() < PARAPHRASED and is_varied:
        sentence = worded(wording, product.name, label, value)
    return Statement(subject, value, sentence)


def stated(subject: str, value: Sequence[str]) -> str:
    """Return a fact as a sentence."""
    return f"The {subject} {'are' if len(value) > 1 else 'is'} {listed(list(value))}."


def sentences(facts: Sequence[Statement], header: Sequence[str]) -> Body:
    """Write facts as a paragraph."""
    return laid([fact.sentence for fact in facts], between=" ")


def bullets(facts: Sequence[Statement], header: Sequence[str]) -> Body:
    """Write facts as bullets, or as a lead-in with bullets; these come last in a section."""
    pieces = [
        f"{capitalised(fact.subject)}:\n\n" + "\n".join(f"- {item}" for item in fact.value)
        if len(fact.value) > 1
        else f"- {capitalised(fact.subject)}: {fact.value[0]}"
        for fact in facts
    ]
    return laid(pieces, between=["\n\n" if len(fact.value) > 1 else "\n" for fact in facts[1:]])


def table_rows(facts: Sequence[Statement], header: Sequence[str]) -> Body:
    """Write facts as the rows of a table below `header`."""
    rows = [pipe_row([capitalised(fact.subject), ", ".join(fact.value)]) for fact in facts]
    return laid(rows, before=f"{pipe_row(header)}\n| --- | --- |\n")


# How the laboratory states facts, by the kind of block of their structure.
WRITERS = {"prose": sentences, "list": bullets, "table": table_rows}


def worded(wording: str, name: str, label: str, value: Sequence[str]) -> str:
    """Return the sentence that states a fact; `value` has one string, or list items."""
    are = "are" if len(value) > 1 or is_plural(label) else "is"
    return capitalised(wording.format(name=name, label=label, value=listed(list(value)), are=are))


def paraphrases(
    name: str, label: str, value: Sequence[str], k: int, rng: random.Random
) -> list[str]:
    """Return `k` different sentences. Raises ValueError if there are fewer WORDINGS."""
    chosen = rng.sample(WORDINGS, k)
    return [worded(wording, name, label, value) for wording in chosen]


def facts_asked(query: Query, facts: list[Fact]) -> list[Fact]:
    """Return the facts whose span overlaps the query's source reference."""
    return [
        fact
        for fact in facts
        if fact.document_id == query.document_id
        and query.start < fact.end
        and fact.start < query.end
    ]
