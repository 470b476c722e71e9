"""The structures of facts; whatever differs between them is in their entries."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lib.core.text import Body


@dataclass(frozen=True)
class Structure:
    """A structure; lib.tasks.spark.structures names the functions of higher layers.

    Names that models use, `called`, are compared without case and punctuation.
    """

    name: str  # in files and tables
    label: str  # in figures
    kind: str  # of the parsed blocks that are its own (lib.documents.markdown.Block)
    ask: Callable[..., Iterator]  # lib.documents.sites.Site -> candidates by rules
    rewrite: Callable[..., Iterator]  # Site -> places and sentences; none: the block stays as it is
    write: Callable[..., Body]  # what a laboratory states (lib.lab.documents.Statement)
    called: tuple[str, ...] = ()
    has_entities: bool = False  # an answer can be several entities, one per line


STRUCTURES: dict[str, Structure] = {}  # by name, in the order of tables; the first is prose


def register(*structures: Structure) -> dict[str, Structure]:
    """Add structures after those that are registered; return all."""
    STRUCTURES.update({structure.name: structure for structure in structures})
    return STRUCTURES


def structure_of(kind: str) -> Structure | None:
    """Return the structure of a kind of block; None if it carries no queries."""
    return next((one for one in STRUCTURES.values() if one.kind == kind), None)


def prose() -> str:
    """Return the first structure's name, with which the others are compared."""
    return next(iter(STRUCTURES))


def structure_label(name: str) -> str:
    """Return a structure's label, or any other `name` as it is."""
    return STRUCTURES[name].label if name in STRUCTURES else name
