"""Open ZIP packages (DOCX, XLSX, PPTX, EPUB): bombs, macros and entities are rejected first."""

import io
import re
import zipfile
import zlib

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
        is_old = raw.startswith(b"\xd0\xcf\x11\xe0")
        reason = "an encrypted or older Office file" if is_old else f"or cut off ({error})"
        raise BadInput(f"not a {kind} file, {reason}") from error
    parts = package.infolist()
    unpacked = sum(part.file_size for part in parts)
    if (
        len(parts) > MOST_FILES
        or unpacked > MOST_UNPACKED
        or (unpacked > 10_000_000 and unpacked > MOST_RATIO * len(raw))
    ):
        raise BadInput(
            f"a ZIP bomb: {len(parts):,} parts, {unpacked / 1e6:,.0f} MB unpacked "
            f"from {len(raw) / 1e6:.2f} MB"
        )
    if main not in package.namelist():
        raise BadInput(f"not a {kind} file: it has no {main}")
    for one in parts:
        if one.flag_bits & 1:
            raise BadInput("encrypted: save it without a password")
        if one.filename.lower().endswith("vbaproject.bin"):
            raise BadInput(
                f"it contains macros, which are never run: save it as {kind} without macros"
            )
        if _XML.search(one.filename):
            _check_xml(package, one, kind)
    return package


# Office's formats have no document type (ECMA-376, part 2); books have, without entities
def _check_xml(package: zipfile.ZipFile, info: zipfile.ZipInfo, kind: str) -> None:
    if info.file_size > MOST_XML:
        raise BadInput(f"{info.filename} has {info.file_size / 1e6:,.0f} MB: split the document")
    content = part(package, info.filename).replace(b"\0", b"")  # UTF-16 hides nothing
    if b"<!ENTITY" in content or kind != "EPUB" and b"<!DOCTYPE" in content:
        raise BadInput(
            f"{info.filename} declares a document type or entities, which are never resolved"
        )


def part(package: zipfile.ZipFile, name: str) -> bytes:
    """Return the content of a part. Raises BadInput if it is missing or damaged."""
    try:
        return package.read(name)
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise BadInput(f"damaged: {name} cannot be unpacked ({error})") from error


def xml(package: zipfile.ZipFile, name: str):
    """Return the root element of an XML part; entities stay unresolved, nothing is fetched."""
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return etree.fromstring(part(package, name), parser)
    except etree.XMLSyntaxError as error:
        raise BadInput(f"damaged: {name} is not XML ({error})") from error
