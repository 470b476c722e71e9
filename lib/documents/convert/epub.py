"""Read EPUB: its XHTML files in the order of the spine (EPUB 3, package document)."""

import posixpath
from dataclasses import replace
from urllib.parse import unquote

from lib.core.errors import BadInput
from lib.documents.convert import elements, html
from lib.documents.convert.markdown import Converted, write_markdown
from lib.documents.convert.package import opened, part, xml

_CONTAINER = "META-INF/container.xml"
_NO_TEXT = frozenset(("titlepage", "cover", "toc", "landmarks", "copyright-page", "page-list"))


def read(raw: bytes) -> Converted:
    """Convert an EPUB file. Raises BadInput for what is damaged, a bomb or protected."""
    package = opened(raw, _CONTAINER, "EPUB")
    if "META-INF/encryption.xml" in package.namelist():
        raise BadInput("protected (META-INF/encryption.xml)")
    book = next((one.get("full-path", "") for one in xml(package, _CONTAINER).iter("{*}rootfile")),
                "")
    opf, pieces = xml(package, book), []
    files = {one.get("id"): one for one in opf.iter("{*}item")
             if "nav" not in one.get("properties", "").split()}
    for reference in opf.iter("{*}itemref"):
        if reference.get("idref") not in files:
            continue
        href = unquote(files[reference.get("idref")].get("href", ""))
        name = posixpath.normpath(posixpath.join(posixpath.dirname(book), href))
        root = html.tree(html.decoded(part(package, name)))
        kinds = " ".join(root.xpath("//@*[local-name()='type']")).split()
        if not _NO_TEXT & {*kinds}:
            pieces += [replace(piece, position=name) for piece in elements.walked(root)]
    return write_markdown(pieces)
