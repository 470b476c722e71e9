"""Read YAML as nodes with their places in the text, safely for untrusted text.

libyaml's events are composed here, not by PyYAML. Its C composer recurses without a limit, so
100,000 opening brackets crash the process. Aliases are rejected, because a few lines of them can
expand to a text of any size.
"""

import yaml

from lib.structext.solve.unsolvable import Broken, Unsolvable

_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # Base reads scalars as strings: NO is "NO"
MOST_NESTED = 200  # levels; the generator's trees have a few


def compose_yaml(text: str) -> yaml.Node | None:
    """Return the root of the one document in `text`, or None if `text` is empty.

    Raises Broken if `text` is not YAML, and Unsolvable for an alias, several documents, or more
    than MOST_NESTED levels.
    """
    roots: list[yaml.Node] = []
    opened: list[yaml.Node] = []  # collections; a mapping is a flat list until its end
    try:
        for event in yaml.parse(text, _Loader):
            if isinstance(event, yaml.ScalarEvent):
                node = yaml.ScalarNode("", event.value, event.start_mark, event.end_mark)
                (opened[-1].value if opened else roots).append(node)
            elif isinstance(event, yaml.CollectionStartEvent):
                is_mapping = isinstance(event, yaml.MappingStartEvent)
                node = (yaml.MappingNode if is_mapping else yaml.SequenceNode)(
                    "", [], event.start_mark)
                (opened[-1].value if opened else roots).append(node)
                opened.append(node)
            elif isinstance(event, yaml.CollectionEndEvent):
                node = opened.pop()
                node.end_mark = event.end_mark
                if isinstance(node, yaml.MappingNode):
                    node.value = list(zip(node.value[::2], node.value[1::2], strict=True))
            elif isinstance(event, yaml.AliasEvent):
                raise Unsolvable("the text has a YAML alias, so it is not read")
            if len(opened) > MOST_NESTED:
                raise Unsolvable(f"the text is nested more than {MOST_NESTED} levels deep, so it "
                                 "is not read")
    except yaml.YAMLError as error:
        raise Broken(f"the reference is not YAML: {' '.join(str(error).split())}") from error
    if len(roots) > 1:
        raise Unsolvable(f"the text has {len(roots)} YAML documents, not one")
    return roots[0] if roots else None


def plain(node: yaml.Node) -> str | list | dict:
    """Return a node as text, list or dict; a key that is not a scalar becomes its node's text."""
    if isinstance(node, yaml.MappingNode):
        return {str(plain(key)): plain(item) for key, item in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [plain(item) for item in node.value]
    return node.value
