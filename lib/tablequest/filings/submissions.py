"""Take the report out of a submission to EDGAR: a header, then documents, in SGML."""

import re
from datetime import date
from html import unescape

# types of documents with statements; EX-13 is the annual report to shareholders
_REPORT = re.compile(r"10-?[KQ]|ARS|EX-13|20-F", re.I)
_DOCUMENT = re.compile(r"<DOCUMENT>\s*<TYPE>([^\s<]+)(.*?)(?:</DOCUMENT>|\Z)", re.I | re.S)
_TEXT = re.compile(r"<TEXT>(.*?)(?:</TEXT>|\Z)", re.I | re.S)
_HTML = re.compile(rb"<(?:html|body|div|font|td|pre)[\s>]", re.I)
_SGML = re.compile(rb"<(?:DOCUMENT|PAGE|S)>", re.I)
_IN_PRE = re.compile(rb"<pre\b.*?(?:</pre\s*>|\Z)", re.I | re.S)
_TABLE_TAG = re.compile(rb"</?(?:table|caption|s|c|fn)>", re.I)


def plain_text(raw: bytes) -> str | None:
    """Return the text of a submission's reports if they are plain text, else None."""
    if _HTML.search(raw) or not _SGML.search(raw):
        return None
    text = decoded(raw)
    found = [body[1] for kind, inside in _DOCUMENT.findall(text) if _REPORT.match(kind)
             for body in [_TEXT.search(inside)] if body]
    return unescape("\f".join(found) or text)


def html_of(raw: bytes) -> bytes:
    """Return a page ready to be parsed: only the reports of a submission, no tables in <pre>."""
    if b"<DOCUMENT>" in raw[:100_000]:
        kinds = ((re.match(rb"\s*<TYPE>([^\s<]+)", part), part)
                 for part in raw.split(b"<DOCUMENT>")[1:])
        raw = b"".join(part for kind, part in kinds
                       if kind and _REPORT.match(kind[1].decode("latin-1"))) or raw
    if not re.search(rb"<pre\b", raw, re.I):
        return raw
    return _IN_PRE.sub(lambda pre: _TABLE_TAG.sub(lambda tag: b" " * len(tag[0]), re.sub(
        rb"<page>", b"\f", pre[0], flags=re.I)), raw)


def decoded(raw: bytes) -> str:
    """Return text in UTF-8 or, failing that, in the old encoding of Windows."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


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
