"""Write the tree as text, one edge per line."""

from random import Random

from lib.tasks.structext.generate.language import Item, Language, Setting
from lib.tasks.structext.generate.tree import trail

MOST_ADDED = 2  # nodes in the chain below a leaf of a corrected tree
N_STARTS = 676  # first names of corrected trees; 26 make too few different texts of two nodes


class Edges:
    """Lines `father->child`, ordered by the child in pre-order; node i is named ids[i].

    A corrected tree has a chain of 0 to MOST_ADDED more nodes below one of its leaves, so that the
    dial `depth` does not give its height away.
    """

    def __init__(self, setting: Setting) -> None:
        tree, self.is_corrected = setting.tree, setting.is_corrected
        self.parent, self.depth = tree.parent, tree.depth
        if self.is_corrected:
            leaf = setting.rng.choice([node for node, last in enumerate(tree.last) if node == last])
            n, level = setting.number % (MOST_ADDED + 1), tree.depth[leaf]
            moved = [above + n if above > leaf else above for above in tree.parent]
            self.parent = [*moved[:leaf + 1], *range(leaf, leaf + n), *moved[leaf + 1:]]
            self.depth = [*tree.depth[:leaf + 1], *range(level + 1, level + n + 1),
                          *tree.depth[leaf + 1:]]
        n_nodes, names = len(self.parent), setting.names
        self.ids = names.ids(n_nodes, N_STARTS) if self.is_corrected else names.ids(n_nodes)
        self.text = "\n".join([f"{self.ids[parent]}->{name}" for parent, name in zip(
            self.parent[1:], self.ids[1:], strict=True)])


def _height(document: Edges, rng: Random) -> Item:
    return Item({}, str(max(document.depth)))


def _depth(document: Edges, rng: Random) -> Item:
    node = rng.randrange(len(document.parent))
    if document.is_corrected:
        wanted = rng.randint(0, max(document.depth))
        node = rng.choice([node for node, depth in enumerate(document.depth) if depth == wanted])
    return Item({"id": document.ids[node]}, str(document.depth[node]))


def _path(document: Edges, rng: Random) -> Item:
    nodes = trail(document.parent, rng.randrange(len(document.parent)))
    return Item({"id": document.ids[nodes[-1]]}, "->".join(document.ids[node] for node in nodes))


TREE = Language(Edges, (_height, _depth, _path))
