"""English for both rule engines: labels inside a sentence, grammatical number, joined items."""

import re

_SINGULAR_ENDINGS = ("ss", "us", "is", "as")  # class, bus, basis, bias


def as_label(heading: str) -> str:
    """Return a heading, column header or lead-in as it reads inside a sentence.

    "Default port:" becomes "default port".
    """
    label = heading.strip().rstrip(":.").strip()
    first = label.split(" ", 1)[0]
    is_word = re.fullmatch(r"[A-Z][a-z]+(?:-[a-z]+)*", first) is not None
    return label[:1].lower() + label[1:] if is_word else label


def is_plural(label: str) -> bool:
    """Return whether the label's head noun, the last word before "of", "for", …, looks plural."""
    preposition = r"\s(?:of|for|in|on|at|by|with|to|per|from)\s"
    head = re.split(preposition, label, maxsplit=1)[0].strip().lower()
    word = head.split(" ")[-1].strip("()[].,:;") if head else ""
    return word.endswith("s") and not word.endswith(_SINGULAR_ENDINGS) and len(word) > 2


def listed(items: list[str]) -> str:
    """Join items in English: "a", "a and b", "a, b and c"; semicolons if an item has a comma."""
    if len(items) < 2:
        return "".join(items)
    comma = "; " if any("," in item for item in items) else ", "
    return comma.join(items[:-1]) + (" and " if comma == ", " else "; and ") + items[-1]
