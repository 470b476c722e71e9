"""Words of Markdown for comparison, and English lists, labels and joined pieces."""

import re
from collections.abc import Sequence

Body = tuple[str, list[tuple[int, int]]]  # a section's text, and the span of each of its facts

_MARKUP = re.compile(  # link targets and HTML tags
    r"\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|\]\[[^\]\n]*\]|"
    r"</?[a-zA-Z][^>]*>"
)
_SINGULAR_ENDINGS = ("ss", "us", "is", "as")  # class, bus, basis, bias


def words(text: str) -> list[str]:
    """Return the words and numbers of Markdown in lower case, without link targets and tags."""
    return re.findall(r"[^\W_]+", _MARKUP.sub(" ", text).lower())


def casefold_words(text: str) -> str:
    """Join the words of Markdown in lower case, to compare two questions or two answers."""
    return " ".join(words(text))


def is_plural(label: str) -> bool:
    """Return whether the label's head noun, the last word before "of", "for", …, looks plural."""
    preposition = r"\s(?:of|for|in|on|at|by|with|to|per|from)\s"
    head = re.split(preposition, label, maxsplit=1)[0].strip().lower()
    word = head.split(" ")[-1].strip("()[].,:;") if head else ""
    return word.endswith("s") and not word.endswith(_SINGULAR_ENDINGS) and len(word) > 2


def listed(items: Sequence[str], word: str = "and") -> str:
    """Join items in English: "a", "a and b", "a, b and c"; semicolons if an item has a comma."""
    if len(items) < 2:
        return "".join(items)
    comma = "; " if any("," in item for item in items) else ", "
    return f"{comma.join(items[:-1])}{comma.rstrip(', ')} {word} {items[-1]}"


def laid(
    pieces: Sequence[str], before: str = "", between: str | Sequence[str] = "\n", after: str = ""
) -> Body:
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
