"""What every renderer of a section is made of: pieces laid end to end, with the span of each."""

from collections.abc import Sequence

Body = tuple[str, list[tuple[int, int]]]  # a section's text, and text[start:end] of each of its facts


def laid(pieces: Sequence[str], before: str = "", between: str | Sequence[str] = "\n", after: str = "") -> Body:
    """`pieces` with `between` between them (one string, or one for each gap), and each piece's span in the whole."""
    gaps = [between] * (len(pieces) - 1) if isinstance(between, str) else between
    text, spans = before, []
    for piece, gap in zip(pieces, [*gaps, after], strict=True):
        spans.append((len(text), len(text) + len(piece)))
        text += piece + gap
    return text, spans


def pipe_row(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def capitalised(words: str) -> str:
    """The words as they begin a sentence, bullet or cell."""
    return words[:1].upper() + words[1:]
