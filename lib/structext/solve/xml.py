"""Answer questions about XML (xml.0-2), using expat, which reports where each tag begins."""

import re
from dataclasses import dataclass
from xml.parsers import expat

from lib.structext.solve.objects import STRUCTURAL_ERROR
from lib.structext.solve.unsolvable import Broken, Unsolvable, only


@dataclass
class Tag:
    """An element, with the bytes at which its content begins and ends in the UTF-8 text."""

    name: str
    attributes: dict[str, str]
    start: int = -1
    end: int = -1


def _read(text: str) -> tuple[bytes, list[Tag]]:
    """Return the text in UTF-8 and its elements in document order.

    Raises Broken if the text is not well-formed, and Unsolvable if it declares a document type,
    because entities may expand without bound.
    """
    source = text.lstrip().encode()
    parser = expat.ParserCreate("utf-8")
    tags: list[Tag] = []
    opened: list[Tag] = []
    new: list[Tag] = []

    def here(*_: object) -> None:
        """After a start tag, record this place as the beginning of the tag's content."""
        if new:
            new.pop().start = parser.CurrentByteIndex

    def begin(name: str, attributes: dict[str, str]) -> None:
        here()
        tag = Tag(name, attributes)
        for waiting in (tags, opened, new):
            waiting.append(tag)

    def finish(_: str) -> None:
        here()
        opened.pop().end = parser.CurrentByteIndex

    def refuse(*_: object) -> None:
        raise Unsolvable("the reference declares a document type, so it is not read")

    parser.StartElementHandler, parser.EndElementHandler = begin, finish
    parser.CharacterDataHandler = parser.CommentHandler = here
    parser.ProcessingInstructionHandler = here
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(source, True)
    except expat.ExpatError as error:
        raise Broken(f"the reference is not XML: {error}") from error
    return source, tags


def _content(language: str, text: str, asked: re.Match) -> str:
    source, tags = _read(text)
    tag = only([tag for tag in tags if tag.name == asked["tag"]], f"tag {asked['tag']}")
    return source[tag.start:tag.end].decode().strip()


def _with_value(language: str, text: str, asked: re.Match) -> str:
    found = [tag.name for tag in _read(text)[1] if asked["value"] in tag.attributes.values()]
    return only(found, f"attribute of value {asked['value']!r}")


def _is_broken(language: str, text: str, asked: re.Match) -> str:
    try:
        _read(text)
    except Broken:
        return "True"
    return "False"


QUESTIONS = {"xml": [  # in the order of the tasks, each in the official wording and ours
    ((r"content of tag (?P<tag>\S+)\? ", r"content of the tag (?P<tag>\S+)\? ",
      r"does the tag (?P<tag>\S+) hold\?"), _content),
    ((r"tag with attribute of value (?P<value>.+)\?$",
      r'has an attribute with the value "(?P<value>.+)"\? Answer',
      r"has an attribute of value (?P<value>.+)\?$"), _with_value),
    (STRUCTURAL_ERROR, _is_broken),
]}
