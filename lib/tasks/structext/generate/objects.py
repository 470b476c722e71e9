"""Write the tree as nested objects in JSON and YAML, and as nested tags in XML."""

from bisect import bisect_right
from collections.abc import Collection
from itertools import accumulate, pairwise
from random import Random

from lib.tasks.structext.generate.language import Item, Language, Setting, broken_nodes
from lib.tasks.structext.generate.tree import trail


class Nested:
    """Nested nodes: node i has the attributes keys/values[starts[i]:starts[i + 1]].

    There are `least` to size × depth of them. Subclasses write a node's head and all tails.
    """

    before = ""  # the text before the first node

    def __init__(self, setting: Setting, least: int = 1, avoided: Collection[str] = ()) -> None:
        n_nodes = setting.tree.n_nodes
        counts = setting.rng.choices(range(least, setting.size * setting.depth + 1), k=n_nodes)
        if not any(counts):
            counts[0] = 1  # one question needs an attribute in the text
        self.setting, self.tree = setting, setting.tree
        self.starts = list(accumulate(counts, initial=0))
        self.keys = setting.names.keys(self.starts[-1])
        self.values = setting.names.values(self.starts[-1], avoided)
        self.pairs = [self.pair(*both) for both in zip(self.keys, self.values, strict=True)]
        self._heads = [
            self.head(node, self.tree.depth[node], self.pairs[start:end])
            for node, (start, end) in enumerate(pairwise(self.starts))
        ]
        self.parts = self._parts(set())
        self.text = self._joined(self.parts)

    def _parts(self, broken: set[int]) -> list[str]:
        heads, tails = self._heads, self.tails(broken)
        return [heads[event] if event >= 0 else tails[~event] for event in self.tree.events]

    def _joined(self, parts: list[str]) -> str:
        return self.before + "".join(parts).removeprefix("" if self.before else "\n")

    def broken(self, nodes: set[int]) -> str:
        """Return the text with a structural error in each of `nodes`."""
        return self._joined(self._parts(nodes))

    def owner(self, attribute: int) -> int:
        """Return the node that has the attribute keys[attribute]."""
        return bisect_right(self.starts, attribute) - 1


class Objects(Nested):
    """Objects with id, attributes and `subs`; in corrected texts no value is an object's id."""

    indent = " "

    def __init__(self, setting: Setting) -> None:
        self.ids = setting.names.ids(setting.tree.n_nodes)
        super().__init__(setting, avoided=set(self.ids) if setting.is_corrected else ())

    def excerpt(self, node: int) -> str:
        """Return an object as it is in the text, without whitespace and comma around it.

        A faithful answer is re-indented as if outermost, and in YAML has no dash.
        """
        parts = self.parts[self.tree.begin[node] : self.tree.end[node] + 1]
        text, depth = "".join(parts).strip().removesuffix(","), self.tree.depth[node]
        if self.setting.is_corrected or not depth:
            return text
        return text.removeprefix("- ").replace("\n" + self.indent * depth, "\n")


class _Json(Objects):
    def pair(self, key: str, value: str) -> str:
        return f'"{key}":"{value}",'

    def head(self, node: int, depth: int, pairs: list[str]) -> str:
        subs = f'"subs":[{"]" if depth == self.tree.height else ""}'
        return f"\n{' ' * depth}".join(["", "{", f'"id":"{self.ids[node]}",', *pairs, subs])

    def tails(self, broken: set[int]) -> list[str]:
        tree, tails = self.tree, []
        for node, (depth, rank) in enumerate(zip(tree.depth, tree.rank, strict=True)):
            margin = "\n" + " " * depth
            closed = "" if depth == tree.height else f"{margin}]"
            end = "" if node in broken else f"{margin}}}"
            is_last = not node or rank == tree.branching - 1
            tails.append(f"{closed}{end}{'' if is_last else ','}")
        return tails


