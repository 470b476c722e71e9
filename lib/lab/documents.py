"""The laboratory's Markdown: a product's facts as sentences, bullets and table rows, among the usual clutter."""

import random

from lib.core.records import Document, Fact, Structure
from lib.core.text import listed
from lib.lab.products import ATTRIBUTES, Attribute, Product, assign_structures

# The product comes before the value, as it does under a heading: sentences that begin with the value would test whether
# a model recalls in reverse (it does not, in any structure) and not what the structure does.
_SCALAR_SENTENCES = (
    "The {label} of {name} is {value}.",
    "{name} has a {label} of {value}.",
    "On {name}, the {label} is {value}.",
    "For {name}, the {label} is {value}.",
)
_LIST_SENTENCES = (
    "The {label} of {name} are {value}.",
    "On {name}, the {label} are {value}.",
    "For {name}, the {label} are {value}.",
)
_SECTIONS: dict[Structure, tuple[str, ...]] = {
    "natural": ("Overview", "Description", "Summary"),
    "entity-list": ("Settings", "At a glance", "Key points"),
    "tabular": ("Data sheet", "Reference data", "Specification"),
}
_TABLE_HEADERS = (("Property", "Value"), ("Item", "Entry"), ("Parameter", "Setting"))
_NOTICES = ("> NOTICE: Keep this record with the unit.", "> CAUTION: Printed copies are not controlled.",
            "> NOTICE: For authorised staff only.")


def make_records(products: list[Product], seed: int, *, public: bool,
                 rendering: int = 0) -> tuple[list[Document], list[Fact]]:
    """One document a product, and the ledger of its facts with their character spans.

    `rendering` numbers further renderings of the same products, with other structures and phrasings.
    """
    places = assign_structures(len(products), seed * 1000 + rendering)
    documents, facts = [], []
    for product, structures in zip(products, places, strict=True):
        document_id = product.name.lower().replace(" ", "-") + (f".{rendering}" if rendering else "")
        text, spans = render(product, structures, random.Random(f"text {seed} {document_id}"))
        documents.append(Document(document_id=document_id, title=product.name, path="", text=text))
        for index, attribute in enumerate(ATTRIBUTES):
            facts.append(Fact(fact_id=f"{document_id}/{attribute.label.replace(' ', '-')}", entity=product.name,
                              attribute=attribute.label, value=product.values[index], structure=structures[index],
                              document_id=document_id, start=spans[index][0], end=spans[index][1], public=public))
    return documents, facts


def render(product: Product, structures: list[Structure], rng: random.Random) -> tuple[str, list[tuple[int, int]]]:
    """The product's document and, for each of ATTRIBUTES, the span of its fact in it.

    A span covers the sentence, the bullet, the lead-in with its bullets, or the table row: text[start:end].
    """
    clutter = (rng.choice(_NOTICES), f"Revision {rng.randint(1, 9)}.{rng.randint(0, 9)}")
    text = f"# {product.name}\n\n{rng.choice(clutter)}\n"
    spans: dict[int, tuple[int, int]] = {}
    sections = sorted(set(structures))
    for structure in rng.sample(sections, len(sections)):
        members = [index for index, place in enumerate(structures) if place == structure]
        rng.shuffle(members)
        text += f"\n## {rng.choice(_SECTIONS[structure])}\n\n"
        if structure == "tabular":
            head = rng.choice(_TABLE_HEADERS)
            text += f"| {head[0]} | {head[1]} |\n| --- | --- |\n"
        if structure == "entity-list":  # plain bullets first: a lead-in list would otherwise swallow them
            members.sort(key=lambda index: ATTRIBUTES[index].is_list)
        for position, index in enumerate(members):
            attribute, value = ATTRIBUTES[index], product.values[index]
            before, piece, after = _piece(product.name, attribute, value, structure, rng, first=position == 0)
            spans[index] = (len(text) + len(before), len(text) + len(before) + len(piece))
            text += before + piece + after
        text = text.rstrip() + "\n"
    return text, [spans[index] for index in range(len(ATTRIBUTES))]


def _piece(name: str, attribute: Attribute, value: list[str], structure: Structure, rng: random.Random,
           *, first: bool) -> tuple[str, str, str]:
    """What separates a fact from the one before, the fact, and what follows it."""
    label = attribute.label[0].upper() + attribute.label[1:]
    if structure == "tabular":
        return "", f"| {label} | {', '.join(value)} |", "\n"
    if structure == "entity-list" and attribute.is_list:
        return ("" if first else "\n"), f"{label}:\n\n" + "\n".join(f"- {item}" for item in value), "\n"
    if structure == "entity-list":
        return "", f"- {label}: {value[0]}", "\n"
    phrasing = rng.choice(_LIST_SENTENCES if attribute.is_list else _SCALAR_SENTENCES)
    sentence = phrasing.format(label=attribute.label, name=name, value=listed(value))
    return "", sentence, " "
