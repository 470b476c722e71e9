"""Assign structures to sections by a Latin square, and write the documents.

Section j of document d has structures[(offset(d) + direction(d) * j + rotation) mod k]. Over the k
rotations every fact thus appears once in each structure, in the same position, under the same
heading, with the same neighbours. direction is 1 or -1, so that structures do not always follow
each other in the same order.
"""

import random
from collections.abc import Sequence

from lib.controlled.design.facts import N_SECTIONS, as_id, assign_sections, by_product, is_list
from lib.controlled.records import KnownFact, Place, Rendered
from lib.core.structures import STRUCTURES
from lib.lab.documents import LIST_SENTENCES, NOTICES, SCALAR_SENTENCES, Statement

_HEADINGS = ("Details", "Particulars", "Notes", "Record", "Information", "Entries", "Remarks",
             "File")
_FIRST, *_OTHERS = LIST_SENTENCES
_LIST_SENTENCES = (_FIRST, "{name} has as {label} {value}.", *_OTHERS)  # four, as SCALAR_SENTENCES


def render(facts: list[KnownFact], rotation: int, seed: int,
           structures: Sequence[str] = (), rendering: int = 0,
           permutation: int = 0) -> list[Rendered]:
    """Return one document per product, with each fact's place in its raw text.

    A `rendering` above 0 has other words and the facts in other sections, for a base to read. A
    `permutation` above 0 has the sections, and the single values within each, in another order.
    """
    structures = structures or tuple(STRUCTURES)
    k = len(structures)
    if not 0 <= rotation < k:
        raise ValueError(f"rotation is {rotation}: {k} structures have the rotations 0 to {k - 1}")
    products = by_product(facts)
    documents = []
    drawn = starts(len(products), k, seed, rendering)
    for (name, known), (offset, direction) in zip(products.items(), drawn, strict=True):
        placed = [structures[(offset + direction * section + rotation) % k]
                  for section in range(N_SECTIONS)]
        sections = list(zip(_in_sections(known, seed, rendering), placed, strict=True))
        if permutation:
            sections = _permuted(sections, random.Random(f"order {seed} {name} {permutation}"))
        documents.append(_document(name, sections, seed, rendering))
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
    cells = {fact.attribute: (fact.section, fact.place) for fact in facts}
    if rendering:
        cells = assign_sections(random.Random(f"sections {seed} {facts[0].product} {rendering}"))
    ordered = sorted(facts, key=lambda fact: cells[fact.attribute])
    return [[fact for fact in ordered if cells[fact.attribute][0] == section]
            for section in range(N_SECTIONS)]


def _permuted(sections: list[tuple[list[KnownFact], str]],
              rng: random.Random) -> list[tuple[list[KnownFact], str]]:
    return [([*rng.sample(facts[:-1], len(facts) - 1), facts[-1]], structure)  # a list stays last
            for facts, structure in rng.sample(sections, len(sections))]


def _document(name: str, sections: Sequence[tuple[list[KnownFact], str]], seed: int,
              rendering: int) -> Rendered:
    frame = random.Random(f"frame {seed} {name} {rendering}")  # the same in every rotation
    notice, headings = frame.choice(NOTICES), frame.sample(_HEADINGS, N_SECTIONS + 1)
    text = f"# {name}\n\n{notice}\n"
    places: list[Place] = []
    for section, (facts, structure) in enumerate(sections):
        rng = random.Random(f"wording {seed} {name} {section} {structure} {rendering}")
        body, spans = STRUCTURES[structure].write([
            Statement(name, fact.attribute, fact.value,
                      _LIST_SENTENCES if is_list(fact) else SCALAR_SENTENCES)
            for fact in facts], rng)
        text += f"\n## {headings[section]}\n\n"
        places += [Place(fact_id=fact.fact_id, structure=structure, start=len(text) + start,
                         end=len(text) + end)
                   for fact, (start, end) in zip(facts, spans, strict=True)]
        text += body + "\n"
    return Rendered(document_id=as_id(name) + (f".{rendering}" if rendering else ""), title=name,
                    raw=text, text=text, places=places)
