"""Write the facts of many products as catalogues: tables with one row per product."""

import random
from string import ascii_uppercase

from lib.controlled.design.facts import ATTRIBUTES
from lib.controlled.records import KnownFact, Place, Rendered
from lib.core.text import capitalised, laid, pipe_row

_CODES = [first + second + str(digit) for first in ascii_uppercase for second in ascii_uppercase
          for digit in range(10)]


def render_catalogues(products: dict[str, list[KnownFact]], table: tuple[int, int], seed: int,
                      rendering: int = 0) -> list[Rendered]:
    """Return one catalogue for every `table[1]` products, in tables of `table[0]` attributes.

    The last catalogue may have fewer products and the last table fewer columns. A fact's place is
    its row up to its value, without the header that has its label, so places overlap. The products'
    names seed the codes, so a public catalogue rarely has the code of a private one. Raises
    ValueError if there are too few codes.
    """
    width, height = table
    names = list(products)
    starts = range(0, len(names), height)
    if len(starts) > len(_CODES):
        raise ValueError(f"{len(starts)} catalogues, but only {len(_CODES)} codes: "
                         "give table a greater height")
    rng = random.Random(f"catalogues {seed} {' '.join(names)} {rendering}")
    codes = rng.sample(_CODES, len(starts))
    return [_catalogue(f"Catalogue {code}", names[start:start + height], products, width, seed,
                       rendering) for code, start in zip(codes, starts, strict=True)]


def _catalogue(title: str, names: list[str], products: dict[str, list[KnownFact]], width: int,
               seed: int, rendering: int) -> Rendered:
    rng = random.Random(f"catalogue {seed} {title} {rendering}")
    known = {(name, fact.attribute): fact for name in names for fact in products[name]}
    labels = rng.sample(ATTRIBUTES, len(ATTRIBUTES))
    text, places = f"# {title}\n", []
    for number, start in enumerate(range(0, len(labels), width), 1):
        columns = labels[start:start + width]
        header = pipe_row(["Product", *map(capitalised, columns)])
        text += f"\n## Table {number}\n\n{header}\n{pipe_row(['---'] * (len(columns) + 1))}\n"
        for name in names:
            values = [", ".join(known[name, label].value) for label in columns]
            row, spans = laid([name, *values], "| ", " | ", " |")
            places += [Place(fact_id=known[name, label].fact_id, structure="tabular",
                             start=len(text), end=len(text) + end)
                       for label, (_, end) in zip(columns, spans[1:], strict=True)]
            text += row + "\n"
    document_id = title.lower().replace(" ", "-") + (f".{rendering}" if rendering else "")
    return Rendered(document_id=document_id, title=title, raw=text, text=text, places=places)
