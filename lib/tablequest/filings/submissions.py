"""Take the report out of a submission to EDGAR: a header, then documents, in SGML."""

import re
from datetime import date
from html import unescape

# types of documents with statements; EX-13 is the annual report to shareholders
_REPORT = re.compile(rb"\s*<TYPE>(?:10-?[KQ]|ARS|EX-13|20-F)", re.I)
_TEXT = re.compile(rb"<TEXT>(.*?)(?:</TEXT>|\Z)", re.I | re.S)
_HTML = re.compile(rb"<(?:html|body|div|font|td|pre)[\s>]", re.I)
_SGML = re.compile(rb"<(?:DOCUMENT|PAGE|S)>", re.I)
_IN_PRE = re.compile(rb"<pre\b.*?(?:</pre\s*>|\Z)", re.I | re.S)
_TABLE_TAG = re.compile(rb"</?(?:table|caption|s|c|fn)>", re.I)


def plain_text(raw: bytes) -> str | None:
    """Return the text of a submission's reports if they are plain text, else None."""
    if _HTML.search(raw) or not _SGML.search(raw):
        return None
    found = [body[1] for part in _reports(raw) if (body := _TEXT.search(part))]
    return unescape(decoded(b"\f".join(found) or raw))


def html_of(raw: bytes) -> bytes:
    """Return a page ready to be parsed: only the reports of a submission, no tables in <pre>."""
    raw = b"".join(_reports(raw)) or raw
    return _IN_PRE.sub(lambda pre: _TABLE_TAG.sub(lambda tag: b" " * len(tag[0]), re.sub(
        rb"<page>", b"\f", pre[0], flags=re.I)), raw)


def _reports(raw: bytes) -> list[bytes]:
    return [part for part in raw.split(b"<DOCUMENT>")[1:] if _REPORT.match(part)]


def encoding_of(raw: bytes) -> str:
    """Return UTF-8 or, failing that, the old encoding of Windows."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def decoded(raw: bytes) -> str:
    """Return the text of `raw`; a byte without a character becomes U+FFFD."""
    return raw.decode(encoding_of(raw), "replace")


def header_facts(raw: bytes) -> dict[str, str]:
    """Return what a submission's header says, named like tagged facts of the cover."""
    head = decoded(raw[:20_000])
    if not (found := re.search(r"CONFORMED SUBMISSION TYPE:\s*(\S+)", head)):
        return {}
    facts = {"dei:DocumentType": found[1]}
    if name := re.search(r"COMPANY CONFORMED NAME:[ \t]*(\S.*)", head):
        facts["dei:EntityRegistrantName"] = name[1].strip()
    if day := re.search(r"CONFORMED PERIOD OF REPORT:\s*(\d{4})(\d\d)(\d\d)", head):
        end = date(*map(int, day.groups()))
        facts["dei:DocumentPeriodEndDate"] = f"{end:%B} {end.day}, {end.year}"
    return facts
