"""Find, read and parse files that may be filings, or reject them with a reason."""

import codecs
import gzip
import re
import stat
import zlib
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from lib.core.records import Rejected
from lib.documents.folder import list_files
from lib.tablequest.filings.submissions import html_of, plain_text

ENDINGS = (".html", ".htm", ".txt", ".html.gz", ".htm.gz", ".txt.gz", ".md")
MAX_FILING_BYTES = 100_000_000  # about three times the largest 10-K filings


class NoFiling(ValueError):
    """Raised for a file that is not a readable annual report; the message says why."""


def page_of(raw: bytes) -> HtmlElement | str:
    """Parse a page, or return the text of a plain one; broken HTML is repaired as in browsers.

    Raises NoFiling for a file that is not HTML or is truncated: a page without its end, or a part
    of a page that ends within a table.
    """
    raw = _without_utf16(raw)
    head = raw[:200_000].lower()
    if b"\0" in raw[:4096]:
        raise NoFiling("binary, not HTML")
    if (text := plain_text(raw)) is not None:
        return text
    raw = html_of(raw)
    if not re.search(rb"<(?:html|body|table|div|p|pre|font|span)[\s>]", head):
        raise NoFiling("not HTML: no tag in its first 200,000 bytes")
    if re.search(rb"<(?:html|body)[\s>]", head):
        if not re.search(rb"</(?:html|body)\s*>", raw, re.I):
            raise NoFiling("truncated: it has neither </html> nor </body>; fetch the complete file "
                           "again")
    elif _is_within_table(raw):
        raise NoFiling("truncated within a table; fetch the complete file again")
    try:
        raw.decode("utf-8")
        encoding = "utf-8"
    except UnicodeDecodeError:
        encoding = "cp1252"
    parser = HTMLParser(encoding=encoding, huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = document_fromstring(raw, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise NoFiling(f"broken beyond repair ({error})") from error
    fatal = [error.message for error in parser.error_log if error.level_name == "FATAL"]
    if fatal:  # the parser stopped there and would silently lose the rest
        raise NoFiling(f"broken beyond repair ({fatal[0]})")
    return root


def _is_within_table(raw: bytes) -> bool:
    """Return whether more tables begin than end, ignoring comments."""
    page = re.sub(rb"<!--.*?-->", b"", raw, flags=re.S)
    n_begun = len(re.findall(rb"<table[\s>]", page, re.I))
    return n_begun > len(re.findall(rb"</table\s*>", page, re.I))


def _without_utf16(raw: bytes) -> bytes:
    """Return `raw` as UTF-8 if its byte order mark says UTF-16, else unchanged."""
    if not raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw
    try:
        return raw.decode("utf-16").encode("utf-8")
    except UnicodeError as error:
        raise NoFiling(f"broken UTF-16 ({error}): save it as UTF-8") from error


def bytes_of(path: Path) -> bytes:
    """Return the content of a regular file, decompressed if its name ends with ".gz".

    Raises NoFiling beyond MAX_FILING_BYTES, before and after decompression.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise NoFiling("not an ordinary file")
        if status.st_size > MAX_FILING_BYTES:
            raise NoFiling(f"{status.st_size / 1e6:.0f} MB, over the limit of "
                           f"{MAX_FILING_BYTES / 1e6:.0f}")
        if not status.st_size:
            raise NoFiling("empty")
        return _unpacked(path) if path.suffix.lower() == ".gz" else path.read_bytes()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise NoFiling(f"not a complete gzip file ({error})") from error
    except OSError as error:
        raise NoFiling(f"cannot be read ({error.strerror})") from error


def _unpacked(path: Path) -> bytes:
    with gzip.open(path) as file:
        raw = file.read(MAX_FILING_BYTES + 1)  # never more, whatever a small file unpacks to
    if len(raw) > MAX_FILING_BYTES:
        raise NoFiling(f"unpacks to more than the limit of {MAX_FILING_BYTES / 1e6:.0f} MB")
    if not raw:
        raise NoFiling("empty")
    return raw


def list_filings(folder: Path) -> tuple[list[tuple[Path, str]], list[Rejected]]:
    """Return the files to read with their names below the folder, and all others with reasons.

    `folder` may be one file. Raises NoDocuments, saying what to put there, if there is no file to
    read.
    """
    if folder.is_file():
        return [(folder, folder.name)], []
    files, skipped = list_files(folder, ENDINGS)
    return [(path, path.relative_to(folder).as_posix()) for path in files], skipped


def identifier_of(name: str) -> str:
    """Return a name usable in files and ids, such as "2024-acme" for "2024/acme.html.gz"."""
    stem = re.sub(r"\.(?:html?|md|txt)(?:\.gz)?$", "", name, flags=re.I)
    return re.sub(r"[^A-Za-z0-9.]+", "-", stem).strip("-.") or "filing"
