"""Structural match: the right answer in another layout counts (beside the paper's metrics).

Answer and response are read as what the answer looks like (a path, a number, objects, tags, lines) and compared as
values: indentation, blanks, quotation marks and code fences do not matter, and the order of a list of lines or objects
only where it is asked for.
"""

import json
import re
from collections.abc import Callable
from functools import partial
from xml.parsers import expat

from lib.structext.solve.unsolvable import Unsolvable
from lib.structext.solve.yaml_nodes import compose_yaml, plain

Read = Callable[[str], object | None]  # what a text says, or None where it is not of this kind
FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(.*)")
LABEL = re.compile(r"\s*(\*\*)?(?:the\s+)?(?:final\s+)?answer(?:\s+is)?\s*(?(1)(?::\s*\*\*|\*\*\s*:)|:)\s*",
                   re.IGNORECASE)
STEP = re.compile(r"""\[\s*(?:"([^"]*)"|'([^']*)'|(\d+))\s*\]|\.(\w+)""")
STEPS = re.compile(rf"[$\w]+((?:\s*(?:{STEP.pattern}))+)")
BLANKS = re.compile(r"[ \t\n\r,]*")
HEADING = re.compile(r"(#+|\*+)\s|\\(sub)*(section|paragraph)\b")


def is_structural_match(answer: str, response: str, is_ordered: bool = False) -> bool:
    """Whether `response` says what `answer` says, whatever its layout. An unreadable response is no match.

    `is_ordered`: lines, objects and the keys of an object count in their order; a part of a document, which begins with
    a heading, and what stands in a tag always do.
    """
    wanted, given = answer.strip(), bare(response)
    if wanted in ("True", "False"):
        return _truth(given) == (wanted == "True")
    for read in (_number, _way, _steps, partial(_objects, is_ordered=is_ordered), _tags):
        value = read(wanted) if read is not _steps or "[" in wanted else None  # a.jpg is a file, no path
        if value is not None:
            return read(given) == value
    is_part = HEADING.match(wanted) is not None
    return _lines(given, is_part, is_ordered) == _lines(wanted, is_part, is_ordered)


def bare(response: str) -> str:
    """A response without what stands around an answer: the words "Answer:", and a code fence (of several, the last)."""
    text = response.replace("\r\n", "\n")
    label = LABEL.match(text)
    text = text[label.end():] if label else text
    fenced = _fenced(text)
    return (fenced[-1] if fenced else text).strip()


def _fenced(text: str) -> list[str]:
    """What stands in each code fence that is closed."""
    found, inside, marker = [], [], ""
    for line in text.split("\n"):
        fence = FENCE.match(line)
        if marker and fence and fence[1].startswith(marker) and not fence[2]:
            found.append("\n".join(inside))
            marker = ""
        elif marker:
            inside.append(line)
        elif fence:
            inside, marker = [], fence[1]
    return found


def _plain(text: str) -> str:
    """One word or number without Markdown, quotation marks and a full stop around it."""
    return text.strip().strip("*`\"'").rstrip(".").strip("*`\"' ")


def _truth(text: str) -> bool | None:
    """Of Syntax: the answer is a word, a response may go on to say where the error is."""
    found = re.match(r"[\W_]*(true|false)\b(?!\W*(?:or\W+)?(?:true|false)\b)", text, re.IGNORECASE)  # not both
    return found[1].lower() == "true" if found else None


def _number(text: str) -> float | None:
    word = _plain(text).replace(",", "")
    return float(word) if re.fullmatch(r"[-+]?\d+(\.\d+)?", word) else None


def _way(text: str) -> list[str] | None:
    """A path through a tree: a->b->c."""
    nodes = [_plain(node) for node in re.split(r"\s*(?:-+>|→|⟶)\s*", _plain(text))]
    return nodes if len(nodes) > 1 and all(re.fullmatch(r"\S+", node) for node in nodes) else None


def _steps(text: str) -> list[str | int] | None:
    """A path to a value: obj["subs"][0]["KEY"] with either quotation mark, or obj.subs[0].KEY; any root."""
    word = text.strip().strip("`*").rstrip(".").strip("`* ")
    found = STEPS.fullmatch(word)
    if not found:
        return None
    return [int(index) if index else double or single or name for double, single, index, name in STEP.findall(found[1])]


def _objects(text: str, is_ordered: bool) -> list[str] | None:
    """Objects: JSON or YAML, parted by blank lines, commas or lines ---, or as one list; sorted where order is free."""
    try:
        found = _json_objects(text) or _yaml_objects(text)
    except RecursionError:
        return None
    said = [json.dumps(_strings(one), sort_keys=not is_ordered) for one in found or []]
    return (said if is_ordered else sorted(said)) or None


def _json_objects(text: str) -> list[dict] | None:
    decoder, found, place = json.JSONDecoder(), [], 0
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except ValueError:
            return None
        found += value if isinstance(value, list) else [value]
        place = BLANKS.match(text, place).end()
    return found if all(isinstance(one, dict) for one in found) else None


def _yaml_objects(text: str) -> list[dict] | None:
    """Each part of the text is one mapping or a list of them; its lines may be indented otherwise than its first."""
    found = []
    for part in re.split(r"\n\s*(?:---\s*)?\n", text):
        value = _loaded(part) or _loaded(_flush(part))
        found += value if isinstance(value, list) else [value]
    return found if all(isinstance(one, dict) and one for one in found) else None


def _loaded(text: str) -> list | dict | None:
    try:
        node = compose_yaml(text)
    except Unsolvable:
        return None
    value = plain(node) if node else None
    return value if isinstance(value, list | dict) else None


def _flush(part: str) -> str:
    """The lines after the first moved under it, where an excerpt kept the indentation it had in its file."""
    first, *others = part.split("\n")
    common = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    wanted = len(first) - len(first.lstrip("- "))
    return "\n".join([first, *(" " * wanted + line[common:] for line in others)])


def _strings(value: object) -> object:
    """Scalars as words, without the comma that official YAML has after a value."""
    if isinstance(value, dict):
        return {str(key): _strings(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_strings(item) for item in value]
    word = value if isinstance(value, str) else json.dumps(value)
    return word.removesuffix(",")


def _tags(text: str) -> list | None:
    """XML content: tags with their attributes and words in order."""
    if not re.search(r"<[A-Za-z]", text) or "<!DOCTYPE" in text:
        return None
    parser = expat.ParserCreate("utf-8")
    events: list = []
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: events.append((name, sorted(attributes.items())))
    parser.EndElementHandler = lambda name: events.append(("end", name))
    parser.CharacterDataHandler = lambda data: events.extend(data.split())
    body = re.sub(r"^\s*<\?xml[^>]*\?>", "", text)
    try:
        parser.Parse(f"<content>{body}</content>".encode(), True)
    except expat.ExpatError:
        return None
    return events


def _lines(text: str, is_part: bool, is_ordered: bool) -> list[str]:
    """Lines with single blanks: of a part of a document as they are, of a list (perhaps with dashes) perhaps sorted."""
    lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    if is_part:
        return lines
    words = [_plain(re.sub(r"^(?:[-+*•]|\d+[.)])\s+", "", line)) for line in lines]
    return words if is_ordered else sorted(words)
