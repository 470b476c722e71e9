"""Parse the page of a filing, and its tables one at a time.

All tables parsed at once would take some fourteen times their size in memory.
"""

import codecs
import re
from dataclasses import dataclass
from datetime import date

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from lib.core.errors import BadInput

_CUT = "data-tablequest-table"  # the place of a table's HTML in Page.cut
_TABLE = re.compile(rb"<!--.*?-->|<(?:script|style)\b.*?</(?:script|style)|<(/?)table\b[^>]*>",
                    re.I | re.S)
# types of documents with statements; EX-13 is the annual report to shareholders
_REPORT = re.compile(rb"\s*<TYPE>(?:10-?[KQ]|ARS|EX-13|20-F)", re.I)
_LEAST = 500  # bytes; to cut a smaller table saves nothing


@dataclass(frozen=True)
class Page:
    """A page without the content of most of its tables."""

    root: HtmlElement
    cut: tuple[bytes, ...] = ()  # tables that contain no others
    encoding: str = "utf-8"

    def table(self, element: HtmlElement) -> HtmlElement:
        """Return a table of the page with its content. Raises BadInput if it is too broken."""
        place = element.get(_CUT)
        if place is None:
            return element
        found = _parsed(self.cut[int(place)], self.encoding).find(".//table")
        return element if found is None else found


def page_of(raw: bytes) -> Page:
    """Parse a page; broken HTML is repaired as in browsers.

    Raises BadInput for a file that is not HTML or is truncated: a page without its end, or a part
    of a page that ends within a table.
    """
    raw = _without_utf16(raw)
    head = raw[:200_000].lower()
    if b"\0" in raw[:4096]:
        raise BadInput("binary, not HTML")
    raw = b"".join(_reports(raw)) or raw
    if not re.search(rb"<(?:html|body|table|div|p|pre|font|span)[\s>]", head):
        raise BadInput("not HTML: no tag in its first 200,000 bytes")
    if re.search(rb"<(?:html|body)[\s>]", head):
        if not re.search(rb"</(?:html|body)\s*>", raw, re.I):
            raise BadInput("truncated: it has neither </html> nor </body>; fetch the complete file "
                           "again")
    elif _is_within_table(raw):
        raise BadInput("truncated within a table; fetch the complete file again")
    encoding = encoding_of(raw)
    raw, cut = _without_tables(raw)
    return Page(_parsed(raw, encoding), cut=cut, encoding=encoding)


def _reports(raw: bytes) -> list[bytes]:
    return [part for part in raw.split(b"<DOCUMENT>")[1:] if _REPORT.match(part)]


def encoding_of(raw: bytes) -> str:
    """Return UTF-8 or, failing that, the old encoding of Windows."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def header_facts(raw: bytes) -> dict[str, str]:
    """Return what a submission's header says, named like tagged facts of the cover."""
    head = raw[:20_000].decode(encoding_of(raw), "replace")
    if not (found := re.search(r"CONFORMED SUBMISSION TYPE:\s*(\S+)", head)):
        return {}
    facts = {"dei:DocumentType": found[1]}
    if name := re.search(r"COMPANY CONFORMED NAME:[ \t]*(\S.*)", head):
        facts["dei:EntityRegistrantName"] = name[1].strip()
    if day := re.search(r"CONFORMED PERIOD OF REPORT:\s*(\d{4})(\d\d)(\d\d)", head):
        end = date(*map(int, day.groups()))
        facts["dei:DocumentPeriodEndDate"] = f"{end:%B} {end.day}, {end.year}"
    return facts


def _without_tables(raw: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    pieces, cut, done = [], [], 0
    begun: re.Match | None = None
    for match in _TABLE.finditer(raw):
        if match[1] is None:
            continue  # a comment or a script
        if not match[1]:
            begun = match
        elif begun:
            table = raw[begun.start():match.end()]
            if len(table) >= _LEAST and b"dei:" not in table and _CUT.encode() not in table:
                start = begun.start() + len(b"<table")
                pieces += [raw[done:start], f' {_CUT}="{len(cut)}"'.encode(),
                           raw[start:begun.end()]]
                cut.append(table)
                done = match.start()
            begun = None
    return b"".join([*pieces, raw[done:]]), tuple(cut)


def _parsed(raw: bytes, encoding: str) -> HtmlElement:
    parser = HTMLParser(encoding=encoding, huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = document_fromstring(raw, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise BadInput(f"broken beyond repair ({error})") from error
    fatal = [error.message for error in parser.error_log if error.level_name == "FATAL"]
    if fatal:  # the parser stopped there and would silently lose the rest
        raise BadInput(f"broken beyond repair ({fatal[0]})")
    return root


def _is_within_table(raw: bytes) -> bool:
    page = re.sub(rb"<!--.*?-->", b"", raw, flags=re.S)
    n_begun = len(re.findall(rb"<table[\s>]", page, re.I))
    return n_begun > len(re.findall(rb"</table\s*>", page, re.I))


def _without_utf16(raw: bytes) -> bytes:
    if not raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw
    try:
        return raw.decode("utf-16").encode("utf-8")
    except UnicodeError as error:
        raise BadInput(f"broken UTF-16 ({error}): save it as UTF-8") from error
