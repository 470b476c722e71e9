"""Write the tree as text, one edge per line."""

from random import Random

from lib.structext.generate.language import Item, Language, Setting


class Edges:
    """Lines `father->child`, ordered by the child in pre-order; node i is named ids[i]."""

    def __init__(self, setting: Setting) -> None:
        self.tree, self.ids = setting.tree, setting.names.ids(setting.tree.n_nodes)
        self.text = "\n".join([f"{self.ids[parent]}->{name}" for parent, name in zip(
            self.tree.parent[1:], self.ids[1:], strict=True)])


def _height(document: Edges, rng: Random) -> Item:
    return Item({}, str(document.tree.height))


def _depth(document: Edges, rng: Random) -> Item:
    node = rng.randrange(document.tree.n_nodes)
    return Item({"id": document.ids[node]}, str(document.tree.depth[node]))


def _path(document: Edges, rng: Random) -> Item:
    trail = document.tree.trail(rng.randrange(document.tree.n_nodes))
    return Item({"id": document.ids[trail[-1]]}, "->".join(document.ids[node] for node in trail))


TREE = Language(Edges, (_height, _depth, _path))
