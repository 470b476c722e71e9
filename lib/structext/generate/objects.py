"""The tree as nested objects in JSON, YAML and TOML: each has an id, attributes and its children under `subs`."""

from collections.abc import Callable
from functools import partial
from itertools import accumulate
from random import Random

from lib.structext.generate.language import Asked, Language, Setting, broken_nodes


class Objects:
    """Nested objects: node i has ids[i] and the attributes keys/values[starts[i]:starts[i + 1]], 1 to size × depth.

    In corrected texts no value is the id of an object.
    """

    def __init__(self, setting: Setting, heads: Callable, tails: Callable) -> None:
        tree, names = setting.tree, setting.names
        counts = setting.rng.choices(range(1, setting.size * setting.depth + 1), k=tree.n_nodes)
        self.setting, self.tree, self._tails = setting, tree, tails
        self.starts = list(accumulate(counts, initial=0))
        self.ids = names.ids(tree.n_nodes)
        self.keys = names.keys(self.starts[-1])
        self.values = names.values(self.starts[-1], set(self.ids) if setting.is_corrected else ())
        self._heads = heads(self)
        self.parts = self._parts(set())
        self.text = "".join(self.parts)[1:]

    def _parts(self, broken: set[int]) -> list[str]:
        heads, tails = self._heads, self._tails(self, broken)
        return [heads[event] if event >= 0 else tails[~event] for event in self.tree.events]

    def broken(self, nodes: set[int]) -> str:
        """The text with a structural error in each of `nodes`."""
        return "".join(self._parts(nodes))[1:]

    def whole(self, node: int) -> str:
        """An object as it stands in the text, without the blanks and the comma around it."""
        return "".join(self.parts[self.tree.begin[node]:self.tree.end[node] + 1]).strip().removesuffix(",")

    def owner(self, attribute: int) -> int:
        """The node that has the attribute keys[attribute]."""
        low, high = 0, self.tree.n_nodes - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.starts[middle + 1] <= attribute else (low, middle)
        return low


def _json_heads(objects: Objects) -> list[str]:
    pairs = [f'"{key}":"{value}",' for key, value in zip(objects.keys, objects.values, strict=True)]
    starts, height, heads = objects.starts, objects.tree.height, []
    for node, (name, depth) in enumerate(zip(objects.ids, objects.tree.depth, strict=True)):
        line = "\n" + " " * depth
        heads.append(f'{line}{{{line}"id":"{name}",{line}{line.join(pairs[starts[node]:starts[node + 1]])}'
                     f'{line}"subs":[{"]" if depth == height else ""}')
    return heads


def _json_tails(objects: Objects, broken: set[int]) -> list[str]:
    """The error is a missing closing brace."""
    tree = objects.tree
    inner = ["\n" + " " * depth + "]" if depth < tree.height else "" for depth in range(tree.height + 1)]
    whole = [f"{inner[depth]}\n{' ' * depth}}}" for depth in range(tree.height + 1)]
    last = tree.branching - 1
    tails = [(inner if node in broken else whole)[depth] + ("" if rank == last else ",")
             for node, (depth, rank) in enumerate(zip(tree.depth, tree.rank, strict=True))]
    tails[0] = inner[0] if 0 in broken else whole[0]
    return tails


def _yaml_heads(objects: Objects) -> list[str]:
    """Corrected keys and values are quoted: bare NO, ON and Y are booleans in YAML 1.1, a bare comma is data."""
    is_corrected, starts, height = objects.setting.is_corrected, objects.starts, objects.tree.height
    pairs = [f'"{key}": "{value}"' if is_corrected else f"{key}: {value},"
             for key, value in zip(objects.keys, objects.values, strict=True)]
    subs, heads = "subs:" if is_corrected else "subs: ", []
    for node, (name, depth) in enumerate(zip(objects.ids, objects.tree.depth, strict=True)):
        line = "\n" + "  " * depth
        dash = f"{line[:-2]}- " if depth else line
        heads.append(f'{dash}id: "{name}"{line}{line.join(pairs[starts[node]:starts[node + 1]])}'
                     f'{line}{"subs: []" if depth == height else subs}')
    return heads


