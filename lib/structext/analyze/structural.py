"""Match responses structurally: an answer is right in any layout. The paper has no such metric.

The answer's form (a path, a number, objects, tags or lines) decides how answer and response are
read; their values are compared. Indentation, whitespace, quotation marks and code fences do not
matter. The order of a list of lines or objects matters only if the question asks for it.
"""

import json
import re
from functools import partial
from xml.parsers import expat

from lib.structext.solve.unsolvable import Unsolvable
from lib.structext.solve.yaml_nodes import compose_yaml, plain

_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(.*)")  # ```yaml; not: a ``` b
_LABEL = re.compile(  # "The final answer is:", "**Answer:**"; not: "answer 3"
    r"\s*(\*\*)?(?:the\s+)?(?:final\s+)?answer(?:\s+is)?\s*(?(1)(?::\s*\*\*|\*\*\s*:)|:)\s*",
    re.IGNORECASE)
_STEP = re.compile(r"""\[\s*(?:"([^"]*)"|'([^']*)'|(\d+))\s*\]|\.(\w+)""")  # ["a"], [0], .a
_STEPS = re.compile(rf"[$\w]+((?:\s*(?:{_STEP.pattern}))+)")  # obj["a"][0]; not: obj
_SEPARATORS = re.compile(r"[ \t\n\r,]*")
_HEADING = re.compile(r"(#+|\*+)\s|\\(sub)*(section|paragraph)\b")
# "True: line 3 …"; not: "True or False"
_TRUTH = re.compile(r"[\W_]*(true|false)\b(?!\W*(?:or\W+)?(?:true|false)\b)", re.IGNORECASE)


def is_structural_match(answer: str, response: str, is_ordered: bool = False) -> bool:
    """Return whether `response` says what `answer` says, in any layout; False if it is unreadable.

    If `is_ordered`, the order of lines, objects and an object's keys matters. Order always matters
    in a section of a document, which begins with a heading, and in the content of a tag.
    """
    wanted, given = answer.strip(), bare(response)
    if wanted in ("True", "False"):
        return _truth(given) == (wanted == "True")
    for read in (_number, _path, _steps, partial(_objects, is_ordered=is_ordered), _tags):
        if read is _steps and "[" not in wanted:  # a.jpg is a file, not a path
            continue
        value = read(wanted)
        if value is not None:
            return read(given) == value
    is_section = _HEADING.match(wanted) is not None
    return _lines(given, is_section, is_ordered) == _lines(wanted, is_section, is_ordered)


def bare(response: str) -> str:
    """Return a response without "Answer:"; if it has code fences, the content of the last one."""
    text = response.replace("\r\n", "\n")
    label = _LABEL.match(text)
    text = text[label.end():] if label else text
    fenced = _fenced(text)
    return (fenced[-1] if fenced else text).strip()


def _fenced(text: str) -> list[str]:
    """Return the content of each closed code fence."""
    found, inside, marker = [], [], ""
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if marker and fence and fence[1].startswith(marker) and not fence[2]:
            found.append("\n".join(inside))
            marker = ""
        elif marker:
            inside.append(line)
        elif fence:
            inside, marker = [], fence[1]
    return found


def _plain(text: str) -> str:
    """Strip Markdown, quotation marks and a full stop around a word or number."""
    return text.strip().strip("*`\"'").rstrip(".").strip("*`\"' ")


def _truth(text: str) -> bool | None:
    """Read True or False at the beginning; a response may then say where the error is."""
    found = _TRUTH.match(text)
    return found[1].lower() == "true" if found else None


def _number(text: str) -> float | None:
    word = _plain(text).replace(",", "")
    return float(word) if re.fullmatch(r"[-+]?\d+(\.\d+)?", word) else None


def _path(text: str) -> list[str] | None:
    """Read a path through a tree: a->b->c."""
    nodes = [_plain(node) for node in re.split(r"\s*(?:-+>|→|⟶)\s*", _plain(text))]
    return nodes if len(nodes) > 1 and all(re.fullmatch(r"\S+", node) for node in nodes) else None


def _steps(text: str) -> list[str | int] | None:
    """Read a path to a value: obj["subs"][0]["KEY"] or obj.subs[0].KEY, with any root."""
    word = text.strip().strip("`*").rstrip(".").strip("`* ")
    found = _STEPS.fullmatch(word)
    return [int(index) if index else double or single or name
            for double, single, index, name in _STEP.findall(found[1])] if found else None


def _objects(text: str, is_ordered: bool) -> list[str] | None:
    """Read JSON or YAML objects, separated by blank lines, commas or lines ---, or in one list."""
    try:
        found = _json_objects(text) or _yaml_objects(text)
    except RecursionError:
        return None
    texts = [json.dumps(_strings(one), sort_keys=not is_ordered) for one in found or []]
    return (texts if is_ordered else sorted(texts)) or None


def _json_objects(text: str) -> list[dict] | None:
    decoder, found, place = json.JSONDecoder(), [], 0
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except ValueError:
            return None
        found += value if isinstance(value, list) else [value]
        place = _SEPARATORS.match(text, place).end()
    return found if all(isinstance(one, dict) for one in found) else None


def _yaml_objects(text: str) -> list[dict] | None:
    """Read each part as a mapping or a list of mappings, however its first line is indented."""
    found = []
    for part in re.split(r"\n\s*(?:---\s*)?\n", text):
        value = _loaded(part) or _loaded(_realigned(part))
        found += value if isinstance(value, list) else [value]
    return found if all(isinstance(one, dict) and one for one in found) else None


def _loaded(text: str) -> list | dict | None:
    try:
        node = compose_yaml(text)
    except Unsolvable:
        return None
    value = plain(node) if node else None
    return value if isinstance(value, list | dict) else None


def _realigned(part: str) -> str:
    """Align later lines with the first, in case an excerpt kept its indentation in the file."""
    first, *others = part.split("\n")
    common = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    wanted = len(first) - len(first.lstrip("- "))
    return "\n".join([first, *(" " * wanted + line[common:] for line in others)])


def _strings(value: object) -> object:
    """Return scalars as text, without the comma after each value in official YAML."""
    if isinstance(value, dict):
        return {str(key): _strings(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_strings(item) for item in value]
    word = value if isinstance(value, str) else json.dumps(value)
    return word.removesuffix(",")


def _tags(text: str) -> list | None:
    """Read XML content: tags with their attributes, and words, in order."""
    if not re.search(r"<[A-Za-z]", text) or "<!DOCTYPE" in text:
        return None
    parser = expat.ParserCreate("utf-8")
    events: list = []
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: events.append(
        (name, sorted(attributes.items())))
    parser.EndElementHandler = lambda name: events.append(("end", name))
    parser.CharacterDataHandler = lambda data: events.extend(data.split())
    body = re.sub(r"^\s*<\?xml[^>]*\?>", "", text)
    try:
        parser.Parse(f"<content>{body}</content>".encode(), True)
    except expat.ExpatError:
        return None
    return events


def _lines(text: str, is_section: bool, is_ordered: bool) -> list[str]:
    """Return lines with single spaces; remove bullets unless the lines are a section's."""
    lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    if is_section:
        return lines
    words = [_plain(re.sub(r"^(?:[-+*•]|\d+[.)])\s+", "", line)) for line in lines]
    return words if is_ordered else sorted(words)
