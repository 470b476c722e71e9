"""Write the tree as nested XML tags with attributes; each tag's content ends with a word."""

from bisect import bisect_right
from itertools import accumulate
from random import Random

from lib.tasks.structext.generate.language import Item, Language, Setting, broken_nodes


class Tags:
    """Nested tags: node i is tags[i] with attributes keys/values[starts[i]:starts[i + 1]].

    A tag has 1 to size × depth attributes; in texts of June 2024, 0 to size × depth. Faithful tags
    and words count from the first letter, so few of them are the answer to most questions.
    """

    def __init__(self, setting: Setting) -> None:
        tree, names = setting.tree, setting.names
        counts = setting.rng.choices(
            range(0 if setting.is_june else 1, setting.size * setting.depth + 1), k=tree.n_nodes)
        if not any(counts):
            counts[0] = 1  # one question needs an attribute in the text
        start = None if setting.is_corrected else 0
        self.setting, self.tree = setting, tree
        self.starts = list(accumulate(counts, initial=0))
        self.tags = names.tags(tree.n_nodes, start)
        self.keys, self.values = names.keys(self.starts[-1]), names.values(self.starts[-1])
        self.words = names.texts(tree.n_nodes, start)
        pairs = [f' {key}="{value}"' for key, value in zip(self.keys, self.values, strict=True)]
        self._heads = [
            f"\n{' ' * depth}<{tag}{''.join(pairs[self.starts[node]:self.starts[node + 1]])}>"
            for node, (tag, depth) in enumerate(zip(self.tags, tree.depth, strict=True))]
        self.parts = self._parts(set())
        self.text = self._text(self.parts)

    def _parts(self, broken: set[int]) -> list[str]:
        tails = []
        for node, (tag, word, depth) in enumerate(
                zip(self.tags, self.words, self.tree.depth, strict=True)):
            margin = f"\n{' ' * depth}"
            end = "" if node in broken else f"{margin}</{tag}>"
            tails.append(f"{margin} {word}{end}")
        return [self._heads[event] if event >= 0 else tails[~event] for event in self.tree.events]

    def _text(self, parts: list[str]) -> str:
        return f'<?xml version="1.0" encoding="UTF-8"?>{"".join(parts)}'

    def broken(self, nodes: set[int]) -> str:
        """Return the text with a structural error in each of `nodes`."""
        return self._text(self._parts(nodes))

    def content(self, node: int) -> str:
        """Return the content of a tag, stripped of whitespace.

        A faithful answer is re-indented as if it were the root's content.
        """
        margin = "\n" + " " * self.tree.depth[node]
        parts = self.parts[self.tree.begin[node] + 1:self.tree.end[node]]
        inner = "".join(parts) + f"{margin} {self.words[node]}"
        return (inner if self.setting.is_corrected else inner.replace(margin, "\n")).strip()


def _content(document: Tags, rng: Random) -> Item:
    node = rng.randrange(document.tree.n_nodes)
    return Item({"tag": document.tags[node]}, document.content(node))


def _tag(document: Tags, rng: Random) -> Item:
    attribute = rng.randrange(len(document.values))
    node = bisect_right(document.starts, attribute) - 1
    return Item({"value": document.values[attribute]}, document.tags[node])


def _syntax(document: Tags, rng: Random) -> Item:
    broken = broken_nodes(document.setting, rng)
    return Item({}, str(bool(broken)), document.broken(broken) if broken else None)


XML = Language(Tags, (_content, _tag, _syntax))