class _Yaml(Objects):
    indent = "  "

    def pair(self, key: str, value: str) -> str:
        # quoted where corrected: bare NO is a boolean in YAML 1.1, and a comma is data
        return f'"{key}": "{value}"' if self.setting.is_corrected else f"{key}: {value},"

    def head(self, node: int, depth: int, pairs: list[str]) -> str:
        line = "\n" + "  " * depth
        dash = f"{line[:-2]}- " if depth else line
        subs = "" if self.setting.is_corrected else " "
        subs = " []" if depth == self.tree.height else subs
        return line.join([f'{dash}id: "{self.ids[node]}"', *pairs, f"subs:{subs}"])

    def tails(self, broken: set[int]) -> list[str]:
        tails = [""] * self.tree.n_nodes
        closed = [~event for event in self.tree.events if event < 0 and ~event in broken]
        flaws = self.setting.names.flaws(len(closed)) if closed else []
        for node, flaw in zip(closed, flaws, strict=True):
            tails[node] = f"\n{'  ' * self.tree.depth[node]}:{flaw}"
        return tails


class Tags(Nested):
    """Tags; each one's content ends with a word. In texts of June 2024 some have no attribute.

    Faithful tags and words count from the first letter, so few of them answer most questions.
    """

    before = '<?xml version="1.0" encoding="UTF-8"?>'

    def __init__(self, setting: Setting) -> None:
        names, n_nodes = setting.names, setting.tree.n_nodes
        start = None if setting.is_corrected else 0
        self.tags, self.words = names.tags(n_nodes, start), names.texts(n_nodes, start)
        super().__init__(setting, 0 if setting.is_june else 1)

    def pair(self, key: str, value: str) -> str:
        """Return an attribute as it is in a tag."""
        return f' {key}="{value}"'

    def head(self, node: int, depth: int, pairs: list[str]) -> str:
        """Return a start tag."""
        return f"\n{' ' * depth}<{self.tags[node]}{''.join(pairs)}>"

    def tails(self, broken: set[int]) -> list[str]:
        """Return words and end tags; the tags in `broken` have none."""
        tails = []
        for node, (tag, word, depth) in enumerate(
            zip(self.tags, self.words, self.tree.depth, strict=True)
        ):
            margin = f"\n{' ' * depth}"
            end = "" if node in broken else f"{margin}</{tag}>"
            tails.append(f"{margin} {word}{end}")
        return tails

    def content(self, node: int) -> str:
        """Return the content of a tag, stripped of whitespace.

        A faithful answer is re-indented as if it were the root's content.
        """
        margin = "\n" + " " * self.tree.depth[node]
        parts = self.parts[self.tree.begin[node] + 1 : self.tree.end[node]]
        inner = "".join(parts) + f"{margin} {self.words[node]}"
        return (inner if self.setting.is_corrected else inner.replace(margin, "\n")).strip()


def _object(document: Objects, rng: Random) -> Item:
    node = rng.randrange(document.tree.n_nodes)
    return Item({"id": document.ids[node]}, document.excerpt(node))


def _first_of_subs(document: Objects, rng: Random) -> Item:
    return Item({}, document.ids[1])


def _syntax(document: Nested, rng: Random) -> Item:
    broken = broken_nodes(document.setting, rng)
    return Item({}, str(bool(broken)), document.broken(broken) if broken else None)


def _path(document: Objects, rng: Random) -> Item:
    attribute = rng.randrange(len(document.keys))
    nodes = trail(document.tree.parent, document.owner(attribute))[1:]
    steps = "".join(f'["subs"][{document.tree.rank[node]}]' for node in nodes)
    return Item({"value": document.values[attribute]}, f'obj{steps}["{document.keys[attribute]}"]')


def _leaves(document: Objects, rng: Random) -> Item:
    leaves = [node for node, last in enumerate(document.tree.last) if node == last]
    return Item({}, "\n\n".join(map(document.excerpt, leaves)))


def _content(document: Tags, rng: Random) -> Item:
    node = rng.randrange(document.tree.n_nodes)
    return Item({"tag": document.tags[node]}, document.content(node))


def _tag(document: Tags, rng: Random) -> Item:
    attribute = rng.randrange(len(document.values))
    return Item({"value": document.values[attribute]}, document.tags[document.owner(attribute)])


_FINDERS = (_object, _first_of_subs, _syntax, _path, _leaves)
JSON, YAML = Language(_Json, _FINDERS), Language(_Yaml, _FINDERS)
XML = Language(Tags, (_content, _tag, _syntax))
