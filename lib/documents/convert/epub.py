"""Read EPUB: its XHTML files in the order of the spine (EPUB 3, package document)."""

import posixpath
from dataclasses import replace
from urllib.parse import unquote

from lib.core.errors import BadInput
from lib.documents.convert import elements, html
from lib.documents.convert.markdown import Converted, Piece, made
from lib.documents.convert.package import opened, part, xml

_CONTAINER = "META-INF/container.xml"
_NO_TEXT = frozenset(("titlepage", "cover", "toc", "landmarks", "copyright-page", "page-list"))


def read(raw: bytes) -> Converted:
    """Convert an EPUB file. Raises BadInput for what is damaged, a bomb or protected."""
    package = opened(raw, _CONTAINER, "EPUB")
    if "META-INF/encryption.xml" in package.namelist():
        raise BadInput("protected (META-INF/encryption.xml)")
    rootfile = next(xml(package, _CONTAINER).iter("{*}rootfile"), None)
    if rootfile is None:
        raise BadInput(f"{_CONTAINER} names no book")
    book = rootfile.get("full-path", "")
    opf, pieces = xml(package, book), []
    files = {one.get("id"): one for one in opf.iter("{*}item")}
    for reference in opf.iter("{*}itemref"):
        item = files.get(reference.get("idref"))
        if item is None or "nav" in item.get("properties", "").split():
            continue
        name = posixpath.normpath(
            posixpath.join(posixpath.dirname(book), unquote(item.get("href", ""))))
        pieces += _chapter(html.decoded(part(package, name)), name)
    return made(pieces)


def _chapter(text: str, name: str) -> list[Piece]:
    root = html.tree(text)
    kinds = {kind for one in root.iter("body", "section") for kind in one.get("type", "").split()}
    if kinds & _NO_TEXT:
        return []
    html.strip_unread(root)
    return [replace(piece, position=f"{name}, {piece.position}") for piece in elements.walked(root)]
