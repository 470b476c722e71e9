"""YAML as nodes with their places in the text, safe for a text that nobody has checked.

libyaml's events are composed here and not by PyYAML: its C composer recurses without a limit, so that 100,000 opening
brackets end the process. Aliases are refused: a few lines of them stand for a text that grows without bound.
"""

import yaml

from lib.structext.solve.unsolvable import Broken, Unsolvable

Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # Base: every scalar is a string, so NO stays NO
MOST_NESTED = 200  # levels; a tree of the generator has a few


def compose_yaml(text: str) -> yaml.Node | None:
    """The root of the one document in `text`, None where it is empty.

    Raises Broken where it is no YAML, Unsolvable where it has an alias, several documents, or more than MOST_NESTED
    levels.
    """
    roots: list[yaml.Node] = []
    waiting: list[yaml.Node] = []  # collections that are open; a mapping's value is a flat list until it is closed
    try:
        for event in yaml.parse(text, Loader):
            if isinstance(event, yaml.ScalarEvent):
                _add(yaml.ScalarNode("", event.value, event.start_mark, event.end_mark), waiting, roots)
            elif isinstance(event, yaml.CollectionStartEvent):
                kind = yaml.MappingNode if isinstance(event, yaml.MappingStartEvent) else yaml.SequenceNode
                node = kind("", [], event.start_mark)
                _add(node, waiting, roots)
                waiting.append(node)
            elif isinstance(event, yaml.CollectionEndEvent):
                node = waiting.pop()
                node.end_mark = event.end_mark
                if isinstance(node, yaml.MappingNode):
                    node.value = list(zip(node.value[::2], node.value[1::2], strict=True))
            elif isinstance(event, yaml.AliasEvent):
                raise Unsolvable("the text has a YAML alias: it is not read")
            if len(waiting) > MOST_NESTED:
                raise Unsolvable(f"the text is nested more than {MOST_NESTED} levels deep: it is not read")
    except yaml.YAMLError as error:
        raise Broken(f"the reference is no YAML: {' '.join(str(error).split())}") from error
    if len(roots) > 1:
        raise Unsolvable(f"the text holds {len(roots)} YAML documents, not one")
    return roots[0] if roots else None


def _add(node: yaml.Node, waiting: list[yaml.Node], roots: list[yaml.Node]) -> None:
    (waiting[-1].value if waiting else roots).append(node)


def plain(node: yaml.Node) -> str | list | dict:
    """A node as text, list or dict; a key that is no scalar becomes the text of its node."""
    if isinstance(node, yaml.MappingNode):
        return {key.value if isinstance(key.value, str) else str(plain(key)): plain(item) for key, item in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [plain(item) for item in node.value]
    return node.value
