"""Answer questions about texts of lines: a tree's edges (tree.0-2), a log's key=value pairs."""

import re

from lib.structext.solve.unsolvable import Unsolvable, only

_FIELD = re.compile(r'\b(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))')  # a=b, a="b c"; not: a = b


def _parents(text: str) -> tuple[str, dict[str, str]]:
    """Return the root and each node's parent. Raises Unsolvable if the edges are not a tree."""
    parents: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        parent, arrow, child = (part.strip() for part in line.partition("->"))
        if not (parent and arrow and child) or child in parents:
            raise Unsolvable(f"line {number} is not an edge father->child, or the child has a "
                             f"father already: {line!r}")
        parents[child] = parent
    roots = sorted({parent for parent in parents.values() if parent not in parents})
    if len(roots) != 1:
        raise Unsolvable(f"a tree has one root, but there are {len(roots)}")
    return roots[0], parents


def _trail(text: str, node: str) -> list[str]:
    """Return the nodes from the root to `node`."""
    root, parents = _parents(text)
    if node != root and node not in parents:
        raise Unsolvable(f"the tree has no node {node!r}")
    trail = [node]
    while trail[-1] in parents:
        trail.append(parents[trail[-1]])
        if len(trail) > len(parents) + 1:
            raise Unsolvable("the edges form a cycle")
    return trail[::-1]


def _height(language: str, text: str, asked: re.Match) -> str:
    """Descend level by level from the root; a node that no level reaches is in a cycle."""
    root, parents = _parents(text)
    children: dict[str, list[str]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    height, level, n_reached = -1, [root], 0
    while level:
        height, n_reached = height + 1, n_reached + len(level)
        level = [child for node in level for child in children.get(node, [])]
    if n_reached != len(parents) + 1:
        raise Unsolvable("the edges form a cycle")
    return str(height)


def _depth(language: str, text: str, asked: re.Match) -> str:
    return str(len(_trail(text, asked["node"])) - 1)


def _path(language: str, text: str, asked: re.Match) -> str:
    return "->".join(_trail(text, asked["node"]))


def _log(text: str) -> list[dict[str, str]]:
    """Return the fields of each line that has any, ignoring other text in the line."""
    lines = [{name: quoted or bare for name, quoted, bare in _FIELD.findall(line)}
             for line in text.split("\n")]
    return [line for line in lines if line]


def _field(language: str, text: str, asked: re.Match) -> str:
    key, field = asked["key"], asked["field"]
    line = only([line for line in _log(text) if line.get("event") == key], f"event {key!r}")
    if field not in line:
        raise Unsolvable(f"the line of event {key!r} has no {field!r}")
    return line[field]


def _of_level(language: str, text: str, asked: re.Match) -> str:
    return str(sum(line.get("level") == asked["level"] for line in _log(text)))


def _slow(language: str, text: str, asked: re.Match) -> str:
    try:
        return str(sum(float(line["duration_ms"]) > float(asked["limit"]) for line in _log(text)
                       if line.get("service") == asked["service"]))
    except (KeyError, ValueError) as error:
        raise Unsolvable(f"a line of service {asked['service']!r} has no numeric "
                         "duration_ms") from error


def _services(language: str, text: str, asked: re.Match) -> str:
    request = asked["request"]
    found = [line.get("service", "") for line in _log(text) if line.get("request") == request]
    only(found, f"request {request!r}")
    return "->".join(found)


QUESTIONS = {  # in the order of the tasks, each in the official wording and ours
    "tree": [
        (("What is the height of the root",), _height),
        ((r"depth of node (?P<node>.+?)\? ", r"depth of the node (?P<node>.+?), where"), _depth),
        ((r"from the root node to the node (?P<node>.+?)\. Answer",
          r"from the root to the node (?P<node>.+?)\? Write"), _path),
    ],
    "log": [
        ((r"What is the (?P<field>\S+) in the line whose event is (?P<key>.+?)\?$",), _field),
        ((r"lines have the level (?P<level>\S+?)\?",), _of_level),
        ((r"lines of the service (?P<service>.+?) have a duration_ms above (?P<limit>\d+)\?",),
         _slow),
        ((r"did the request (?P<request>.+?) go\?",), _services),
    ],
}
