"""Build the abstract tree of a sample, and the letters that name its nodes and attributes."""

from collections.abc import Sequence
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

MOST_NODES = 2_000_000  # about 2 GB of text; a larger request is taken for a typing error


class Layout(NamedTuple):
    """A complete tree in pre-order; each list has one entry per node, the root first.

    A language writes a head for each node and, after its descendants, possibly a tail. `events`
    gives their order, with node for a head and ~node for a tail; begin[node] and end[node] are the
    positions of a node's head and tail in it.
    """

    parent: list[int]  # the root's is -1
    depth: list[int]  # edges from the root
    rank: list[int]  # position among its siblings, from 0
    last: list[int]  # the last node of its subtree
    events: list[int]
    begin: list[int]
    end: list[int]
    branching: int
    height: int

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.parent)


def trail(parent: list[int], node: int) -> list[int]:
    """Return the nodes from the root to `node`, both included, by each node's parent."""
    nodes = []
    while node >= 0:
        nodes.append(node)
        node = parent[node]
    return nodes[::-1]


@lru_cache(maxsize=32)
def layout(depth: int, width: int) -> Layout:
    """Return the tree with `depth` levels below the root and depth × width children per node.

    Raises ValueError if a dial is below 1 or the tree would have more than MOST_NODES nodes.
    """
    if depth < 1 or width < 1:
        raise ValueError(
            f"depth {depth}, width {width}: both must be at least 1 (1, 1 is a root and a leaf)"
        )
    branching = depth * width
    n_nodes, level = 1, 1
    for _ in range(depth):
        level *= branching
        n_nodes += level
        if n_nodes > MOST_NODES:
            raise ValueError(
                f"depth {depth}, width {width}: more than {MOST_NODES:,} nodes in one "
                "text; give smaller dials"
            )
    tree = Layout(
        *([0] * n_nodes for _ in range(4)), [], [0] * n_nodes, [0] * n_nodes, branching, depth
    )
    node, open_nodes = 0, []  # holds [node, number of its children so far]
    tree.parent[0] = -1
    while True:
        tree.depth[node], tree.begin[node] = len(open_nodes), len(tree.events)
        tree.events.append(node)
        open_nodes.append([node, 0])
        latest = node
        while open_nodes and (len(open_nodes) > depth or open_nodes[-1][1] == branching):
            closed = open_nodes.pop()[0]
            tree.last[closed], tree.end[closed] = latest, len(tree.events)
            tree.events.append(~closed)
        if not open_nodes:
            return tree
        node += 1
        tree.parent[node], tree.rank[node] = open_nodes[-1]
        open_nodes[-1][1] += 1


class Counted:
    """Names a, b, … z, ab, bb, … that count in `digits`, smallest first, as in official files."""

    def __init__(self, digits: Sequence[str], joint: str = "") -> None:
        self.digits, self.joint = digits, joint
        self.known: list[str] = []

    def __call__(self, start: int, count: int) -> list[str]:
        base = len(self.digits)
        for number in range(len(self.known), start + count):
            name = self.digits[number % base]
            while number := number // base:
                name += self.joint + self.digits[number % base]
            self.known.append(name)
        return self.known[start : start + count]


ids = Counted(ascii_lowercase)  # ids(start, count): a, b, …
tags = Counted(ascii_uppercase)  # A, B, …
values = Counted(ascii_lowercase[::-1])  # z, y, …, a, zy, yy, …
keys = Counted(ascii_uppercase[::-1])  # Z, Y, …
