"""Draw the laboratory's products, whose facts are each in one structure (paper, limits and 5.2).

Public products are for pretraining the base, private ones for DAPT. They share no name.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from lib.core.structures import STRUCTURES


def _pool(items: str) -> tuple[str, ...]:
    return tuple(items.split(", "))


# A name is a maker and a model. There are many makers, so that few products share a word.
_MAKERS = tuple(
    first + last
    for first in _pool("Ard, Bri, Cor, Dra, Eld, Fal, Gan, Hal, Ist, Jor, Kes, Lum")
    for last in _pool("win, mor, vane, vik, mark, cor, try, den, rel, quin")
)
_MODELS = _pool(
    "Anchor, Beacon, Cobalt, Dagger, Eagle, Flint, Glacier, Harbor, Iris, Jaguar, Keystone, "
    "Lantern, Magnet, Nimbus, Orbit, Pilot, Quiver, Raptor, Summit, Tempest, Umbra, Vector, "
    "Willow, Xenon, Yonder, Zenith, Atlas, Boulder, Comet, Drift, Ember, Falcon, Granite, Hazel, "
    "Ingot, Juniper, Kraken, Lotus, Meteor, Nettle"
)
_LAST_NAMES = _pool(
    "Adler, Bauer, Costa, Duran, Ekman, Fiore, Gruber, Holm, Ivers, Jansen, Keller, Lind, Moreau, "
    "Novak, Olsen, Petrov, Quist, Rossi, Silva, Toth"
)
_FIRMS = _pool(
    "Hydraulics, Controls, Castings, Sensors, Drives, Polymers, Optics, Bearings, Metals, Systems"
)
_FOLDERS = _pool("opt, etc, srv, var, usr, data, home, mnt")
_FILES = _pool(
    "harbor, valve, anchor, bridge, copper, delta, ember, falcon, garnet, hazel, "
    "indigo, jasper, karma, lagoon, maple, nickel, onyx, pepper, quartz, raven, "
    "saffron, timber, umber, walnut"
)
_PLATFORMS = _pool(
    "Linux, QNX, VxWorks, Solaris, Windows, FreeBSD, Zephyr, Android, AIX, Integrity, NuttX, RTEMS"
)
_TOOLS = _pool(
    "wrench, hex key, crimper, caliper, bench vise, pipe cutter, heat gun, mallet, "
    "stripper, puller, pliers, drill"
)
_PARTS = _pool(
    "gasket, impeller, rotor, bushing, relay, filter, coupling, diaphragm, fuse, "
    "sensor, spindle, washer"
)


@dataclass(frozen=True)
class Attribute:
    """A property that every product's record states: its label, and how a value is drawn."""

    label: str
    draw: Callable[[random.Random], list[str]]  # one string, or the items of a list
    is_list: bool = False  # list-valued; the label is then plural


def _day(rng: random.Random) -> str:
    return f"{rng.randint(2005, 2024)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def _some(pool: tuple[str, ...]) -> Callable[[random.Random], list[str]]:
    return lambda rng: rng.sample(pool, rng.randint(2, 3))


ATTRIBUTES = (
    Attribute("default port", lambda rng: [str(rng.randint(1024, 9999))]),
    Attribute("memory size", lambda rng: [f"{rng.randint(10, 999)} MB"]),
    Attribute("service interval", lambda rng: [f"{rng.randint(10, 999)} hours"]),
    Attribute("release date", lambda rng: [_day(rng)]),
    Attribute("supplier", lambda rng: [f"{rng.choice(_LAST_NAMES)} {rng.choice(_FIRMS)}"]),
    Attribute(
        "configuration path", lambda rng: [f"/{rng.choice(_FOLDERS)}/{rng.choice(_FILES)}.conf"]
    ),
    Attribute("supported platforms", _some(_PLATFORMS), is_list=True),
    Attribute("required tools", _some(_TOOLS), is_list=True),
    Attribute("spare parts", _some(_PARTS), is_list=True),
)


@dataclass(frozen=True)
class Product:
    """A product's name and its value for each of ATTRIBUTES, in that order."""

    name: str
    values: tuple[list[str], ...]


def make_products(n: int, seed: int, taken: frozenset[str] = frozenset()) -> list[Product]:
    """Return `n` products with distinct names, none in `taken`; equal seeds give equal products.

    Raises ValueError if there are too few names.
    """
    rng = random.Random(f"products {seed}")
    free = sorted({f"{maker} {model}" for maker in _MAKERS for model in _MODELS} - taken)
    if n > len(free):
        raise ValueError(
            f"{n} products were requested, but only {len(free)} names are free: "
            "lower n_public or n_private"
        )
    return [
        Product(name, tuple(attribute.draw(rng) for attribute in ATTRIBUTES))
        for name in rng.sample(free, n)
    ]


def latin_square(
    n_products: int, seed: int, rotation: int = 0
) -> list[list[tuple[list[int], str]]]:
    """Return each product's sections: indices of ATTRIBUTES, lists last, and their structure.

    Over the rotations, each section has each structure once. In every group of as many products as
    there are structures, each attribute has each structure once.
    """
    rng = random.Random(f"structures {seed}")
    names, layouts = list(STRUCTURES), []
    n = len(names)
    for start in range(0, n_products, n):
        drawn = rng.sample(range(len(ATTRIBUTES)), len(ATTRIBUTES))
        members = [
            sorted(drawn[place::n], key=lambda index: ATTRIBUTES[index].is_list)
            for place in range(n)
        ]
        for shift in rng.sample(range(n), min(n, n_products - start)):
            layouts.append(
                [
                    (members[place], names[(place + shift + rotation) % n])
                    for place in rng.sample(range(n), n)
                ]
            )
    return layouts
