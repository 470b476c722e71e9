"""Assign structures to sections by a Latin square, and write an arm's documents.

Section j of document d has structures[(offset(d) + direction(d) * j + rotation) mod k]. Over the k
rotations every fact thus appears once in each structure, in the same position, under the same
heading, with the same neighbours. direction is 1 or -1, so that structures do not always follow
each other in the same order.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from lib.controlled.design.catalogues import render_catalogues
from lib.controlled.design.facts import N_SECTIONS, as_id, assign_sections, by_product
from lib.controlled.design.structures import STRUCTURES
from lib.controlled.records import KnownFact, Place, Rendered
from lib.core.text import Body
from lib.lab.documents import NOTICES

_HEADINGS = ("Details", "Particulars", "Notes", "Record", "Information", "Entries", "Remarks",
             "File")
_FILLERS = ("Inspection note {number}: no remark.", "Visit {number}: nothing to report.",
            "Log line {number}: left blank.", "Check {number}: passed.")


@dataclass(frozen=True)
class Layout:
    """How an arm lays out the facts; the defaults are those of `raw`."""

    structures: tuple[str, ...] = ("natural", "entity-list", "tabular")
    filler_lines: int = 0  # neutral lines between the notice and the first section
    is_named: bool = True  # prose has the product's name, not "this unit"
    repeated: str = ""  # the structure whose section is repeated at the document's end
    table: tuple[int, int] | None = None  # catalogue tables: attributes wide, products high

    def __post_init__(self):
        """Raise ValueError for a layout that cannot be rendered."""
        named = {*self.structures, *([self.repeated] if self.repeated else [])}
        if unknown := named - STRUCTURES.keys():
            raise ValueError(f"unknown structures {sorted(unknown)}: choose from "
                             f"{', '.join(STRUCTURES)}")
        if not self.structures or len(set(self.structures)) < len(self.structures):
            raise ValueError(f"structures are {self.structures}: name one or more, each once")
        if self.table and min(self.table) < 1:
            raise ValueError(f"table is {self.table}: give a width and a height of at least 1")


def render(facts: list[KnownFact], rotation: int, seed: int, layout: Layout = Layout(),
           rendering: int = 0, permutation: int = 0) -> list[Rendered]:
    """Return one document per product, or per catalogue, with each fact's place in its raw text.

    A `rendering` above 0 is a further rendering of the same products for a base to read, in other
    words and with the facts in other sections. A `permutation` above 0 has the sections, and the
    single values within each, in another order. A repeated section's facts have their first place.
    Raises ValueError for a rotation that the structures do not have.
    """
    k = len(layout.structures)
    if not 0 <= rotation < k:
        raise ValueError(f"rotation is {rotation}: {k} structures have the rotations 0 to {k - 1}")
    products = by_product(facts)
    if layout.table:
        return render_catalogues(products, layout.table, seed, rendering)
    documents = []
    drawn = starts(len(products), k, seed, rendering)
    for (name, known), (offset, direction) in zip(products.items(), drawn, strict=True):
        structures = [layout.structures[(offset + direction * section + rotation) % k]
                      for section in range(N_SECTIONS)]
        sections = list(zip(_in_sections(known, seed, rendering), structures, strict=True))
        if permutation:
            sections = _permuted(sections, random.Random(f"order {seed} {name} {permutation}"))
        documents.append(_document(name, sections, seed, layout, rendering))
    return documents


def starts(n_products: int, k: int, seed: int, rendering: int = 0) -> list[tuple[int, int]]:
    """Draw (offset, direction) of every document, shape [n_products].

    Among every k documents, each offset occurs once and the direction is the same. In each rotation
    and section position, the numbers of sections per structure thus differ by at most one.
    """
    rng = random.Random(f"offsets {seed} {rendering}")
    drawn: list[tuple[int, int]] = []
    direction = rng.choice((1, -1))
    while len(drawn) < n_products:
        drawn += [(offset, direction) for offset in rng.sample(range(k), k)]
        direction = -direction
    return drawn[:n_products]


def _in_sections(facts: list[KnownFact], seed: int, rendering: int) -> list[list[KnownFact]]:
    """Return the facts of each section, in order; a further rendering deals them anew."""
    cells = {fact.attribute: (fact.section, fact.place) for fact in facts}
    if rendering:
        cells = assign_sections(random.Random(f"sections {seed} {facts[0].product} {rendering}"))
    ordered = sorted(facts, key=lambda fact: cells[fact.attribute])
    return [[fact for fact in ordered if cells[fact.attribute][0] == section]
            for section in range(N_SECTIONS)]


def _permuted(sections: list[tuple[list[KnownFact], str]],
              rng: random.Random) -> list[tuple[list[KnownFact], str]]:
    """Shuffle the sections, each with its structure, and the facts in them; a list stays last."""
    return [([*rng.sample(facts[:-1], len(facts) - 1), facts[-1]], structure)
            for facts, structure in rng.sample(sections, len(sections))]


def _document(name: str, sections: Sequence[tuple[list[KnownFact], str]], seed: int,
              layout: Layout, rendering: int) -> Rendered:
    frame = random.Random(f"frame {seed} {name} {rendering}")  # the same in every rotation
    notice, headings = frame.choice(NOTICES), frame.sample(_HEADINGS, N_SECTIONS + 1)
    text = f"# {name}\n\n{notice}\n"
    fillers = [frame.choice(_FILLERS).format(number=number)
               for number in range(1, layout.filler_lines + 1)]
    text += "\n" + "\n".join(fillers) + "\n" if fillers else ""
    places: list[Place] = []
    repeated = ""
    for section, (facts, structure) in enumerate(sections):
        body, spans = _section(name, section, facts, structure, seed, layout, rendering)
        text += f"\n## {headings[section]}\n\n"
        places += [Place(fact_id=fact.fact_id, structure=structure, start=len(text) + start,
                         end=len(text) + end)
                   for fact, (start, end) in zip(facts, spans, strict=True)]
        text += body + "\n"
        if structure == layout.repeated:
            repeated += f"\n## {headings[-1]}\n\n{body}\n"
    text += repeated
    return Rendered(document_id=as_id(name) + (f".{rendering}" if rendering else ""), title=name,
                    raw=text, text=text, places=places)


def _section(name: str, section: int, facts: list[KnownFact], structure: str, seed: int,
             layout: Layout, rendering: int) -> Body:
    rng = random.Random(f"wording {seed} {name} {section} {structure} {rendering}")
    return STRUCTURES[structure](name if layout.is_named else "this unit", facts, rng)
