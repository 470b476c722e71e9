"""The abstract tree of a text, the setting of a writer, and an item of a question."""

from functools import lru_cache
from random import Random
from typing import NamedTuple

from lib.structext.names import Names

SIZE = 6  # most attributes of a node, and words of a paragraph, at depth 1; times depth
MOST_LEAVES = 2_000_000  # about 2 GB of text; a larger request is taken for a typing error


class Layout(NamedTuple):
    """A complete tree in pre-order; each list has one entry per node, the root first."""

    parent: list[int]  # the root's is -1
    depth: list[int]  # edges from the root
    rank: list[int]  # position among its siblings, from 0
    last: list[int]  # the last node of its subtree
    children: list[list[int]]

    @property
    def leaves(self) -> list[int]:
        """Nodes without children, in order."""
        return [node for node, below in enumerate(self.children) if not below]


def trail(parent: list[int], node: int) -> list[int]:
    """Return the nodes from the root to `node`, both included, by each node's parent."""
    return [*trail(parent, parent[node]), node] if node >= 0 else []


@lru_cache(maxsize=32)
def layout(depth: int, width: int) -> Layout:
    """Return the tree with `depth` levels below the root and depth × width children per node.

    Raises ValueError if a dial is below 1 or the tree would have more than MOST_LEAVES.
    """
    branching = depth * width
    if min(depth, width) < 1 or min(branching, MOST_LEAVES + 1) ** min(depth, 21) > MOST_LEAVES:
        raise ValueError(
            f"depth {depth}, width {width}: each must be at least 1 (1, 1 is a root and a leaf), "
            f"with at most {MOST_LEAVES:,} leaves; give other dials"
        )
    tree = Layout([], [], [], [], [])

    def grow(parent: int, level: int, rank: int) -> int:
        node = len(tree.parent)
        for column, value in zip(tree, (parent, level, rank, node, []), strict=True):
            column.append(value)
        for place in range(branching if level < depth else 0):
            tree.children[node].append(grow(node, level + 1, place))
        tree.last[node] = len(tree.parent) - 1
        return node

    grow(-1, 0, 0)
    return tree


class Setting(NamedTuple):
    """The input of a writer of texts. `tree` and `rng` decide the structure, `names` fill it."""

    tree: Layout
    depth: int
    is_corrected: bool
    rng: Random
    names: Names
    number: int  # the sample's number within its kind; its remainders balance the labels
    is_june: bool = False  # XML as in June 2024 (v1), where a tag may have no attribute


class Item(NamedTuple):
    """A question's slots, its answer, and its text if that differs from the document's."""

    slots: dict[str, object]
    answer: str
    text: str | None = None
