"""Draw the facts of the controlled experiment so that only the design varies kind and length.

A section has two scalar facts and then a list-valued one. Kind, length, section and place are drawn
independently, so that none is confounded with another; the rotation decides a section's structure.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

from lib.controlled.records import KnownFact
from lib.lab.products import make_products

N_SECTIONS = 3
SCALARS_IN_SECTION = 2

# Each label has a unit and nouns. It suits a number as well as two words, and does not begin with a
# vowel ("has a {label} of"). Units and nouns differ between labels, as ports, paths and dates look
# different in real records: if all values look alike, a model stores them but cannot tell which
# fact they belong to (in development, 15% were recalled).
_SCALARS = {
    "service code": (
        "pages",
        "denim linen satin velvet muslin tweed corduroy flannel chiffon "
        "taffeta gingham jersey fleece brocade hessian",
    ),
    "calibration profile": (
        "volts",
        "badger otter lynx ferret beaver walrus gazelle panther "
        "donkey hamster buffalo jackal lemur marmot weasel",
    ),
    "storage slot": (
        "liters",
        "birch cedar maple poplar sycamore rowan cypress larch laurel "
        "myrtle spruce walnut acacia alder hickory",
    ),
    "batch mark": (
        "grams",
        "garnet jasper onyx topaz opal quartz beryl zircon agate pearl ruby "
        "coral jade sapphire citrine",
    ),
    "release channel": (
        "hertz",
        "buzzard heron magpie robin sparrow pelican raven swallow plover "
        "osprey condor thrush curlew bittern kestrel",
    ),
    "test sequence": (
        "hours",
        "fiddle trumpet clarinet bassoon cello harp banjo oboe piccolo "
        "tuba zither bugle lute cornet mandolin",
    ),
}
SCALARS = {label: (unit, tuple(nouns.split())) for label, (unit, nouns) in _SCALARS.items()}
SCALAR_LABELS = tuple(SCALARS)
_LISTS = {
    "spare parts": (
        "gasket impeller rotor bushing relay filter coupling diaphragm fuse sensor "
        "spindle washer"
    ),
    "mounting tools": (
        "wrench crimper caliper mallet stripper puller pliers drill chisel clamp "
        "reamer trowel"
    ),
    "packing materials": (
        "foam burlap cardboard plywood straw felt cork canvas paraffin twine rubber "
        "gauze"
    ),
}
LIST_POOLS = {label: tuple(items.split()) for label, items in _LISTS.items()}
ATTRIBUTES = (*SCALAR_LABELS, *LIST_POOLS)
LENGTHS = (2, 3, 4)  # items of a list-valued fact

# There are 30 x 15 pairs of words and as many numbers (100-549), so both kinds carry log2(450) =
# 8.8 bits. A number takes three tokens (one per digit) and its unit; a pair of words takes two if
# both words are in the vocabulary.
FIRST_WORDS = tuple(
    (
        "amber brisk calm dusty early faint gentle hollow ivory jolly keen lively "
        "mellow narrow oaken plain quiet rapid silent tidy upper vivid wooden young "
        "azure blunt crisp dense eager frosty"
    ).split()
)

Level = TypeVar("Level")


def make_facts(n_products: int, seed: int, taken: frozenset[str] = frozenset()) -> list[KnownFact]:
    """Return len(ATTRIBUTES) facts for each of `n_products`, by product, section and place.

    Kinds are balanced within each scalar attribute, lengths within each list-valued one. No name is
    in `taken`; the same seed gives the same facts. Raises ValueError for too few names.
    """
    products = [product.name for product in make_products(n_products, seed, taken)]
    rng = random.Random(f"controlled facts {seed}")
    cells = {
        (product, label): cell
        for product in products
        for label, cell in assign_sections(rng).items()
    }
    values = _draw_values(products, cells, rng)
    facts = [
        KnownFact(
            fact_id=f"{as_id(product)}/{as_id(label)}",
            product=product,
            attribute=label,
            value=values[product, label][1],
            kind=values[product, label][0],
            section=section,
            place=place,
        )
        for (product, label), (section, place) in cells.items()
    ]
    order = {product: number for number, product in enumerate(products)}
    return sorted(facts, key=lambda fact: (order[fact.product], fact.section, fact.place))


def facts_of_base(n_products: int, seed: int, base: int) -> list[KnownFact]:
    """Return the private facts of base number `base` (from 1), which shares no product with others.

    Raises ValueError for too few names.
    """
    facts: list[KnownFact] = []
    taken: frozenset[str] = frozenset()
    for number in range(1, base + 1):
        facts = make_facts(n_products, seed * 1000 + number, taken)
        taken |= {fact.product for fact in facts}
    return facts


def assign_sections(rng: random.Random) -> dict[str, tuple[int, int]]:
    """Draw a section and place for each of ATTRIBUTES: two scalars, then a list, per section."""
    scalars = rng.sample(SCALAR_LABELS, len(SCALAR_LABELS))
    cells = {label: divmod(number, SCALARS_IN_SECTION) for number, label in enumerate(scalars)}
    lists = rng.sample(list(LIST_POOLS), len(LIST_POOLS))
    return cells | {label: (section, SCALARS_IN_SECTION) for section, label in enumerate(lists)}


def question(fact: KnownFact) -> str:
    """Return the question about the fact, the same in every arm and structure."""
    return f"What {'are' if is_list(fact) else 'is'} the {fact.attribute} of {fact.product}?"


def reference(fact: KnownFact) -> str:
    """Return the reference answer: the value, or one item per line."""
    return "\n".join(fact.value)


def is_list(fact: KnownFact) -> bool:
    """Return whether the fact is list-valued; its label is then plural."""
    return len(fact.value) > 1


def as_id(name: str) -> str:
    """Return a name or label as it appears in an identifier."""
    return name.lower().replace(" ", "-")


def by_product(facts: Sequence[KnownFact]) -> dict[str, list[KnownFact]]:
    """Group facts by product, ordering products by their first fact."""
    groups = defaultdict(list)
    for fact in facts:
        groups[fact.product].append(fact)
    return dict(groups)


def _draw_values(
    products: list[str], cells: dict[tuple[str, str], tuple[int, int]], rng: random.Random
) -> dict[tuple[str, str], tuple[str, list[str]]]:
    values = {}
    first_kind, first_length = rng.randrange(2), rng.randrange(len(LENGTHS))
    for number, label in enumerate(ATTRIBUTES):
        # Dealing in the order of the cells also balances sections and places, not only the total.
        holders = sorted(
            rng.sample(products, len(products)), key=lambda product: cells[product, label]
        )
        before = number * len(holders)
        if label in LIST_POOLS:
            lengths = _deal(LENGTHS, len(holders), first_length + before, rng)
            for product, length in zip(holders, lengths, strict=True):
                values[product, label] = ("word", rng.sample(LIST_POOLS[label], length))
        else:
            kinds = _deal(("number", "word"), len(holders), first_kind + before, rng)
            for product, kind in zip(holders, kinds, strict=True):
                values[product, label] = (kind, [_draw_scalar(kind, label, rng)])
    return values


def _draw_scalar(kind: str, label: str, rng: random.Random) -> str:
    unit, nouns = SCALARS[label]
    if kind == "number":
        return f"{rng.randint(100, 549)} {unit}"
    return f"{rng.choice(FIRST_WORDS)} {rng.choice(nouns)}"


# Shuffled blocks with each level once; `first` is the level that the incomplete block begins with.
def _deal(levels: Sequence[Level], n: int, first: int, rng: random.Random) -> list[Level]:
    dealt: list[Level] = []
    for start in range(0, n, len(levels)):
        size = min(len(levels), n - start)
        block = [levels[(first + step) % len(levels)] for step in range(size)]
        dealt += rng.sample(block, len(block))
    return dealt
