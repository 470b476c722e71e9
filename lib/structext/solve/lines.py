"""Questions about lines: edges of a tree (spec, tree.0-2) and the key=value lines of a log (a plug-in)."""

import re

from lib.structext.solve.unsolvable import Unsolvable, only

FIELD = re.compile(r'\b(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))')


def read_tree(text: str) -> tuple[str, dict[str, str]]:
    """The root and each node's parent. Raises Unsolvable where the edges are no tree."""
    parents: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        parent, arrow, child = (part.strip() for part in line.partition("->"))
        if not (parent and arrow and child) or child in parents:
            raise Unsolvable(f"line {number} is no edge father->child, or the child has a father already: {line!r}")
        parents[child] = parent
    roots = sorted({parent for parent in parents.values() if parent not in parents})
    if len(roots) != 1:
        raise Unsolvable(f"a tree has one root; here are {len(roots)}")
    return roots[0], parents


def _way(text: str, node: str) -> list[str]:
    """From the root to `node`."""
    root, parents = read_tree(text)
    if node != root and node not in parents:
        raise Unsolvable(f"the tree has no node {node!r}")
    way = [node]
    while way[-1] in parents:
        way.append(parents[way[-1]])
        if len(way) > len(parents) + 1:
            raise Unsolvable("the edges run in a circle")
    return way[::-1]


def _height(language: str, text: str, asked: re.Match) -> str:
    """Level by level from the root; a node that no level reaches stands in a circle."""
    root, parents = read_tree(text)
    children: dict[str, list[str]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    height, level, n_reached = -1, [root], 0
    while level:
        height, n_reached = height + 1, n_reached + len(level)
        level = [child for node in level for child in children.get(node, [])]
    if n_reached != len(parents) + 1:
        raise Unsolvable("the edges run in a circle")
    return str(height)


def _depth(language: str, text: str, asked: re.Match) -> str:
    return str(len(_way(text, asked["node"])) - 1)


def _way_to(language: str, text: str, asked: re.Match) -> str:
    return "->".join(_way(text, asked["node"]))


def read_log(text: str) -> list[dict[str, str]]:
    """The fields of each line that has some; whatever stands around them is not read."""
    lines = [{name: quoted or bare for name, quoted, bare in FIELD.findall(line)} for line in text.split("\n")]
    return [line for line in lines if line]


def _field(language: str, text: str, asked: re.Match) -> str:
    line = only([line for line in read_log(text) if line.get("event") == asked["key"]], f"event {asked['key']!r}")
    if asked["field"] not in line:
        raise Unsolvable(f"the line of event {asked['key']!r} has no {asked['field']!r}")
    return line[asked["field"]]


def _of_level(language: str, text: str, asked: re.Match) -> str:
    return str(sum(line.get("level") == asked["level"] for line in read_log(text)))


def _slow(language: str, text: str, asked: re.Match) -> str:
    try:
        return str(sum(float(line["duration_ms"]) > float(asked["limit"]) for line in read_log(text)
                       if line.get("service") == asked["service"]))
    except (KeyError, ValueError) as error:
        raise Unsolvable(f"a line of service {asked['service']!r} has no duration_ms that is a number") from error


def _services(language: str, text: str, asked: re.Match) -> str:
    found = [line.get("service", "") for line in read_log(text) if line.get("request") == asked["request"]]
    only(found, f"request {asked['request']!r}")
    return "->".join(found)


QUESTIONS = {  # in the order of the tasks; of each, the official wording and ours
    "tree": [
        (("What is the height of the root",), _height),
        ((r"depth of node (?P<node>.+?)\? ", r"depth of the node (?P<node>.+?), where"), _depth),
        ((r"from the root node to the node (?P<node>.+?)\. Answer", r"from the root to the node (?P<node>.+?)\? Write"),
         _way_to),
    ],
    "log": [
        ((r"What is the (?P<field>\S+) in the line whose event is (?P<key>.+?)\?$",), _field),
        ((r"lines have the level (?P<level>\S+?)\?",), _of_level),
        ((r"lines of the service (?P<service>.+?) have a duration_ms above (?P<limit>\d+)\?",), _slow),
        ((r"did the request (?P<request>.+?) go\?",), _services),
    ],
}
