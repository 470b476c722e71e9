"""Join pieces of text and return the span of each; every renderer uses this."""

from collections.abc import Sequence

Body = tuple[str, list[tuple[int, int]]]  # a section's text, and the span of each of its facts


def laid(pieces: Sequence[str], before: str = "", between: str | Sequence[str] = "\n",
         after: str = "") -> Body:
    """Join `pieces` with `between` (a string, or one per gap); return the text and their spans."""
    gaps = [between] * (len(pieces) - 1) if isinstance(between, str) else between
    text, spans = before, []
    for piece, gap in zip(pieces, [*gaps, after], strict=True):
        spans.append((len(text), len(text) + len(piece)))
        text += piece + gap
    return text, spans


def pipe_row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def capitalised(words: str) -> str:
    """Capitalize the first letter, as at the start of a sentence, bullet or cell."""
    return words[:1].upper() + words[1:]