def _yaml_tails(objects: Objects, broken: set[int]) -> list[str]:
    """The error is a line without a key before its colon."""
    tails = [""] * objects.tree.n_nodes
    closed = [~event for event in objects.tree.events if event < 0 and ~event in broken]
    for node, flaw in zip(closed, objects.setting.names.flaws(len(closed)) if closed else [], strict=True):
        tails[node] = f"\n{'  ' * objects.tree.depth[node]}:{flaw}"
    return tails


def _toml_heads(objects: Objects, broken: set[int] = frozenset()) -> list[str]:
    """Arrays of tables: [[subs.subs]] opens an object two levels down. The error is a missing quotation mark."""
    pairs = [f'{key} = "{value}"' for key, value in zip(objects.keys, objects.values, strict=True)]
    heads = []
    for node, (name, depth) in enumerate(zip(objects.ids, objects.tree.depth, strict=True)):
        header = f"\n[[{'.'.join(['subs'] * depth)}]]" if depth else ""
        lines = "\n".join(pairs[objects.starts[node]:objects.starts[node + 1]])
        heads.append(f'{header}\nid = "{name}{"" if node in broken else chr(34)}\n{lines}')
    return heads


def _toml_tails(objects: Objects, broken: set[int]) -> list[str]:
    return [""] * objects.tree.n_nodes


def _excerpt(objects: Objects, node: int) -> str:
    """An object as it stands in the text; in faithful mode moved to the margin, and in YAML without its dash."""
    text, depth = objects.whole(node), objects.tree.depth[node]
    if objects.setting.is_corrected or not depth:
        return text
    return text.removeprefix("- ").replace("\n" + (" " if text[0] == "{" else "  ") * depth, "\n")


def _object(objects: Objects, rng: Random) -> Asked:
    node = rng.randrange(objects.tree.n_nodes)
    return Asked({"id": objects.ids[node]}, _excerpt(objects, node))


def _first_of_subs(objects: Objects, rng: Random) -> Asked:
    return Asked({}, objects.ids[1])


def _syntax(objects: Objects, rng: Random) -> Asked:
    broken = broken_nodes(objects.setting, rng)
    return Asked({}, str(bool(broken)), objects.broken(broken) if broken else None)


def _toml_syntax(objects: Objects, rng: Random) -> Asked:
    broken = broken_nodes(objects.setting, rng)
    return Asked({}, str(bool(broken)), "".join(_toml_heads(objects, broken))[1:] if broken else None)


def _path(objects: Objects, rng: Random) -> Asked:
    attribute = rng.randrange(len(objects.keys))
    steps = [f'["subs"][{objects.tree.rank[node]}]' for node in objects.tree.trail(objects.owner(attribute))[1:]]
    return Asked({"value": objects.values[attribute]}, f'obj{"".join(steps)}["{objects.keys[attribute]}"]')


def _value(objects: Objects, rng: Random) -> Asked:
    attribute = rng.randrange(len(objects.keys))
    return Asked({"name": objects.keys[attribute], "id": objects.ids[objects.owner(attribute)]},
                 objects.values[attribute])


def _leaves(objects: Objects, rng: Random) -> Asked:
    leaves = [node for node, depth in enumerate(objects.tree.depth) if depth == objects.tree.height]
    return Asked({}, "\n\n".join(_excerpt(objects, node) for node in leaves))


_FINDERS = (_object, _first_of_subs, _syntax, _path, _leaves)
JSON = Language(partial(Objects, heads=_json_heads, tails=_json_tails), _FINDERS)
YAML = Language(partial(Objects, heads=_yaml_heads, tails=_yaml_tails), _FINDERS)
TOML = Language(partial(Objects, heads=_toml_heads, tails=_toml_tails), (_value, _first_of_subs, _toml_syntax, _path))
