"""Write the laboratory's Markdown: facts as sentences, bullets and table rows, amid clutter."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from lib.core.records import Document, Fact, Query
from lib.core.structures import STRUCTURES
from lib.core.text import Body, capitalised, laid, listed, pipe_row
from lib.lab.products import ATTRIBUTES, Product, assign_structures

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
_TABLE_HEADERS = (("Property", "Value"), ("Item", "Entry"), ("Parameter", "Setting"))
NOTICES = ("> NOTICE: Keep this record with the unit.",
           "> CAUTION: Printed copies are not controlled.",
           "> NOTICE: For authorised staff only.")


@dataclass(frozen=True)
class Statement:
    """A fact that a section is to state."""

    product: str
    label: str
    value: list[str]  # one string, or the items of a list
    wordings: tuple[str, ...]  # as a sentence


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


def render(product: Product, structures: list[str],
           rng: random.Random) -> tuple[str, list[tuple[int, int]]]:
    """Return the product's document and, for each of ATTRIBUTES, the span of its fact.

    text[start:end] is the sentence, the bullet, the lead-in with its bullets, or the table row.
    """
    clutter = (rng.choice(NOTICES), f"Revision {rng.randint(1, 9)}.{rng.randint(0, 9)}")
    text = f"# {product.name}\n\n{rng.choice(clutter)}\n"
    spans: dict[int, tuple[int, int]] = {}
    sections = sorted(set(structures))
    for name in rng.sample(sections, len(sections)):
        members = [index for index, place in enumerate(structures) if place == name]
        rng.shuffle(members)
        text += f"\n## {rng.choice(STRUCTURES[name].sections)}\n\n"
        body, placed = STRUCTURES[name].write([
            Statement(product.name, ATTRIBUTES[index].label, product.values[index],
                      LIST_SENTENCES if ATTRIBUTES[index].is_list else SCALAR_SENTENCES)
            for index in members], rng)
        spans |= {index: (len(text) + start, len(text) + end)
                  for index, (start, end) in zip(members, placed, strict=True)}
        text += body + "\n"
    return text, [spans[index] for index in range(len(ATTRIBUTES))]


def sentences(facts: Sequence[Statement], rng: random.Random) -> Body:
    """Write facts as a paragraph."""
    return laid([capitalised(rng.choice(fact.wordings).format(
        label=fact.label, name=fact.product, value=listed(fact.value))) for fact in facts],
        between=" ")


def bullets(facts: Sequence[Statement], rng: random.Random) -> Body:
    """Write facts as bullets; lists follow, as a lead-in would absorb the bullets after it."""
    ordered = sorted(facts, key=lambda fact: len(fact.value) > 1)
    pieces = [f"{capitalised(fact.label)}:\n\n" + "\n".join(f"- {item}" for item in fact.value)
              if len(fact.value) > 1 else f"- {capitalised(fact.label)}: {fact.value[0]}"
              for fact in ordered]
    text, spans = laid(pieces, between=["\n\n" if len(fact.value) > 1 else "\n"
                                        for fact in ordered[1:]])
    return text, [spans[ordered.index(fact)] for fact in facts]


def table_rows(facts: Sequence[Statement], rng: random.Random) -> Body:
    """Write facts as the rows of a table."""
    rows = [pipe_row([capitalised(fact.label), ", ".join(fact.value)]) for fact in facts]
    return laid(rows, before=f"{pipe_row(rng.choice(_TABLE_HEADERS))}\n| --- | --- |\n")


def facts_asked(query: Query, facts: list[Fact]) -> list[Fact]:
    """Return the facts whose span overlaps the query's source reference."""
    return [fact for fact in facts if fact.document_id == query.document_id
            and query.start < fact.end and fact.start < query.end]
