"""Segments beside their rewrites, with what was lost or invented marked: a page that is read without a network."""

import html
import re
from collections.abc import Iterable
from pathlib import Path

from lib.core.files import write_text
from lib.core.paths import figures_path
from lib.core.records import Normalized, Segment
from lib.normalize.audit import SegmentAudit, sentence

_STYLE = """<style>
.audit {font: 14px/1.45 system-ui, sans-serif; max-width: 75rem; margin: auto}
.audit table {width: 100%; border-collapse: collapse; table-layout: fixed; margin-bottom: 1.5rem}
.audit td, .audit th {border: 1px solid #ccc; padding: .5rem; vertical-align: top; text-align: left;
                      white-space: pre-wrap; overflow-wrap: anywhere}
.audit mark {padding: 0 .15em} .audit mark.lost {background: #f6c7b6; text-decoration: line-through}
.audit mark.moved {background: #fbe9a9} .audit mark.invented {background: #b9d7f0; font-weight: bold}
.audit mark.carried {background: #dcefd5}
</style>"""
_LEGEND = ("<p>Left the segment, right its rewrite: <mark class='lost'>lost</mark> · <mark class='moved'>in a "
           "neighbouring rewrite</mark> · <mark class='invented'>nowhere in the document</mark> · "
           "<mark class='carried'>carried from elsewhere in the document</mark></p>")


def side_by_side(rows: list[SegmentAudit], segments: list[Segment], normalized: list[Normalized],
                 limit: int = 5) -> str:
    """The first `limit` of `rows` that changed something, as HTML; every text in it is escaped."""
    texts = {segment.segment_id: segment.text for segment in segments}
    rewrites = {row.segment_id: row for row in normalized}
    changed = [row for row in rows if row.number("lost", "moved", "invented") or row.dropped]
    shown = changed[:limit]
    tables = [_table(row, texts[row.segment_id], rewrites[row.segment_id]) for row in shown]
    note = f"<p>{len(shown)} of {len(changed)} segments that changed something, of {len(rows)}, worst first.</p>"
    return f"{_STYLE}<div class='audit'>{_LEGEND}{note}{''.join(tables)}</div>"


def write_page(study: str, rows: list[SegmentAudit], segments: list[Segment], normalized: list[Normalized],
               limit: int = 200) -> Path:
    """Write figures/<study>/audit.html with at most `limit` segments; returns its path."""
    body = side_by_side(rows, segments, normalized, limit)
    return write_text(figures_path(study, "audit.html"), (
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>Normalization audit</title></head><body>"
        f"<div class='audit'><h1>Normalization audit</h1><p>{html.escape(sentence(rows))}</p></div>{body}"
        "</body></html>\n"))


def _table(row: SegmentAudit, source: str, rewrite: Normalized) -> str:
    left = _marked(source, [("lost", row.lost), ("moved", row.moved)])
    right = _marked(rewrite.text, [("invented", row.invented), ("carried", row.carried)])
    right = right or f"<em>dropped: {html.escape(rewrite.dropped)}</em>"
    counts = f"{row.number('lost')} lost, {row.number('moved')} moved, of {sum(row.said.values())}"
    new = f"{row.number('invented')} invented, {row.number('carried')} carried, of {sum(row.written.values())}"
    return (f"<table><tr><th>{html.escape(row.segment_id)}: {counts}</th><th>rewrite: {new}</th></tr>"
            f"<tr><td>{left}</td><td>{right}</td></tr></table>")


def _marked(text: str, changes: Iterable[tuple[str, dict[str, list[str]]]]) -> str:
    """`text` escaped, with the words of each change marked by its class; a longer word goes before its parts."""
    classes = {word: name for name, by_kind in changes for words in by_kind.values() for word in words if word.strip()}
    if not classes:
        return html.escape(text)
    found = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in sorted(classes, key=len, reverse=True)))
    pieces, end = [], 0
    for match in found.finditer(text):
        pieces += [html.escape(text[end:match.start()]),
                   f"<mark class='{classes[match[0]]}'>{html.escape(match[0])}</mark>"]
        end = match.end()
    return "".join(pieces) + html.escape(text[end:])
