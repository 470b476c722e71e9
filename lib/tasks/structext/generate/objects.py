"""Write the tree as nested objects with id, attributes and `subs`, in JSON and YAML."""

from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from random import Random

from lib.tasks.structext.generate.language import Item, Language, Setting, broken_nodes
from lib.tasks.structext.generate.tree import trail


class Objects:
    """Nested objects: node i is ids[i] with attributes keys/values[starts[i]:starts[i + 1]].

    An object has 1 to size × depth attributes. In corrected texts no value is the id of an object.
    """

    def __init__(self, setting: Setting, heads: Callable, tails: Callable) -> None:
        tree, names = setting.tree, setting.names
        counts = setting.rng.choices(range(1, setting.size * setting.depth + 1), k=tree.n_nodes)
        self.setting, self.tree, self._tails = setting, tree, tails
        self.starts = list(accumulate(counts, initial=0))
        self.ids = names.ids(tree.n_nodes)
        self.keys = names.keys(self.starts[-1])
        avoided = set(self.ids) if setting.is_corrected else ()
        self.values = names.values(self.starts[-1], avoided)
        self._heads = heads(self)
        self.parts = self._parts(set())
        self.text = "".join(self.parts)[1:]

    def _parts(self, broken: set[int]) -> list[str]:
        heads, tails = self._heads, self._tails(self, broken)
        return [heads[event] if event >= 0 else tails[~event] for event in self.tree.events]

    def broken(self, nodes: set[int]) -> str:
        """Return the text with a structural error in each of `nodes`."""
        return "".join(self._parts(nodes))[1:]

    def excerpt(self, node: int) -> str:
        """Return an object as it is in the text, without whitespace and comma around it.

        A faithful answer is re-indented as if outermost, and in YAML has no dash.
        """
        parts = self.parts[self.tree.begin[node]:self.tree.end[node] + 1]
        text, depth = "".join(parts).strip().removesuffix(","), self.tree.depth[node]
        if self.setting.is_corrected or not depth:
            return text
        margin = (" " if text[0] == "{" else "  ") * depth
        return text.removeprefix("- ").replace("\n" + margin, "\n")

    def owner(self, attribute: int) -> int:
        """Return the node that has the attribute keys[attribute]."""
        return bisect_right(self.starts, attribute) - 1


def _json_heads(objects: Objects) -> list[str]:
    pairs = [f'"{key}":"{value}",' for key, value in zip(objects.keys, objects.values, strict=True)]
    starts, height, heads = objects.starts, objects.tree.height, []
    for node, (name, depth) in enumerate(zip(objects.ids, objects.tree.depth, strict=True)):
        line = "\n" + " " * depth
        lines = ["", "{", f'"id":"{name}",', *pairs[starts[node]:starts[node + 1]],
                 f'"subs":[{"]" if depth == height else ""}']
        heads.append(line.join(lines))
    return heads


def _json_tails(objects: Objects, broken: set[int]) -> list[str]:
    tree = objects.tree
    closed = ["\n" + " " * depth + "]" if depth < tree.height else ""
              for depth in range(tree.height + 1)]
    ended = [f"{closed[depth]}\n{' ' * depth}}}" for depth in range(tree.height + 1)]
    last = tree.branching - 1
    tails = [(closed if node in broken else ended)[depth] + ("" if rank == last else ",")
             for node, (depth, rank) in enumerate(zip(tree.depth, tree.rank, strict=True))]
    tails[0] = closed[0] if 0 in broken else ended[0]
    return tails


def _yaml_heads(objects: Objects) -> list[str]:
    is_corrected, starts, height = objects.setting.is_corrected, objects.starts, objects.tree.height
    # quoted where corrected: bare NO is a boolean in YAML 1.1, and a comma is data
    pairs = [f'"{key}": "{value}"' if is_corrected else f"{key}: {value},"
             for key, value in zip(objects.keys, objects.values, strict=True)]
    subs, heads = "subs:" if is_corrected else "subs: ", []
    for node, (name, depth) in enumerate(zip(objects.ids, objects.tree.depth, strict=True)):
        line = "\n" + "  " * depth
        dash = f"{line[:-2]}- " if depth else line
        lines = [f'{dash}id: "{name}"', *pairs[starts[node]:starts[node + 1]],
                 "subs: []" if depth == height else subs]
        heads.append(line.join(lines))
    return heads


def _yaml_tails(objects: Objects, broken: set[int]) -> list[str]:
    tails = [""] * objects.tree.n_nodes
    closed = [~event for event in objects.tree.events if event < 0 and ~event in broken]
    flaws = objects.setting.names.flaws(len(closed)) if closed else []
    for node, flaw in zip(closed, flaws, strict=True):
        tails[node] = f"\n{'  ' * objects.tree.depth[node]}:{flaw}"
    return tails


def _object(objects: Objects, rng: Random) -> Item:
    node = rng.randrange(objects.tree.n_nodes)
    return Item({"id": objects.ids[node]}, objects.excerpt(node))


def _first_of_subs(objects: Objects, rng: Random) -> Item:
    return Item({}, objects.ids[1])


def _syntax(objects: Objects, rng: Random) -> Item:
    broken = broken_nodes(objects.setting, rng)
    return Item({}, str(bool(broken)), objects.broken(broken) if broken else None)


def _path(objects: Objects, rng: Random) -> Item:
    attribute = rng.randrange(len(objects.keys))
    nodes = trail(objects.tree.parent, objects.owner(attribute))[1:]
    steps = "".join(f'["subs"][{objects.tree.rank[node]}]' for node in nodes)
    return Item({"value": objects.values[attribute]}, f'obj{steps}["{objects.keys[attribute]}"]')


def _leaves(objects: Objects, rng: Random) -> Item:
    depths, height = objects.tree.depth, objects.tree.height
    leaves = [node for node, depth in enumerate(depths) if depth == height]
    return Item({}, "\n\n".join(map(objects.excerpt, leaves)))


_FINDERS = (_object, _first_of_subs, _syntax, _path, _leaves)
JSON = Language(partial(Objects, heads=_json_heads, tails=_json_tails), _FINDERS)
YAML = Language(partial(Objects, heads=_yaml_heads, tails=_yaml_tails), _FINDERS)
