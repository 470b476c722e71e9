"""Show segments next to their rewrites, with changes marked, as a page readable offline."""

import re
from collections.abc import Iterator
from pathlib import Path

from lib.core.files import write_text
from lib.core.pages import page
from lib.core.paths import figures_path, package_file
from lib.core.records import Normalized, Segment
from lib.normalize.audit import SegmentAudit, sentence

Change = tuple[str, dict[str, list[str]]]  # its class on the page, and the words by kind


def side_by_side(rows: list[SegmentAudit], segments: list[Segment], normalized: list[Normalized],
                 limit: int = 5, heading: str = "") -> str:
    """Return the first `limit` changed rows as HTML; all texts are escaped.

    With a `heading`, the result is a complete page that begins with the audit's summary.
    """
    texts = {segment.segment_id: segment.text for segment in segments}
    rewrites = {row.segment_id: row.text for row in normalized}
    changed = [row for row in rows if row.is_changed]
    pairs = [(row, list(_marked(texts[row.segment_id], ("lost", row.lost), ("moved", row.moved))),
              list(_marked(rewrites[row.segment_id], ("invented", row.invented),
                           ("carried", row.carried)))) for row in changed[:limit]]
    return page(package_file("normalize/audit.html.j2"), heading=heading, summary=sentence(rows),
                pairs=pairs, n_changed=len(changed), n_segments=len(rows))


def write_page(study: str, rows: list[SegmentAudit], segments: list[Segment],
               normalized: list[Normalized], limit: int = 200) -> Path:
    """Write figures/<study>/audit.html with at most `limit` segments; return its path."""
    html = side_by_side(rows, segments, normalized, limit, "Normalization audit")
    return write_text(figures_path(study, "audit.html"), html + "\n")


def _marked(text: str, *changes: Change) -> Iterator[tuple[str, str]]:
    """Yield pieces of `text` with their class, "" for the rest; a longer word before its parts."""
    classes = {word: name for name, by_kind in changes for words in by_kind.values()
               for word in words if word.strip()}
    words = map(re.escape, sorted(classes, key=len, reverse=True))
    found = re.compile("|".join(rf"(?<!\w){word}(?!\w)" for word in words) or r"(?!)")
    end = 0
    for match in found.finditer(text):
        yield text[end:match.start()], ""
        yield match[0], classes[match[0]]
        end = match.end()
    yield text[end:], ""
