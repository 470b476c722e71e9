"""Files that may be filings: found, unpacked, parsed, or refused with a reason."""

import gzip
import re
import stat
import zlib
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from lib.core.errors import BadInput
from lib.core.records import Rejected
from lib.documents.folder import list_files

ENDINGS = (".html", ".htm", ".html.gz", ".htm.gz")
MAX_FILING_BYTES = 100_000_000  # about three times the largest 10-K filings

_SUBMISSION = re.compile(rb"<SEC-DOCUMENT>|<SEC-HEADER>|PRIVACY-ENHANCED MESSAGE", re.I)
# in <pre>, the tags of such tables, or a line with two numbers that spaces align
_TEXT_TABLE = re.compile(rb"<pre\b(?:(?!</pre).)*?(?:<c>|\n[^\n<]*\S {2,}[$(]*\d[\d,.]*\)? {2,}"
                         rb"[$(]*\d)", re.I | re.S)


def list_filings(folder: Path) -> tuple[list[tuple[Path, str]], list[Rejected]]:
    """Return the files to read with their names below `folder`, or the file that it names, and all
    others with reasons. Raises BadInput, saying what to put there, if there is none to read.
    """
    if folder.is_file():
        return [(folder, folder.name)], []
    files, skipped = list_files(folder, ENDINGS)
    return [(path, path.relative_to(folder).as_posix()) for path in files], skipped


def identifier_of(name: str) -> str:
    """Return a name usable in files and ids, such as "2024-acme" for "2024/acme.html.gz"."""
    stem = re.sub(r"\.html?(?:\.gz)?$", "", name, flags=re.I)
    return re.sub(r"[^A-Za-z0-9.]+", "-", stem).strip("-.") or "filing"


def bytes_of(path: Path) -> bytes:
    """Return the content of a regular file, decompressed if its name ends with ".gz".

    Raises BadInput beyond MAX_FILING_BYTES, before and after decompression.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise BadInput("not an ordinary file")
        with (gzip.open if path.suffix.lower() == ".gz" else open)(path, "rb") as file:
            raw = file.read(MAX_FILING_BYTES + 1)  # never more, whatever a small file unpacks to
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(f"not a complete gzip file ({error})") from error
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})") from error
    if len(raw) > MAX_FILING_BYTES:
        raise BadInput(f"more than the limit of {MAX_FILING_BYTES / 1e6:.0f} MB")
    if not raw:
        raise BadInput("empty")
    return raw


def page_of(raw: bytes) -> HtmlElement:
    """Parse a page; broken HTML is repaired as in browsers.

    Raises BadInput for what is not one complete page of HTML whose tables are HTML too.
    """
    if b"\0" in raw[:4096]:
        raise BadInput("binary or UTF-16, not HTML in UTF-8")
    if _SUBMISSION.search(raw[:20_000]) or raw.count(b"<DOCUMENT>") > 1:
        raise BadInput("a whole submission in SGML: save its main document, an .htm file, alone")
    if not re.search(rb"<(?:html|body|table|div|p|pre|font|span)[\s>]", raw[:200_000], re.I):
        raise BadInput("not HTML: no tag in its first 200,000 bytes")
    if not re.search(rb"</(?:html|body)\s*>", raw[-200_000:], re.I):
        raise BadInput("truncated: it has neither </html> nor </body>; fetch the complete file "
                       "again")
    if _TEXT_TABLE.search(raw):
        raise BadInput("its tables are text in <pre>, not HTML: such filings are not read")
    encoding = "utf-8" if raw.decode("utf-8", "ignore").encode() == raw else "cp1252"
    parser = HTMLParser(encoding=encoding, huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = document_fromstring(raw, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise BadInput(f"broken beyond repair ({error})") from error
    if fatal := [error.message for error in parser.error_log if error.level_name == "FATAL"]:
        raise BadInput(f"broken beyond repair ({fatal[0]})")  # the rest would be lost silently
    return root
