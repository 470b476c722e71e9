"""Many products' facts in the same tables: catalogues with a row a product, of a given width and height."""

import random
from string import ascii_uppercase

from lib.controlled.design.facts import ATTRIBUTES
from lib.controlled.records import KnownFact, Place, Rendered
from lib.core.layout import capitalised, laid, pipe_row

_CODES = [first + second + str(digit) for first in ascii_uppercase for second in ascii_uppercase for digit in range(10)]


def render_catalogues(products: dict[str, list[KnownFact]], table: tuple[int, int], seed: int,
                      rendering: int = 0) -> list[Rendered]:
    """A catalogue of every `table[1]` products, its attributes in tables of `table[0]` columns beside the product's.

    The last catalogue may hold fewer products and the last table fewer columns. A fact's place is its row up to its
    value, so places overlap; its label stands above, in the header. Codes are drawn from the products' names, so that
    a public catalogue hardly ever has a private one's. Raises ValueError where the codes do not suffice.
    """
    width, height = table
    names = list(products)
    starts = range(0, len(names), height)
    if len(starts) > len(_CODES):
        raise ValueError(f"{len(starts)} catalogues, but only {len(_CODES)} codes: give table a greater height")
    codes = random.Random(f"catalogues {seed} {' '.join(names)} {rendering}").sample(_CODES, len(starts))
    return [_catalogue(f"Catalogue {code}", {name: products[name] for name in names[start:start + height]}, width,
                       seed, rendering) for code, start in zip(codes, starts, strict=True)]


def _catalogue(title: str, products: dict[str, list[KnownFact]], width: int, seed: int, rendering: int) -> Rendered:
    rng = random.Random(f"catalogue {seed} {title} {rendering}")
    known = {(fact.product, fact.attribute): fact for facts in products.values() for fact in facts}
    labels = rng.sample(ATTRIBUTES, len(ATTRIBUTES))
    text, places = f"# {title}\n", []
    for number, start in enumerate(range(0, len(labels), width), 1):
        columns = labels[start:start + width]
        text += f"\n## Table {number}\n\n"
        text += f"{pipe_row(['Product', *map(capitalised, columns)])}\n{pipe_row(['---'] * (len(columns) + 1))}\n"
        for name in products:
            row, spans = laid([name, *(", ".join(known[name, label].value) for label in columns)], "| ", " | ", " |")
            places += [Place(fact_id=known[name, label].fact_id, structure="tabular", start=len(text),
                             end=len(text) + end) for label, (_, end) in zip(columns, spans[1:], strict=True)]
            text += row + "\n"
    document_id = title.lower().replace(" ", "-") + (f".{rendering}" if rendering else "")
    return Rendered(document_id=document_id, title=title, raw=text, text=text, places=places)
