"""Write the laboratory's Markdown: facts as sentences, bullets and table rows, amid clutter."""

import random

from lib.core.records import Document, Fact, Query, Structure
from lib.core.text import capitalised, listed, pipe_row
from lib.lab.products import ATTRIBUTES, Attribute, Product, assign_structures

# The product precedes the value, as it does under a heading. Sentences that begin with the value
# would test reverse recall, which a model does not have in any structure.
SCALAR_SENTENCES = (
    "The {label} of {name} is {value}.",
    "{name} has a {label} of {value}.",
    "On {name}, the {label} is {value}.",
    "For {name}, the {label} is {value}.",
)
LIST_SENTENCES = (
    "The {label} of {name} are {value}.",
    "On {name}, the {label} are {value}.",
    "For {name}, the {label} are {value}.",
)
_SECTIONS: dict[Structure, tuple[str, ...]] = {
    "natural": ("Overview", "Description", "Summary"),
    "entity-list": ("Settings", "At a glance", "Key points"),
    "tabular": ("Data sheet", "Reference data", "Specification"),
}
TABLE_HEADERS = (("Property", "Value"), ("Item", "Entry"), ("Parameter", "Setting"))
NOTICES = ("> NOTICE: Keep this record with the unit.",
           "> CAUTION: Printed copies are not controlled.",
           "> NOTICE: For authorised staff only.")


def make_records(products: list[Product], seed: int, *, public: bool,
                 rendering: int = 0) -> tuple[list[Document], list[Fact]]:
    """Return one document per product, and its facts with their character spans.

    `rendering` numbers further renderings of the same products in other structures and wordings.
    """
    placed = assign_structures(len(products), seed * 1000 + rendering)
    documents, facts = [], []
    for product, structures in zip(products, placed, strict=True):
        document_id = product.name.lower().replace(" ", "-")
        document_id += f".{rendering}" if rendering else ""
        rng = random.Random(f"text {seed} {document_id}")
        text, spans = render(product, structures, rng)
        documents.append(Document(document_id=document_id, title=product.name, path="", text=text))
        facts += [
            Fact(fact_id=f"{document_id}/{attribute.label.replace(' ', '-')}", entity=product.name,
                 attribute=attribute.label, value=value, structure=structure,
                 document_id=document_id, start=start, end=end, public=public)
            for attribute, value, structure, (start, end) in zip(
                ATTRIBUTES, product.values, structures, spans, strict=True)]
    return documents, facts


def render(product: Product, structures: list[Structure],
           rng: random.Random) -> tuple[str, list[tuple[int, int]]]:
    """Return the product's document and, for each of ATTRIBUTES, the span of its fact.

    text[start:end] is the sentence, the bullet, the lead-in with its bullets, or the table row.
    """
    clutter = (rng.choice(NOTICES), f"Revision {rng.randint(1, 9)}.{rng.randint(0, 9)}")
    text = f"# {product.name}\n\n{rng.choice(clutter)}\n"
    spans: dict[int, tuple[int, int]] = {}
    sections = sorted(set(structures))
    for structure in rng.sample(sections, len(sections)):
        members = [index for index, place in enumerate(structures) if place == structure]
        rng.shuffle(members)
        text += f"\n## {rng.choice(_SECTIONS[structure])}\n\n"
        if structure == "tabular":
            text += f"{pipe_row(rng.choice(TABLE_HEADERS))}\n| --- | --- |\n"
        if structure == "entity-list":  # a lead-in list would absorb the plain bullets after it
            members.sort(key=lambda index: ATTRIBUTES[index].is_list)
        for index in members:
            attribute, value = ATTRIBUTES[index], product.values[index]
            if structure == "entity-list" and attribute.is_list and index != members[0]:
                text += "\n"
            fact, after = _stated(product.name, attribute, value, structure, rng)
            spans[index] = (len(text), len(text) + len(fact))
            text += fact + after
        text = text.rstrip() + "\n"
    return text, [spans[index] for index in range(len(ATTRIBUTES))]


def _stated(name: str, attribute: Attribute, value: list[str], structure: Structure,
            rng: random.Random) -> tuple[str, str]:
    label = capitalised(attribute.label)
    if structure == "tabular":
        return pipe_row([label, ", ".join(value)]), "\n"
    if structure == "entity-list" and attribute.is_list:
        return f"{label}:\n\n" + "\n".join(f"- {item}" for item in value), "\n"
    if structure == "entity-list":
        return f"- {label}: {value[0]}", "\n"
    sentence = rng.choice(LIST_SENTENCES if attribute.is_list else SCALAR_SENTENCES)
    return sentence.format(label=attribute.label, name=name, value=listed(value)), " "


def facts_asked(query: Query, facts: list[Fact]) -> list[Fact]:
    """Return the facts whose span overlaps the query's source reference."""
    return [fact for fact in facts if fact.document_id == query.document_id
            and query.start < fact.end and fact.start < query.end]
