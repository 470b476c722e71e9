"""Write sentences for a label with its values, naming the product: the core of the rewrite."""

import re

from lib.core.text import as_label, is_plural, listed
from lib.documents.inline import ended
from lib.documents.subject import Subject

_VERBAL = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|can|could|may|might|must|should|will|would|do|does|"
    r"did|if|when|that|which|this|these|those|it|you|we|they|there|following|see|make|note|notes|"
    r"warning|caution|notice|important|tip|hint|example|examples|e\.g|i\.e|eg|ie)\b", re.I)
_BAD_END = re.compile(
    r"(?:\w{2,}ed|in|on|at|by|from|for|with|to|since|of|as|and|or|requires|supports|uses|"
    r"includes|contains|provides|needs)", re.I)
_INSTRUCTION = re.compile(
    r"(?:add|allow|always|avoid|bump|click|compile|disable|do|don't|enable|ensure|fix|if|"
    r"implement|improve|introduce|make|never|please|refactor|remove|see|update|upgrade|use|"
    r"when)\b", re.I)
_COMMA = re.compile(r",\s+(?![^()]*\))")
_SEMICOLON = re.compile(r";\s+(?![^()]*\))")
_NAME_WORDS = 8  # of a name, at most


def is_label(text: str) -> bool:
    """Return whether a lead-in or a capitalized key is a noun phrase that can have a value."""
    label = _bare(text)
    words = label.split()
    return (1 <= len(words) <= 6 and not re.search(r"[.!?;:,]\s|[.!?;:,]$", label)
            and label[0].isupper() and not _VERBAL.search(label)
            and not _BAD_END.fullmatch(words[-1]))


def is_name_like(text: str) -> bool:
    """Return whether a list item is a name or a short phrase, not a sentence or an instruction."""
    return (0 < len(text.split()) <= _NAME_WORDS and not re.search(r"[.!?:;](?:\s|$)", text)
            and not _INSTRUCTION.match(text))


def fact_sentence(label: str, value: str, subject: Subject) -> str:
    """Write "Default port", "8443" as "The default port of Corvane P-417 is 8443."

    Several values under a plural label are joined with "and". If the label is not a noun, it is
    separated from the value by a colon, because any verb between them would be invented.
    """
    label = _bare(label)
    is_text = re.search(r"[.!?]\s+\S", value)
    is_flag = value.casefold() in ("yes", "no", "true", "false")
    if is_text or is_flag or not is_label(label[:1].upper() + label[1:]):
        place = f"For {subject.name}, {_inside(label)}" if subject.is_entity else label
        return ended(f"{place}: {value}")
    values = _values(value) if is_plural(label) else [value]
    return ended(f"{_the(label, subject)} {'are' if is_plural(label) else 'is'} {listed(values)}")


def list_sentence(label: str, values: list[str], subject: Subject, *, is_partial: bool,
                  is_continued: bool) -> str:
    """Write "Supported platforms:", ["Linux", "QNX"] as one sentence.

    "The supported platforms of Corvane P-417 are Linux and QNX."; for a list cut by the segment's
    end, "include", and for its continuation, "also include".
    """
    label = _bare(label)
    if is_partial:
        verb = "include" if is_plural(label) else "includes"
    else:
        verb = "are" if is_plural(label) else "is" if len(values) == 1 else "comprises"
    also = "also " if is_continued else ""
    return ended(f"{_the(label, subject)} {also}{verb} {listed(values)}")


def row_sentence(header: tuple[str, ...], cells: tuple[str, ...], subject: Subject) -> str:
    """Write a table row: "For port 80 in Corvane P-417, the protocol is TCP and the mass is 2 kg."

    Empty cells are left out; a missing row label is not guessed.
    """
    clauses = []
    for name, value in zip(header[1:], cells[1:], strict=False):
        if value:
            verb = "are" if is_plural(name) else "is"
            clauses.append(f"the {_inside(name)} {verb} {value}" if name else value)
    about = " ".join(filter(None, [_inside(header[0]), cells[0]])) if cells[0] else ""
    if not clauses:
        return ended(f"No value is given for {about}") if about else ""
    has_commas = any(", " in clause for clause in clauses)
    text = "; ".join(clauses) if has_commas else listed(clauses)
    if not about:
        return ended(text[:1].upper() + text[1:])
    is_unnamed = subject.is_entity and subject.name not in about
    place = f" in {subject.name}" if is_unnamed else ""
    return ended(_once(f"For {about}{place}, {text}"))


def _bare(label: str) -> str:
    return label.strip().rstrip(":").strip()


def _once(text: str) -> str:
    """Keep only the first mention of each link target in parentheses."""
    seen: set[str] = set()

    def keep(match: re.Match) -> str:
        is_known = match[1] in seen
        seen.add(match[1])
        return "" if is_known else match[0]

    return re.sub(r" \(([^()\s]+/[^()\s]+)\)", keep, text)


def _the(label: str, subject: Subject) -> str:
    is_unnamed = subject.is_entity and subject.name.casefold() not in label.casefold()
    bare = re.sub(r"^the\s+", "", label, flags=re.I)
    return f"The {_inside(bare)}" + (f" of {subject.name}" if is_unnamed else "")


def _inside(label: str) -> str:
    """Return a label as it reads inside a sentence; title case ("User Guide") is kept."""
    is_title_case = any(re.fullmatch(r"[A-Z][a-z]+", word) for word in label.split()[1:])
    return _bare(label) if is_title_case else as_label(label)


def _values(value: str) -> list[str]:
    """Split "Linux, QNX, VxWorks", but not a value with its own "and"."""
    parts = (_SEMICOLON if _SEMICOLON.search(value) else _COMMA).split(value)
    has_and = re.search(r"\band\b", parts[-1]) and len(parts) > 1 and ";" not in value
    return [value] if has_and else parts
