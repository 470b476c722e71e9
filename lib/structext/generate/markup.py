"""The tree as nested XML tags with attributes, and a word at the end of each tag's content."""

from itertools import accumulate
from random import Random

from lib.structext.generate.language import Asked, Language, Setting, broken_nodes


class Tags:
    """Nested tags: node i is tags[i] with the attributes keys/values[starts[i]:starts[i + 1]], 0 to size × depth."""

    def __init__(self, setting: Setting) -> None:
        tree, names = setting.tree, setting.names
        counts = setting.rng.choices(range(setting.size * setting.depth + 1), k=tree.n_nodes)
        if not any(counts):
            counts[0] = 1  # a question needs one attribute in the text
        self.setting, self.tree = setting, tree
        self.starts = list(accumulate(counts, initial=0))
        self.tags = names.tags(tree.n_nodes)
        self.keys, self.values = names.keys(self.starts[-1]), names.values(self.starts[-1])
        self.words = names.texts(tree.n_nodes, 0)
        self._heads = self._opened()
        self.parts = self._parts(set())
        self.text = self._text(self.parts)

    def _opened(self) -> list[str]:
        pairs = [f' {key}="{value}"' for key, value in zip(self.keys, self.values, strict=True)]
        starts = self.starts
        return [f"\n{' ' * depth}<{tag}{''.join(pairs[starts[node]:starts[node + 1]])}>"
                for node, (tag, depth) in enumerate(zip(self.tags, self.tree.depth, strict=True))]

    def _parts(self, broken: set[int]) -> list[str]:
        """Heads and tails in order. The error is a missing end tag."""
        tails = [f"\n{' ' * depth} {word}" if node in broken else f"\n{' ' * depth} {word}\n{' ' * depth}</{tag}>"
                 for node, (tag, word, depth) in enumerate(zip(self.tags, self.words, self.tree.depth, strict=True))]
        return [self._heads[event] if event >= 0 else tails[~event] for event in self.tree.events]

    def _text(self, parts: list[str]) -> str:
        return f'<?xml version="1.0" encoding="UTF-8"?>{"".join(parts)}'

    def broken(self, nodes: set[int]) -> str:
        """The text with a structural error in each of `nodes`."""
        return self._text(self._parts(nodes))

    def content(self, node: int) -> str:
        """What stands between a tag and its end tag, without blanks at both ends; faithful, as if it were the root."""
        margin = "\n" + " " * self.tree.depth[node]
        inner = "".join(self.parts[self.tree.begin[node] + 1:self.tree.end[node]]) + f"{margin} {self.words[node]}"
        return (inner if self.setting.is_corrected else inner.replace(margin, "\n")).strip()


def _content(document: Tags, rng: Random) -> Asked:
    node = rng.randrange(document.tree.n_nodes)
    return Asked({"tag": document.tags[node]}, document.content(node))


def _tag(document: Tags, rng: Random) -> Asked:
    attribute = rng.randrange(len(document.values))
    node = next(node for node, start in enumerate(document.starts[1:]) if attribute < start)
    return Asked({"value": document.values[attribute]}, document.tags[node])


def _syntax(document: Tags, rng: Random) -> Asked:
    broken = broken_nodes(document.setting, rng)
    return Asked({}, str(bool(broken)), document.broken(broken) if broken else None)


XML = Language(Tags, (_content, _tag, _syntax))
