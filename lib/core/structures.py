"""The structures that a fact can have in a document: prose, list, table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Structure:
    """A structure of facts; models' names for it are compared without case and punctuation."""

    name: str  # in files and tables: the code of the paper
    label: str  # in figures
    kind: str  # of the parsed blocks that are its own (lib.documents.markdown.Block)
    called: tuple[str, ...] = ()  # other names that models use
    has_entities: bool = False  # an answer can be several entities, one per line


_PROSE_NAMES = ("natural language", "natural text", "text", "paragraph", "sentence", "narrative")
_LIST_NAMES = ("entity list", "entities", "bullet list", "enumeration")

# By name, in the order of tables; the first is the one that the others are compared with.
STRUCTURES = {
    one.name: one
    for one in (
        Structure("natural", "prose", "prose", ("natural", *_PROSE_NAMES)),
        Structure("entity-list", "list", "list", _LIST_NAMES, has_entities=True),
        Structure("tabular", "table", "table", ("tabular", "table row", "row", "cell")),
    )
}


def structure_of(kind: str) -> Structure | None:
    """The structure of a kind of block; None if no question is asked about such blocks."""
    return next((one for one in STRUCTURES.values() if one.kind == kind), None)


def prose() -> str:
    """The name of the first structure."""
    return next(iter(STRUCTURES))


def structure_label(name: str) -> str:
    """The label of a structure; any other `name` is returned unchanged."""
    return STRUCTURES[name].label if name in STRUCTURES else name
