"""Many products' facts in the same tables: catalogues with a row a product, of a given width and height."""

import random

from lib.controlled.facts import ATTRIBUTES
from lib.controlled.records import KnownFact, Place, Rendered
from lib.controlled.structures_parts import capitalised, laid, pipe_row


def render_catalogues(products: dict[str, list[KnownFact]], table: tuple[int, int], seed: int,
                      rendering: int = 0) -> list[Rendered]:
    """A catalogue of every `table[1]` products, its attributes in tables of `table[0]` columns beside the product's.

    The last catalogue may hold fewer products and the last table fewer columns. A fact's place runs from its column's
    label to its value, so places overlap; its value is the last thing in it.
    """
    width, height = table
    names = list(products)
    return [_catalogue(f"Catalogue {chr(ord('A') + number % 26)}{number // 26 + 1}",
                       {name: products[name] for name in names[start:start + height]}, width, seed, rendering)
            for number, start in enumerate(range(0, len(names), height))]


def _catalogue(title: str, products: dict[str, list[KnownFact]], width: int, seed: int, rendering: int) -> Rendered:
    rng = random.Random(f"catalogue {seed} {title} {rendering}")
    known = {(fact.product, fact.attribute): fact for facts in products.values() for fact in facts}
    labels = rng.sample(ATTRIBUTES, len(ATTRIBUTES))
    text, places = f"# {title}\n", []
    for number, start in enumerate(range(0, len(labels), width), 1):
        columns = labels[start:start + width]
        text += f"\n## Table {number}\n\n"
        header, header_spans = laid(["Product", *map(capitalised, columns)], "| ", " | ", " |")
        above = {label: len(text) + first for label, (first, _) in zip(columns, header_spans[1:], strict=True)}
        text += f"{header}\n{pipe_row(['---'] * (len(columns) + 1))}\n"
        for name in products:
            row, spans = laid([name, *(", ".join(known[name, label].value) for label in columns)], "| ", " | ", " |")
            places += [Place(fact_id=known[name, label].fact_id, structure="tabular", start=above[label],
                             end=len(text) + end) for label, (_, end) in zip(columns, spans[1:], strict=True)]
            text += row + "\n"
    document_id = title.lower().replace(" ", "-") + (f".{rendering}" if rendering else "")
    return Rendered(document_id=document_id, title=title, raw=text, text=text, places=places)
