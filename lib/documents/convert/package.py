"""Open ZIP packages (DOCX, XLSX, PPTX, EPUB): bombs, macros and entities are rejected first."""

import io
import re
import zipfile
import zlib
from pathlib import PurePosixPath

from lib.core.errors import BadInput

MOST_FILES = 10_000
MOST_UNPACKED = 300_000_000  # bytes; 100 MB of XML in memory as a tree is about 1 GB
MOST_XML = 60_000_000  # bytes of one part that becomes a tree
MOST_RATIO = 300  # XML shrinks 5 to 40 times

_XML = re.compile(r"\.(?:xml|rels|opf|ncx|xhtml|html?)$", re.I)


def opened(raw: bytes, main: str, kind: str) -> zipfile.ZipFile:
    """Open a package and check the sizes that it declares; reading a part never exceeds them.

    `main` is the part that makes it a `kind`. Raises BadInput.
    """
    try:
        package = zipfile.ZipFile(io.BytesIO(raw))
    except zipfile.BadZipFile as error:
        raise BadInput(f"not a {kind} file, or cut off ({error})") from error
    parts = package.infolist()
    unpacked = sum(part.file_size for part in parts)
    if len(parts) > MOST_FILES or unpacked > MOST_UNPACKED or (
            unpacked > 10_000_000 and unpacked > MOST_RATIO * len(raw)):
        raise BadInput(f"a ZIP bomb: {len(parts):,} parts, {unpacked / 1e6:,.0f} MB unpacked "
                       f"from {len(raw) / 1e6:.2f} MB")
    names = {part.filename for part in parts}
    if main not in names:
        raise BadInput(f"not a {kind} file: it has no {main}")
    if any(part.flag_bits & 1 for part in parts):
        raise BadInput("encrypted: save it without a password")
    if any(PurePosixPath(name).name.lower() == "vbaproject.bin" for name in names):
        raise BadInput(f"it contains macros, which are never run: save it as {kind} without macros")
    for part in parts:
        if _XML.search(part.filename) and part.file_size > MOST_XML:
            raise BadInput(f"{part.filename} has {part.file_size / 1e6:,.0f} MB: split the "
                           "document")
    return package


def refuse_entities(package: zipfile.ZipFile) -> None:
    """Reject a document type in any XML part: Office's formats have none (ECMA-376, part 2)."""
    for name in package.namelist():
        if _XML.search(name):
            content = part(package, name).replace(b"\0", b"")  # UTF-16 hides nothing
            if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
                raise BadInput(f"{name} declares a document type or entities, which are never "
                               "resolved")


def part(package: zipfile.ZipFile, name: str) -> bytes:
    """Return the content of a part. Raises BadInput if it is missing or damaged."""
    try:
        return package.read(name)
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise BadInput(f"damaged: {name} cannot be unpacked ({error})") from error


def xml(package: zipfile.ZipFile, name: str):
    """Return the root element of an XML part; entities stay unresolved, nothing is fetched."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False,
                             huge_tree=False, remove_comments=True, remove_pis=True)
    try:
        return etree.fromstring(part(package, name), parser)
    except etree.XMLSyntaxError as error:
        raise BadInput(f"damaged: {name} is not XML ({error})") from error
